/* lstring.c -- Lua's file of this name, which counts short strings where lua_mt_self says. */
#define LUA_CORE
#include "lprefix.h"
/* The macro below makes a comma appear in the arguments of these. */
#define luai_likely(...) (__builtin_expect((__VA_ARGS__) != 0, 1))
#define luai_unlikely(...) (__builtin_expect((__VA_ARGS__) != 0, 0))
/* All that it includes comes first, so that the macro changes the file's own code only. */
#include "ldebug.h"
#include "ldo.h"
#include "lobject.h"
#include "local_state.h"
#include "lstate.h"
#include "lstring.h"

/* `tb->nuse` becomes a comma expression, whose value and place are those of its right side. */
#define nuse size, (*lua_mt_self->strings)

#include "lstring_lua.c"
