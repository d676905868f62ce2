#include "transactions.h"

#include "model/simulated/world.h"

#include <algorithm>
#include <cstring>

#include "model/front/program/options.h"

namespace syncopate::simulated {

using machine::htm::cause;
using machine::htm::mode;
using machine::htm::status;

namespace {

// See transactions.h. A score that reached 1 would never see that a transaction fits again.
constexpr std::uint16_t certain = 5000, highest_score = 4900, overflow_weight = 64;

status status_of(const transaction& tx, const abort_reason& reason) {
  status s;
  s.nested = tx.depth > 1;
  switch (reason.cause) {
    case abort_cause::conflict:
      s.why = cause::conflict;
      s.may_retry = true;
      break;
    case abort_cause::write_capacity:
    case abort_cause::read_capacity: s.why = cause::capacity; break;
    case abort_cause::explicit_:
      s.why = cause::explicit_;
      s.code = reason.code;
      break;
    default: s.why = cause::other;
  }
  return s;
}

bool is_overflow(abort_cause c) {
  return c == abort_cause::write_capacity || c == abort_cause::read_capacity;
}

}  // namespace

void undo_log::note(std::uintptr_t at, std::size_t bytes) {
  const auto* from = reinterpret_cast<const unsigned char*>(at);
  old_.insert(old_.end(), from, from + bytes);
  entries_.push_back({at, bytes, old_.size() - bytes});
}

void undo_log::apply(std::uintptr_t skip_low, std::uintptr_t skip_high) {
  const auto skipped = [=](const entry& e) { return e.at >= skip_low && e.at < skip_high; };
  for (auto e = entries_.rbegin(); e != entries_.rend(); ++e) {
    auto* const now = reinterpret_cast<void*>(e->at);
    // What is as before may be memory that cannot be written: that is why the transaction ends.
    if (!skipped(*e) && std::memcmp(now, &old_[e->offset], e->bytes) != 0)
      std::memcpy(now, &old_[e->offset], e->bytes);
  }
  std::erase_if(entries_, [&](const entry& e) { return !skipped(e); });
}

void undo_log::apply_to_copy(std::uintptr_t at, std::size_t bytes, unsigned char* copy) const {
  for (auto e = entries_.rbegin(); e != entries_.rend(); ++e) {
    const std::uintptr_t low = std::max(at, e->at), high = std::min(at + bytes, e->at + e->bytes);
    if (low < high) std::memcpy(copy + (low - at), &old_[e->offset + (low - e->at)], high - low);
  }
}

transactions::transactions(world& w)
    : world_(w), random_state_(instrument::option_number("SEED", 1)) {}

// splitmix64 (Steele, Lea & Flood, OOPSLA 2014).
std::uint64_t transactions::random() {
  std::uint64_t z = random_state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

cycles transactions::next_interrupt(cycles now) {
  const double rate = world_.machine.htm.interrupts_per_second;
  if (rate <= 0) return ~cycles{0};
  // Ticks at a fixed distance, of which a transaction begins at any moment in between.
  const double distance = static_cast<double>(world_.machine.topology.frequency_hz) / rate;
  return now + 1 + random() % static_cast<std::uint64_t>(distance + 1);
}

// ---- begin and end ----------------------------------------------------------------------------

[[gnu::noinline]] status transactions::begin(thread& me, mode how, engine::place where) {
  const htm_description& htm = world_.machine.htm;
  transaction& tx = me.htm;
  if (!htm.present || (how == mode::always_abort && !htm.always_abort)) return {};
  if (me.in_transaction) {
    ++tx.depth;
    return {cause::started, 0, false, false};
  }
  me.clock += htm.begin_cycles;
  world_.schedule.settle(me);
  tx.began_at = where;
  tx.began = me.clock;
  world_.gather.transaction_began(tx);
  if (htm.learning && predicted_to_abort(me)) {
    world_.gather.transaction_aborted(me, {abort_cause::predicted});
    me.clock += htm.abort_cycles;
    return {};
  }
  if (tx.copy == nullptr) tx.copy = instrument::new_stack_copy();
  tx.mode = how;
  tx.depth = 1;
  tx.read_lines = tx.written_lines = 0;
  tx.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  tx.interrupt_at = next_interrupt(me.clock);
  live_.push_back(&me);
  me.in_transaction = true;
  world_.schedule.refresh_limit();
  if (instrument::save(tx.copy) == 0) return {cause::started, 0, false, false};

  std::size_t offset = 0;
  for (const auto& write : tx.foreign) {
    std::memcpy(reinterpret_cast<void*>(write.at), &tx.foreign_bytes[offset], write.bytes);
    offset += write.bytes;
  }
  tx.foreign.clear();
  return tx.result;
}

void transactions::commit(thread& me, engine::place where) {
  transaction& tx = me.htm;
  if (tx.depth > 1) {
    --tx.depth;
    return;
  }
  world_.schedule.settle(me);
  if (tx.mode == mode::always_abort) abort(me, {abort_cause::always_abort, 0, where});
  me.clock += world_.machine.htm.commit_cycles;
  world_.memory.end_speculation(me.processor, memory_system::outcome::committed);
  if (world_.machine.htm.learning) learn(me, false);
  world_.gather.transaction_committed(me);
  tx.depth = 0;
  tx.undo.clear();
  tx.foreign.clear();
  me.in_transaction = false;
  forget(me);
  world_.schedule.refresh_limit();
}

void transactions::doom(thread& t, const abort_reason& reason) {
  transaction& tx = t.htm;
  if (!t.in_transaction || tx.doomed) return;
  tx.doomed = true;
  tx.result = status_of(tx, reason);
  if (world_.machine.htm.learning) learn(t, is_overflow(reason.cause));
  world_.gather.transaction_aborted(t, reason);
  world_.memory.end_speculation(t.processor, memory_system::outcome::aborted);
  // Of its own stack only what others may read; below `suspended` its fiber is still in use, and
  // what begin's callers had there died before: restoring the stack is enough for that.
  const bool runs = &t == &world_.schedule.running();
  tx.undo.apply(t.stack_low, runs ? t.stack_high : tx.suspended);
}

void transactions::abort(thread& me, const abort_reason& reason) {
  doom(me, reason);
  roll_back(me);
}

void transactions::roll_back(thread& me) {
  transaction& tx = me.htm;
  tx.doomed = false;
  tx.touches = false;
  tx.depth = 0;
  me.in_transaction = false;
  forget(me);
  me.clock += world_.machine.htm.abort_cycles;
  tx.foreign_bytes.clear();
  for (const auto& write : tx.foreign) {
    const auto* from = reinterpret_cast<const unsigned char*>(write.at);
    const std::size_t offset = tx.foreign_bytes.size();
    tx.foreign_bytes.insert(tx.foreign_bytes.end(), from, from + write.bytes);
    // What the transaction itself wrote there since then has not been undone if it is this thread's
    // own abort, on the very stack.
    tx.undo.apply_to_copy(write.at, write.bytes, &tx.foreign_bytes[offset]);
  }
  tx.undo.clear();
  me.loop = {};
  world_.schedule.refresh_limit();
  instrument::restore(tx.copy, 1);
}

void transactions::forget(thread& t) { std::erase(live_, &t); }

// ---- accesses ---------------------------------------------------------------------------------

void transactions::accessed(thread& me, std::uintptr_t at, std::size_t bytes, use what) {
  transaction& tx = me.htm;
  if (tx.doomed) roll_back(me);  // by its own access: a line that it had written made room
  const line last = world_.memory.line_of(at + bytes - 1);
  for (line l = world_.memory.line_of(at); l <= last; ++l) {
    const bool reads = what == use::read;
    if (!world_.memory.mark(me.processor, l, reads ? use::read : use::write)) continue;
    std::size_t& lines = reads ? tx.read_lines : tx.written_lines;
    const unsigned most = reads ? world_.machine.htm.read_lines : world_.machine.htm.write_lines;
    if (++lines > most && most != 0)
      abort(me, {reads ? abort_cause::read_capacity : abort_cause::write_capacity, 0, where_,
                 world_.memory.address_of(l)});
  }
  const bool dead = at >= me.stack_low && at < tx.frame;  // a frame that begin's caller will call
  if (what == use::read || dead) return;
  const touching_memory here(me);
  tx.undo.note(at, bytes);
}

void transactions::conflict(unsigned processor, line what, use, unsigned) {
  thread* victim = world_.schedule.processors()[processor].has;
  if (victim != nullptr)
    doom(*victim, {abort_cause::conflict, 0, where_, world_.memory.address_of(what)});
}

void transactions::overflow(unsigned processor, line what) {
  thread* victim = world_.schedule.processors()[processor].has;
  if (victim != nullptr)
    doom(*victim, {abort_cause::write_capacity, 0, where_, world_.memory.address_of(what)});
}

void transactions::note_foreign_write(const thread& by, std::uintptr_t at, std::size_t bytes) {
  for (thread* t : live_) {
    if (t == &by || at >= t->stack_high || at + bytes <= t->htm.frame) continue;
    t->htm.foreign.push_back({at, bytes, 0});
  }
}

// ---- the predictor ----------------------------------------------------------------------------

std::uint16_t& transactions::score_of(const thread& me) {
  const auto core = static_cast<std::uint64_t>(world_.machine.core_of(me.processor));
  return scores_[reinterpret_cast<std::uintptr_t>(me.htm.began_at) ^ core << 48];
}

bool transactions::predicted_to_abort(const thread& me) {
  std::uint16_t& score = score_of(me);
  if (random() % certain >= score) return false;
  --score;
  return true;
}

void transactions::learn(const thread& me, bool overflowed) {
  std::uint16_t& score = score_of(me);
  if (overflowed) score = std::min<std::uint16_t>(highest_score, score + overflow_weight);
  else if (score != 0) --score;
}

}  // namespace syncopate::simulated
