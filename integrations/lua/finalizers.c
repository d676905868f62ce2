/* finalizers.c -- a finalizer switches the collector off for the thread that runs it, as in Lua,
 * and for no other: it may sleep, and others run in the middle of it, and collect.
 *
 * Lua has one flag, which the finalizer's thread sets, and sets back to what it was. Here the flag
 * is the thread's own; what the program has asked for (collectgarbage "stop", "generational") is
 * kept aside, and put where Lua looks for it when no frame of the collector is left that would
 * write there.
 *
 * Invariants
 *   I1  A thread that is in the middle of a collection while another runs is in a finalizer: the
 *       collector itself lets nobody in. So all threads there are counted by in_finalizers.
 *   I2  While a finalizer runs the collector keeps its kind, incremental or generational: what
 *       interrupted goes on where it was, and in the other kind its lists mean something else.
 *       Incremental, it goes on from any state; generational, finalizers are the last that a
 *       collection does.
 */
#include "finalizers.h"

#include "local_state.h"

#include "ldo.h"
#include "lgc.h"
#include "lstate.h"

static lu_byte stopped;        /* by the program: 0 or GCSTPUSR */
static unsigned in_finalizers; /* threads */
static struct {
  int what; /* LUA_GCGEN or LUA_GCINC, with its numbers; 0: nothing is asked for */
  int numbers[3];
} next_kind;

int __real_lua_gc(lua_State* L, int what, ...);
void lua_mt_await_threads(void); /* runtime.h */
void __real_luaC_step(lua_State* L);
void __real_luaC_fullgc(lua_State* L, int is_emergency);

static bool is_closing(const global_State* g) { return (g->gcstp & GCSTPCLS) != 0; }

/* In the middle of a collection, with Lua's flag set. */
int lua_mt_finalize(lua_State* L, Pfunc call, void* data, ptrdiff_t old_top, ptrdiff_t handler) {
  global_State* const g = G(L);
  struct lua_mt_local* const local = lua_mt_self;
  g->gcstp = is_closing(g) ? GCSTPCLS : stopped;
  if (local->finalizing++ == 0) ++in_finalizers;
  const int status = luaD_pcall(L, call, data, old_top, handler);
  /* What follows may be freed: threads that it has started might use it. */
  if (is_closing(g)) lua_mt_await_threads();
  /* What was allocated meanwhile is the collector's when it goes on. */
  lua_mt_make_whole(L);
  if (--local->finalizing == 0) --in_finalizers;
  return status;
}

/* A generational collection after one that found little to free begins as an incremental one, and
 * may end as either: not while I2 forbids it. */
void lua_mt_collect_some(lua_State* L) {
  global_State* const g = G(L);
  if (in_finalizers == 0 || g->lastatomic == 0) {
    __real_luaC_step(L);
  } else if (gcrunning(g)) {
    __real_luaC_fullgc(L, 0);
    if (g->GCdebt > 0) luaE_setdebt(g, -(l_mem)(gettotalbytes(g) / 100) * g->genminormul);
  }
}

static int ask_for_kind(const global_State* g, int what, const int* numbers) {
  const int before = next_kind.what != 0 ? next_kind.what
                     : isdecGCmodegen(g) ? LUA_GCGEN
                                         : LUA_GCINC;
  next_kind.what = what;
  for (int i = 0; i < 3; ++i) next_kind.numbers[i] = numbers[i];
  return before;
}

/* LUA_GCGEN or LUA_GCINC, now or when it may be (I2). Returns the kind before. */
static int change_kind(lua_State* L, int what, const int* numbers) {
  global_State* const g = G(L);
  /* What finalizers are left of an incremental collection run while it is one. */
  if (in_finalizers == 0 && what == LUA_GCGEN && g->gckind == KGC_INC)
    luaC_runtilstate(L, bitmask(GCSpause));
  if (in_finalizers != 0) return ask_for_kind(g, what, numbers);
  next_kind.what = 0;
  return __real_lua_gc(L, what, numbers[0], numbers[1], numbers[2]);
}

void lua_mt_after_collection(lua_State* L) {
  global_State* const g = G(L);
  if (is_closing(g) || lua_mt_self->finalizing != 0) return;
  while (in_finalizers == 0 && next_kind.what != 0) {
    const int numbers[3] = {next_kind.numbers[0], next_kind.numbers[1], next_kind.numbers[2]};
    change_kind(L, next_kind.what, numbers);
  }
  g->gcstp = stopped;
}

int lua_mt_control_collector(lua_State* L, int what, const int* numbers) {
  if (lua_mt_self->finalizing != 0) return -1; /* as Lua says there */
  if (what == LUA_GCSTOP) stopped = GCSTPUSR;
  if (what == LUA_GCRESTART) stopped = 0;
  const int result = what == LUA_GCGEN || what == LUA_GCINC
                         ? change_kind(L, what, numbers)
                         : __real_lua_gc(L, what, numbers[0], numbers[1], numbers[2]);
  lua_mt_after_collection(L);
  return result;
}
