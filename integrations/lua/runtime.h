// runtime.h -- what the files of lua-mt tell each other.
#pragma once

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int luaopen_thread(lua_State* L);

// Blocks, outside of the lock, until no started thread runs. Requires: inside.
void lua_mt_await_threads(void);

// Blocks until the threads that ran have also handed in what they counted. Requires: not inside.
void lua_mt_await_detached(void);
}
