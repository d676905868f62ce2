// arrival_barrier.h -- barrier for threads that nobody has counted: whoever arrives is numbered,
// and each `count` arrivals end an episode.
//
// Source        ticket counter; our own. What POSIX asks of pthread_barrier_t: any thread may come
//               at any time, also more of them than the barrier counts.
// Fairness      FIFO: by arrival.
// Space         192 B.
// Uncontended   a barrier of one: 2 RMW.
// Contended     each arrival one RMW on one line; all watch another.
//
// Invariants
//   I1  Arrival n belongs to episode n / count.
//   I2  passed_ (without its lowest bit) is twice the number of an episode that has ended, and only
//       grows: the last of a later episode may be faster than the last of an earlier one.
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of the arrivals: what each did before happens-before the last of its episode,
//        and of all later ones.
//   [R]  release RMW of passed_ -- synchronizes with [A].
//   [A]  acquire load of passed_ by the strategy: what all did before happens-before what we do.
//   [X]  relaxed: what the RMW [R] begins with; or nobody is there.
//
// Checked by    tests/posix (test_barrier.cpp, under a policy). Not in barriers/all.h, whose
//               barriers have a fixed team.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait>
class arrival_barrier {
 public:
  explicit arrival_barrier(std::uint32_t count) noexcept : count_(count) {}

  // Blocks until the caller's episode is full. Returns whether the caller was its last arrival.
  bool arrive_and_wait() noexcept {
    const std::uint64_t mine = arrived_.fetch_add(1, std::memory_order_acq_rel);  // [N]
    const auto end = static_cast<std::uint32_t>(mine / count_ + 1) * step;
    if ((mine + 1) % count_ == 0) {
      pass(end);
      return true;
    }
    wait_.until(
        passed_, std::memory_order_acquire,  // [A]
        [end](std::uint32_t now) { return reaches(now, end); }, parked);
    return false;
  }

  // Asserts the invariants. Requires: nobody is in it.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint64_t arrived = arrived_.load(std::memory_order_relaxed);  // [X]
    assert(arrived % count_ == 0);                                                            // I1
    assert((passed_.load(std::memory_order_relaxed) & ~parked) ==                             // [X]
           static_cast<std::uint32_t>(arrived / count_) * step);                              // I2
  }

 private:
  static constexpr std::uint32_t parked = 1, step = 2;
  static bool reaches(std::uint32_t now, std::uint32_t end) noexcept {
    return static_cast<std::int32_t>((now & ~parked) - end) >= 0;
  }

  void pass(std::uint32_t end) noexcept {
    std::uint32_t seen = passed_.load(std::memory_order_relaxed);  // [X]
    do {
      if (reaches(seen, end)) return;
    } while (!passed_.compare_exchange_weak(seen, end, std::memory_order_release,  // [R]
                                            std::memory_order_relaxed));           // [X]
    if ((seen & parked) != 0) machine::wake(&passed_, INT32_MAX);
  }

  const std::uint32_t count_;
  [[no_unique_address]] Wait wait_;
  alignas(64) std::atomic<std::uint64_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> passed_{0};
};

}  // namespace syncopate
