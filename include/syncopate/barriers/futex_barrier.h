// futex_barrier.h -- a counter; who waits sleeps in the kernel. What pthread and GNU OpenMP give.
//
// Source        GNU libgomp's bar.c; pthread_barrier before glibc 2.25 is alike. How we deviate:
//               Poll is the number of polls before sleeping: 0 as in pthread; libgomp's default is
//               time-based and large, and with more threads than processors about 1000.
// Fairness      all go on together.
// Space         192 B (three cache lines), 0 B per participant.
// Uncontended   the last to arrive: 2 loads + 1 RMW + 2 stores + 1 system call.
// Contended     n RMWs on one line; n - 1 sleeps, and one call that wakes them all.
//
// Invariants
//   I1  missing_ is the number of participants that have not arrived in this episode; only the last
//       to arrive sets it again, before it ends the episode.
//   I2  episode_ changes only when all have arrived; who sleeps on an old value is woken by the
//       call after the change.
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of missing_: what each did before it arrived happens-before the last arrival.
//   [R]  release store of episode_ by the last -- synchronizes with [A].
//   [A]  acquire load of episode_: what all did before happens-before what we do after.
//   [X]  relaxed: episode_ before our arrival (I2), missing_ while nobody can be there (I1).
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <int Polls = 0>
class futex_barrier {
 public:
  static constexpr barrier_traits traits{
      .summary = Polls == 0 ? "a counter; waiters sleep at once, as pthread's do"
                            : "a counter; waiters poll a little, then sleep, as GNU OpenMP's do",
      .source = "GNU libgomp, bar.c"};

  // For `count` participants (1 and up).
  explicit futex_barrier(std::uint32_t count) noexcept : count_(count), missing_(count) {}

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t /*participant*/ = 0) noexcept {
    const std::uint32_t episode = episode_.load(std::memory_order_relaxed);  // [X]
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {             // [N]
      missing_.store(count_, std::memory_order_relaxed);                     // [X]
      episode_.store(episode + 1, std::memory_order_release);                // [R]
      machine::wake(&episode_, INT32_MAX);
      return;
    }
    for (std::uint32_t left = machine::polls(Polls); left != 0; --left) {
      if (episode_.load(std::memory_order_acquire) != episode) return;  // [A]
      machine::relax();
    }
    while (episode_.load(std::memory_order_acquire) == episode)  // [A]
      machine::park(episode_, episode);
  }

  // Asserts the invariants. Requires: all have arrived, and nobody does meanwhile.
  void check_invariants() const noexcept {
    assert(missing_.load(std::memory_order_relaxed) == count_);  // I1 [X]
  }

 private:
  const std::uint32_t count_;
  alignas(64) std::atomic<std::uint32_t> missing_;
  alignas(64) std::atomic<std::uint32_t> episode_{0};
};

}  // namespace syncopate
