/* local_state.h -- what a thread of lua-mt keeps for itself of what Lua has once for all threads,
 * so that transactions of several threads do not conflict there (removals.c).
 *
 * Invariants
 *   I1  A local state has at most one thread; it is made, given to a thread and taken back under
 *       the interpreter lock, and never freed: blocks of its heap may outlive the thread.
 *   I2  Others touch it under the lock only: then no transaction is running (elide/gil.h, I2).
 *   I3  The sums over all local states and Lua's own fields are what Lua alone would have there.
 */
#ifndef LUA_MT_LOCAL_STATE_H
#define LUA_MT_LOCAL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct GCObject;
struct lua_State;

enum { lua_mt_size_classes = 64 };

struct lua_mt_heap {
  char* free_from; /* of the last chunk: [free_from, free_to) was never given out */
  char* free_to;
  void* freed[lua_mt_size_classes]; /* lists, by size */
};

struct lua_mt_local {
  ptrdiff_t* debt; /* where allocations are added: own_debt, or the state's GCdebt */
  int* strings;    /* where short strings are counted: own_strings, or the state's strt.nuse */
  ptrdiff_t own_debt;
  int own_strings;
  bool taken;
  uint64_t number;     /* of the thread, which no other has, before or after; from 1 */
  unsigned finalizing; /* finalizers that the thread is in: one, or more while the state closes */
  struct GCObject* newest; /* objects made since the last collection: a list, */
  struct GCObject* oldest; /* and its end */
  struct lua_mt_heap heap;
  struct lua_mt_local* next; /* of all */
} __attribute__((aligned(256)));

extern __thread struct lua_mt_local* lua_mt_self;

/* Which conflicts are removed. In lines that nobody writes. */
struct lua_mt_removals {
  bool heap;      /* a heap for each thread */
  bool lines;     /* no two blocks share a cache line */
  bool debt;      /* bytes allocated, by thread */
  bool objects;   /* lists of new objects, by thread */
  bool strings;   /* short strings counted by thread, in a table that is large from the start */
  bool numbers;   /* integers become text without a call of the C library */
  bool collector; /* collections are rare, and run to their end at once */
  size_t line;    /* bytes of a cache line, for `lines` */
  ptrdiff_t allowance; /* bytes to allocate before the next collection, for `collector` */
} __attribute__((aligned(256)));
extern struct lua_mt_removals lua_mt_removed;

#ifdef __cplusplus
extern "C" {
#endif

/* Reads LUA_MT_REMOVE, LUA_MT_LINE and LUA_MT_HEAP; gives the calling thread its local state.
 * Returns false, with a line on standard error, when they make no sense. */
bool lua_mt_begin(void);

/* A local state for a thread that is to begin: it sets lua_mt_self to it. NULL: there is no
 * memory. Requires: the lock. */
struct lua_mt_local* lua_mt_take_local(struct lua_State* L);
/* The calling thread's, which uses the Lua state no more. Requires: inside. */
void lua_mt_give_back_local(void);

/* Returns with the lock held, and Lua's own fields as if they had always been used; the calling
 * thread counts there from now on. Requires: inside. */
void lua_mt_make_whole(struct lua_State* L);

/* Writes n in decimal, with a zero at the end. Returns the length without it. */
int lua_mt_print_integer(char* text, long long n);

/* Lua's allocation function (lua_Alloc). */
void* lua_mt_allocate(void* unused, void* block, size_t old_size, size_t new_size);

#ifdef __cplusplus
}
#endif
#endif
