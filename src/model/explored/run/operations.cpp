// operations.cpp -- atomic accesses, fences, plain accesses and the heap.
#include "machine.h"

#include "model/front/program/runaway.h"

#include <algorithm>

namespace syncopate::explored {

namespace {

word mask_of(unsigned bytes) noexcept {
  return bytes >= 16 ? ~word{0} : (word{1} << (8 * bytes)) - 1;
}

word apply(engine::operation what, word old, word operand, unsigned bytes) noexcept {
  using enum engine::operation;
  word result = 0;
  switch (what) {
    case exchange: result = operand; break;
    case add: result = old + operand; break;
    case sub: result = old - operand; break;
    case and_: result = old & operand; break;
    case or_: result = old | operand; break;
    case xor_: result = old ^ operand; break;
    case nand: result = ~(old & operand); break;
  }
  return result & mask_of(bytes);
}

operation make(action what, address at, unsigned bytes, std::memory_order order, place from) {
  operation op;
  op.what = what;
  op.at = at;
  op.bytes = static_cast<std::uint8_t>(bytes);
  op.order = order;
  op.from = from;
  return op;
}

}  // namespace

// ---- what all accesses share ------------------------------------------------------------------

void machine::touch_atomic(const operation& op, bool writes) {
  lifetimes_.check(op.at, op.bytes, "an atomic access", op.from);
  if (claims_.has_harmless_in(op.at, op.bytes)) return;
  const access_record* const other =
      shadow_.access(op.at, op.bytes, writes ? touch::atomic_write : touch::atomic_read,
                     threads_.current(), memory_.of(threads_.current()).happened, op.from);
  if (other != nullptr) {
    const access_record record = *other;
    fail(failure_kind::race,
         std::string("an atomic ") + (writes ? "write" : "read") + " and " +
             (record.how == touch::write  ? "a plain write"
              : record.how == touch::read ? "a plain read"
                                          : name(record.how)) +
             " by thread " + std::to_string(record.thread) + " are not ordered",
         op.from, record.where, shadow_.raced_at());
  }
}

void machine::record_reading(step& s) {
  const auto& newest = memory_.of(threads_.current()).newest;
  memory_.at(s.where).readings.push_back({search_.depth(),
                                          s.where < newest.size() ? newest[s.where] : 0,
                                          memory_.of(threads_.current()).time});
}

word machine::finish_read(step& s, const operation& op, std::memory_order order) {
  lifetimes_.check_written(op.at, op.bytes, true, op.from);
  touch_atomic(op, false);
  record_reading(s);
  note_kept(op);
  const clock before = memory_.of(threads_.current()).happened;
  bool raised = false;
  const message_id m = memory_.read(threads_.current(), s.where, s.chosen, order, raised);
  const message& from = memory_.get(m);
  s.order = order;
  s.before = from.value;
  s.source = from.step;
  s.stale = s.chosen;
  s.is_sc |= moves_s(order);
  s.raised_sc |= raised;
  me().note_poll(memory_, s.where, m);
  note_read_in_graph(op, order, before, m);
  if (notes_orders() && order == std::memory_order_seq_cst)
    sc_orders_.note(threads_.current(), before, s.where, m);
  return from.value;
}

void machine::finish_write(step& s, const operation& op, word value, choice behind,
                           std::memory_order order, message_id rmw_of, continues sequence) {
  touch_atomic(op, true);
  if (rmw_of == 0) note_kept(op);
  bool raised = false;
  const message_id m = memory_.write(threads_.current(), s.where, behind, value, order,
                                     search_.depth(), raised, rmw_of, sequence);
  s.wrote = true;
  s.order = order;
  s.after = value;
  s.is_sc |= moves_s(order);
  s.raised_sc |= raised;
  const bool sc = order == std::memory_order_seq_cst;
  const clock& now = memory_.of(threads_.current()).happened;
  if (memory_.has_s_by_graph() && op.what <= action::compare_exchange) {
    if (rmw_of != 0) orders_.note_written(m, sc);
    else orders_.note(threads_.current(), now, s.where, m, true, sc);
  }
  if (notes_orders() && sc) {
    if (rmw_of != 0) sc_orders_.note_written(m);
    else sc_orders_.note(threads_.current(), now, s.where, m);
  }
  const bool changes = rmw_of == 0 || memory_.get(rmw_of).value != value;
  if (!changes) {
    me().rewrote = true;
    me().note_poll(memory_, s.where, m);
    return;
  }
  forget_visits();
  std::erase_if(me().polls, [&](const polled& p) { return p.where == s.where; });
  for (unsigned t = 0; t < threads_.count(); ++t) threads_[t].spins = false;
}

// ---- atomic accesses --------------------------------------------------------------------------

word machine::load(address at, unsigned bytes, std::memory_order order, place from) {
  order = sites_.order(from, "load", order);
  if (tx_.runs()) return tx_.read(at, bytes, from);
  message_id seen = 0;
  if (stays_impatient(at, bytes, order, from, seen)) return memory_.get(seen).value;
  note_visit(from, {at});
  operation op = make(action::load, at, bytes, order, from);
  op.where = lifetimes_.location_of(at, bytes, from);
  if (sites_.of_program()) note_load(op.where, order);
  note_look_for_waiters(order, from);
  step& s = take_turn(op);
  const word value = finish_read(s, op, order);
  note_look(s, value);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return value;
}

void machine::store(address at, unsigned bytes, word value, std::memory_order order, place from,
                    engine::sequences rules) {
  order = sites_.order(from, "store", order);
  const bool older = rules == engine::sequences::cxx11;
  if (sites_.of_program()) (older ? verdict_.stores.cxx11 : verdict_.stores.cxx20) = true;
  if (tx_.runs()) return tx_.write(at, bytes, value & mask_of(bytes), from);
  act();
  operation op = make(action::store, at, bytes, order, from);
  op.operand = value & mask_of(bytes);
  op.where = lifetimes_.location_of(at, bytes, from);
  if (sites_.of_program()) note_write_after_load(op.where, order);
  step& s = take_turn(op);
  s.stale = s.chosen;
  if (order == std::memory_order_seq_cst)
    memory_.follow_transactions(threads_.current(), s.where,
                                memory_.named(memory_.at(s.where), s.chosen));
  finish_write(s, op, op.operand, s.chosen, order, 0,
               older ? continues::its_own : continues::nothing);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
}

word machine::modify(address at, unsigned bytes, engine::operation how, word operand,
                     std::memory_order order, place from) {
  order = sites_.order(from, "read-modify-write", order);
  if (tx_.runs()) {
    const word old = tx_.read(at, bytes, from);
    tx_.write(at, bytes, apply(how, old, operand, bytes), from);
    return old;
  }
  regain_patience();
  me().rounds_of.clear();
  note_visit(from, {at, operand});
  operation op = make(action::modify, at, bytes, order, from);
  op.rmw = how;
  op.operand = operand;
  op.where = lifetimes_.location_of(at, bytes, from);
  if (sites_.of_program()) {
    note_write_after_load(op.where, order);
    note_load(op.where, order);
  }
  step& s = take_turn(op);
  const message_id source = memory_.named(memory_.at(s.where), s.chosen);
  const word old = finish_read(s, op, order);
  memory_.follow_transactions(threads_.current(), s.where, source);
  finish_write(s, op, apply(how, old, operand, bytes), s.chosen, order, source);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return old;
}

bool machine::compare_exchange(address at, unsigned bytes, word& expected, word desired,
                               std::memory_order success, std::memory_order failure, bool weak,
                               place from) {
  sites_.orders(from, success, failure);
  expected &= mask_of(bytes);
  if (tx_.runs()) return compare_exchange_inside(at, bytes, expected, desired, from);
  if (fails_again(at, bytes, expected, from)) return false;
  note_visit(from, {at, expected, desired});
  operation op = make(action::compare_exchange, at, bytes, success, from);
  op.failure = failure;
  op.weak = weak;
  op.expected = expected;
  op.operand = desired & mask_of(bytes);
  op.where = lifetimes_.location_of(at, bytes, from);
  if (sites_.of_program()) {
    note_write_after_load(op.where, success);
    note_load(op.where, failure);
  }
  return finish_compare_exchange(take_turn(op), op, expected);
}

bool machine::finish_compare_exchange(step& s, const operation& op, word& expected) {
  const bool without_reason = op.weak && s.chosen >= in_vain;
  if (without_reason) {
    ++me().spurious;
    s.chosen -= in_vain;
  }
  const message_id source = memory_.named(memory_.at(s.where), s.chosen);
  const bool exchanged = !without_reason && memory_.get(source).value == op.expected;
  if (!exchanged) dependence_.note_claims(op);
  s.expected = op.expected;
  expected = finish_read(s, op, exchanged ? op.order : op.failure);
  // Also where the order of what it does is weaker: S has decided what it could do instead.
  const bool is_sc = moves_s(op.order) || moves_s(op.failure);
  s.is_sc |= is_sc;
  // Who fails would move S where it came first: before what has made it fail, it succeeds. (Whether
  // it writes is not known before it wakes: dependence::matters_to_s.)
  s.raised_sc |= is_sc;
  if (exchanged) {
    regain_patience();
    me().rounds_of.clear();
    memory_.follow_transactions(threads_.current(), s.where, source);
    finish_write(s, op, op.operand, s.chosen, op.order, source);
  } else {
    note_look(s, expected);
  }
  if (without_reason) {
    s.chosen += in_vain;
    // The next turn of a loop need not be like this one.
    me().polls.clear();
    forget_visits();
  }
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
  return exchanged;
}

bool machine::compare_exchange_inside(address at, unsigned bytes, word& expected, word desired,
                                      place from) {
  const word found = tx_.read(at, bytes, from);
  const bool equal = found == expected;
  if (equal) tx_.write(at, bytes, desired & mask_of(bytes), from);
  expected = found;
  return equal;
}

// Whether a loop that has given up fails there again: then that is no more than a load.
bool machine::fails_again(address at, unsigned bytes, word& expected, place from) {
  if (me().patience_lost == 0) return false;
  message_id seen = 0;
  if (!stays_impatient(at, bytes, std::memory_order_relaxed, from, seen)) return false;
  const word found = memory_.get(seen).value;
  if (found == expected) {
    regain_patience();
    return false;
  }
  expected = found;
  return true;
}

void machine::fence(std::memory_order order, place from) {
  order = sites_.order(from, "fence", order);
  if (order == std::memory_order_relaxed || tx_.runs()) return;
  if (order != std::memory_order_seq_cst) {
    // Changes what this thread knows only.
    memory_.fence(threads_.current(), order);
    memory_.tick(threads_.current());
    return;
  }
  act();
  step& s = take_turn(make(action::fence, 0, 0, order, from));
  if (notes_orders() && sc_orders_.fence_keeps(threads_.current())) note_lack_of_orders();
  const clock before = memory_.of(threads_.current()).happened;
  memory_.fence(threads_.current(), order);
  if (memory_.has_s_by_graph()) orders_.note_fence(threads_.current(), before);
  s.is_sc = moves_s(order);
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
}

// ---- plain accesses and the heap --------------------------------------------------------------

// Whether the thread has read nothing else for so long, and counts no turns either, that it never
// will: `while (!ready) {}`. Nobody else runs in between, so that the value stays.
bool machine::reads_again(address at, bool writes, place from) {
  constexpr std::uint32_t for_good = 5'000'000;
  thread& t = me();
  if (writes || at != t.read_at || from != t.read_from) {
    t.read_at = writes ? 0 : at;
    t.read_from = from;
    t.read_again = 0;
    return false;
  }
  ++t.read_again;
  if (t.read_again < for_good || t.read_again % for_good > 1) return false;
  return stands_as_before() && t.read_again % for_good == 1;
}

void machine::access(address at, std::size_t bytes, engine::kind what, place from) {
  const bool is_scalar = bytes == 2 || bytes == 4 || bytes == 8;
  if (!options_.optimized && what == engine::kind::read && is_scalar && !tx_.runs())
    lifetimes_.check_written(at, bytes, false, from);
  if (++me().accesses == long_computation && !tx_.runs()) compute_on(from);
  touch_plain(at, bytes, what, from);
}

void machine::touch_plain(address at, std::size_t bytes, engine::kind what, place from) {
  const bool writes = what == engine::kind::write;
  if (instrument::time_is_over != 0) out_of_time();
  if (tx_.runs()) return tx_.access(at, bytes, writes, from);
  if (reads_again(at, writes, from)) loops_for_good(from);
  lifetimes_.check(at, bytes, writes ? "a write" : "a read", from);
  const access_record* const other =
      claims_.is_ignored(at, bytes, writes)
          ? nullptr
          : shadow_.access(at, bytes, writes ? touch::write : touch::read, threads_.current(),
                           memory_.of(threads_.current()).happened, from);
  if (other != nullptr) {
    const access_record record = *other;
    fail(failure_kind::race,
         std::string(writes ? "a write" : "a read") + " and " + name(record.how) + " by thread " +
             std::to_string(record.thread) + " are not ordered",
         from, record.where, shadow_.raced_at());
  }
  if (!writes) return;
  const bool was_atomic = memory_.overwrite(at, bytes);
  lifetimes_.end_objects(at, bytes);
  if (at >= me().stack_low && at < me().stack_high) return;
  me().rounds_of.clear();
  ++me().writes;
  if (was_atomic) forget_visits();
  else note_written(at, bytes);
}

// What was there before it has been written is not known any more: it may be something else.
void machine::access_by_call(address at, std::size_t bytes, engine::kind what, place from) {
  touch_plain(at, bytes, what, from);
  if (what == engine::kind::write) forget_visits();
}

void machine::allocated(address at, std::size_t bytes, place from) {
  bytes = std::max<std::size_t>(bytes, 1);  // malloc(0), too, gives an address anew
  forget_visits();
  memory_.overwrite(at, bytes);
  claims_.forget_harmless(at, bytes);
  lifetimes_.begin_block(at, bytes, from);
}

void machine::freed(address at, std::size_t bytes, place from) {
  lifetimes_.end_block(at, bytes, from);
  forget_visits();
  memory_.overwrite(at, bytes);
}

// (Who comes later crashes.)
void machine::unmapped(address at, std::size_t bytes, place from) {
  lifetimes_.unmap(at, bytes, from);
  forget_visits();
  memory_.overwrite(at, bytes);
}

void machine::leaves(address up_to, place where) {
  const thread& t = me();
  if (tx_.runs() || t.fiber == nullptr) return;
  if (up_to > t.stack_low && up_to <= t.stack_high) lifetimes_.leave_frames(up_to, where);
}

// ---- what the program says of itself ----------------------------------------------------------

// Claims of an address are read-modify-writes of one word of ours: they are in one order, and an
// acquire takes what all releases before it have left. The word keeps its value, so that no loop
// takes them for news.
void machine::claim_order(address of, int side, bool acquires, place from) {
  if (!options_.claims) return;
  if (tx_.runs()) return;  // it ends as one step, in order with all before it
  const clock before = memory_.of(threads_.current()).happened;
  modify(claims_.word_of(of, side), sizeof(std::uint32_t), engine::operation::exchange, 0,
         acquires ? std::memory_order_acquire : std::memory_order_release, from);
  if (acquires) claims_.note_believed(before, memory_.of(threads_.current()).happened, from);
}

void machine::begin_object(address at, std::size_t bytes, const char* what, place from) {
  lifetimes_.check_new(at, what, from);
  access(at, bytes, engine::kind::write, from);  // ends what was registered there
  lifetimes_.begin_object(at, bytes, what, from);
}

// ---- hardware transactions --------------------------------------------------------------------

namespace {
syncopate::machine::htm::status injected(choice c) noexcept {
  using syncopate::machine::htm::cause;
  switch (c) {
    case tx_conflict: return {cause::conflict, 0, true, false};
    case tx_capacity: return {cause::capacity, 0, false, false};
    default: return {};
  }
}
}  // namespace

syncopate::machine::htm::status machine::begin_transaction(syncopate::machine::htm::mode how,
                                                           place from) {
  if (!options_.htm) return {};
  if (tx_.runs()) {
    tx_.nest();
    return {syncopate::machine::htm::cause::started, 0, false, false};
  }
  take_s_from_execution();
  act();
  operation op;
  op.what = action::transaction;
  op.from = from;
  op.count = static_cast<int>(how);
  step& s = take_turn(op);
  verdict_.transactions = true;
  if (s.chosen == tx_runs) return tx_.begin(how);
  alternatives_.note_abort();
  me().polls.clear();  // that it has aborted is news enough for another turn of a loop
  const syncopate::machine::htm::status why = injected(s.chosen);
  s.result = static_cast<std::int64_t>(why.why);
  scheduler_.end_turn(s);
  return why;
}

void machine::abort_by_program(unsigned char code) {
  if (tx_.runs()) tx_.abort({syncopate::machine::htm::cause::explicit_, code, false, false});
}

void machine::abort_unfriendly() {
  forget_visits();  // what the system does is not seen
  if (tx_.runs()) tx_.abort({});
}

}  // namespace syncopate::explored
