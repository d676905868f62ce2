// transactions.cpp -- hardware transactions.
//
// A transaction runs where its begin has its turn, to its end, and is then made as one step with
// all its accesses to atomic variables. So what it reads is the newest value; what it writes stands
// last in the modification orders and appears at once. Order among transactions, and with locked
// instructions, is that of x86: docs/decisions/0015-explored-transactions.md has the reasons.
#include "model/explored/run/machine.h"

#include <algorithm>
#include <cstring>

namespace syncopate::explored {

using syncopate::machine::htm::cause;
using syncopate::machine::htm::mode;
using syncopate::machine::htm::status;

namespace {

// A transaction that goes on for longer is one that waits for what nobody can do: a timer
// interrupt ends it.
constexpr std::size_t longest_transaction = 20'000;  // accesses

// So is one that does nothing but load one or two words again and again; what it waits for is an
// atomic operation of another thread, which conflicts with it.
constexpr std::size_t longest_poll = 64;  // loads

status injected(choice c) noexcept {
  switch (c) {
    case tx_conflict: return {cause::conflict, 0, true, false};
    case tx_capacity: return {cause::capacity, 0, false, false};
    default: return {};
  }
}

bool overlap(address a, std::size_t a_bytes, address b, std::size_t b_bytes) noexcept {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

machine::~machine() {
  if (tx_.copy != nullptr) instrument::delete_stack_copy(tx_.copy);
}

// ---- begin and end ----------------------------------------------------------------------------

// Returns a second time after an abort: the stack copy has it all, this function's frame included.
[[gnu::noinline]] status machine::begin_transaction(mode how, place from) {
  if (!options_.htm) return {};
  if (tx_.runs()) {
    ++tx_.depth;
    return {cause::started, 0, false, false};
  }
  act();
  operation op;
  op.what = action::transaction;
  op.from = from;
  op.count = static_cast<int>(how);
  step& s = take_turn(op);
  verdict_.transactions = true;
  if (s.chosen != tx_runs) {
    alternatives_.note_abort();
    me().polls.clear();  // that it has aborted is news enough for another turn of a loop
    const status why = injected(s.chosen);
    s.result = static_cast<std::int64_t>(why.why);
    end_turn(s);
    return why;
  }
  s.touched.reset();
  tx_.depth = 1;
  tx_.mode = how;
  tx_.stack = instrument::stack_of(me().fiber);
  tx_.words.clear();
  tx_.accesses.clear();
  tx_.undo.clear();
  tx_.old.clear();
  memory_.begin_transaction(threads_.current());
  if (tx_.copy == nullptr) tx_.copy = instrument::new_stack_copy();
  if (instrument::save(tx_.copy) == 0) return {cause::started, 0, false, false};
  return tx_.result;
}

void machine::commit_transaction(place from) {
  if (!tx_.runs())
    fail(failure_kind::crash, "a transaction is committed, and none runs: XEND faults", from);
  if (tx_.depth > 1) {
    --tx_.depth;
    return;
  }
  if (tx_.never_commits()) abort_transaction({});
  for (const transaction::touched& each : tx_.accesses) record_transactional(each);
  step& s = search_.now();
  s.touched = footprint_of(true);
  s.is_sc = true;
  s.result = static_cast<std::int64_t>(cause::started);
  for (const transaction::word& w : tx_.words)
    if (w.wrote && !w.forgotten)
      memory_.write_newest(threads_.current(), w.where, memory::peek(w.at, w.bytes),
                           search_.depth());
  const frozen_view* const ended = memory_.commit(threads_.current());
  for (const transaction::word& w : tx_.words) {
    if (w.forgotten) continue;
    if (!w.wrote) memory_.note_transaction(w.where, w.seen, ended);
    note_words_polled(w);
  }
  tx_.depth = 0;
  end_turn(s);
  memory_.tick(threads_.current());
}

// What loops that wait by transactions have seen (waiting.cpp).
void machine::note_words_polled(const transaction::word& w) {
  if (!w.wrote) {
    note_poll(w.where, w.seen);
    return;
  }
  std::erase_if(me().polls, [&](const polled& p) { return p.where == w.where; });
  for (unsigned t = 0; t < threads_.count(); ++t) threads_[t].spins = false;
}

void machine::abort_transaction(const status& why) {
  for (auto u = tx_.undo.rbegin(); u != tx_.undo.rend(); ++u)
    std::memcpy(reinterpret_cast<void*>(u->at), &tx_.old[u->offset], u->bytes);
  memory_.roll_back(threads_.current());
  step& s = search_.now();
  s.touched = footprint_of(false);
  s.result = static_cast<std::int64_t>(why.why);
  s.code = why.code;
  // That it has aborted tells what it had read, but orders nothing: as after relaxed loads.
  for (const transaction::word& w : tx_.words) {
    const location& l = memory_.at(w.where);
    if (tx_.never_commits() || !w.read || l.fresh || l.order.back() != w.seen) continue;
    memory_.learn(threads_.current(), w.where, w.seen);
    note_poll(w.where, w.seen);
  }
  tx_.result = why;
  tx_.result.nested = tx_.depth > 1;
  tx_.depth = 0;
  end_turn(s);
  instrument::restore(tx_.copy, 1);
}

void machine::abort_by_program(unsigned char code) {
  if (tx_.runs()) abort_transaction({cause::explicit_, code, false, false});
}

void machine::abort_unfriendly() {
  forget_visits();  // what the system does is not seen
  if (tx_.runs()) abort_transaction({});
}

std::shared_ptr<const footprint> machine::footprint_of(bool committed) const {
  auto all = std::make_shared<footprint>();
  all->committed = committed;
  for (const transaction::word& w : tx_.words)
    all->words.push_back({w.at, w.where, w.bytes, w.read, w.wrote && committed});
  return all;
}

// ---- inside -----------------------------------------------------------------------------------

bool machine::polls_only(address at) const {
  if (tx_.accesses.size() < longest_poll) return false;
  const address other = tx_.accesses.back().at;
  return std::all_of(tx_.accesses.end() - longest_poll, tx_.accesses.end(),
                     [&](const transaction::touched& each) {
                       return each.how == touch::atomic_read && (each.at == at || each.at == other);
                     });
}

void machine::note_access(address at, std::size_t bytes, touch how, place from) {
  if (tx_.accesses.size() >= longest_transaction) abort_transaction({});
  if (how == touch::atomic_read && polls_only(at))
    abort_transaction({cause::conflict, 0, true, false});
  const bool atomic = how == touch::atomic_read || how == touch::atomic_write;
  if (!tx_.never_commits())
    if (const access_record* const other =
            shadow_.races_with(at, bytes, atomic ? touch::atomic_read : touch::read,
                               threads_.current(), memory_.of(threads_.current()).happened)) {
      const access_record record = *other;
      fail(failure_kind::race,
           "a transaction sees what thread " + std::to_string(record.thread) +
               " has written, and is not ordered with it",
           from, record.where, shadow_.raced_at());
    }
  tx_.accesses.push_back({at, bytes, how, from});
}

// It commits: now nobody may be in its way, and it is in the way of others.
void machine::record_transactional(const transaction::touched& each) {
  const access_record* const other =
      shadow_.access(each.at, each.bytes, each.how, threads_.current(),
                     memory_.of(threads_.current()).happened, each.from);
  if (other == nullptr) return;
  const access_record record = *other;
  fail(failure_kind::race,
       "an access in a transaction and one by thread " + std::to_string(record.thread) +
           " are not ordered",
       each.from, record.where, shadow_.raced_at());
}

void machine::keep_old(address at, std::size_t bytes) {
  if (at >= tx_.stack.low && at < tx_.stack.high) return;
  tx_.undo.push_back({at, bytes, tx_.old.size()});
  const auto* const from = reinterpret_cast<const unsigned char*>(at);
  tx_.old.insert(tx_.old.end(), from, from + bytes);
}

void machine::access_inside(address at, std::size_t bytes, bool writes, place from) {
  lifetimes_.check_freed(at, bytes, writes ? "a write" : "a read", from);
  if (!claims_.is_ignored(at, bytes, writes))
    note_access(at, bytes, writes ? touch::write : touch::read, from);
  if (!writes) return;
  keep_old(at, bytes);
  memory_.overwrite(at, bytes);
  for (transaction::word& w : tx_.words)
    if (overlap(w.at, w.bytes, at, bytes)) w.forgotten = true;
}

transaction::word& machine::word_inside(address at, unsigned bytes, place from) {
  for (transaction::word& w : tx_.words)
    if (w.at == at && w.bytes == bytes && !w.forgotten) return w;
  const location_id where = location_of(at, bytes, from);
  tx_.words.push_back({where, at, static_cast<std::uint8_t>(bytes), false, false,
                       memory_.at(where).order.back(), false});
  return tx_.words.back();
}

word machine::read_inside(address at, unsigned bytes, place from) {
  transaction::word& w = word_inside(at, bytes, from);
  if (!w.read && !w.wrote) {
    w.read = true;
    w.seen = memory_.read_newest(threads_.current(), w.where);
  }
  note_access(at, bytes, touch::atomic_read, from);
  return memory::peek(at, bytes);
}

void machine::write_inside(address at, unsigned bytes, word value, place from) {
  transaction::word& w = word_inside(at, bytes, from);
  note_access(at, bytes, touch::atomic_write, from);
  keep_old(at, bytes);
  w.wrote = true;
  memory::poke(at, bytes, value);
}

}  // namespace syncopate::explored
