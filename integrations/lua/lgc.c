/* lgc.c -- Lua's file of this name, whose finalizers run by finalizers.c: while one runs, Lua
 * switches the collector off for all. */
#define LUA_CORE
#include "lprefix.h"
/* All that it includes comes first, so that the macro changes the file's own code only. */
#include "finalizers.h"
#include "ldebug.h"
#include "ldo.h"
#include "lgc.h"
#include "local_state.h"

/* There is one call, in GCTM: of the object's finalizer. */
#define luaD_pcall lua_mt_finalize

#include "lgc_lua.c"
