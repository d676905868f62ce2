/* libraries.c -- in place of Lua's linit.c: the standard libraries, with a `print` whose lines are
 * whole, and `thread`. */
#include "blocking_io.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stddef.h>
#include <syncopate/gil.h>

int luaopen_thread(lua_State* L);

/* Lua's own writes one argument after the other, and others might write between two of them. */
static int print_line(lua_State* L) {
  syncopate_gil_needs_lock();
  const int count = lua_gettop(L);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  for (int i = 1; i <= count; ++i) {
    if (i > 1) luaL_addchar(&line, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&line);
  }
  luaL_addchar(&line, '\n');
  lua_mt_print(luaL_buffaddr(&line), luaL_bufflen(&line));
  lua_mt_fflush(stdout);
  return 0;
}

LUALIB_API void luaL_openlibs(lua_State* L) {
  static const luaL_Reg libraries[] = {
      {LUA_GNAME, luaopen_base},          {LUA_LOADLIBNAME, luaopen_package},
      {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
      {LUA_IOLIBNAME, luaopen_io},        {LUA_OSLIBNAME, luaopen_os},
      {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
      {LUA_UTF8LIBNAME, luaopen_utf8},    {LUA_DBLIBNAME, luaopen_debug},
      {"thread", luaopen_thread}};
  for (size_t n = 0; n < sizeof libraries / sizeof *libraries; ++n) {
    luaL_requiref(L, libraries[n].name, libraries[n].func, 1);
    lua_pop(L, 1);
  }
  lua_register(L, "print", print_line);
}
