// alternatives.h -- what a thread can do next: the choices of the operation that it has announced
// (trace.h), as far as the options let it. None: it waits.
#pragma once

#include "assumptions.h"
#include "model/explored/memory/memory.h"
#include "model/explored/memory/sc_graph.h"
#include "model/explored/report/verdict.h"
#include "model/explored/run/meetings.h"
#include "model/explored/run/options.h"
#include "model/explored/run/thread_table.h"
#include "replay.h"
#include "search.h"

#include <cstdint>

namespace syncopate::explored {

class alternatives {
 public:
  alternatives(const options& o, memory& m, search& s, const thread_table& threads, meetings& where,
               const assumptions& assumed, sc_graph& orders, const replay& r,
               withheld_choices& withheld)
      : options_(o),
        memory_(m),
        search_(s),
        threads_(threads),
        meetings_(where),
        assumed_(assumed),
        orders_(orders),
        replay_(r),
        withheld_(withheld) {}

  void forget() noexcept { aborts_ = 0; }  // an execution begins
  void note_abort() noexcept { ++aborts_; }

  [[nodiscard]] choices of(thread_index);

  // Of the operation's choices, those that read a message which was written after `since` messages
  // existed.
  [[nodiscard]] choices news_of(const operation&, choices all, message_id since) const;

  // As choices: the n-th thread parked at the address.
  [[nodiscard]] choices waiters(address, std::uint32_t bitset) const;

  // Nobody can run: whether a loop that goes round in vain would read something else in the end,
  // when all that was written is visible.
  [[nodiscard]] bool somebody_goes_round_in_vain() const;

 private:
  [[nodiscard]] choices readable(thread_index, location_id, sc_graph::access,
                                 std::memory_order) const;
  [[nodiscard]] choices of_modify(thread_index, const operation&) const;
  [[nodiscard]] choices of_compare_exchange(thread_index, const thread&);
  [[nodiscard]] choices of_await(thread_index, const thread&);
  [[nodiscard]] choices of_take(thread_index, const thread&);
  [[nodiscard]] choices of_transaction(const operation&) const;
  [[nodiscard]] choices timed_out(thread_index, const thread&, choices others);
  [[nodiscard]] choices distinct(thread_index, const operation&, choices all,
                                 bool by_value = true) const;
  [[nodiscard]] choices timeout_of(const thread&);
  [[nodiscard]] choices spurious_of(const thread&);
  [[nodiscard]] choices with_vain(choices all, choices vain);
  [[nodiscard]] choices unbroken(thread_index, location_id, choices);
  [[nodiscard]] choices who_is_told(thread_index);
  [[nodiscard]] choices news_for(const thread&) const;
  [[nodiscard]] bool goes_round_in_vain(const thread&) const;
  [[nodiscard]] choices relax_choices(thread_index);

  const options& options_;
  memory& memory_;
  search& search_;
  const thread_table& threads_;
  meetings& meetings_;
  const assumptions& assumed_;
  sc_graph& orders_;
  const replay& replay_;
  withheld_choices& withheld_;
  unsigned aborts_ = 0;
};

}  // namespace syncopate::explored
