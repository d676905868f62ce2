/* finalizers.h -- the collector, where a finalizer of another thread may be in the middle of it
 * (finalizers.c). All require the lock, and Lua's own fields made whole (lua_mt_make_whole). */
#ifndef LUA_MT_FINALIZERS_H
#define LUA_MT_FINALIZERS_H

#include "ldo.h"

/* luaD_pcall of a finalizer. Returns Lua's status. */
int lua_mt_finalize(lua_State* L, Pfunc call, void* data, ptrdiff_t old_top, ptrdiff_t handler);
/* luaC_step. */
void lua_mt_collect_some(lua_State* L);
/* lua_gc, which takes up to three numbers. Returns what it returns; -1 within a finalizer. */
int lua_mt_control_collector(lua_State* L, int what, const int* numbers);
/* Puts into effect what the program has asked for meanwhile. Requires: no frame of the collector
 * on the calling thread's stack, but for one that is in a finalizer. */
void lua_mt_after_collection(lua_State* L);

#endif
