/* lobject.c -- Lua's file of this name, which turns integers into text without the C library: that
 * call's lines (locale, stream, stack) are a large part of a transaction, and a modeled machine may
 * not look into it. */
#define LUA_CORE
#include "lprefix.h"
#include "lua.h"

#include "local_state.h"

#undef lua_integer2str
#define lua_integer2str(text, size, n)                                   \
  (lua_mt_removed.numbers ? lua_mt_print_integer((text), (long long)(n)) \
                          : l_sprintf((text), size, LUA_INTEGER_FMT, (LUAI_UACINT)(n)))

#include "lobject_lua.c"
