// dissemination_barrier.h -- log2(n) rounds; each signals one other and awaits one other.
//
// Source        Hensgen, Finkel & Manber, IJPP 17(1), 1988; Mellor-Crummey & Scott, ACM TOCS 9(1),
//               1991, algorithm 9. How we deviate: flags count episodes, which takes the place of
//               parity and sense. There is no last to arrive, so there is no completion function,
//               and arriving is waiting: no arrive(), no drop.
// Fairness      all go on together.
// Space         16 B, and 192 B per participant.
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
//   [S]  release store (or exchange) of the partner's flag -- synchronizes with [A].
//   [A]  acquire load of our flag: through the rounds, what all did before they arrived
//        happens-before what we do after.
//   [X]  relaxed: nobody is there.
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

namespace syncopate {

template <class Wait = waits::spin>
class dissemination_barrier {
 public:
  using wait_strategy = Wait;
  static constexpr barrier_traits traits{
      .numbered = true,
      .allocates = true,
      .summary = "log2(n) rounds, in each of which everybody signals one other",
      .source = "Mellor-Crummey & Scott 1991, algorithm 9"};

  // For `count` participants (1 and up).
  explicit dissemination_barrier(std::uint32_t count)
      : count_(count),
        rounds_(static_cast<std::uint32_t>(std::bit_width(count - 1))),
        rows_(std::make_unique<row[]>(count)) {
    if constexpr (requires(Wait w) { w.set_team(count); })
      for (std::uint32_t i = 0; i < count; ++i) rows_[i].wait.set_team(count);
  }

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant) noexcept {
    row& mine = rows_[participant];
    const std::uint32_t episode = mine.episode += step;
    for (std::uint32_t r = 0; r < rounds_; ++r) {
      const std::uint64_t partner = (participant + (std::uint64_t{1} << r)) % count_;
      signal(rows_[partner].flags[r], episode);
      mine.wait.until(
          mine.flags[r], std::memory_order_acquire,  // [A]
          [episode](std::uint32_t now) {
            return static_cast<std::int32_t>((now & ~parked) - episode) >= 0;
          },
          parked);
    }
  }

  // Asserts the invariants. Requires: nobody is in it.
  void check_invariants() const noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
      assert(rows_[i].episode == rows_[0].episode);  // I2
      for (std::uint32_t r = 0; r < rounds_; ++r)
        assert(rows_[i].flags[r].load(std::memory_order_relaxed) == rows_[0].episode);  // I1 [X]
    }
  }

 private:
  static constexpr std::uint32_t parked = 1, step = 2;

  // Only its owner sets a flag's bit `parked`; the signal clears it and wakes the owner (I1).
  static void signal(std::atomic<std::uint32_t>& flag, std::uint32_t episode) noexcept {
    if constexpr (Wait::parks) {
      const void* const address = &flag;
      if ((flag.exchange(episode, std::memory_order_release) & parked) != 0)  // [S]
        machine::wake(address, 1);
    } else {
      flag.store(episode, std::memory_order_release);  // [S]
    }
  }

  struct alignas(64) row {
    std::uint32_t episode = 0;
    std::atomic<std::uint32_t> flags[32]{};
    [[no_unique_address]] Wait wait;
  };

  const std::uint32_t count_, rounds_;
  const std::unique_ptr<row[]> rows_;
};

}  // namespace syncopate
