/* lmem.c -- Lua's file of this name, which counts allocated bytes where lua_mt_self says. */
#define LUA_CORE
#include "lprefix.h"
/* All that it includes comes first, so that the macro changes the file's own code only. */
#include "ldebug.h"
#include "ldo.h"
#include "lgc.h"
#include "lmem.h"
#include "lobject.h"
#include "local_state.h"
#include "lstate.h"

/* `g->GCdebt` becomes a comma expression, whose value and place are those of its right side. */
#define GCdebt seed, *lua_mt_self->debt

#include "lmem_lua.c"
