// central_barrier.h -- one counter, one word that all watch.
//
// Source        Hensgen, Finkel & Manber, IJPP 17(1), 1988; Mellor-Crummey & Scott, ACM TOCS 9(1),
//               1991, algorithm 7 (sense-reversing). How we deviate: an episode number takes the
//               place of the sense, so that a participant needs no state of its own.
// Fairness      all go on together.
// Space         128 B (two cache lines; adaptive: 192 B), 0 B per participant.
// Uncontended   the last to arrive: 3 loads + 1 RMW + 2 stores (parking: 2 RMWs + 1 store).
// Contended     n RMWs on one line; the end of an episode invalidates n - 1 waiters.
//
// Invariants
//   I1  The counter is the number of participants that have not arrived in this episode; only the
//       last to arrive sets it again, before it ends the episode.
//   I2  The episode changes only when all have arrived; so it stands still between a participant's
//       look and its own arrival.
//
// Memory order  in barriers/parts.h.
//
// Checked by    tests/conformance/barrier_test.cpp,
//               tests/check/{barrier_check,team_wait_scenarios}.cpp, tests/openmp/team_monitor.cpp
//               (below a team), tests/simulated_engine/speculating_barrier.cpp.
#pragma once

#include <syncopate/barriers/parts.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/wait/all.h>

#include <cstdint>
#include <utility>

namespace syncopate {

template <class Wait = waits::spin, class Completion = no_completion>
class central_barrier {
 public:
  using wait_strategy = Wait;
  using arrival_token = typename episode<Wait>::token;
  static constexpr barrier_traits traits{.split = true,
                                         .drop = true,
                                         .completion = true,
                                         .summary = "one counter, one word that all watch",
                                         .source = "Mellor-Crummey & Scott 1991, algorithm 7"};

  // For `count` participants (1 and up). `completion` runs at the end of each episode, by the last
  // to arrive, before anybody goes on.
  explicit central_barrier(std::uint32_t count, Completion completion = {}) noexcept
      : episode_(count), completion_(std::move(completion)) {
    counter_.expect(count);
  }

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant = 0) noexcept {
    const arrival_token token = episode_.current();  // I2
    if (counter_.arrive()) end();
    else wait(token, participant);
  }

  // Arrives without waiting. Returns what wait() takes.
  [[nodiscard]] arrival_token arrive(std::uint32_t /*participant*/ = 0) noexcept {
    return arrive_many(1);
  }

  // For `arrivals` participants at once (1 and up).
  [[nodiscard]] arrival_token arrive_many(std::uint32_t arrivals) noexcept {
    const arrival_token token = episode_.current();  // I2
    if (counter_.arrive(false, arrivals)) end();
    return token;
  }

  // Blocks until the episode has ended in which arrive() returned the token.
  void wait(arrival_token token, std::uint32_t /*participant*/ = 0) noexcept {
    episode_.wait_past(token);
  }

  // Arrives for the last time: later episodes are one participant smaller. Does not wait.
  void arrive_and_drop(std::uint32_t /*participant*/ = 0) noexcept {
    if (counter_.arrive(true)) end();
  }

  // Asserts the invariants. Requires: all have arrived, and nobody does meanwhile.
  void check_invariants() const noexcept { counter_.check_set(counter_.expected()); }  // I1

 private:
  void end() noexcept {
    completion_();
    episode_.end();
  }

  arrival_counter counter_;
  episode<Wait> episode_;
  [[no_unique_address]] Completion completion_;
};

}  // namespace syncopate
