// noted_orders.cpp -- what is noted of accesses: which orders that are no order of execution the
// program may have, and where these are found or said to be missed.
#include "machine.h"

namespace syncopate::explored {

// Load buffering, which is not modeled, takes two threads that write something behind a load of
// something else, and do not both acquire and release.
void machine::note_load(location_id where, std::memory_order order) {
  thread& t = me();
  t.loaded_others |= t.loaded != memory::none && t.loaded != where;
  if (t.loaded == memory::none) t.loaded = where;
  t.loaded_weakly |= !acquires(order);
}

void machine::note_write_after_load(location_id where, std::memory_order order) {
  thread& t = me();
  if (t.loaded == memory::none || (t.loaded == where && !t.loaded_others)) return;
  if (!t.loaded_weakly && releases(order)) return;
  t.writes_after_load = true;
  unsigned many = 0;
  for (unsigned other = 0; other < threads_.count(); ++other)
    many += threads_[other].writes_after_load;
  verdict_.load_buffering |= many > 1;
}

// What S keeps from a seq_cst access (sc_orders.h): from a compare-exchange also that it succeeds.
void machine::note_kept(const operation& op) {
  if (!notes_orders() || op.what > action::await) return;
  const thread_index by = threads_.current();
  const location_id where = search_.now().where;
  const bool only_reads = op.what == action::load || op.what == action::await;
  const bool sc = op.order == std::memory_order_seq_cst;
  const bool reads_by_sc = op.what == action::compare_exchange
                               ? op.failure == std::memory_order_seq_cst
                               : sc && only_reads;
  if ((reads_by_sc && sc_orders_.keeps(by, where, true, false)) ||
      (sc && !only_reads && sc_orders_.keeps(by, where, op.what != action::store, true)))
    note_lack_of_orders();
}

// There are orders S that are no order of execution.
void machine::note_lack_of_orders() {
  if (assumed_.may_have_s_by_graph() && !verdict_.transactions) assumed_.find_s_by_graph();
  else verdict_.sc_orders = true;
}

// The program does what S can have no graph with.
void machine::take_s_from_execution() {
  const bool lacks_orders = assumed_.has_s_by_graph();
  if (!assumed_.take_s_from_execution()) return;
  verdict_.sc_orders |= lacks_orders && !replay_.is_on();
  end_execution(outcome::redundant);
}

// A park looks at its word in S.
void machine::note_read_in_graph(const operation& op, std::memory_order order, const clock& before,
                                 message_id m) {
  if (!memory_.has_s_by_graph()) return;
  const bool parks = op.what == action::park;
  if (op.what > action::compare_exchange && !parks) return;
  const bool sc = parks || order == std::memory_order_seq_cst;
  orders_.note(threads_.current(), before, op.where, m, false, sc);
}

// Where libstdc++ looks whether anybody waits, what its caller has written is before that in S, as
// the language promises of notifying: as if a fence stood there.
void machine::note_look_for_waiters(std::memory_order order, place from) {
  if (!memory_.has_s_by_graph() || order != std::memory_order_seq_cst) return;
  if (!notifiers_.look_for_waiters(from)) return;
  orders_.note_fence(threads_.current(), memory_.of(threads_.current()).happened);
  memory_.tick(threads_.current());
}

}  // namespace syncopate::explored
