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

/* Others run while print() and the prompt wait for who reads or types. */
#include "blocking_io.h"
#define lua_writestring(s, l) lua_mt_print((s), (l))
#define lua_writeline() (lua_writestring("\n", 1), lua_mt_fflush(stdout))
#define lua_writestringerror(s, p) \
  (syncopate_gil_needs_lock(), fprintf(stderr, (s), (p)), fflush(stderr))
#define lua_initreadline(L) ((void)(L))
#define lua_readline(L, b, p) \
  ((void)(L), fputs(p, stdout), lua_mt_fflush(stdout), lua_mt_fgets(b, LUA_MAXINPUT, stdin) != NULL)
#define lua_saveline(L, line) ((void)(L), (void)(line))
#define lua_freeline(L, b) ((void)(L), (void)(b))

#endif
