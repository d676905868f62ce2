// dependence.h -- which steps of different threads do not commute (search.h): for a step that has
// been made, the earlier ones whose order with it matters; for a thread that sleeps, whether a step
// wakes it.
#pragma once

#include "alternatives.h"
#include "assumptions.h"
#include "model/explored/memory/memory.h"
#include "model/explored/run/meetings.h"
#include "model/explored/run/thread_table.h"
#include "search.h"
#include "symmetric.h"

#include <array>
#include <cstdint>
#include <optional>

namespace syncopate::explored {

class dependence {
 public:
  dependence(memory& m, search& s, thread_table& threads, meetings& where,
             const assumptions& assumed, alternatives& possible)
      : memory_(m),
        search_(s),
        threads_(threads),
        meetings_(where),
        assumed_(assumed),
        alternatives_(possible) {}

  void forget();  // an execution begins

  // The running thread's step begins; in it, what it could not have changed; its end, for search.
  void begin_step() noexcept { symmetric_.clear(); }
  // The read-modify-writes without which the compare-exchange or take could have succeeded.
  void note_claims(const operation&);
  void end_step(const step&);

  // Does the thread's next operation, after this step, still do what it would have done before?
  [[nodiscard]] bool order_matters(thread_index, const step& done);

  // Nobody can run, or nobody is to: what could have come before what keeps it from that.
  void note_blocked();

 private:
  using last_of_each = symmetric_steps::last_of_each;

  void collect_symmetric(const step&);
  void collect_of_transaction(const step&);
  void collect_of_futex(address, const step&);
  void collect_of_arrival(const step&);
  void add_sharers(address, bool exclusive);
  void add_parks(address, last_of_each&);
  void add_symmetric(const last_of_each& steps) {
    symmetric_.add(steps, threads_.count(), threads_.current());
  }
  void note_made(const step&, std::uint32_t made);
  void note_transaction_made(const step&, std::uint32_t made);

  [[nodiscard]] bool is_blocked(unsigned t);
  void note_blocked_await(unsigned);
  void note_blocked_take(unsigned);
  void note_blocked_share(unsigned);
  void note_disabling(const operation&, message_id seen);
  [[nodiscard]] std::optional<std::uint32_t> takes_before(const operation&, std::uint32_t before,
                                                          std::uint32_t first);

  [[nodiscard]] bool matters_before_transaction(thread_index, const step& done);
  [[nodiscard]] static bool matters_at_meeting(const operation& next, const step& done);
  [[nodiscard]] bool matters_to_s(thread_index, const step& done);
  [[nodiscard]] bool matters_to_futex(const operation& next, const step& done) const;
  [[nodiscard]] bool is_sc(const operation&) const noexcept;
  [[nodiscard]] bool polls_what_changed(thread_index, const step& done) const;
  [[nodiscard]] bool takes_news(const operation& next, const step& done, message_id since);
  [[nodiscard]] bool is_kept_by_s(thread_index, const step& done);
  [[nodiscard]] bool futex_order_matters(const step& done, action next, std::uint32_t bitset) const;
  [[nodiscard]] static bool matters_to_transaction(const footprint& sleeper, const step& done);
  [[nodiscard]] bool matters_after_transaction(const footprint& done, thread_index) const;

  memory& memory_;
  search& search_;
  thread_table& threads_;
  meetings& meetings_;
  const assumptions& assumed_;
  alternatives& alternatives_;
  symmetric_steps symmetric_;
  // 1 + the last of each thread: seq_cst fence or transaction; seq_cst step; transaction that ran;
  // that committed.
  last_of_each fence_step_{}, sc_step_{}, transaction_step_{}, commit_step_{};
};

}  // namespace syncopate::explored
