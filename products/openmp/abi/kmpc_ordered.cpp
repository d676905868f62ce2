// kmpc_ordered.cpp -- where LLVM's libomp waits for an iteration's turn: at `ordered`, at the end
// of an iteration of such a loop that had none, and at `ordered depend(sink)` (doacross). The waits
// are the runtime's; here they are recorded.

#include "openmp/abi/kmpc.h"
#include "openmp/base/export.h"
#include "openmp/teams/turn.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

SYNCOPATE_OPENMP_EXPORT void __kmpc_ordered(void* location, std::int32_t thread) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording()) return b.to->real.__kmpc_ordered(location, thread);
  const turn recorded(b, __builtin_return_address(0));
  b.to->real.__kmpc_ordered(location, thread);
  note_turn();
}

#define SYNCOPATE_DISPATCH_FINI(name)                                             \
  SYNCOPATE_OPENMP_EXPORT void name(void* location, std::int32_t thread) {        \
    const binding& b = SYNCOPATE_KMPC_CALLER;                                     \
    if (!is_recording() || past_turn()) return b.to->real.name(location, thread); \
    const turn recorded(b, __builtin_return_address(0));                          \
    b.to->real.name(location, thread);                                            \
  }
SYNCOPATE_DISPATCH_FINI(__kmpc_dispatch_fini_4)
SYNCOPATE_DISPATCH_FINI(__kmpc_dispatch_fini_4u)
SYNCOPATE_DISPATCH_FINI(__kmpc_dispatch_fini_8)
SYNCOPATE_DISPATCH_FINI(__kmpc_dispatch_fini_8u)

SYNCOPATE_OPENMP_EXPORT void __kmpc_doacross_wait(void* location, std::int32_t thread,
                                                  const std::int64_t* at) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording()) return b.to->real.__kmpc_doacross_wait(location, thread, at);
  const turn recorded(b, __builtin_return_address(0));
  b.to->real.__kmpc_doacross_wait(location, thread, at);
}
