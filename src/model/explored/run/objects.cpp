// objects.cpp -- the steps of pthread's objects (front/pthread/model/steps.h).
//
// take() waits until it can change the value. What other threads do with the object meanwhile is no
// attempt of this one: only who takes before whom is an order (dependence.cpp, note_blocked).
//
// A gathering counts who has arrived and who has left. Arrivals of one group commute, since nobody
// learns in which order they came; who is told that it is the one is chosen when the group is full,
// among those who ask and, as one, those who do not.
#include "machine.h"

#include <algorithm>
#include <bit>

namespace syncopate::explored {

namespace {
constexpr choices one(choice c) noexcept { return choices{1} << c; }
}  // namespace

// That its time is over finds a take having read what it cannot change, as await().
void machine::expire_take(step& s, const operation& op, std::uint64_t until) {
  count(s, me().timeouts);
  auto& time = memory_.of(threads_.current()).time;
  time = std::max(time, until - start_of_time + 1);
  const choice chosen = s.chosen;
  const choices all = memory_.readable(threads_.current(), s.where, false);
  s.chosen = chosen == time_out ? static_cast<choice>(std::bit_width(all) - 1) : chosen - in_vain;
  dependence_.note_claims(op);
  (void)finish_read(s, op, std::memory_order_relaxed);
  s.chosen = chosen;
  s.result = 1;
}

void machine::note_acceptable(const operation& op) {
  if (!search_.is_new()) return;
  const location& l = memory_.at(op.where);
  for (choices all = memory_.readable(threads_.current(), op.where, false); all != 0;
       all &= all - 1) {
    const message_id m = memory_.named(l, static_cast<choice>(std::countr_zero(all)));
    if (accepts(op, memory_.get(m).value)) search_.add_acceptable(m);
  }
}

bool machine::take(address at, unsigned bytes, std::memory_order order, engine::predicate satisfied,
                   successor next, void* context, std::uint64_t until, std::uint64_t& value,
                   place from) {
  if (tx_.runs()) {
    value = static_cast<std::uint64_t>(tx_.read(at, bytes, from));
    if (!satisfied(context, value)) abort_unfriendly();  // nobody else can change it
    tx_.write(at, bytes, next(context, value), from);
    return true;
  }
  act();
  const operation op =
      waiting_for(action::take, at, bytes, order, satisfied, context, until != 0, from);
  step& s = take_turn(op);
  const bool expired = s.chosen == time_out || (op.timed && s.chosen >= in_vain);
  if (expired) {
    expire_take(s, op, until);
  } else {
    const message_id source = memory_.named(memory_.at(s.where), s.chosen);
    note_acceptable(op);
    value = static_cast<std::uint64_t>(finish_read(s, op, order));
    memory_.follow_transactions(threads_.current(), s.where, source);
    finish_write(s, op, next(context, value), s.chosen, order, source);
  }
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return !expired;
}

std::uint64_t machine::modify_by(address at, unsigned bytes, std::memory_order order,
                                 successor next, void* context, place from) {
  if (tx_.runs()) {
    const auto old = static_cast<std::uint64_t>(tx_.read(at, bytes, from));
    tx_.write(at, bytes, next(context, old), from);
    return old;
  }
  regain_patience();
  me().rounds_of.clear();
  note_visit(from, {at});
  operation op;
  op.what = action::modify;
  op.at = at;
  op.bytes = static_cast<std::uint8_t>(bytes);
  op.order = order;
  op.from = from;
  op.where = lifetimes_.location_of(at, bytes, from);
  step& s = take_turn(op);
  const message_id source = memory_.named(memory_.at(s.where), s.chosen);
  const auto old = static_cast<std::uint64_t>(finish_read(s, op, order));
  memory_.follow_transactions(threads_.current(), s.where, source);
  finish_write(s, op, next(context, old), s.chosen, order, source);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return old;
}

// ---- gatherings -------------------------------------------------------------------------------

void machine::begin_gathering(address at) {
  if (gathering* const known = meetings_.gatherings.find(at)) known->clear();
}

gathering::part machine::my_part(bool asks) {
  return {threads_.current(), asks, search_.depth() + 1, memory_.release(threads_.current()),
          memory_.of(threads_.current()).time};
}

void machine::acquire_from(const gathering::part& p) {
  memory_.acquire(threads_.current(), *p.view, p.time);
  search_.add_source(p.step);
}

std::uint64_t machine::arrive(address at, unsigned group, bool asks, place from) {
  abort_unfriendly();
  act();
  operation op;
  op.what = action::arrive;
  op.at = at;
  op.from = from;
  op.count = static_cast<int>(group);
  op.asks = asks;
  step& s = take_turn(op);
  gathering& g = meetings_.gatherings.at(at);
  const std::uint64_t before = g.arrived.size();
  s.result = static_cast<std::int64_t>(before);
  s.expected = group;
  g.arrived.push_back(my_part(asks));
  if ((before + 1) % group == 0) g.told.push_back(s.chosen);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return before / group;
}

bool machine::leave(address at, std::uint64_t group_number, unsigned group, place from) {
  act();
  operation op;
  op.what = action::leave;
  op.at = at;
  op.from = from;
  op.expected = (group_number + 1) * group;
  step& s = take_turn(op);
  gathering& g = meetings_.gatherings.at(at);
  for (std::size_t i = 0; i < op.expected; ++i) acquire_from(g.arrived[i]);
  g.left.push_back(my_part(false));
  const bool told = g.told[group_number] == choice{threads_.current()} + 1;
  s.result = told ? 1 : 0;
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return told;
}

void machine::dismiss(address at, place from) {
  abort_unfriendly();
  act();
  operation op;
  op.what = action::dismiss;
  op.at = at;
  op.from = from;
  op.expected = arrived(at);
  step& s = take_turn(op);
  for (const gathering::part& p : meetings_.gatherings.at(at).left) acquire_from(p);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
}

// ---- reader-writer locks ----------------------------------------------------------------------

// Who reads learns nothing of other readers: not their number, and not what they have done. So only
// who gets the lock before or after whom of the other side is an order.

sharing& machine::sharing_at(address at) {
  if (sharing* const known = meetings_.sharings.find(at)) return *known;
  lifetimes_.note_object(at);
  return meetings_.sharings.at(at);
}

// Who looks may see how many readers there are: each of their steps is in order then, on a word.
// The search begins anew.
void machine::order_readers() {
  if (assumed_.are_readers_ordered()) return;
  assumed_.order_readers();
  end_execution(outcome::redundant);
}

// Null where readers are ordered: then it is no step.
step* machine::step_of_sharing(action what, address at, bool exclusive, place from) {
  if (tx_.runs()) order_readers();
  if (assumed_.are_readers_ordered()) return nullptr;
  act();
  operation op;
  op.what = what;
  op.at = at;
  op.from = from;
  op.expected = exclusive ? 1 : 0;
  step& s = take_turn(op);
  s.expected = op.expected;
  return &s;
}

bool machine::share(address at, bool exclusive, place from) {
  step* const s = step_of_sharing(action::share, at, exclusive, from);
  if (s == nullptr) return false;
  sharing& lock = sharing_at(at);
  if (exclusive) lock.writer = true;
  else ++lock.readers;
  for (const sharing::part& p : lock.all) {
    if (p.view == nullptr || !(p.exclusive || exclusive)) continue;
    memory_.acquire(threads_.current(), *p.view, p.time);
    search_.add_source(p.step);
  }
  lock.all.push_back({threads_.current(), exclusive, search_.depth() + 1, nullptr, 0});
  scheduler_.end_turn(*s);
  memory_.tick(threads_.current());
  return true;
}

bool machine::unshare(address at, bool exclusive, place from) {
  step* const s = step_of_sharing(action::unshare, at, exclusive, from);
  if (s == nullptr) return false;
  sharing& lock = sharing_at(at);
  if (exclusive) lock.writer = false;
  else if (lock.readers != 0) --lock.readers;
  lock.all.push_back({threads_.current(), exclusive, search_.depth() + 1,
                      memory_.release(threads_.current()), memory_.of(threads_.current()).time});
  scheduler_.end_turn(*s);
  memory_.tick(threads_.current());
  return true;
}

// ---- queues of sleepers -----------------------------------------------------------------------

void machine::enqueue(address at, bool timed, place from) {
  abort_unfriendly();
  act();
  operation op;
  op.what = action::park;
  op.at = at;
  op.from = from;
  op.bitset = ~0u;
  step& s = take_turn(op);
  scheduler_.end_turn(s);
  lie_down(at, op.bitset, timed);
}

bool machine::leave_queue() {
  const bool is_there = me().parked && !me().woken;
  me().parked = false;
  return is_there;
}

syncopate::machine::park_result machine::sleep_enqueued(address at,
                                                        const syncopate::machine::deadline* until,
                                                        place from) {
  act();
  operation op;
  op.at = at;
  op.from = from;
  op.bitset = me().parked_bitset;
  return sleep(op, until);
}

}  // namespace syncopate::explored
