/* loslib.c -- Lua's file of this name, which lets other threads run while a command does. */
#define LUA_LIB
#include <stdlib.h>
#include "lprefix.h"

#include "blocking_io.h"

#define system(command) \
  ((command) == NULL ? system(NULL) : lua_mt_system(command)) /* whether there is a shell */

#include "loslib_lua.c"
