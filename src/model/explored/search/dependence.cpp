// dependence.cpp -- see dependence.h.
#include "dependence.h"

#include <algorithm>
#include <atomic>
#include <optional>

namespace syncopate::explored {

namespace {
bool may_write(const operation& next) noexcept {
  return next.what == action::store || next.what == action::modify ||
         next.what == action::compare_exchange || next.what == action::take;
}
}  // namespace

// Where S is found by its graph, it makes no step depend on another one: all choices that have an S
// are there in either order.
bool dependence::is_sc(const operation& next) const noexcept {
  return !memory_.has_s_by_graph() &&
         (next.order == std::memory_order_seq_cst ||
          (next.what == action::compare_exchange && next.failure == std::memory_order_seq_cst));
}

void dependence::forget() {
  symmetric_.clear();
  fence_step_.fill(0);
  sc_step_.fill(0);
  transaction_step_.fill(0);
  commit_step_.fill(0);
}

// ---- steps that were made ---------------------------------------------------------------------

void dependence::end_step(const step& s) {
  if (search_.is_new()) collect_symmetric(s);
  search_.made(symmetric_.data(), symmetric_.size());
  note_made(s, search_.depth());
}

void dependence::note_made(const step& s, std::uint32_t made) {
  if (s.is_sc) {
    sc_step_[s.thread] = made;
    if (s.what == action::fence || s.what == action::transaction) fence_step_[s.thread] = made;
    else if (s.where != memory::none) {
      location& l = memory_.at(s.where);
      l.sc_step[s.thread] = made;
      if (s.wrote || s.raised_sc) l.sc_change_step[s.thread] = made;
    }
  }
  if (s.wrote) memory_.at(s.where).write_step[s.thread] = made;
  if (s.ran_transaction()) note_transaction_made(s, made);
  if (is_futex(s.what)) {
    meetings_.futexes.at(s.at).steps.push_back(made);
    if (s.what == action::requeue) meetings_.futexes.at(s.other).steps.push_back(made);
  }
}

void dependence::note_transaction_made(const step& s, std::uint32_t made) {
  transaction_step_[s.thread] = made;
  if (s.touched->committed) commit_step_[s.thread] = made;
  for (const footprint::word& w : s.touched->words) {
    location& l = memory_.at(w.where);
    if (w.read || w.wrote) l.transaction_step[s.thread] = made;
    if (w.wrote) l.write_step[s.thread] = made;
  }
}

// (S is no reason to leave one out: what has moved it can come later, too.)
void dependence::note_claims(const operation& op) {
  const location& l = memory_.at(op.where);
  const choices all = memory_.readable(threads_.current(), op.where, false) >> 1;
  for (choice c = 0; all >> c != 0; ++c) {
    const message& claimer = memory_.get(memory_.named(l, c));
    if (claimer.by_rmw && claimer.step != 0 &&
        accepts(op, memory_.get(memory_.named(l, c + 1)).value))
      search_.add_claim(claimer.step - 1);
  }
}

// Of a transaction that ran: other transactions, unless both aborted; seq_cst operations, since its
// end is a fence; writes of what it read, since it reads the newest; and of what it wrote, since
// that stands last; parks on that.
void dependence::collect_of_transaction(const step& s) {
  last_of_each last{};
  const auto add = [&](const last_of_each& steps) {
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
std::optional<std::uint32_t> dependence::takes_before(const operation& op, std::uint32_t before,
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
void dependence::note_disabling(const operation& op, message_id seen) {
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
void dependence::collect_symmetric(const step& s) {
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
    if (s.what == action::await) note_disabling(threads_.running().next, l.readings.back().floor);
  }
  if (is_futex(s.what)) {
    collect_of_futex(s.at, s);
    if (s.what == action::park && s.where != memory::none)
      add_symmetric(memory_.at(s.where).write_step);
    if (s.what == action::requeue) collect_of_futex(s.other, s);
  }
  if (!s.wrote || meetings_.futexes.is_empty()) return;
  last_of_each parks{};
  add_parks(s.at, parks);
  add_symmetric(parks);
}

// Those who arrived in earlier groups: this thread could have been in theirs. Within a group there
// is no order.
void dependence::collect_of_arrival(const step& s) {
  last_of_each last{};
  const auto before = static_cast<std::uint64_t>(s.result);
  const auto& all = meetings_.gatherings.at(s.at).arrived;
  for (std::uint64_t i = 0; i < before - before % static_cast<std::uint64_t>(s.expected); ++i)
    last[all[i].thread] = all[i].step;
  add_symmetric(last);
}

// Those who got the reader-writer lock before, unless both read. Who gives it back comes before
// whoever has to wait for that, and never could come after.
void dependence::add_sharers(address at, bool exclusive) {
  last_of_each last{};
  const sharing* const known = meetings_.sharings.find(at);
  if (known == nullptr) return;
  for (const sharing::part& p : known->all)
    if (p.view == nullptr && (p.exclusive || exclusive)) last[p.thread] = p.step;
  add_symmetric(last);
}

void dependence::note_blocked_share(unsigned t) {
  const operation& op = threads_[t].next;
  if (meetings_.may_share(op)) return;
  symmetric_.clear();
  const thread_table::as_if_running as(threads_, t);
  add_sharers(op.at, op.expected != 0);
  search_.blocked(threads_.current(), memory::none, symmetric_.data(), symmetric_.size());
}

// Whether the thread takes none of the messages that are there.
bool dependence::is_blocked(unsigned t) {
  constexpr choices messages = (choices{1} << max_choices) - 1;
  return (alternatives_.of(static_cast<thread_index>(t)) & messages) == 0;
}

// seq_cst awaits that S keeps from what they wait for could have come before what has moved S, and
// takes before what has taken it. (All others wait for what can still be read later.)
void dependence::note_blocked() {
  for (unsigned t = 0; t < threads_.count(); ++t) {
    if (threads_[t].now != thread_state::announced) continue;
    const operation& op = threads_[t].next;
    if (op.what == action::take) note_blocked_take(t);
    if (op.what == action::share) note_blocked_share(t);
    if (op.what == action::await) note_blocked_await(t);
  }
  symmetric_.clear();
}

void dependence::note_blocked_await(unsigned t) {
  const operation& op = threads_[t].next;
  if (threads_[t].late || op.order != std::memory_order_seq_cst || !is_blocked(t)) return;
  symmetric_.clear();
  const thread_table::as_if_running as(threads_, t);
  add_symmetric(fence_step_);
  add_symmetric(memory_.at(op.where).sc_change_step);
  const auto& newest = memory_.of(threads_.current()).newest;
  note_disabling(op, op.where < newest.size() ? newest[op.where] : 0);
  search_.blocked(threads_.current(), op.where, symmetric_.data(), symmetric_.size());
}

void dependence::note_blocked_take(unsigned t) {
  if (!is_blocked(t)) return;
  const operation& op = threads_[t].next;
  const thread_table::as_if_running as(threads_, t);
  note_claims(op);
  search_.blocked(threads_.current(), op.where, nullptr, 0);
}

void dependence::collect_of_futex(address at, const step& s) {
  last_of_each last{};
  for (const std::uint32_t made : meetings_.futexes.at(at).steps)
    if (const step& done = search_.at(made - 1); futex_order_matters(done, s.what, s.bitset))
      last[done.thread] = made;
  add_symmetric(last);
}

// The last of each thread at the address, for a write there.
void dependence::add_parks(address at, last_of_each& last) {
  const futex* const known = meetings_.futexes.find(at);
  if (known == nullptr) return;
  for (const std::uint32_t made : known->steps)
    if (const step& done = search_.at(made - 1); done.what == action::park)
      last[done.thread] = std::max(last[done.thread], made);
}

// Whether a futex operation does the same before and after another one at its address: where they
// mean different sleepers. Of two wakes, the second does the same unless the first took a sleeper
// that it means. Parks are ordered, since wakes take who came first; but for those
// that no wake means both of, while that is so (note_disjoint_waiters).
bool dependence::futex_order_matters(const step& done, action next, std::uint32_t bitset) const {
  if (done.what == action::requeue || next == action::requeue) return true;
  if (done.what == action::park && next == action::park && assumed_.are_parks_ordered())
    return true;
  if (done.what == action::wake && next == action::wake) return (done.woken & bitset) != 0;
  return (done.bitset & bitset) != 0;
}

// A transaction that sleeps, and a step of another thread.
bool dependence::matters_to_transaction(const footprint& sleeper, const step& done) {
  if (done.ran_transaction()) return sleeper.committed || done.touched->committed;
  if (done.is_sc && sleeper.committed) return true;
  const footprint::word* const w = sleeper.find(done.at);
  return w != nullptr &&
         ((done.wrote && (w->read || w->wrote)) || (done.what == action::park && w->wrote));
}

// A transaction, and a thread that sleeps before something else.
bool dependence::matters_after_transaction(const footprint& done, thread_index t) const {
  const operation& next = threads_[t].next;
  if (done.committed && is_sc(next) && (next.what == action::fence || is_access(next.what)))
    return true;
  for (const footprint::word& w : done.words) {
    if (may_write(next) && w.where == next.where && (w.read || w.wrote)) return true;
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
bool dependence::takes_news(const operation& next, const step& done, message_id since) {
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
bool dependence::is_kept_by_s(thread_index t, const step& done) {
  const location& l = memory_.at(done.where);
  if (l.has_own_sequences) return true;
  const auto& newest = memory_.of(t).newest;
  const message_id seen = done.where < newest.size() ? newest[done.where] : 0;
  const auto position = [&](message_id m) { return m == 0 ? 0 : memory_.get(m).position; };
  const std::uint32_t written = position(memory_.of(done.thread).newest[done.where]);
  return written > position(seen) && written < position(l.sc_floor);
}

// ---- threads that sleep -----------------------------------------------------------------------

bool dependence::matters_before_transaction(thread_index t, const step& done) {
  for (const auto& [sleeper, touched] : search_.at(search_.depth() - 1).sleepers)
    if (sleeper == t && touched != nullptr) return matters_to_transaction(*touched, done);
  return true;
}

// A share, an arrival: with others of their kind.
bool dependence::matters_at_meeting(const operation& next, const step& done) {
  if (next.what != done.what || done.at != next.at) return false;
  if (done.what == action::share) return done.expected != 0 || next.expected != 0;
  // The group that the other would have been in is full.
  return (static_cast<word>(done.result) + 1) % done.expected == 0;
}

bool dependence::matters_to_s(thread_index t, const step& done) {
  const operation& next = threads_[t].next;
  if (!is_sc(next)) return false;
  if (done.is_sc && (next.what == action::fence || is_access(next.what))) {
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
  return done.wrote && done.where == next.where && is_access(next.what) &&
         next.what != action::store && is_kept_by_s(t, done);
}

bool dependence::matters_to_futex(const operation& next, const step& done) const {
  const auto at = [&](address a) { return a == next.at || (next.other != 0 && a == next.other); };
  if (is_futex(next.what) && is_futex(done.what) &&
      (at(done.at) || (done.other != 0 && at(done.other))) &&
      futex_order_matters(done, next.what, next.bitset))
    return true;
  if (done.at != next.at) return false;
  return (next.what == action::park && done.wrote) ||
         (done.what == action::park && may_write(next));
}

bool dependence::polls_what_changed(thread_index t, const step& done) const {
  if (threads_[t].next.what != action::relax || !done.wrote) return false;
  return std::ranges::any_of(threads_[t].polls,
                             [&](const polled& p) { return p.where == done.where; });
}

bool dependence::order_matters(thread_index t, const step& done) {
  const operation& next = threads_[t].next;
  if (takes_news(next, done, search_.at(search_.depth() - 1).asleep[t] - 1)) return true;
  if (next.what == action::transaction) return matters_before_transaction(t, done);
  if (done.what == action::share || done.what == action::arrive)
    return matters_at_meeting(next, done);
  if (done.what == action::transaction)
    return done.ran_transaction() && matters_after_transaction(*done.touched, t);
  return matters_to_s(t, done) || matters_to_futex(next, done) || polls_what_changed(t, done);
}

}  // namespace syncopate::explored
