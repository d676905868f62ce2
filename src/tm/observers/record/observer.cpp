// observer.cpp -- what became of each transaction, added up in its thread's rows of the record.
//
// Memory order (each tag stands at its site below)
//   [R]  relaxed: the number of a site, which another thread reads to name who won.
#include "tm/core/engine.h"
#include "tm/core/regime.h"
#include "tm/core/threads.h"
#include "tm/observers/record/last_writers.h"
#include "tm/observers/record/sites.h"

#include <algorithm>
#include <cstdlib>

#include <pthread.h>

namespace syncopate::tm::observer {
namespace {

using record::site_row;

constinit last_writers writers;

// The rows of `thread` for transactions that return to `where`; null where nothing is recorded.
site_row* find_row(notes& thread, address where) noexcept {
  if (thread.row != nullptr && thread.row->address == where) return thread.row;
  record::entry inside;
  if (!inside) return nullptr;
  site_row wanted{};
  wanted.address = where;
  site_row* const row = thread.sites.find(wanted);
  if (row != nullptr && row->site == 0) row->site = site_of(where);
  return row;
}

// Adds the time since the last call to a sum of the row.
u64 add_time(notes& n, std::uint64_t site_row::*sum) noexcept {
  const u64 now = machine::ticks();
  const u64 passed = now > n.since ? now - n.since : 0;
  n.since = now;
  n.row->*sum += passed;
  return passed;
}

bool runs_alone(const transaction* tx) noexcept {
  return tx->how == mode::alone || tx->how == mode::alone_undo;
}

record::alone_reason why_alone(const transaction* tx) noexcept {
  const notes& n = tx->observed;
  if (n.retries != 0 && n.last_cause == cause::unsafe_call) return record::in_flight;
  if ((tx->properties & goes_irrevocable) != 0 || (tx->properties & instrumented_code) == 0)
    return record::start_serial;
  return now.is_optimistic() ? record::after_failures : record::by_algorithm;
}

bool is_conflict(cause why) noexcept {
  return why == cause::read_conflict || why == cause::write_conflict ||
         why == cause::commit_conflict;
}

void add_conflict(notes& n, cause why, u64 attempt_began) noexcept {
  record::entry inside;
  if (!inside) return;
  record::conflict_row wanted{};
  wanted.address = n.lost_at;
  wanted.site = n.row->site;
  wanted.cause = static_cast<u32>(why);
  wanted.winner = n.lost_to;
  if (wanted.winner == 0 && n.lost_at != 0) wanted.winner = writers.since(n.lost_at, attempt_began);
  record::conflict_row* row = n.conflicts.find(wanted);
  wanted.address = 0;  // one row for all addresses that the table has no room for
  if (row == nullptr) row = n.conflicts.find(wanted);
  if (row == nullptr) return;
  if (row->stack == 0) row->stack = take_stack();
  ++row->times;
}

void add_unsafe(transaction* tx, const void* called, const void* from) noexcept {
  record::entry inside;
  if (!inside) return;
  notes& n = tx->observed;
  n.met_unsafe = true;
  record::unsafe_row wanted{};
  wanted.from = reinterpret_cast<address>(from);
  wanted.called = reinterpret_cast<address>(called);
  wanted.site = n.row->site;
  record::unsafe_row* const row = n.unsafe_calls.find(wanted);
  if (row == nullptr) return;
  if (row->stack == 0) row->stack = take_stack();
  ++row->times;
  if (tx->how == mode::optimistic) ++row->switches;
}

}  // namespace

void began(transaction* tx, const registers& where) noexcept {
  notes& n = tx->observed;
  n.row = find_row(n, reinterpret_cast<address>(where.resume_at));
  n.retries = 0;
  if (n.row == nullptr) return;
  n.site.store(n.row->site, std::memory_order_relaxed);  // [R]
  ++n.row->started;
  n.since = machine::ticks();
}

void attempts(transaction* tx) noexcept {
  notes& n = tx->observed;
  if (n.row == nullptr) return;
  add_time(n, &site_row::waited);
  n.wanted = n.lost_at = 0;
  n.lost_to = 0;
  n.met_unsafe = false;
  n.read_addresses.clear();
  if (runs_alone(tx)) ++n.row->alone[why_alone(tx)];
}

void commits(transaction* tx) noexcept {
  if (tx->how == mode::optimistic)
    commits_with_sizes(tx, static_cast<u32>(tx->reads.size() + tx->read_orecs.size()),
                       static_cast<u32>(tx->writes.size() + tx->owned.size()));
}

void commits_with_sizes(transaction* tx, u32 reads, u32 writes) noexcept {
  tx->observed.read_count = reads;
  tx->observed.write_count = writes;
}

void committed(transaction* tx) noexcept {
  notes& n = tx->observed;
  n.site.store(0, std::memory_order_relaxed);  // [R]
  if (n.row == nullptr) return;
  site_row& row = *n.row;
  const u64 took = add_time(n, &site_row::run);
  if (runs_alone(tx)) row.run_alone += took;
  ++row.committed;
  row.hardware += tx->how == mode::hardware;
  row.most_retries = std::max(row.most_retries, n.retries);
  if (tx->how != mode::optimistic) return;
  ++row.measured;
  row.reads += n.read_count;
  row.writes += n.write_count;
  row.most_reads = std::max(row.most_reads, n.read_count);
  row.most_writes = std::max(row.most_writes, n.write_count);
}

void aborted(transaction* tx, cause why) noexcept {
  notes& n = tx->observed;
  n.last_cause = why;
  ++n.retries;
  if (n.row == nullptr) return;
  const u64 attempt_began = n.since;
  add_time(n, &site_row::wasted);
  ++n.row->aborts[static_cast<u32>(why)];
  if (is_conflict(why)) add_conflict(n, why, attempt_began);
  if (why == cause::unsafe_call && !n.met_unsafe) add_unsafe(tx, nullptr, nullptr);
}

void left_hardware(transaction* tx, machine::htm::status status) noexcept {
  notes& n = tx->observed;
  if (n.row == nullptr) return;
  add_time(n, &site_row::wasted);
  switch (status.why) {
    case machine::htm::cause::conflict: ++n.row->aborts[record::hardware_conflict]; break;
    case machine::htm::cause::capacity: ++n.row->aborts[record::hardware_capacity]; break;
    case machine::htm::cause::explicit_: ++n.row->aborts[record::hardware_explicit]; break;
    default: ++n.row->aborts[record::hardware_other];
  }
}

void canceled(transaction* tx) noexcept {
  notes& n = tx->observed;
  n.site.store(0, std::memory_order_relaxed);  // [R]
  if (n.row == nullptr) return;
  add_time(n, &site_row::wasted);
  ++n.row->canceled;
}

void calls_unsafe(transaction* tx, const void* called, const void* from) noexcept {
  if (tx->depth != 0 && tx->how != mode::hardware && tx->observed.row != nullptr)
    add_unsafe(tx, called, from);
}

void publishes(transaction* tx) noexcept {
  const u32 site = tx->observed.site.load(std::memory_order_relaxed);  // [R]
  const u64 time = machine::ticks();
  for (const redo_entry& e : tx->writes) writers.note(e.word, site, time);
  for (const logged_value& v : tx->undo) writers.note(v.at.where(), site, time);
}

void wants(const transaction* tx, address a) noexcept { tx->observed.wanted = a; }

bool reads(const transaction* tx, address a) noexcept {
  address* const entry = tx->observed.read_addresses.push();
  if (entry != nullptr) *entry = a;
  return entry != nullptr;
}

void loses(const transaction* tx, address a, const transaction* winner) noexcept {
  notes& n = tx->observed;
  n.lost_at = a;
  n.lost_to = winner != nullptr ? winner->observed.site.load(std::memory_order_relaxed) : 0;  // [R]
}

void loses_wanted(const transaction* tx, const transaction* winner) noexcept {
  loses(tx, tx->observed.wanted, winner);
}

void loses_read(const transaction* tx, std::size_t index, const transaction* winner) noexcept {
  notes& n = tx->observed;
  loses(tx, index < n.read_addresses.size() ? n.read_addresses[index] : 0, winner);
}

namespace {

void forget(notes& n) noexcept {
  n.row = nullptr;
  n.site.store(0, std::memory_order_relaxed);  // [R]
  n.sites.forget();
  n.conflicts.forget();
  n.unsafe_calls.forget();
}

}  // namespace

void thread_ended(transaction* tx) noexcept {
  record::thread_end();
  forget(tx->observed);
}

namespace {

// The parent's rows are not in the child's record.
void forget_parent() noexcept {
  record::after_fork_in_child();
  forget_sites();
  for (transaction* tx = all_threads(); tx != nullptr; tx = tx->next) forget(tx->observed);
}

[[gnu::constructor]] void start() {
  const char* const path = ::secure_getenv("SYNCOPATE_RECORD");
  if (path == nullptr || *path == '\0') return;
  const char* const algorithm = std::getenv("SYNCOPATE_TM");
  const bool chosen = algorithm != nullptr && *algorithm != '\0';
  if (record::start(path, chosen ? algorithm : "auto", "transactions"))
    ::pthread_atfork(nullptr, nullptr, forget_parent);
}
[[gnu::destructor]] void finish() { record::finish(); }

}  // namespace
}  // namespace syncopate::tm::observer
