// dissemination_barrier.h -- log2(n) rounds; each signals one other and awaits one other.
//
// Source        Hensgen, Finkel & Manber, IJPP 17(1), 1988; Mellor-Crummey & Scott, ACM TOCS 9(1),
//               1991, algorithm 9. How we deviate: flags count episodes, which takes the place of
//               parity and sense.
// Fairness      all go on together.
// Space         192 B per participant.
// Uncontended   rounds = ceil(log2 n): 1 store + 1 awaited load each.
// Contended     no RMW, no word with two writers; n * rounds misses, rounds of them in a row.
//
// Invariants
//   I1  flag r of participant p is written by one other participant only, and counts the episodes
//       in which that one had reached round r.
//   I2  A participant leaves episode e when all have arrived in e; so a flag is at most one episode
//       ahead of who watches it.
//
// Memory order (each tag stands at its site below)
//   [S]  release store of the partner's flag -- synchronizes with [A].
//   [A]  acquire load of our flag: through the rounds, what all did before they arrived
//        happens-before what we do after.
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace syncopate {

template <class Wait = waits::spin>
class dissemination_barrier {
  static_assert(!Wait::parks, "nobody would wake the sleeper");

 public:
  static constexpr barrier_traits traits{
      .numbered = true,
      .summary = "log2(n) rounds, in each of which everybody signals one other",
      .source = "Mellor-Crummey & Scott 1991, algorithm 9"};

  // For `count` participants (1 and up).
  explicit dissemination_barrier(std::uint32_t count)
      : count_(count),
        rounds_(static_cast<std::uint32_t>(std::bit_width(count - 1))),
        rows_(std::make_unique<row[]>(count)) {}

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant) noexcept {
    row& mine = rows_[participant];
    const std::uint32_t episode = ++mine.episode;
    for (std::uint32_t r = 0; r < rounds_; ++r) {
      const std::uint64_t partner = (participant + (std::uint64_t{1} << r)) % count_;
      rows_[partner].flags[r].store(episode, std::memory_order_release);  // [S]
      Wait::until(
          mine.flags[r], std::memory_order_acquire,  // [A]
          [episode](std::uint32_t now) { return static_cast<std::int32_t>(now - episode) >= 0; },
          0);
    }
  }

 private:
  struct alignas(64) row {
    std::uint32_t episode = 0;
    std::atomic<std::uint32_t> flags[32]{};
  };

  const std::uint32_t count_, rounds_;
  const std::unique_ptr<row[]> rows_;
};

}  // namespace syncopate
