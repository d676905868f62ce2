// alternatives.cpp -- see alternatives.h.
#include "alternatives.h"

#include <syncopate/machine/types.h>

#include <bit>

namespace syncopate::explored {

namespace {
constexpr choices one(choice c) noexcept { return choices{1} << c; }
}  // namespace

// Of the messages that the operation may read, those that are worth reading (memory.h). A schedule
// to be repeated may be of a search without this.
choices alternatives::distinct(thread_index t, const operation& op, choices all,
                               bool by_value) const {
  const bool reduces = !options_.every_order && !options_.random && !replay_.is_on();
  return reduces ? memory_.distinct(t, memory_.at(op.where), all, by_value) : all;
}

choices alternatives::timeout_of(const thread& who) {
  if (who.timeouts < options_.timeouts) return one(time_out);
  withheld_.timeouts = true;
  return 0;
}

choices alternatives::spurious_of(const thread& who) {
  if (who.spurious < options_.spurious) return one(without_cause);
  withheld_.spurious = true;
  return 0;
}

choices alternatives::with_vain(choices all, choices vain) {
  constexpr choices most = one(in_vain) - 1;
  if (((all | vain) & ~most) != 0) memory_.note_too_many();
  return (all & most) | (vain & most) << in_vain;
}

// Of the places for a store, those in which it breaks no release sequence after somebody has read
// what that has reached. (It can come before the read: the search takes the other order. Where it
// follows from the read, the executions in which the reader learned less are left out.)
choices alternatives::unbroken(thread_index t, location_id where, choices all) {
  const location& l = memory_.at(where);
  if (!l.has_own_sequences) return all;
  const auto taken = [&](const message& m, std::uint32_t first_behind) {
    bool any = false;
    for (const location::reading& r : l.readings) {
      const step& reader = search_.at(r.step);
      if (reader.source != m.step || reader.where != where) continue;
      // Who knew of something behind the place before this read has learned by that, if anything.
      if (r.floor != 0 && memory_.get(r.floor).position >= first_behind) continue;
      any = true;
      withheld_.sequences |= search_.past_of(t).covers(reader.thread, r.step + 1);
    }
    for (const location::transactional& each : l.transactions)
      if (memory_.get(each.read).step == m.step) any = withheld_.sequences = true;
    return any;
  };
  for (choices rest = all & (all - 1); rest != 0; rest &= rest - 1) {
    const auto behind = static_cast<choice>(std::countr_zero(rest));
    const std::uint32_t first = memory_.get(memory_.named(l, behind - 1)).position;
    memory_.for_broken(l, behind, [&](const message& m) {
      if (taken(m, first)) all &= ~one(behind);
    });
  }
  return all;
}

// Which of the polled locations has news for the thread.
choices alternatives::news_for(const thread& who) const {
  choices all = 0;
  for (std::size_t i = 0; i < who.polls.size(); ++i) {
    const polled& p = who.polls[i];
    const location& l = memory_.at(p.where);
    const message& seen = memory_.get(p.seen);
    for (std::size_t k = l.order.size(); k-- > 0;) {
      const message& m = memory_.get(l.order[k]);
      if (m.position <= seen.position) break;
      if (m.value == seen.value) continue;
      all |= one(static_cast<choice>(i));
      break;
    }
  }
  return all;
}

// The loop's turns have only read, as many as may: what the next one could read, the first one
// could have read later.
bool alternatives::goes_round_in_vain(const thread& who) const {
  if (who.next.recognized && who.next.count == 0) return !options_.every_order;
  if (options_.turns < 0) return false;
  for (const auto& rounds : who.rounds_of)
    if (rounds.of == loop{who.next.from, who.next.callers}) return rounds.turns >= options_.turns;
  return options_.turns == 0;
}

bool alternatives::somebody_goes_round_in_vain() const {
  for (unsigned t = 0; t < threads_.count(); ++t) {
    const thread& who = threads_[t];
    if (who.now != thread_state::announced || who.next.what != action::relax ||
        !goes_round_in_vain(who))
      continue;
    for (const polled& p : who.polls) {
      const word newest = memory_.get(memory_.at(p.where).order.back()).value;
      if (newest != memory_.get(p.seen).value) return true;
    }
  }
  return false;
}

choices alternatives::relax_choices(thread_index t) {
  const thread& who = threads_[t];
  choices all = news_for(who);
  if (who.next.recognized) return goes_round_in_vain(who) ? 0 : all;
  if (all != 0 && goes_round_in_vain(who)) {
    withheld_.turns = true;
    all = 0;
  }
  if (assumed_.is_endless({who.next.from, who.next.callers})) return all;
  // (Whose time is over gives up the loop behind that, too, if it has one.)
  if (who.jumps < options_.jumps + (who.expired ? 1 : 0)) all |= one(impatient);
  else withheld_.jumps = true;
  return all;
}

choices alternatives::who_is_told(thread_index t) {
  const operation& op = threads_[t].next;
  const auto& all = meetings_.gatherings.at(op.at).arrived;
  const auto group = static_cast<std::size_t>(op.count);
  if ((all.size() + 1) % group != 0) return one(only);
  choices result = one(op.asks ? choice{t} + 1 : only);
  for (std::size_t i = all.size() + 1 - group; i < all.size(); ++i)
    result |= one(all[i].asks ? choice{all[i].thread} + 1 : only);
  return result;
}

choices alternatives::waiters(address at, std::uint32_t bitset) const {
  choices all = 0;
  for (unsigned t = 0; t < threads_.count(); ++t) {
    const thread& w = threads_[t];
    if (w.parked && !w.woken && w.parked_at == at && (w.parked_bitset & bitset) != 0)
      all |= one(static_cast<choice>(t));
  }
  return all != 0 ? all : one(only);
}

// What S lets an access read, or stand behind.
choices alternatives::readable(thread_index t, location_id where, sc_graph::access how,
                               std::memory_order order) const {
  const bool sc = order == std::memory_order_seq_cst;
  const choices all = how == sc_graph::access::write ? memory_.writable(t, where, sc)
                                                     : memory_.readable(t, where, sc);
  return memory_.has_s_by_graph() ? orders_.admitted(t, where, all, how, order) : all;
}

choices alternatives::of_modify(thread_index t, const operation& op) const {
  const location& l = memory_.at(op.where);
  choices all = readable(t, op.where, sc_graph::access::modify, op.order);
  for (choices rest = all; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<choice>(std::countr_zero(rest));
    if (!memory_.unclaimed(l, c)) all &= ~one(c);
  }
  return all;
}

choices alternatives::of_compare_exchange(thread_index t, const thread& who) {
  const operation& op = who.next;
  const location& l = memory_.at(op.where);
  const choices success = readable(t, op.where, sc_graph::access::modify, op.order);
  const choices failure = readable(t, op.where, sc_graph::access::read, op.failure);
  choices all = 0, failures = 0, equals = 0;
  for (choices rest = success | failure; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<choice>(std::countr_zero(rest));
    const bool equal = memory_.get(memory_.named(l, c)).value == op.expected;
    (equal ? equals : failures) |= failure & one(c);
    if (equal && memory_.unclaimed(l, c)) all |= success & one(c);
  }
  all |= distinct(t, op, failures);
  if (!op.weak) return all;
  return with_vain(all, equals != 0 && spurious_of(who) != 0 ? distinct(t, op, equals) : 0);
}

// That its time is over can only be found by who has found another value.
choices alternatives::timed_out(thread_index t, const thread& who, choices others) {
  return others != 0 && timeout_of(who) != 0 ? distinct(t, who.next, others, false) : 0;
}

choices alternatives::of_await(thread_index t, const thread& who) {
  const operation& op = who.next;
  const location& l = memory_.at(op.where);
  const choices readable = memory_.readable(t, op.where, op.order == std::memory_order_seq_cst);
  choices all = 0;
  for (choices rest = readable; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<choice>(std::countr_zero(rest));
    const word value = memory_.get(memory_.named(l, c)).value;
    if (op.satisfied(op.context, static_cast<std::uint64_t>(value))) all |= one(c);
  }
  const choices others = readable & ~all;
  all = distinct(t, op, all);
  if (op.timed) return with_vain(all, timed_out(t, who, others));
  return all != 0 && (options_.every_order || replay_.is_on()) ? all | one(too_late) : all;
}

choices alternatives::of_take(thread_index t, const thread& who) {
  const operation& op = who.next;
  const location& l = memory_.at(op.where);
  const choices readable = memory_.readable(t, op.where, op.order == std::memory_order_seq_cst);
  choices all = 0, others = 0;
  for (choices rest = readable; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<choice>(std::countr_zero(rest));
    if (!accepts(op, memory_.get(memory_.named(l, c)).value)) others |= one(c);
    else if (memory_.unclaimed(l, c)) all |= one(c);
  }
  return op.timed ? with_vain(all, timed_out(t, who, others)) : all;
}

choices alternatives::of_transaction(const operation& op) const {
  const bool normal = op.count == static_cast<int>(syncopate::machine::htm::mode::normal);
  return normal && aborts_ < options_.aborts ? tx_all : one(tx_runs);
}

choices alternatives::of(thread_index t) {
  const thread& who = threads_[t];
  const operation& op = who.next;
  const auto if_so = [](bool may) { return may ? one(only) : 0; };
  const auto here = [&]() -> const gathering& { return meetings_.gatherings.at(op.at); };
  switch (op.what) {
    case action::load:
      return distinct(t, op, readable(t, op.where, sc_graph::access::read, op.order));
    case action::store:
      return unbroken(t, op.where, readable(t, op.where, sc_graph::access::write, op.order));
    case action::modify: return of_modify(t, op);
    case action::compare_exchange: return of_compare_exchange(t, who);
    case action::await: return of_await(t, who);
    case action::take: return of_take(t, who);
    case action::expire: return (op.timed ? timeout_of(who) : 0) | spurious_of(who);
    case action::relax: return relax_choices(t);
    case action::arrive: return who_is_told(t);
    case action::leave: return if_so(here().arrived.size() >= op.expected);
    case action::share: return if_so(meetings_.may_share(op));
    case action::dismiss: return if_so(here().left.size() >= op.expected);
    case action::transaction: return of_transaction(op);
    case action::wake:
      return options_.any_waiter && op.count == 1 ? waiters(op.at, op.bitset) : one(only);
    default: return one(only);
  }
}

choices alternatives::news_of(const operation& op, choices all, message_id since) const {
  const location& l = memory_.at(op.where);
  all &= one(max_choices) - 1;
  if (!may_be_in_vain(op)) return memory_.newer(l, all, since);
  return memory_.newer(l, all & (one(in_vain) - 1), since) | memory_.newer(l, all >> in_vain, since)
                                                                 << in_vain;
}

}  // namespace syncopate::explored
