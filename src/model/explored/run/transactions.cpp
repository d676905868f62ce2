// transactions.cpp -- see transactions.h.
#include "transactions.h"

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

bool overlap(address a, std::size_t a_bytes, address b, std::size_t b_bytes) noexcept {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

transactions::~transactions() {
  if (now_.copy != nullptr) instrument::delete_stack_copy(now_.copy);
}

// ---- begin and end ----------------------------------------------------------------------------

// (The stack copy has it all, this function's frame included.)
status transactions::begin(mode how) {
  search_.now().touched.reset();
  now_.depth = 1;
  now_.mode = how;
  now_.stack = instrument::stack_of(threads_.running().fiber);
  now_.words.clear();
  now_.accesses.clear();
  now_.undo.clear();
  now_.old.clear();
  memory_.begin_transaction(threads_.current());
  if (now_.copy == nullptr) now_.copy = instrument::new_stack_copy();
  if (instrument::save(now_.copy) == 0) return {cause::started, 0, false, false};
  return now_.result;
}

void transactions::commit(place from) {
  if (!now_.runs())
    ends_.fail(failure_kind::crash, "a transaction is committed, and none runs: XEND faults", from);
  if (now_.depth > 1) {
    --now_.depth;
    return;
  }
  if (now_.never_commits()) abort({});
  for (const transaction::touched& each : now_.accesses) record(each);
  step& s = search_.now();
  s.touched = footprint_of(true);
  s.is_sc = true;
  s.result = static_cast<std::int64_t>(cause::started);
  for (const transaction::word& w : now_.words)
    if (w.wrote && !w.forgotten)
      memory_.write_newest(threads_.current(), w.where, memory::peek(w.at, w.bytes),
                           search_.depth());
  const frozen_view* const ended = memory_.commit(threads_.current());
  for (const transaction::word& w : now_.words) {
    if (w.forgotten) continue;
    if (!w.wrote) memory_.note_transaction(w.where, w.seen, ended);
    note_words_polled(w);
  }
  now_.depth = 0;
  scheduler_.end_turn(s);
  memory_.tick(threads_.current());
}

// What loops that wait by transactions have seen (waiting.cpp).
void transactions::note_words_polled(const transaction::word& w) {
  if (!w.wrote) {
    threads_.running().note_poll(memory_, w.where, w.seen);
    return;
  }
  std::erase_if(threads_.running().polls, [&](const polled& p) { return p.where == w.where; });
  for (unsigned t = 0; t < threads_.count(); ++t) threads_[t].spins = false;
}

void transactions::abort(const status& why) {
  for (auto u = now_.undo.rbegin(); u != now_.undo.rend(); ++u)
    std::memcpy(reinterpret_cast<void*>(u->at), &now_.old[u->offset], u->bytes);
  memory_.roll_back(threads_.current());
  step& s = search_.now();
  s.touched = footprint_of(false);
  s.result = static_cast<std::int64_t>(why.why);
  s.code = why.code;
  // That it has aborted tells what it had read, but orders nothing: as after relaxed loads.
  for (const transaction::word& w : now_.words) {
    const location& l = memory_.at(w.where);
    if (now_.never_commits() || !w.read || l.fresh || l.order.back() != w.seen) continue;
    memory_.learn(threads_.current(), w.where, w.seen);
    threads_.running().note_poll(memory_, w.where, w.seen);
  }
  now_.result = why;
  now_.result.nested = now_.depth > 1;
  now_.depth = 0;
  scheduler_.end_turn(s);
  instrument::restore(now_.copy, 1);
}

std::shared_ptr<const footprint> transactions::footprint_of(bool committed) const {
  auto all = std::make_shared<footprint>();
  all->committed = committed;
  for (const transaction::word& w : now_.words)
    all->words.push_back({w.at, w.where, w.bytes, w.read, w.wrote && committed});
  return all;
}

// ---- inside -----------------------------------------------------------------------------------

bool transactions::polls_only(address at) const {
  if (now_.accesses.size() < longest_poll) return false;
  const address other = now_.accesses.back().at;
  return std::all_of(now_.accesses.end() - longest_poll, now_.accesses.end(),
                     [&](const transaction::touched& each) {
                       return each.how == touch::atomic_read && (each.at == at || each.at == other);
                     });
}

void transactions::note_access(address at, std::size_t bytes, touch how, place from) {
  if (now_.accesses.size() >= longest_transaction) abort({});
  if (how == touch::atomic_read && polls_only(at)) abort({cause::conflict, 0, true, false});
  const bool atomic = how == touch::atomic_read || how == touch::atomic_write;
  if (!now_.never_commits())
    if (const access_record* const other =
            shadow_.races_with(at, bytes, atomic ? touch::atomic_read : touch::read,
                               threads_.current(), memory_.of(threads_.current()).happened)) {
      const access_record record = *other;
      ends_.fail(failure_kind::race,
                 "a transaction sees what thread " + std::to_string(record.thread) +
                     " has written, and is not ordered with it",
                 from, record.where, shadow_.raced_at());
    }
  now_.accesses.push_back({at, bytes, how, from});
}

// It commits: now nobody may be in its way, and it is in the way of others.
void transactions::record(const transaction::touched& each) {
  const access_record* const other =
      shadow_.access(each.at, each.bytes, each.how, threads_.current(),
                     memory_.of(threads_.current()).happened, each.from);
  if (other == nullptr) return;
  const access_record record = *other;
  ends_.fail(failure_kind::race,
             "an access in a transaction and one by thread " + std::to_string(record.thread) +
                 " are not ordered",
             each.from, record.where, shadow_.raced_at());
}

void transactions::keep_old(address at, std::size_t bytes) {
  if (at >= now_.stack.low && at < now_.stack.high) return;
  now_.undo.push_back({at, bytes, now_.old.size()});
  const auto* const from = reinterpret_cast<const unsigned char*>(at);
  now_.old.insert(now_.old.end(), from, from + bytes);
}

void transactions::access(address at, std::size_t bytes, bool writes, place from) {
  lifetimes_.check_freed(at, bytes, writes ? "a write" : "a read", from);
  if (!claims_.is_ignored(at, bytes, writes))
    note_access(at, bytes, writes ? touch::write : touch::read, from);
  if (!writes) return;
  keep_old(at, bytes);
  memory_.overwrite(at, bytes);
  for (transaction::word& w : now_.words)
    if (overlap(w.at, w.bytes, at, bytes)) w.forgotten = true;
}

transaction::word& transactions::word_at(address at, unsigned bytes, place from) {
  for (transaction::word& w : now_.words)
    if (w.at == at && w.bytes == bytes && !w.forgotten) return w;
  const location_id where = lifetimes_.location_of(at, bytes, from);
  now_.words.push_back({where, at, static_cast<std::uint8_t>(bytes), false, false,
                        memory_.at(where).order.back(), false});
  return now_.words.back();
}

word transactions::read(address at, unsigned bytes, place from) {
  transaction::word& w = word_at(at, bytes, from);
  if (!w.read && !w.wrote) {
    w.read = true;
    w.seen = memory_.read_newest(threads_.current(), w.where);
  }
  note_access(at, bytes, touch::atomic_read, from);
  return memory::peek(at, bytes);
}

void transactions::write(address at, unsigned bytes, word value, place from) {
  transaction::word& w = word_at(at, bytes, from);
  note_access(at, bytes, touch::atomic_write, from);
  keep_old(at, bytes);
  w.wrote = true;
  memory::poke(at, bytes, value);
}

}  // namespace syncopate::explored
