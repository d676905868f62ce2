// waits.cpp -- the beginning and the end of a wait.
#include "record/waits.h"

#include <utility>

#include "record/objects.h"
#include "record/rows.h"
#include "record/stacks.h"

namespace syncopate::record {

namespace {

// Of a wait that was not chosen when it began.
bool is_worth_it(const wait& w) noexcept {
  return w.weight == 0 && w.end > w.start && w.end - w.start >= long_wait();
}

void make_event(thread_state& t, wait& w) noexcept {
  if (!t.wait_events.allows_long(w.end)) return;
  w.weight = 1;
  w.stack = capture_stack(t, capture_reason::wait, w.end);
}

// Behind a wait this long, the hold is measured: a hundredth of what it took.
std::uint64_t worth_a_hold() noexcept { return milliseconds(1) / 32; }

}  // namespace

void tell_open(thread_state& t, const wait& w, const waiting_call& from,
               std::uintptr_t frame) noexcept {
  open_wait& open = t.entry->open;
  if (open.since != 0 && open.end == 0 && t.waits_at != 0 && t.outer.since == 0) {
    t.outer = open;
    t.outer_at = t.waits_at;
  }
  t.waits_at = frame;
  open.end = 0;
  open.caller = reinterpret_cast<std::uintptr_t>(from.caller);
  open.lock = w.id;
  open.kind = static_cast<std::uint32_t>(w.kind);
  open.holder = w.holder;
  open.stack = w.stack;
  open.flags = (from.timed ? std::uint32_t{timed} : 0u) |
               (from.has_owner ? std::uint32_t{has_owner} : 0u) |
               (from.began_before ? std::uint32_t{began_before} : 0u);
  publish(open.since, w.start);
}

void tell_closed(thread_state& t) noexcept {
  open_wait& open = t.entry->open;
  publish(open.since, 0u);
  if (t.outer.since == 0) return;
  open.end = 0;
  open.caller = t.outer.caller;
  open.lock = t.outer.lock;
  open.kind = t.outer.kind;
  open.holder = t.outer.holder;
  open.stack = t.outer.stack;
  open.flags = t.outer.flags;
  t.waits_at = t.outer_at;
  publish(open.since, std::exchange(t.outer.since, 0u));
}

// Before the end of a wait is told.
static void leave_outer(thread_state& t, const wait& w) noexcept {
  if (t.outer.since == w.start) t.outer.since = 0;
}

void flush(thread_state& t) noexcept {
  if (!t.is_pending) return;
  write_wait(t, t.pending);
  t.is_pending = false;
  tell_closed(t);
  touch_header(t.pending.end);
}

wait wait_begin(wait_kind kind, std::uint32_t id, std::uint32_t holder,
                waiting_call from) noexcept {
  wait w;
  if (!enabled) return w;
  entry inside;
  if (!inside) return w;
  thread_state* t = this_thread();
  if (t == nullptr || t->told.start != 0) return w;
  w.id = known_id(id);
  const std::uint64_t since = trying_for != nullptr ? tries_lead_to(*t, w.id) : 0;
  flush(*t);
  end_wait_if_left(*t);
  w.holder = holder;
  w.kind = kind;
  w.start = machine::ticks();
  if (t->wait_events.allows_beginning(w.start)) {
    w.weight = 1;
    w.stack = capture_stack(*t, capture_reason::wait, w.start);
    if (asks_usage(*t)) w.used = thread_usage();
    // This overlaps with the wait; what it took is our cost, not blamed on the lock.
    w.start = machine::ticks();
  }
  if (since != 0) w.start = since;
  const bool does_more = kind == wait_kind::barrier;  // of OpenMP's regions: the thread runs them
  tell_open(*t, w, from,
            does_more ? 0 : reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  return w;
}

static bool is_for_lock(wait_kind kind) noexcept {
  using enum wait_kind;
  for (const wait_kind lost :
       {mutex, mutex_relock, read, write, spinlock, semaphore_lock, futex_lock})
    if (kind == lost) return true;
  return false;
}

void end_left_wait(thread_state& t) noexcept {
  const open_wait& open = t.entry->open;
  wait w;
  w.start = open.since;
  w.end = machine::ticks();
  w.id = open.lock;
  w.holder = open.holder;
  w.stack = open.stack;
  w.weight = open.stack != 0 ? 1 : 0;
  w.kind = static_cast<wait_kind>(open.kind);
  note_waited(t, w);
  write_wait(t, w);
  if (is_for_lock(w.kind)) count_in_vain(t, w.id);
  tell_closed(t);
}

void wait_end(wait& w, const void* object) noexcept {
  if (w.start == 0) return;
  w.end = machine::ticks();
  thread_state* t = local.state;
  if (t == nullptr || local.inside) return;
  note_waited(*t, w);
  leave_outer(*t, w);
  publish(t->entry->open.end, w.end);
  std::uint64_t held = w.end;
  if (is_worth_it(w)) {  // with the lock held, too: microseconds behind a wait of milliseconds
    entry inside;
    if (inside) make_event(*t, w);
    held = machine::ticks();
  }
  if (w.used.cpu_ns != 0) {  // two system calls with the lock held: see asks_usage()
    w.used = thread_usage() - w.used;
    held = machine::ticks();
  }
  if (t->is_pending) {  // of a signal handler that waited inside this wait
    entry inside;
    if (inside) flush(*t);
  }
  t->pending = w;
  t->is_pending = true;
  if (t->outer.since != 0) {  // in a signal handler
    entry inside;
    if (inside) flush(*t);
  }
  // Else the hold is measured where it is its lock's turn, and the wait is written at the next one.
  if (w.weight == 0 && w.end - w.start < worth_a_hold()) return;
  entry inside;
  if (inside)
    t->holds.begin(object, held, w.id, 0, w.used.cpu_ns != 0 ? asking::always : asking::if_free);
}

void wait_end_now(wait& w) noexcept {
  if (w.start == 0 || !enabled) return;
  w.end = machine::ticks();
  entry inside;
  thread_state* t = local.state;
  if (!inside || t == nullptr) return;
  note_waited(*t, w);
  if (w.used.cpu_ns != 0) w.used = thread_usage() - w.used;
  if (is_worth_it(w)) make_event(*t, w);
  write_wait(*t, w);
  leave_outer(*t, w);
  tell_closed(*t);
  touch_header(w.end);
}

void signaled(std::uint32_t id) noexcept {
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr) return;
  count_signal(id);
  // Threads that each wake all others would have a row for each of these.
  if (!has_row(*t, id, row_kind(wait_kind::signals)) &&
      !has_row(*t, id, row_kind(wait_kind::condition)) && ++t->signal_rows > most_signal_rows)
    return;
  if (const row_slot* slot = find_row(*t, id, row_kind(wait_kind::signals))) ++slot->row->waits;
}

void wait_in_vain(wait& w) noexcept {
  wait_end_now(w);
  if (w.end == 0) return;
  entry inside;
  if (thread_state* const t = inside ? local.state : nullptr) count_in_vain(*t, w.id);
}

void wait_refused(wait& w) noexcept {
  if (w.start == 0 || !enabled) return;
  entry inside;
  if (thread_state* const t = inside ? local.state : nullptr) {
    leave_outer(*t, w);
    tell_closed(*t);
  }
  w = {};
}

}  // namespace syncopate::record
