// tsan_other.cpp -- the rest of the compilers' interface. (What programs may call beside it is in
// annotations.cpp.)
#include "model/front/engine.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

using namespace syncopate;

SYNCOPATE_EXPORT void __tsan_func_entry(void*) {}
SYNCOPATE_EXPORT void __tsan_flush_memory() {}

// The caller's frame pointer: its variables lie below. (Programs for the machines that ask have
// frame pointers.)
SYNCOPATE_EXPORT void __tsan_func_exit() {
  if (!instrument::in_program()) return;
  const instrument::engine_scope inside;
  engine::leaves(*static_cast<const engine::address*>(__builtin_frame_address(0)),
                 SYNCOPATE_CALLER);
}
