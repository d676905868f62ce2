// runtime.cpp -- lua-mt: Lua's own stand-alone interpreter, whose main thread is inside the lock.
//
// The linker sends calls of lua_close and luaL_loadfilex here first (--wrap).
#include "runtime.h"

#include "local_state.h"
#include "places.h"

#include <syncopate/elide/gil_c_interface.h>

#include <cstdlib>

namespace {
thread_local bool is_main = false;
bool is_closed = false;  // the state; inside the lock
}  // namespace

extern "C" {
int lua_mt_original_main(int argc, char** argv);  // lua.c's

void __real_lua_close(lua_State* L);
void __real_luaC_freeallobjects(lua_State* L);
int __real_luaL_loadfilex(lua_State* L, const char* name, const char* mode);

// The program ends when its last thread does. A started thread that ends it (os.exit(code, true))
// leaves the state open, as the main thread is still in it.
void __wrap_lua_close(lua_State* L) {
  if (!is_main) return;
  lua_mt_await_threads();
  lua_mt_make_whole(L);
  syncopate_gil_block_begin();  // no part of what is counted; nobody else is there
  lua_mt_name_points(L);
  syncopate_gil_block_end(lua_mt_places[lua_mt_at_end]);
  syncopate_gil_needs_lock();
  is_closed = true;
  __real_lua_close(L);
}

// After the variables that are closed with the state (lua_close), which may have started threads.
void __wrap_luaC_freeallobjects(lua_State* L) {
  lua_mt_await_threads();
  lua_mt_make_whole(L);
  __real_luaC_freeallobjects(L);
}

// Of os.exit: others may still run, and their numbers are not among the statistics.
[[noreturn]] void lua_mt_exit(lua_State* L, int status) {
  syncopate_gil_needs_lock();
  if (!is_closed) {
    lua_mt_make_whole(L);
    lua_mt_name_points(L);
  }
  syncopate_gil_report();
  std::exit(status);
}

// A file is opened and read under the lock.
int __wrap_luaL_loadfilex(lua_State* L, const char* name, const char* mode) {
  syncopate_gil_needs_lock();
  return __real_luaL_loadfilex(L, name, mode);
}

int main(int argc, char** argv) {
  is_main = true;
  if (!lua_mt_begin() || syncopate_gil_attach() != 0) return EXIT_FAILURE;
  syncopate_gil_enter(lua_mt_places[lua_mt_at_main]);
  const int status = lua_mt_original_main(argc, argv);
  syncopate_gil_leave();
  syncopate_gil_detach();
  lua_mt_await_detached();
  syncopate_gil_report();
  return status;
}
}
