// runtime.cpp -- lua-mt: Lua's own stand-alone interpreter, whose main thread is inside the lock,
// and what the collector does about it.
//
// The linker sends lua_close, luaC_step and luaC_fullgc here first (--wrap).
#include "runtime.h"

#include <syncopate/elide/gil_c_interface.h>

#include <cstdlib>

extern "C" {
int lua_mt_original_main(int argc, char** argv);  // lua.c's

void __real_luaC_step(lua_State* L);
void __real_luaC_fullgc(lua_State* L, int is_emergency);
void __real_lua_close(lua_State* L);

// Garbage is collected under the lock: a step touches more than fits into a transaction, and what
// all threads have in common.
void __wrap_luaC_step(lua_State* L) {
  syncopate_gil_needs_lock();
  __real_luaC_step(L);
}
void __wrap_luaC_fullgc(lua_State* L, int is_emergency) {
  syncopate_gil_needs_lock();
  __real_luaC_fullgc(L, is_emergency);
}

// The program ends when its last thread does.
void __wrap_lua_close(lua_State* L) {
  lua_mt_await_threads();
  __real_lua_close(L);
}

int main(int argc, char** argv) {
  if (syncopate_gil_attach() != 0) return EXIT_FAILURE;
  syncopate_gil_enter(reinterpret_cast<const void*>(&main));
  const int status = lua_mt_original_main(argc, argv);
  syncopate_gil_leave();
  syncopate_gil_detach();
  lua_mt_await_detached();
  syncopate_gil_report();
  return status;
}
}
