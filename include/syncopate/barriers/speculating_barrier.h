// speculating_barrier.h -- who arrives early runs ahead into the next phase, for what it brings
// into the caches.
//
// Source        Izraelevitz, Xiang & Scott, PACT 2017, section III-D, figure 6 (after GNU libgomp).
//               How we deviate: who runs ahead and reaches a barrier stops there; waiting is a
//               strategy's; the last to arrive is counted with completion and drop.
// Fairness      all go on together.
// Space         128 B (adaptive: 192 B; the end of an episode is not on the line of arrivals, so
//               that an arrival aborts nobody), 0 B per participant.
// Uncontended   as central_barrier.h; who waits: 1 transaction more.
// Contended     the end of an episode aborts n - 1 transactions.
//
// Invariants
//   I1  The counter is the number of participants that have not arrived in this episode; only the
//       last to arrive sets it again, before it ends the episode.
//   I2  The episode changes only when all have arrived; so it stands still between a participant's
//       look and its own arrival.
//   I3  A thread that runs ahead has read the episode's word in its transaction, unchanged: the end
//       of the episode aborts it. It has arrived before, outside; nothing else of it is seen.
//
// Memory order  in barriers/parts.h.
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp (on the fallback
//               path), tests/simulated_engine/speculating_barrier.cpp.
#pragma once

#include <syncopate/barriers/parts.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/speculate.h>

#include <cstdint>
#include <utility>

namespace syncopate {

template <class Wait = waits::spin, class Completion = no_completion>
class speculating_barrier {
 public:
  using wait_strategy = Wait;
  using arrival_token = typename episode<Wait>::token;
  static constexpr barrier_traits traits{
      .split = true,
      .drop = true,
      .completion = true,
      .summary = "central; who is early runs ahead in a transaction that never commits",
      .source = "Izraelevitz, Xiang & Scott 2017, figure 6"};

  // For `count` participants (1 and up); `completion` as in central_barrier.h.
  explicit speculating_barrier(std::uint32_t count, Completion completion = {}) noexcept
      : episode_(count), completion_(std::move(completion)) {
    counter_.expect(count);
  }

  // Blocks until all have arrived, or until the calling thread runs ahead as if they had.
  // Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant = 0) noexcept {
    wait(arrive(participant), participant);
  }

  // Arrives without waiting. Returns what wait() takes. A thread that runs ahead ends here.
  [[nodiscard]] arrival_token arrive(std::uint32_t /*participant*/ = 0) noexcept {
    waits::speculation::abandon();
    const arrival_token token = episode_.current();  // I2
    if (counter_.arrive()) end();
    return token;
  }

  // Blocks until the episode has ended in which arrive() returned the token, or runs ahead.
  void wait(arrival_token token, std::uint32_t /*participant*/ = 0) noexcept {
    waits::speculation::abandon();
    for (int run = 0; run < max_runs_ahead && !episode_.is_past(token); ++run) {
      if (!waits::speculation::begin(this)) continue;
      if (episode_.is_past(token)) waits::speculation::abandon();  // I3
      return;
    }
    episode_.wait_past(token);
  }

  // Arrives for the last time: later episodes are one participant smaller. Does not wait.
  void arrive_and_drop(std::uint32_t /*participant*/ = 0) noexcept {
    waits::speculation::abandon();
    if (counter_.arrive(true)) end();
  }

  // Asserts the invariants. Requires: all have arrived, and nobody does meanwhile.
  void check_invariants() const noexcept { counter_.check_set(counter_.expected()); }  // I1

 private:
  // A run ended by a conflict with a late thread may be followed by another one; as in
  // speculative_tatas_lock.h.
  static constexpr int max_runs_ahead = 4;

  void end() noexcept {
    completion_();
    episode_.end();
  }

  arrival_counter counter_;
  episode<Wait> episode_;
  [[no_unique_address]] Completion completion_;
};

}  // namespace syncopate
