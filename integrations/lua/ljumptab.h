/* ljumptab.h -- stands in front of Lua's file of this name, which lvm.c includes: makes
 * instructions of the interpreter's loop yield points of the lock.
 *
 * At a yield point other threads run, and may collect garbage. So
 *   - the frame has to be in memory: the saved pc, and a top that covers all registers; an
 *     instruction that takes its operands up to the top has the right one already;
 *   - the collector may have moved this thread's stack. It sets the frame's trap then, and base and
 *     ra are computed once more.
 * That is what Lua's own Protect() does around what may collect.
 */
#include "ljumptab_lua.h"

/* The paper's yield points (section 4.2) in Lua's terms: branches back, calls and returns; and the
 * frequent instructions that read variables or tables, or calculate. */
#define LUA_MT_YIELDS(op)                                                                  \
  ((op) == OP_FORLOOP || (op) == OP_TFORLOOP || (op) == OP_JMP || (op) == OP_CALL ||       \
   (op) == OP_TAILCALL || (op) == OP_RETURN || (op) == OP_RETURN0 || (op) == OP_RETURN1 || \
   (op) == OP_GETUPVAL || (op) == OP_GETTABUP || (op) == OP_GETTABLE || (op) == OP_GETI || \
   (op) == OP_GETFIELD || (op) == OP_SELF)

/* Before 5.4.5 the loop computes the address of register A once for all instructions. */
#if LUA_VERSION_RELEASE_NUM < 50405
#define LUA_MT_SET_RA() (ra = RA(i))
#else
#define LUA_MT_SET_RA() ((void)0)
#endif

#define LUA_MT_YIELD()              \
  {                                 \
    savepc(L);                      \
    if (!isIT(i)) L->top = ci->top; \
    syncopate_gil_yield_slow(pc);   \
    updatetrap(ci);                 \
    if (l_unlikely(trap)) {         \
      updatebase(ci);               \
      LUA_MT_SET_RA();              \
    }                               \
  }

/* Whether a yield point has work to do. On the modeled machines always counted, so that their
 * results are those of transactions alone. */
#ifdef LUA_MT_NATIVE
#define lua_mt_is_due() l_unlikely(syncopate_gil_is_due())
#else
#define lua_mt_is_due() l_unlikely(--syncopate_gil_self.countdown <= 0)
#endif

#undef vmcase
#define vmcase(op) L_##op : if (LUA_MT_YIELDS(op) && lua_mt_is_due()) LUA_MT_YIELD();
