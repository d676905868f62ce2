// fences.h -- L3: fences that cost nothing where the processor has already done their work.
#pragma once

#include <syncopate/machine.h>

#include <atomic>

namespace syncopate::tm {

// A sequentially consistent fence, right behind a read-modify-write operation of the same thread:
// on x86-64, that was one. Modeled machines go by the language's rules, where it is none.
[[gnu::always_inline]] inline void fence_after_rmw() noexcept {
  if constexpr (machine::is_modeled) std::atomic_thread_fence(std::memory_order_seq_cst);
  else std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace syncopate::tm
