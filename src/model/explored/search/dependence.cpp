// dependence.cpp -- which steps of different threads do not commute (search.h).
#include "model/explored/run/machine.h"

#include <algorithm>
#include <optional>

namespace syncopate::explored {

// Of a transaction that ran: other transactions, unless both aborted; seq_cst operations, since its
// end is a fence; writes of what it read, since it reads the newest; and of what it wrote, since
// that stands last; parks on that.
void machine::collect_of_transaction(const step& s) {
  std::array<std::uint32_t, max_threads> last{};
  const auto add = [&](const std::array<std::uint32_t, max_threads>& steps) {
    for (unsigned t = 0; t < threads_.count(); ++t) last[t] = std::max(last[t], steps[t]);
  };
  add(s.touched->committed ? transaction_step_ : commit_step_);
  if (s.touched->committed) add(sc_step_);
  for (const footprint::word& w : s.touched->words) {
    if (w.read || w.wrote) add(memory_.at(w.where).write_step);
    if (w.wrote) add_parks(w.at, last);
  }
  add_symmetric(last);
}

// What an await could take, were it made before the step: of the messages from `first` on, in
// modification order, one that does not depend on the step. Its source: 1 + a step, or 0.
std::optional<std::uint32_t> machine::takes_before(const operation& op, std::uint32_t before,
                                                   std::uint32_t first) {
  const auto& order = memory_.at(op.where).order;
  std::optional<std::uint32_t> result;
  for (auto m = order.rbegin(); m != order.rend() && memory_.get(*m).position >= first; ++m) {
    const message& each = memory_.get(*m);
    if (!op.satisfied(op.context, static_cast<std::uint64_t>(each.value))) continue;
    const bool follows =
        each.step != 0 &&
        search_.at(each.step - 1).past.covers(search_.at(before).thread, before + 1);
    if (!follows) result = std::min(each.step, result.value_or(each.step));
  }
  return result;
}

// A seq_cst await could come before a step that has moved S, unless that step has moved S past what
// the await waits for, and all such that has come since depends on the step. Then it could not, but
// perhaps before an earlier one. (The steps that move S at a location are in one order.)
// seen: the oldest message that the await's thread could read without S.
void machine::note_disabling(const operation& op, message_id seen) {
  const location& l = memory_.at(op.where);
  const clock& own = search_.past_of(threads_.current());
  message_id floor = l.sc_floor;
  auto move = l.sc_moves.rbegin();
  bool disables = false;
  for (std::uint32_t i = search_.depth(); i-- > 0;) {
    for (; move != l.sc_moves.rend() && move->step >= i; ++move) floor = move->from;
    const step& s = search_.at(i);
    const bool moves = s.what == action::fence || s.what == action::transaction ||
                       (s.where == op.where && (s.wrote || s.raised_sc));
    if (!s.is_sc || !moves || s.thread == threads_.current() || own.covers(s.thread, i + 1))
      continue;
    const auto source =
        takes_before(op, i, std::max(memory_.get(seen).position, memory_.get(floor).position));
    if (source && disables) search_.add_hidden(i, *source);
    if (source) return;
    disables = true;
  }
}

// The earlier steps of others whose order with this one matters (search.h).
void machine::collect_symmetric(const step& s) {
  if (s.what == action::transaction) {
    if (s.ran_transaction()) collect_of_transaction(s);
    return;
  }
  if (s.what == action::arrive) collect_of_arrival(s);
  if (s.what == action::share) add_sharers(s.at, s.expected != 0);
  if (s.wrote) add_symmetric(memory_.at(s.where).transaction_step);
  if (s.is_sc && s.what == action::fence) add_symmetric(sc_step_);
  else if (s.is_sc) add_symmetric(fence_step_);
  if (s.is_sc && s.where != memory::none) {
    const location& l = memory_.at(s.where);
    add_symmetric(s.wrote || s.raised_sc ? l.sc_step : l.sc_change_step);
    if (s.what == action::await) note_disabling(me().next, l.readings.back().floor);
  }
  if (is_futex(s.what)) {
    collect_of_futex(s.at, s);
    if (s.what == action::park && s.where != memory::none)
      add_symmetric(memory_.at(s.where).write_step);
    if (s.what == action::requeue) collect_of_futex(s.other, s);
  }
  if (!s.wrote || futexes_.is_empty()) return;
  std::array<std::uint32_t, max_threads> parks{};
  add_parks(s.at, parks);
  add_symmetric(parks);
}

// Those who arrived in earlier groups: this thread could have been in theirs. Within a group there
// is no order.
void machine::collect_of_arrival(const step& s) {
  std::array<std::uint32_t, max_threads> last{};
  const auto before = static_cast<std::uint64_t>(s.result);
  const auto& all = gatherings_.at(s.at).arrived;
  for (std::uint64_t i = 0; i < before - before % static_cast<std::uint64_t>(s.expected); ++i)
    last[all[i].thread] = all[i].step;
  add_symmetric(last);
}

// Those who got the reader-writer lock before, unless both read. Who gives it back comes before
// whoever has to wait for that, and never could come after.
void machine::add_sharers(address at, bool exclusive) {
  std::array<std::uint32_t, max_threads> last{};
  for (const sharing::part& p : sharing_at(at).all)
    if (p.view == nullptr && (p.exclusive || exclusive)) last[p.thread] = p.step;
  add_symmetric(last);
}

void machine::note_blocked_share(unsigned t) {
  const operation& op = threads_[t].next;
  if (may_share(op)) return;
  symmetric_.clear();
  const thread_table::as_if_running as(threads_, t);
  add_sharers(op.at, op.expected != 0);
  search_.blocked(threads_.current(), memory::none, symmetric_.data(), symmetric_.size());
}

// Nobody can run, or nobody is to: seq_cst awaits that S keeps from what they wait for could have
// come before what has moved S, and takes before what has taken it. (All others wait for what can
// still be read later.)
void machine::note_blocked() {
  for (unsigned t = 0; t < threads_.count(); ++t) {
    const operation& op = threads_[t].next;
    if (threads_[t].now == thread_state::announced && op.what == action::take) note_blocked_take(t);
    if (threads_[t].now == thread_state::announced && op.what == action::share)
      note_blocked_share(t);
    if (threads_[t].now != thread_state::announced || threads_[t].late ||
        op.what != action::await || op.order != std::memory_order_seq_cst ||
        (available(static_cast<thread_index>(t)) & ((choices{1} << max_choices) - 1)) != 0)
      continue;
    symmetric_.clear();
    const thread_table::as_if_running as(threads_, t);
    add_symmetric(fence_step_);
    add_symmetric(memory_.at(op.where).sc_change_step);
    const auto& newest = memory_.of(threads_.current()).newest;
    note_disabling(op, op.where < newest.size() ? newest[op.where] : 0);
    search_.blocked(threads_.current(), op.where, symmetric_.data(), symmetric_.size());
  }
  symmetric_.clear();
}

void machine::note_blocked_take(unsigned t) {
  const operation& op = threads_[t].next;
  const auto newest = [&](choices all) { return all & ((choices{1} << max_choices) - 1); };
  if (newest(available(static_cast<thread_index>(t))) != 0) return;
  const thread_table::as_if_running as(threads_, t);
  record_claims(op);
  search_.blocked(threads_.current(), op.where, nullptr, 0);
}

void machine::collect_of_futex(address at, const step& s) {
  std::array<std::uint32_t, max_threads> last{};
  for (const std::uint32_t made : futexes_.at(at).steps)
    if (const step& done = search_.at(made - 1); futex_order_matters(done, s.what, s.bitset))
      last[done.thread] = made;
  add_symmetric(last);
}

// The last of each thread at the address, for a write there.
void machine::add_parks(address at, std::array<std::uint32_t, max_threads>& last) {
  const futex* const known = futexes_.find(at);
  if (known == nullptr) return;
  for (const std::uint32_t made : known->steps)
    if (const step& done = search_.at(made - 1); done.what == action::park)
      last[done.thread] = std::max(last[done.thread], made);
}

// Whether a futex operation does the same before and after another one at its address: where they
// mean different sleepers. Of two wakes, the second does the same unless the first took a sleeper
// that it means. Parks are ordered, since wakes take who came first; but for those
// that no wake means both of, while that is so (note_disjoint_waiters).
bool machine::futex_order_matters(const step& done, action next, std::uint32_t bitset) const {
  if (done.what == action::requeue || next == action::requeue) return true;
  if (done.what == action::park && next == action::park && parks_ordered_) return true;
  if (done.what == action::wake && next == action::wake) return (done.woken & bitset) != 0;
  return (done.bitset & bitset) != 0;
}

// A transaction that sleeps, and a step of another thread.
bool machine::matters_to_transaction(const footprint& sleeper, const step& done) const {
  if (done.ran_transaction()) return sleeper.committed || done.touched->committed;
  if (done.is_sc && sleeper.committed) return true;
  const footprint::word* const w = sleeper.find(done.at);
  return w != nullptr &&
         ((done.wrote && (w->read || w->wrote)) || (done.what == action::park && w->wrote));
}

// A transaction, and a thread that sleeps before something else.
bool machine::matters_after_transaction(const footprint& done, thread_index t) const {
  const operation& next = threads_[t].next;
  const bool is_sc =
      next.order == std::memory_order_seq_cst ||
      (next.what == action::compare_exchange && next.failure == std::memory_order_seq_cst);
  if (done.committed && is_sc && (next.what == action::fence || is_access(next.what))) return true;
  const bool may_write = next.what == action::store || next.what == action::modify ||
                         next.what == action::compare_exchange || next.what == action::take;
  for (const footprint::word& w : done.words) {
    if (may_write && w.where == next.where && (w.read || w.wrote)) return true;
    if (!w.wrote) continue;
    if (next.what == action::park && w.at == next.at) return true;
    if (next.what == action::relax)
      for (const polled& p : threads_[t].polls)
        if (p.where == w.where) return true;
  }
  return false;
}

// A compare-exchange or a take that sleeps, but for messages newer than `since` others: whether
// this step has taken one that it waited for.
bool machine::takes_news(const operation& next, const step& done, message_id since) {
  if ((next.what != action::compare_exchange && next.what != action::take) || !done.wrote ||
      done.where != next.where || done.what == action::store || !accepts(next, done.before))
    return false;
  const location& l = memory_.at(done.where);
  const message_id written = memory_.of(done.thread).newest[done.where];
  const std::uint32_t index = memory_.get(written).position - l.first_position;
  return index != 0 && l.order[index - 1] > since;
}

// Whether S alone keeps a thread from what this step has written: before what has moved S, it could
// read that. Only where it is made again behind both is it found that it depends on the other. (A
// store can stand on either side of the new message in both orders. Woken, it would come behind
// this step without depending on it, and stand for what is to be tried before this one, where it is
// asleep.)
bool machine::is_kept_by_s(thread_index t, const step& done) {
  const location& l = memory_.at(done.where);
  if (l.has_own_sequences) return true;
  const auto& newest = memory_.of(t).newest;
  const message_id seen = done.where < newest.size() ? newest[done.where] : 0;
  const auto position = [&](message_id m) { return m == 0 ? 0 : memory_.get(m).position; };
  const std::uint32_t written = position(memory_.of(done.thread).newest[done.where]);
  return written > position(seen) && written < position(l.sc_floor);
}

// The same question for a thread's next operation: does it, after this step, still do what it
// would have done before?
bool machine::order_matters(thread_index t, const step& done) {
  const operation& next = threads_[t].next;
  if (takes_news(next, done, search_.at(search_.depth() - 1).asleep[t] - 1)) return true;
  if (next.what == action::transaction) {
    for (const auto& [sleeper, touched] : search_.at(search_.depth() - 1).sleepers)
      if (sleeper == t && touched != nullptr) return matters_to_transaction(*touched, done);
    return true;
  }
  if (done.what == action::share)
    return next.what == action::share && done.at == next.at &&
           (done.expected != 0 || next.expected != 0);
  if (done.what == action::arrive)  // the group that the other would have been in is full
    return next.what == action::arrive && done.at == next.at &&
           (static_cast<word>(done.result) + 1) % done.expected == 0;
  if (done.what == action::transaction)
    return done.ran_transaction() && matters_after_transaction(*done.touched, t);
  const bool next_sc =
      next.order == std::memory_order_seq_cst ||
      (next.what == action::compare_exchange && next.failure == std::memory_order_seq_cst);
  if (done.is_sc && next_sc && (next.what == action::fence || is_access(next.what))) {
    if (done.what == action::fence || next.what == action::fence) return true;
    if (done.where == next.where) {
      const location& l = memory_.at(done.where);
      if (done.wrote || done.raised_sc || (next.what != action::load && next.what != action::await))
        return true;
      if (l.order.size() > 1 &&
          memory_.get(l.order.back()).position > memory_.get(l.sc_floor).position)
        return true;
    }
  }
  // (What it may read of what is new, it does: that is no change.)
  if (next_sc && done.wrote && done.where == next.where && is_access(next.what) &&
      next.what != action::store && is_kept_by_s(t, done))
    return true;
  if (is_futex(next.what) && is_futex(done.what)) {
    const auto at = [&](address a) { return a == next.at || (next.other != 0 && a == next.other); };
    if ((at(done.at) || (done.other != 0 && at(done.other))) &&
        futex_order_matters(done, next.what, next.bitset))
      return true;
  }
  if (next.what == action::park && done.wrote && done.at == next.at) return true;
  if (done.what == action::park && done.at == next.at &&
      (next.what == action::store || next.what == action::modify ||
       next.what == action::compare_exchange || next.what == action::take))
    return true;
  if (next.what == action::relax && done.wrote)
    for (const polled& p : threads_[t].polls)
      if (p.where == done.where) return true;
  return false;
}

}  // namespace syncopate::explored
