/* libraries.c -- in place of Lua's linit.c: the standard libraries, and `thread`. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stddef.h>

int luaopen_thread(lua_State* L);

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
}
