// fences.h -- the runtime's fences: those that cost nothing where the processor has done
// their work, and the heavy one of an asymmetric pair, which the kernel may come to refuse.
//
// State of light_fences
//   free       machine::light_fence() costs nothing; heavy_fence() makes all processors execute one
//   changing   a thread found that the kernel refuses that (a filter of system calls that the
//              program has set up): light fences become full ones
//   full       every thread's are
//
// Memory order (each tag stands at its site below)
//   [R]  fence that makes an RMW a full fence in the language's terms; a compiler barrier where the
//        processor has done it.
//   [P]  release fence, also for stores that the compiler or the program makes non-temporal.
//   [H]  acquire fence and load: who has seen a thread behind the membarrier that failed sees also
//        that light fences are `changing`.
//   [L]  compiler barrier for a fence that heavy_fence() makes the processor execute.
//   [F]  relaxed: the child of a fork has one thread.
#pragma once

#include <syncopate/machine.h>

#include <atomic>

namespace syncopate::tm {

// A sequentially consistent fence, right behind a read-modify-write operation of the same thread:
// on x86-64, that was one. Modeled machines go by the language's rules, where it is none.
[[gnu::always_inline]] inline void fence_after_rmw() noexcept {
  if constexpr (machine::is_modeled) std::atomic_thread_fence(std::memory_order_seq_cst);  // [R]
  else std::atomic_signal_fence(std::memory_order_seq_cst);                                // [R]
}

// A release fence, also for what the program's own code stores next: it may use stores that pass
// others (movnt, in a large memcpy), unlike this library's.
[[gnu::always_inline]] inline void program_store_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_release);  // [P]
  if constexpr (!machine::is_modeled) __builtin_ia32_sfence();
}

enum class fences : unsigned char { free, changing, full };
inline constinit std::atomic<fences> light_fences{fences::free};

// Returns when all light fences are full ones, and all that came before is seen. Does not return
// where the kernel refuses that, too: one line, and abort() (products/libitm/refused_fence.cpp).
void make_light_fences_full() noexcept;

// To be paired with machine::light_fence().
inline void heavy_fence() noexcept {
  const bool done = machine::heavy_fence();
  if constexpr (!machine::is_modeled) {
    // Who has seen that light fences are going to be full sees that they may not be yet.
    std::atomic_thread_fence(std::memory_order_acquire);  // [H]
    if (__builtin_expect(
            !done || light_fences.load(std::memory_order_acquire) == fences::changing,  // [H]
            0))
      make_light_fences_full();
  }
}

// Of this kernel; and: a thread that runs on another processor is switched away there
// (products/libitm/refused_fence.cpp).
[[nodiscard]] bool kernel_makes_fences_cheap() noexcept;
void visit_all_processors() noexcept;

// Whether light fences cost nothing. Modeled machines have no kernel that could change it.
[[nodiscard]] inline bool light_fences_cost_nothing() noexcept {
  if constexpr (machine::is_modeled) return true;
  else return kernel_makes_fences_cheap();
}
// A light fence where they do.
[[gnu::always_inline]] inline void costless_fence() noexcept {
  if constexpr (machine::is_modeled) machine::light_fence();
  else std::atomic_signal_fence(std::memory_order_seq_cst);  // [L]
}

// Behind a heavy_fence() that is paired with code that has no light fence, since those cost nothing
// when it was allowed to run.
inline void make_up_for_missing_light_fences() noexcept {
  if constexpr (!machine::is_modeled) {
    if (__builtin_expect(!light_fences_cost_nothing(), 0)) visit_all_processors();
  }
}

// In the child of a fork. A thread that was changing them is not there.
inline void settle_light_fences() noexcept {
  if (light_fences.load(std::memory_order_relaxed) == fences::free)  // [F]
    machine::prepare_asymmetric_fences();
  else light_fences.store(fences::full, std::memory_order_relaxed);  // [F]
}

}  // namespace syncopate::tm
