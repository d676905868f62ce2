// two_level_barrier.h -- a counter per memory node, one for the nodes, one word that all watch.
//
// Source        Akkan, Lang & Ionkov, LA-UR-13-26575, section III-B. How we deviate: the paper's
//               runtime knows where its pinned threads are; here the first episode has one level
//               and learns it. A participant that moves later keeps the node of its first arrival:
//               that costs time, and is never wrong. An episode number takes the place of
//               resetting the monitored word.
// Fairness      all go on together.
// Space         192 B (adaptive: 256 B), 68 B per node, 4 B per participant.
// Uncontended   the last to arrive: 2 RMWs (parking: 3).
// Contended     n RMWs on as many lines as there are nodes, one RMW per node on the common one; the
//               end of an episode invalidates n - 1 waiters, who do not poll (waits::monitor).
//
// Invariants
//   I1  A counter is the number of arrivals that it lacks in this episode; only the last to arrive
//       at it sets it again, before it goes on to the next level.
//   I2  The episode changes only when all have arrived; so it stands still between a participant's
//       look and its own arrival.
//   I3  members_ and home_ are written in the first episode only; placed_ and the nodes' counters
//       at its end, by the last to arrive.
//   I4  A node at which nobody will arrive any more has left the common counter.
//
// Memory order (parts.h has the others)
//   [X]  relaxed RMW of members_: the arrival behind it publishes it.
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp; several nodes by
//               tests/unit/test_barrier_nodes.cpp.
#pragma once

#include <syncopate/barriers/parts.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>

namespace syncopate {

template <class Wait = waits::monitor, class Completion = no_completion>
class two_level_barrier {
 public:
  using wait_strategy = Wait;
  using arrival_token = typename episode<Wait>::token;
  static constexpr barrier_traits traits{
      .numbered = true,
      .split = true,
      .drop = true,
      .completion = true,
      .allocates = true,
      .summary = "a counter per memory node, one for the nodes, one word that all watch",
      .source = "Akkan, Lang & Ionkov 2013, section III-B"};

  // For `count` participants (1 and up); `completion` as in central_barrier.h.
  explicit two_level_barrier(std::uint32_t count, Completion completion = {})
      : node_count_(machine::node_count()),
        home_(std::make_unique<std::uint32_t[]>(count)),
        nodes_(std::make_unique<arrival_counter[]>(node_count_)),
        members_(std::make_unique<std::atomic<std::uint32_t>[]>(node_count_)),
        episode_(count),
        completion_(std::move(completion)) {
    common_.expect(count);
  }

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant) noexcept {
    wait(arrive(participant), participant);
  }

  // Arrives without waiting. Returns what wait() takes.
  [[nodiscard]] arrival_token arrive(std::uint32_t participant) noexcept {
    const arrival_token token = episode_.current();  // I2
    arrive(participant, false);
    return token;
  }

  // Blocks until the episode has ended in which arrive() returned the token.
  void wait(arrival_token token, std::uint32_t /*participant*/ = 0) noexcept {
    episode_.wait_past(token);
  }

  // Arrives for the last time: later episodes are one participant smaller. Does not wait.
  void arrive_and_drop(std::uint32_t participant) noexcept { arrive(participant, true); }

  // Nodes that participants were found on; 0 before the first episode has ended. For tests.
  [[nodiscard]] std::uint32_t nodes_in_use() const noexcept { return in_use_; }

  // Requires: all have arrived, and nobody does again yet, as in the completion.
  void check_invariants() const noexcept {
    std::uint32_t inhabited = 0;
    for (std::uint32_t i = 0; i < node_count_; ++i) {
      nodes_[i].check_set(nodes_[i].expected());  // I1
      inhabited += nodes_[i].is_deserted() ? 0 : 1;
    }
    assert(placed_);
    common_.check_set(inhabited);  // I1, I4
  }

 private:
  void arrive(std::uint32_t participant, bool leaves) noexcept {
    if (!placed_) return arrive_first(participant, leaves);
    arrival_counter& mine = nodes_[home_[participant]];
    if (mine.arrive(leaves) && common_.arrive(mine.is_deserted())) end();  // I4
  }

  // Everybody arrives at the common counter, and says where it lives, unless it leaves at once.
  void arrive_first(std::uint32_t participant, bool leaves) noexcept {
    if (!leaves) {
      const std::uint32_t here = machine::node() % node_count_;
      home_[participant] = here;
      members_[here].fetch_add(1, std::memory_order_relaxed);  // [X]
    }
    if (!common_.arrive()) return;
    for (std::uint32_t i = 0; i < node_count_; ++i) {
      const std::uint32_t members = members_[i].load(std::memory_order_relaxed);  // [X]
      nodes_[i].expect(members);
      if (members != 0) ++in_use_;
    }
    common_.expect(in_use_);
    placed_ = true;
    end();
  }

  void end() noexcept {
    completion_();
    episode_.end();
  }

  const std::uint32_t node_count_;
  std::uint32_t in_use_ = 0;
  bool placed_ = false;
  const std::unique_ptr<std::uint32_t[]> home_;
  const std::unique_ptr<arrival_counter[]> nodes_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> members_;  // of the first episode
  arrival_counter common_;
  episode<Wait> episode_;
  [[no_unique_address]] Completion completion_;
};

}  // namespace syncopate
