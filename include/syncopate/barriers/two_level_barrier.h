// two_level_barrier.h -- a counter per memory node, one for the nodes, one word that all watch.
//
// Source        Akkan, Lang & Ionkov, LA-UR-13-26575, section III-B. How we deviate: the paper's
//               runtime knows where its pinned threads are; here the first episode has one level
//               and learns it. A participant that moves later keeps the node of its first arrival:
//               that costs time, and is never wrong. An episode number takes the place of
//               resetting the monitored word.
// Fairness      all go on together.
// Space         64 B * (nodes + 2), 4 B per participant.
// Uncontended   the last to arrive: 2 RMWs.
// Contended     n RMWs on as many lines as there are nodes, one RMW per node on the common one; the
//               end of an episode invalidates n - 1 waiters, who do not poll (waits::monitor).
//
// Invariants
//   I1  A counter is the number of arrivals that it lacks in this episode; only the last to arrive
//       at it sets it again, before it goes on to the next level.
//   I2  episode_ changes only when all have arrived; so it stands still between a participant's
//       look and its own arrival.
//   I3  members and home_ are written in episode 0 only; occupied_ at its end.
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of a counter: what each did before it arrived happens-before the last arrival.
//   [R]  release store of episode_ by the last -- synchronizes with [A].
//   [A]  acquire load of episode_: what all did before happens-before what we do after.
//   [X]  relaxed: ordered by [N] and [A], or before our arrival (I2).
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace syncopate {

template <class Wait = waits::monitor>
class two_level_barrier {
  static_assert(!Wait::parks, "nobody would wake the sleeper");

 public:
  static constexpr barrier_traits traits{
      .numbered = true,
      .summary = "a counter per memory node, one for the nodes, one word that all watch",
      .source = "Akkan, Lang & Ionkov 2013, section III-B"};

  // For `count` participants (1 and up).
  explicit two_level_barrier(std::uint32_t count)
      : nodes_(machine::node_count()),
        home_(std::make_unique<std::uint32_t[]>(count)),
        node_(std::make_unique<node[]>(nodes_)),
        missing_(count) {}

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant) noexcept {
    const std::uint32_t episode = episode_.load(std::memory_order_relaxed);  // [X]
    if (episode == 0 ? arrive_first(participant) : arrive(node_[home_[participant]]))
      episode_.store(episode + 1 != 0 ? episode + 1 : 1, std::memory_order_release);  // [R]
    else
      Wait::until(
          episode_, std::memory_order_acquire,  // [A]
          [episode](std::uint32_t now) { return now != episode; }, 0);
  }

 private:
  struct alignas(64) node {
    std::atomic<std::uint32_t> missing{0};
    std::atomic<std::uint32_t> members{0};
  };

  // Returns whether the caller is the last of all.
  bool arrive(node& mine) noexcept {
    if (mine.missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;  // [N]
    mine.missing.store(mine.members.load(std::memory_order_relaxed),              // [X]
                       std::memory_order_relaxed);                                // [X]
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;      // [N]
    missing_.store(occupied_, std::memory_order_relaxed);                         // [X]
    return true;
  }

  // Episode 0: everybody arrives at the common counter, and says where it lives.
  bool arrive_first(std::uint32_t participant) noexcept {
    const std::uint32_t here = machine::node() % nodes_;
    home_[participant] = here;
    node_[here].members.fetch_add(1, std::memory_order_relaxed);              // [X]
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;  // [N]
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      const std::uint32_t members = node_[i].members.load(std::memory_order_relaxed);  // [X]
      node_[i].missing.store(members, std::memory_order_relaxed);                      // [X]
      if (members != 0) ++occupied_;
    }
    missing_.store(occupied_, std::memory_order_relaxed);  // [X]
    return true;
  }

  const std::uint32_t nodes_;
  std::uint32_t occupied_ = 0;  // nodes with participants
  const std::unique_ptr<std::uint32_t[]> home_;
  const std::unique_ptr<node[]> node_;
  alignas(64) std::atomic<std::uint32_t> missing_;
  alignas(64) std::atomic<std::uint32_t> episode_{0};
};

}  // namespace syncopate
