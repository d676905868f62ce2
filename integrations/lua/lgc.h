/* lgc.h -- stands in front of Lua's file of this name: whether a collection is due is asked of what
 * the calling thread has allocated (local_state.h). */
#include "lgc_lua.h"
#include "local_state.h"

#undef luaC_condGC
#define luaC_condGC(L, pre, pos)  \
  {                               \
    if (*lua_mt_self->debt > 0) { \
      pre;                        \
      luaC_step(L);               \
      pos;                        \
    }                             \
    condchangemem(L, pre, pos);   \
  }

#undef gcrunning
#define gcrunning(g) ((g)->gcstp == 0 && lua_mt_self->finalizing == 0)
