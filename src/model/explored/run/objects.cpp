// objects.cpp -- the steps of pthread's objects (front/pthread/model/steps.h).
//
// take() waits until it can change the value. What other threads do with the object meanwhile is no
// attempt of this one: only who takes before whom is an order (dependence.cpp, note_blocked).
#include "machine.h"

#include <algorithm>
#include <bit>

namespace syncopate::explored {

// That its time is over finds a take having read what it cannot change, as await().
void machine::expire_take(step& s, const operation& op, std::uint64_t until) {
  count(s, me().timeouts);
  auto& time = memory_.of(current_).time;
  time = std::max(time, until - start_of_time + 1);
  const choice chosen = s.chosen;
  const choices all = memory_.readable(current_, s.where, false);
  s.chosen = chosen == time_out ? static_cast<choice>(std::bit_width(all) - 1) : chosen - in_vain;
  record_claims(op);
  (void)finish_read(s, op, std::memory_order_relaxed);
  s.chosen = chosen;
  s.result = 1;
}

bool machine::take(address at, unsigned bytes, std::memory_order order, engine::predicate satisfied,
                   successor next, void* context, std::uint64_t until, std::uint64_t& value,
                   place from) {
  if (tx_.runs()) {
    value = static_cast<std::uint64_t>(read_inside(at, bytes, from));
    if (!satisfied(context, value)) abort_unfriendly();  // nobody else can change it
    write_inside(at, bytes, next(context, value), from);
    return true;
  }
  act();
  operation op;
  op.what = action::take;
  op.at = at;
  op.bytes = static_cast<std::uint8_t>(bytes);
  op.order = order;
  op.from = from;
  op.timed = until != 0;
  op.satisfied = satisfied;
  op.context = context;
  op.where = location_of(at, bytes, from);
  step& s = take_turn(op);
  const bool expired = s.chosen == time_out || (op.timed && s.chosen >= in_vain);
  if (expired) {
    expire_take(s, op, until);
  } else {
    const message_id source = memory_.named(memory_.at(s.where), s.chosen);
    value = static_cast<std::uint64_t>(finish_read(s, op, order));
    memory_.follow_transactions(current_, s.where, source);
    finish_write(s, op, next(context, value), s.chosen, order, source);
  }
  end_turn(s);
  memory_.tick(current_);
  return !expired;
}

std::uint64_t machine::modify_by(address at, unsigned bytes, std::memory_order order,
                                 successor next, void* context, place from) {
  if (tx_.runs()) {
    const auto old = static_cast<std::uint64_t>(read_inside(at, bytes, from));
    write_inside(at, bytes, next(context, old), from);
    return old;
  }
  regain_patience();
  me().rounds_of.clear();
  note_visit(from);
  operation op;
  op.what = action::modify;
  op.at = at;
  op.bytes = static_cast<std::uint8_t>(bytes);
  op.order = order;
  op.from = from;
  op.where = location_of(at, bytes, from);
  step& s = take_turn(op);
  const message_id source = memory_.named(memory_.at(s.where), s.chosen);
  const auto old = static_cast<std::uint64_t>(finish_read(s, op, order));
  memory_.follow_transactions(current_, s.where, source);
  finish_write(s, op, next(context, old), s.chosen, order, source);
  end_turn(s);
  memory_.tick(current_);
  return old;
}

}  // namespace syncopate::explored
