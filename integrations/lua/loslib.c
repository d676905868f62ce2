/* loslib.c -- Lua's file of this name, which lets other threads run while a command does. */
#define LUA_LIB
#include "lprefix.h"
/* All that the macros name comes first, so that they change the file's own code only. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua.h"

#include "blocking_io.h"

#define system(command) \
  ((command) == NULL ? system(NULL) : lua_mt_system(command)) /* whether there is a shell */

/* What cannot be taken back. */
#define remove(name) (syncopate_gil_needs_lock(), remove(name))
#define rename(from, to) (syncopate_gil_needs_lock(), rename(from, to))
#define mkstemp(name) (syncopate_gil_needs_lock(), mkstemp(name))
#define setlocale(category, locale) (syncopate_gil_needs_lock(), setlocale(category, locale))

/* runtime.cpp: with the statistics that were asked for. */
_Noreturn void lua_mt_exit(lua_State* L, int status);
#define exit(status) lua_mt_exit(L, status)

#include "loslib_lua.c"
