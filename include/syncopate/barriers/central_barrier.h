// central_barrier.h -- one counter, one word that all watch.
//
// Source        Hensgen, Finkel & Manber, IJPP 17(1), 1988; Mellor-Crummey & Scott, ACM TOCS 9(1),
//               1991, algorithm 7 (sense-reversing). How we deviate: an episode number takes the
//               place of the sense, so that a participant needs no state of its own.
// Fairness      all go on together.
// Space         8 B in 128 (two cache lines), 0 B per participant.
// Uncontended   the last to arrive: 2 loads + 1 RMW + 2 stores.
// Contended     n RMWs on one line; the end of an episode invalidates n - 1 waiters.
//
// Invariants
//   I1  missing_ is the number of participants that have not arrived in this episode; only the last
//       to arrive sets it again, before it ends the episode.
//   I2  episode_ changes only when all have arrived; so it stands still between a participant's
//       look and its own arrival.
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of missing_: what each did before it arrived happens-before the last arrival.
//   [R]  release store (or RMW) of episode_ by the last -- synchronizes with [A].
//   [A]  acquire load of episode_: what all did before happens-before what we do after.
//   [X]  relaxed: episode_ before our arrival (I2), missing_ while nobody can be there (I1).
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class central_barrier {
 public:
  static constexpr barrier_traits traits{.summary = "one counter, one word that all watch",
                                         .source = "Mellor-Crummey & Scott 1991, algorithm 7"};

  // For `count` participants (1 and up).
  explicit central_barrier(std::uint32_t count) noexcept : count_(count), missing_(count) {}

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t /*participant*/ = 0) noexcept {
    const std::uint32_t episode = episode_.load(std::memory_order_relaxed) & ~parked;  // [X]
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {                       // [N]
      missing_.store(count_, std::memory_order_relaxed);                               // [X]
      end(episode + step);
    } else {
      Wait::until(
          episode_, std::memory_order_acquire,  // [A]
          [episode](std::uint32_t now) { return (now & ~parked) != episode; }, parked);
    }
  }

 private:
  static constexpr std::uint32_t parked = 1, step = 2;

  void end(std::uint32_t next) noexcept {
    if constexpr (Wait::parks) {
      if ((episode_.exchange(next, std::memory_order_release) & parked) != 0)  // [R]
        machine::wake(&episode_, INT32_MAX);
    } else {
      episode_.store(next, std::memory_order_release);  // [R]
    }
  }

  const std::uint32_t count_;
  alignas(64) std::atomic<std::uint32_t> missing_;
  alignas(64) std::atomic<std::uint32_t> episode_{0};
};

}  // namespace syncopate
