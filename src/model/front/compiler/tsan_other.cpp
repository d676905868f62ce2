// tsan_other.cpp -- the rest of the compilers' interface, and of sanitizer/tsan_interface.h,
// that programs may call. A machine knows calls, allocations and locks from elsewhere; nothing to
// do.
#include <atomic>

#include "model/front/engine.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

using namespace syncopate;

#define NOTHING(name, ...) \
  SYNCOPATE_EXPORT void name(__VA_ARGS__) {}

NOTHING(__tsan_func_entry, void*)
NOTHING(__tsan_ignore_thread_begin)
NOTHING(__tsan_ignore_thread_end)
NOTHING(__tsan_flush_memory)

NOTHING(__tsan_mutex_create, void*, unsigned)
NOTHING(__tsan_mutex_destroy, void*, unsigned)
NOTHING(__tsan_mutex_pre_lock, void*, unsigned)
NOTHING(__tsan_mutex_post_lock, void*, unsigned, int)
NOTHING(__tsan_mutex_post_unlock, void*, unsigned)
NOTHING(__tsan_mutex_pre_signal, void*, unsigned)
NOTHING(__tsan_mutex_post_signal, void*, unsigned)
NOTHING(__tsan_mutex_pre_divert, void*, unsigned)
NOTHING(__tsan_mutex_post_divert, void*, unsigned)
SYNCOPATE_EXPORT int __tsan_mutex_pre_unlock(void*, unsigned) { return 0; }

// The caller's frame pointer: its variables lie below. (Programs for the machines that ask have
// frame pointers.)
SYNCOPATE_EXPORT void __tsan_func_exit() {
  if (!instrument::in_program()) return;
  const instrument::engine_scope inside;
  engine::leaves(*static_cast<const engine::address*>(__builtin_frame_address(0)),
                 SYNCOPATE_CALLER);
}

// A program's claims about what is ordered where the compiler cannot see it.
SYNCOPATE_EXPORT void __tsan_acquire(void*) {
  if (!instrument::in_program()) return;
  const instrument::engine_scope inside;
  engine::fence(std::memory_order_acquire, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void __tsan_release(void*) {
  if (!instrument::in_program()) return;
  const instrument::engine_scope inside;
  engine::fence(std::memory_order_release, SYNCOPATE_CALLER);
}
