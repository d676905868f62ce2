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
 * frequent instructions that read variables or tables, or calculate. A generic `for` goes from its
 * call on to its branch back without a dispatch, so the call stands for both. */
#define LUA_MT_YIELDS(op)                                                                  \
  ((op) == OP_FORLOOP || (op) == OP_TFORCALL || (op) == OP_JMP || (op) == OP_CALL ||       \
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

#ifdef LUA_MT_NATIVE
/* While nobody waits for a plain lock, yield points are no work: instructions go by Lua's own table
 * of labels. By the other one they go by way of their yield points; loops and calls notice, at a
 * load and a branch each, when it is time for that one, a yield point when it no longer is. The
 * empty assembly keeps it a branch: each dispatch would wait for the load of a conditional move. */
#include "ljumptab_yielding.h" /* by build.sh: Lua's table, with each L_ a Y_ */
const void* const* table = syncopate_gil_is_counted() ? yielding : disptab;

#define LUA_MT_NOTICES(op)                                                           \
  ((op) == OP_FORLOOP || (op) == OP_TFORCALL || (op) == OP_JMP || (op) == OP_CALL || \
   (op) == OP_TAILCALL)

#define LUA_MT_COUNTED syncopate_gil_is_counted()
#undef vmdispatch
#define vmdispatch(op) goto* table[op];
#undef vmcase
#define vmcase(op)                                                             \
  Y_##op : if (LUA_MT_YIELDS(op)) {                                            \
    if (!syncopate_gil_is_counted()) table = disptab;                          \
    else if (l_unlikely(--syncopate_gil_self.countdown <= 0)) LUA_MT_YIELD();  \
  }                                                                            \
  L_##op : if (LUA_MT_NOTICES(op) && l_unlikely(syncopate_gil_is_counted())) { \
    table = yielding;                                                          \
    __asm__("" : "+r"(table));                                                 \
  }
#else
/* On the modeled machines always counted, so that their results are those of transactions alone. */
#define LUA_MT_COUNTED 1
#undef vmcase
#define vmcase(op) \
  L_##op : if (LUA_MT_YIELDS(op) && l_unlikely(--syncopate_gil_self.countdown <= 0)) LUA_MT_YIELD();
#endif

/* A condition jumps at once, but while yield points are counted not back (`repeat`): there the jump
 * that follows it is executed, which is one. A hook that counts instructions counts both as one. */
#undef donextjump
#define donextjump(ci)                                     \
  {                                                        \
    Instruction ni = *pc;                                  \
    if (l_likely(!LUA_MT_COUNTED || GETARG_sJ(ni) >= 0)) { \
      dojump(ci, ni, 1);                                   \
    } else if (l_unlikely(trap)) {                         \
      ++L->hookcount;                                      \
    }                                                      \
  }
