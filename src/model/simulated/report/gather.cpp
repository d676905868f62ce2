#include "gather.h"

#include "model/simulated/world.h"

#include <algorithm>
#include <cstring>

#include "model/front/names/names.h"
#include "model/front/program/options.h"

namespace syncopate::simulated {

namespace {

// A timeline of more stretches than this is cut: some 200 MB.
constexpr std::size_t timeline_limit = 4'000'000;

template <class T>
void add_at(std::vector<T>& values, std::size_t index, T amount) {
  if (values.size() <= index) values.resize(index + 1);
  values[index] += amount;
}

wait_kind kind_of(const poll_state& poll) {
  if (poll.holds == nullptr) return wait_kind::loop;
  return poll.depth < 0 ? wait_kind::await : wait_kind::monitor;
}

}  // namespace

gatherer::gatherer(world& w)
    : world_(w),
      hit_(w.machine.l1.latency + w.machine.atomic.rmw_cycles),
      timeline_(instrument::option("TIMELINE") != nullptr),
      native_time_(simulated::shows_native_time != nullptr && simulated::shows_native_time()),
      charges_native_(instrument::option_enabled("CHARGE_NATIVE")) {
  if (samples_native()) instrument::begin_native_time(charges_native_);
}

// ---- waiting ----------------------------------------------------------------------------------

wait_statistics& gatherer::wait_of(const thread& t, engine::address at, wait_kind kind) {
  const std::uint64_t key = at << 2 | static_cast<std::uint64_t>(kind);  // addresses have 48 bits
  const auto [found, is_new] = wait_index_.try_emplace(key, kept_.waits.size());
  if (is_new) {
    wait_statistics& w = kept_.waits.emplace_back();
    w.address = at;
    w.kind = kind;
    w.first_place = t.waits_at;
  }
  return kept_.waits[found->second];
}

void gatherer::waits_for(thread& t, engine::address at) {
  t.held = 0;
  writers* known = writers_.find(at);
  if (known != nullptr && known->last == t.index + 1) known->last = known->before;
}

void gatherer::wait_began(thread& t) {
  waits_for(t, t.poll.at);
  wait_statistics& w = wait_of(t, t.poll.at, kind_of(t.poll));
  w.most_waiters = std::max(w.most_waiters, ++waiting_now_[t.poll.at]);
}

void gatherer::poll_ended(thread& t) {
  --waiting_now_[t.poll.at];
  wait_ended(t, t.poll.at, kind_of(t.poll), !t.poll.satisfied, t.poll.looks);
}

void gatherer::park_began(thread& t, std::size_t waiters) {
  waits_for(t, t.park.at);
  wait_statistics& w = wait_of(t, t.park.at, wait_kind::futex);
  w.most_waiters = std::max(w.most_waiters, waiters);
}

void gatherer::park_ended(thread& t) {
  const bool timed_out = t.park.result == machine::park_result::timed_out;
  wait_ended(t, t.park.at, wait_kind::futex, timed_out, timed_out ? 0 : 1);
}

void gatherer::wait_ended(thread& t, engine::address at, wait_kind kind, bool timed_out,
                          std::uint64_t looks) {
  wait_statistics& w = wait_of(t, at, kind);
  const cycles waited = t.clock - t.wait_began;
  ++w.waits;
  w.timeouts += timed_out;
  w.looks += looks;
  w.waited.add(waited);
  add_at(w.waited_by_thread, t.index, waited);
  if (timed_out) return;
  t.held = at;
  t.held_since = t.clock;
  t.held_by_wait = true;
  t.held_kind = kind;
}

// A read-modify-write right after a wait takes the lock that the wait was for; the next write gives
// it back.
void gatherer::holder_writes(thread& t, bool read_too) {
  if (read_too && t.held_by_wait) {
    t.held_by_wait = false;
    t.held_since = t.clock;
    return;
  }
  wait_of(t, t.held, t.held_kind).held.add(t.clock - t.held_since);
  add_span({t.index, span_kind::held, {}, t.held_since, t.clock, t.held, nullptr});
  t.held = 0;
}

int gatherer::last_writer(engine::address at) {
  const writers* found = writers_.find(at);
  return found != nullptr ? static_cast<int>(found->last) - 1 : -1;
}

// ---- threads ----------------------------------------------------------------------------------

void gatherer::stretch_ended(const thread& t, cycles at) {
  if (!timeline_) return;
  if (kept_.timeline.size() >= timeline_limit) {
    kept_.timeline_cut = true;
    return;
  }
  std::uintptr_t address = 0;
  if (t.doing == activity::parked) address = t.park.at;
  if (t.state == phase::polling || t.state == phase::looking) address = t.poll.at;
  kept_.timeline.push_back({t.index, t.processor, t.doing, t.since, at, address});
}

void gatherer::add_span(const span& what) {
  if (!timeline_) return;
  if (kept_.spans.size() >= timeline_limit) kept_.timeline_cut = true;
  else kept_.spans.push_back(what);
}

void gatherer::thread_ended(thread& t) { t.counted.end = t.clock; }

void gatherer::mark(const thread& t, const char* name, std::uint64_t count) {
  auto found = std::find_if(kept_.marks.begin(), kept_.marks.end(),
                            [&](const mark_statistics& m) { return m.name == name; });
  if (found == kept_.marks.end()) {
    found = kept_.marks.insert(found, mark_statistics{});
    found->name = name;
    found->first = t.clock;
  }
  add_at(found->by_thread, t.index, count);
  add_at(found->calls, t.index, std::uint64_t{1});
  if (found->calls[t.index] == 1) found->before += count;
  found->last = t.clock;
}

// ---- transactions -----------------------------------------------------------------------------

transaction_statistics& gatherer::transaction_of(engine::place where) {
  const auto [found, is_new] = transaction_index_.try_emplace(where, kept_.transactions.size());
  if (is_new) kept_.transactions.emplace_back().begin = where;
  return kept_.transactions[found->second];
}

void gatherer::transaction_began(const transaction& tx) { ++transaction_of(tx.began_at).begins; }

void gatherer::transaction_committed(const thread& t) {
  const transaction& tx = t.htm;
  transaction_statistics& s = transaction_of(tx.began_at);
  ++s.commits;
  s.committed_cycles += t.clock - tx.began;
  add_span({t.index, span_kind::committed, {}, tx.began, t.clock, 0, tx.began_at});
  s.most_read_lines = std::max(s.most_read_lines, tx.read_lines);
  s.most_written_lines = std::max(s.most_written_lines, tx.written_lines);
}

void gatherer::transaction_aborted(const thread& t, const abort_reason& reason) {
  const transaction& tx = t.htm;
  const cycles wasted = t.clock > tx.began ? t.clock - tx.began : 0;
  transaction_statistics& s = transaction_of(tx.began_at);
  ++s.aborts[static_cast<std::size_t>(reason.cause)];
  s.wasted_cycles += wasted;
  add_span({t.index, span_kind::aborted, reason.cause, tx.began, tx.began + wasted, reason.line,
            tx.began_at});
  const abort_key key{reason.cause, reason.code, tx.began_at, reason.by, reason.line};
  const auto [found, is_new] = abort_index_.try_emplace(key, kept_.aborts.size());
  if (is_new)
    kept_.aborts.push_back({reason.cause, reason.code, tx.began_at, reason.by, reason.line, 0, 0});
  abort_statistics& a = kept_.aborts[found->second];
  ++a.count;
  a.wasted += wasted;
}

// ---- the end ----------------------------------------------------------------------------------

statistics gatherer::results(cycles at) {
  statistics all = std::move(kept_);
  if (samples_native()) all.unseen = instrument::end_native_time();
  if (native_time_) all.native = all.unseen;
  all.native_cycles = world_.native_charged;
  const description& machine = world_.machine;
  all.machine = machine.name;
  all.hertz = static_cast<double>(machine.topology.frequency_hz);
  all.line_bytes = machine.l1.line;
  all.cycles = at;
  all.finished = world_.finished;
  all.exit_status = world_.exit_status;
  for (thread& t : world_.schedule.threads()) {
    thread_statistics& s = all.threads.emplace_back(t.counted);
    if (t.state != phase::ended) s.end = at;
    if (const void* routine = instrument::thread_routine(t.index)) s.entry = routine;
    s.accesses = t.accesses;
    s.atomics = t.atomics;
    s.slow = t.slow;
    s.stalled = t.stalled;
  }
  for (const processor& p : world_.schedule.processors())
    all.processors.push_back({p.spent, world_.memory.totals(p.number)});
  all.lines = world_.memory.lines();
  all.energy = world_.schedule.energy().until(at, world_.memory.totals());
  const auto most = [](auto& of, auto number) {
    std::stable_sort(of.begin(), of.end(),
                     [&](const auto& a, const auto& b) { return number(a) > number(b); });
  };
  most(all.waits, [](const wait_statistics& w) { return w.waited.sum; });
  most(all.aborts, [](const abort_statistics& a) { return a.count; });
  most(all.lines, [](const line_statistics& l) { return l.waited; });
  return all;
}

}  // namespace syncopate::simulated
