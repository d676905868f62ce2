// combining_tree_barrier.h -- a tree of counters; the last at each goes on to the one above.
//
// Source        Yew, Tzeng & Lawrie, IEEE TC 36(4), 1987; Mellor-Crummey & Scott, ACM TOCS 9(1),
//               1991, algorithm 8. How we deviate: all watch one word for the end, which is cheap
//               where caches broadcast (the paper's own advice, section 3.6), and works with every
//               waiting strategy.
// Fairness      all go on together.
// Space         128 B (adaptive: 192 B), and about 64 B per 3 participants.
// Uncontended   the last to arrive: log4(n), rounded up, RMWs and as many stores; then 1 store
//               (parking: 1 RMW).
// Contended     at most 4 RMWs on any line; the end of an episode invalidates n - 1 waiters.
//
// Invariants
//   I1  A counter is the number of arrivals that it lacks in this episode; only the last to arrive
//       at it sets it again, before it goes on to the one above.
//   I2  The episode changes only when all have arrived; so it stands still between a participant's
//       look and its own arrival.
//   I3  A counter at which nobody will arrive any more has left the one above, at its last arrival.
//
// Memory order  in barriers/parts.h.
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/parts.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/wait/all.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace syncopate {

template <class Wait = waits::spin, class Completion = no_completion>
class combining_tree_barrier {
 public:
  using wait_strategy = Wait;
  using arrival_token = typename episode<Wait>::token;
  static constexpr barrier_traits traits{
      .numbered = true,
      .split = true,
      .drop = true,
      .completion = true,
      .allocates = true,
      .summary = "a tree of counters, four arrivals at each; one word that all watch",
      .source = "Yew, Tzeng & Lawrie 1987"};

  // For `count` participants (1 and up); `completion` as in central_barrier.h.
  explicit combining_tree_barrier(std::uint32_t count, Completion completion = {})
      : nodes_(std::make_unique<arrival_counter[]>(nodes_for(count))),
        leaves_(groups(count)),
        episode_(count),
        completion_(std::move(completion)) {
    std::uint32_t first = 0;
    for (std::uint32_t below = count; below > 1 || first == 0; below = groups(below)) {
      for (std::uint32_t i = 0; i < groups(below); ++i)
        nodes_[first + i].expect(std::min(fan_in, below - i * fan_in));
      first += groups(below);
    }
  }

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant) noexcept {
    wait(arrive(participant), participant);
  }

  // Arrives without waiting. Returns what wait() takes.
  [[nodiscard]] arrival_token arrive(std::uint32_t participant) noexcept {
    const arrival_token token = episode_.current();  // I2
    climb(participant, false);
    return token;
  }

  // Blocks until the episode has ended in which arrive() returned the token.
  void wait(arrival_token token, std::uint32_t /*participant*/ = 0) noexcept {
    episode_.wait_past(token);
  }

  // Arrives for the last time: later episodes are one participant smaller. Does not wait.
  void arrive_and_drop(std::uint32_t participant) noexcept { climb(participant, true); }

  // Asserts the invariants. Requires: all have arrived, and nobody does meanwhile.
  void check_invariants() const noexcept {
    for (std::uint32_t i = 0; i < leaves_; ++i) nodes_[i].check_set(nodes_[i].expected());  // I1
    std::uint32_t first = 0;
    for (std::uint32_t width = leaves_; width > 1; width = groups(width)) {
      for (std::uint32_t i = 0; i < groups(width); ++i) {
        std::uint32_t inhabited = 0;
        for (std::uint32_t j = i * fan_in; j < std::min(width, (i + 1) * fan_in); ++j)
          inhabited += nodes_[first + j].is_deserted() ? 0 : 1;
        nodes_[first + width + i].check_set(inhabited);  // I1, I3
      }
      first += width;
    }
  }

 private:
  // Four: few enough RMWs on one line, few enough levels (the TOCS paper, section 3.4, has fan-in 4
  // in its tree barrier).
  static constexpr std::uint32_t fan_in = 4;

  static constexpr std::uint32_t groups(std::uint32_t below) noexcept {
    return (below + fan_in - 1) / fan_in;
  }
  static constexpr std::uint32_t nodes_for(std::uint32_t count) noexcept {
    std::uint32_t nodes = 1;  // the root
    while ((count = groups(count)) > 1) nodes += count;
    return nodes;
  }

  // `index` is a participant at first, then a counter of the level; the one above: index / fan_in.
  void climb(std::uint32_t index, bool leaves) noexcept {
    std::uint32_t first = 0, width = leaves_;
    for (;;) {
      index /= fan_in;
      arrival_counter& here = nodes_[first + index];
      if (!here.arrive(leaves)) return;
      leaves = here.is_deserted();  // I3
      if (width == 1) break;
      first += width;
      width = groups(width);
    }
    completion_();
    episode_.end();
  }

  const std::unique_ptr<arrival_counter[]> nodes_;  // level by level, the leaves first
  const std::uint32_t leaves_;
  episode<Wait> episode_;
  [[no_unique_address]] Completion completion_;
};

}  // namespace syncopate
