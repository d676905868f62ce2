/* hooks.h -- included before every file of Lua (-include): Lua's official macros for a lock.
 *
 * A thread is inside the lock for as long as it runs Lua or a C function that has not let go of it
 * on purpose, as in CRuby and CPython. So there is nothing to do at the edge of each API function;
 * LUA_MT_CHECK makes that edge the place where a thread that is not inside is found out. Threads
 * yield between instructions (ljumptab.h), so not here.
 */
#ifndef LUA_MT_HOOKS_H
#define LUA_MT_HOOKS_H

#include <syncopate/gil.h>

#ifdef LUA_MT_CHECK
#include <stdlib.h>
#define lua_lock(L) ((void)(L), syncopate_gil_self.state >= 2 ? (void)0 : abort())
#else
#define lua_lock(L) ((void)(L))
#endif
#define lua_unlock(L) ((void)(L))
#define luai_threadyield(L) ((void)(L))

#endif
