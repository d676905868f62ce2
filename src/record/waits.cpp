// waits.cpp -- rows (every wait, exactly) and events (some waits and holds, with weights).
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: the thread has loaded the header with acquire when it entered (recorder.cpp).
#include <cstring>
#include <utility>

#include "record/objects.h"
#include "record/stacks.h"
#include "record/threads.h"
#include "record/waits.h"

namespace syncopate::record {

namespace {

// A wait this long is always worth an event: it has paid for it.
std::uint64_t long_wait() noexcept { return milliseconds(1); }

// Of a wait that was not chosen when it began.
bool is_worth_it(const wait& w) noexcept {
  return w.weight == 0 && w.end > w.start && w.end - w.start >= long_wait();
}

void make_event(thread_state& t, wait& w) noexcept {
  if (!t.wait_events.allows(w.end)) return;
  w.weight = 1;
  w.stack = capture_stack(t, capture_reason::wait, w.end);
}

// Behind a wait this long, the hold is measured: a hundredth of what it took.
std::uint64_t worth_a_hold() noexcept { return milliseconds(1) / 32; }

constexpr std::uint32_t row_kind(wait_kind kind) noexcept {
  return static_cast<std::uint32_t>(kind);
}

std::uint16_t take_weight(std::uint32_t& skipped) noexcept {
  const std::uint32_t stood_for = skipped < 65'534 ? skipped : 65'534;
  skipped -= stood_for;
  return static_cast<std::uint16_t>(stood_for + 1);
}

void skip_event(std::uint32_t& skipped, std::uint32_t weight = 1) noexcept {
  if (skipped == 0) set_flag(sampled);
  skipped += weight;
}

// Fills all but the weight; writes it, or counts it as skipped where the record is full.
void write_event(thread_state& t, std::uint32_t& skipped, event e) noexcept {
  event* to = next_item<event>(t.event_chunk, chunk_kind::events, t.index);
  if (to == nullptr) {
    skip_event(skipped);
    return;
  }
  e.weight = take_weight(skipped);
  *to = e;
  publish_item(t.event_chunk);
}

void count(wait_row& row, std::uint64_t ticks, std::uint32_t weight = 1) noexcept {
  row.waits += weight;
  row.wait_sum += ticks * weight;
  if (ticks > row.wait_max) row.wait_max = ticks;
  row.histogram[bucket(ticks, 64)] += weight;
}

// Whether to ask the kernel about a wait that becomes an event. That takes about 2 us in all, half
// of it with the lock held; so after a thread's first ones, at one event in sixteen.
bool asks_usage(thread_state& t) noexcept {
  constexpr std::uint32_t first_ones = 24, one_in = 16;
  const std::uint32_t turn = t.usage_turn++;
  return turn < first_ones || turn % one_in == 0;
}

// Of how many `ticks` the thread had a processor, by its clock of processor time.
std::uint64_t on_processor(std::uint64_t cpu_ns, std::uint64_t ticks) noexcept {
  const auto used = static_cast<std::uint64_t>(static_cast<double>(cpu_ns) * 1e-9 *
                                               static_cast<double>(ticks_per_second));
  return used < ticks ? used : ticks;
}

void write_wait(thread_state& t, const wait& w) noexcept {
  const std::uint64_t ticks = w.end > w.start ? w.end - w.start : 0;
  row_slot* slot = find_row(t, w.id, static_cast<std::uint32_t>(w.kind));
  if (slot == nullptr) return;
  count(*slot->row, ticks);
  std::uint32_t& skipped = slot->skipped[ticks >= long_wait()];
  if (w.weight == 0) {
    skip_event(skipped);
    return;
  }
  write_event(t, skipped,
              {.start = w.start,
               .end = w.end,
               .lock = w.id,
               .stack = w.stack,
               .holder = w.holder,
               .weight = 0,
               .kind = static_cast<std::uint8_t>(event_kind::wait),
               .wait = static_cast<std::uint8_t>(w.kind),
               .on_processor = on_processor(w.used.cpu_ns, ticks),
               .sleeps = w.used.sleeps,
               .preemptions = w.used.preemptions});
}

void note_waited(thread_state& t, const wait& w) noexcept {
  t.waited += w.end > w.start ? w.end - w.start : 0;
  ++t.waits;
}

// What this takes is neither in the section nor in what is measured. One is measured at a time:
// which of two is left to chance, or else of two locks that are always taken together none of one's
// would be.
void begin_gap(thread_state& t, const void* object, std::uint32_t id,
               std::uint32_t weight) noexcept {
  if (current_gap.object != nullptr && current_gap.object != object) {
    t.gap_chance = t.gap_chance * 1664525u + 1013904223u;  // Numerical Recipes' generator
    if ((t.gap_chance >> 31) != 0) return;
  }
  current_gap = {.object = object,
                 .since = 0,
                 .waited = t.waited,
                 .id = id,
                 .weight = weight,
                 .waits = t.waits,
                 .used = thread_usage()};
  current_gap.since = machine::ticks();
}

// Now and then, so that the record of a killed program says when it ended.
void touch_header(std::uint64_t now) noexcept {
  file_header* h = header.load(std::memory_order_relaxed);  // [H]
  const std::uint64_t last = load(h->last_ticks);
  if (now < last || now - last < milliseconds(100)) return;
  store(h->last_ticks, now);
  store(h->last_monotonic_ns, machine::now());
}

// A contended release: its row, and the hold that it ended, where the budget allows.
void write_release(thread_state& t, std::uint32_t id, std::uint64_t since, std::uint64_t ended,
                   std::uint64_t now) noexcept {
  const auto release = std::exchange(t.release, {});
  row_slot* slot = find_row(t, id, static_cast<std::uint32_t>(wait_kind::release));
  if (slot == nullptr) return;
  const std::uint64_t began = release.since != 0 ? release.since : ended;
  const std::uint64_t ticks = now > began ? now - began : 0;
  const std::uint32_t weight = release.weight != 0 ? release.weight : 1;
  count(*slot->row, ticks, weight);
  if (release.since != 0 ? !release.is_event : !t.hold_events.allows(now)) {
    skip_event(slot->skipped[0], weight);
    return;
  }
  if (weight > 1) skip_event(slot->skipped[0], weight - 1);
  const std::uint64_t used =
      release.cpu_ns != 0 ? cpu_time(CLOCK_THREAD_CPUTIME_ID) - release.cpu_ns : 0;
  write_event(t, slot->skipped[0],
              {.start = since,
               .end = ended,
               .lock = id,
               .stack = capture_stack(t, capture_reason::hold, now),
               .holder = 0,
               .weight = 0,
               .kind = static_cast<std::uint8_t>(event_kind::hold),
               .wait = 0,
               .on_processor = on_processor(used, ticks),
               .sleeps = 0,
               .preemptions = 0});
}

}  // namespace

void tell_open(const thread_state& t, const wait& w, const waiting_call& from) noexcept {
  open_wait& open = t.entry->open;
  open.end = 0;
  open.caller = reinterpret_cast<std::uintptr_t>(from.caller);
  open.lock = w.id;
  open.kind = static_cast<std::uint32_t>(w.kind);
  open.holder = w.holder;
  open.stack = w.stack;
  open.flags =
      (from.timed ? std::uint32_t{timed} : 0u) | (from.has_owner ? std::uint32_t{has_owner} : 0u);
  publish(open.since, w.start);
}

void count_in_vain(thread_state& t, std::uint32_t id) noexcept {
  if (const row_slot* slot = find_row(t, id, row_kind(wait_kind::in_vain))) ++slot->row->waits;
}

void write_told(thread_state& t, const wait& w, std::uint32_t holder_stack) noexcept {
  note_waited(t, w);
  write_wait(t, w);
  publish(t.entry->open.since, 0u);
  touch_header(w.end);
  if (holder_stack == 0 || w.weight == 0) return;
  std::uint32_t skipped = 0;
  write_event(t, skipped,
              {.start = w.start,
               .end = w.end,
               .lock = w.id,
               .stack = holder_stack,
               .holder = w.holder,
               .weight = 0,
               .kind = static_cast<std::uint8_t>(event_kind::hold),
               .wait = 0,
               .on_processor = 0,
               .sleeps = 0,
               .preemptions = 0});
}

void write_told_release(thread_state& t, std::uint32_t lock, std::uint32_t stack) noexcept {
  const std::uint64_t now = machine::ticks();
  std::uint32_t skipped = 0;
  write_event(t, skipped,
              {.start = 0,
               .end = now,
               .lock = lock,
               .stack = stack,
               .holder = 0,
               .weight = 0,
               .kind = static_cast<std::uint8_t>(event_kind::hold),
               .wait = 0,
               .on_processor = 0,
               .sleeps = 0,
               .preemptions = 0});
}

void flush(thread_state& t) noexcept {
  if (!t.is_pending) return;
  write_wait(t, t.pending);
  t.is_pending = false;
  publish(t.entry->open.since, 0u);
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
  if (trying_for != nullptr) end_tries(*t);
  flush(*t);
  w.id = known_id(id);
  w.holder = holder;
  w.kind = kind;
  w.start = machine::ticks();
  if (t->wait_events.allows(w.start)) {
    w.weight = 1;
    w.stack = capture_stack(*t, capture_reason::wait, w.start);
    if (asks_usage(*t)) w.used = thread_usage();
    // This overlaps with the wait; what it took is our cost, not blamed on the lock.
    w.start = machine::ticks();
  }
  tell_open(*t, w, from);
  return w;
}

void wait_end(wait& w, const void* object) noexcept {
  if (w.start == 0) return;
  w.end = machine::ticks();
  thread_state* t = local.state;
  if (t == nullptr || local.inside) return;
  note_waited(*t, w);
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
  // Else the hold is measured where it is its lock's turn, and the wait is written at the next one.
  if (w.weight == 0 && w.end - w.start < worth_a_hold()) return;
  entry inside;
  if (inside)
    t->holds.begin(object, held, w.id, 0, w.used.cpu_ns != 0 ? asking::always : asking::if_free);
}

// What this takes is time with the lock held, hence the budget: it belongs to neither the hold nor
// the release. Where readers come and go beside a writer that waits, all their releases are
// contended, far more of them than there are waits.
std::uint64_t hold_ends_now(const void* object, bool contended) noexcept {
  thread_state* const t = local.state;
  const bool is_release = contended && t != nullptr && !local.inside;
  const bool is_sampled = t != nullptr && !local.inside && t->holds.has(object);
  if (!is_release && !is_sampled) return 0;
  std::uint32_t weight = 1;
  if (is_release && !is_sampled) {
    weight = t->turns.take(object);
    if (weight == 0) return 0;
  }
  const std::uint64_t now = machine::ticks();
  if (is_sampled) {
    entry inside;
    t->holds.end_watch(object, now);
  }
  if (!is_release) return now;
  t->release = {now, 0, t->hold_events.allows(now), weight};
  if (t->release.is_event && asks_usage(*t)) {
    t->release.cpu_ns = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    t->release.since = machine::ticks();
  }
  return now;
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
  publish(t->entry->open.since, 0u);
  touch_header(w.end);
}

void wait_in_vain(wait& w) noexcept {
  wait_end_now(w);
  if (w.end == 0) return;
  entry inside;
  if (thread_state* const t = inside ? local.state : nullptr) count_in_vain(*t, w.id);
}

void wait_refused(wait& w) noexcept {
  if (w.start == 0 || !enabled) return;
  w = {};
  entry inside;
  if (thread_state* const t = inside ? local.state : nullptr) publish(t->entry->open.since, 0u);
}

// The first attempts tell nothing: a thread that does other work between two is not waiting. One
// that comes back within microseconds does nothing but try; then a longer pause between two is its
// processor's loss, or a yield, and ends the wait only where it is very long.
void tried_in_vain(std::uint32_t id, const void* object, std::uint32_t holder,
                   const void* caller) noexcept {
  constexpr std::uint32_t enough = 4;
  if (!enabled) return;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr || t->told.start != 0) return;
  vain_tries& tries = t->tries;
  const std::uint64_t now = machine::ticks();
  const std::uint64_t pause = tries.spins ? milliseconds(100) : milliseconds(1) / 50;
  if (trying_for != object || now - tries.last > pause) {
    end_tries(*t);
    trying_for = object;
    tries = {.first = now, .last = now, .count = 0, .spins = false, .of = {}};
  }
  tries.last = now;
  if (tries.spins) return publish(t->entry->open.end, now);
  if (++tries.count < enough) return;
  flush(*t);
  tries.spins = true;
  tries.of.id = known_id(id);
  tries.of.holder = holder;
  tries.of.kind = wait_kind::trylock;
  tries.of.start = tries.first;
  if (t->wait_events.allows(now)) {
    tries.of.weight = 1;
    tries.of.stack = capture_stack(*t, capture_reason::wait, now);
  }
  tell_open(*t, tries.of, {.caller = caller, .timed = false, .has_owner = holder != 0});
  publish(t->entry->open.end, now);
}

void end_tries(thread_state& t) noexcept {
  trying_for = nullptr;
  if (!std::exchange(t.tries.spins, false)) return;
  t.tries.of.end = t.tries.last;
  note_waited(t, t.tries.of);
  write_wait(t, t.tries.of);
  count_in_vain(t, t.tries.of.id);
  publish(t.entry->open.since, 0u);
}

void got_at_last(const void* object) noexcept {
  if (trying_for != object) return;
  trying_for = nullptr;
  thread_state* const t = local.state;
  if (t == nullptr || !std::exchange(t->tries.spins, false)) return;
  wait_end(t->tries.of, object);
}

void futex_waited(const void* word) noexcept {
  if (!enabled) return;
  entry inside;
  if (thread_state* const t = inside ? this_thread() : nullptr) t->futexes.add(word);
}

void futex_woken(const void* word, bool one, std::uint64_t began) noexcept {
  if (!enabled) return;
  std::uint32_t id = 0;
  {
    entry inside;
    thread_state* const t = inside ? this_thread() : nullptr;
    if (t != nullptr) id = known_object(object_kind::futex, word);
    if (id == 0) return;
    count_wake(id, t->futexes.has(word), one);
  }
  released(word, id, true, began);
}

void shared_semaphore_taken(const void* semaphore) noexcept { futex_waited(semaphore); }

void shared_semaphore_posted(const void* semaphore, bool contended, std::uint64_t began) noexcept {
  if (!enabled) return;
  std::uint32_t id = 0;
  {
    entry inside;
    thread_state* const t = inside ? this_thread() : nullptr;
    if (t != nullptr) id = known_object(object_kind::semaphore, semaphore);
    if (id == 0) return;
    count_wake(id, t->futexes.has(semaphore), true);
  }
  if (contended) released(semaphore, id, true, began);
}

void read_begins_elsewhere(std::uint64_t object) noexcept {
  thread_state* t = local.state;
  if (t == nullptr) {
    entry inside;
    t = inside ? this_thread() : nullptr;
    if (t == nullptr) return;
  }
  for (std::uint64_t& held : t->entry->read_held)
    if (held == 0) return publish(held, object);
}

void read_ends_elsewhere(std::uint64_t object) noexcept {
  const thread_state* const t = local.state;
  if (t == nullptr) return;
  for (std::uint64_t& held : t->entry->read_held)
    if (held == object) return publish(held, 0u);
}

void released(const void* object, std::uint32_t id, bool contended, std::uint64_t ended) noexcept {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  const std::uint64_t now = machine::ticks();
  if (ended == 0) ended = now;
  std::uint64_t since = 0;
  std::uint32_t stands_for = 0;
  id = known_id(id);
  thread_state* const mine = local.state;
  if (const hold_sample hold = mine != nullptr ? mine->holds.take(object) : hold_sample{};
      hold.object != nullptr) {
    since = hold.since;
    if (id == 0) id = hold.id;
    if (hold.weight > 1) stands_for = hold.weight;  // else of a lock that was hardly used
    const std::uint64_t held = ended > since ? ended - since : 0;
    add_hold(id, held, hold.weight);
    if (stands_for != 0 && hold.ran_on())
      if (const row_slot* const slot = find_row(*mine, id, row_kind(wait_kind::inside)))
        count(*slot->row, held, stands_for);
    write_hold_watch(*mine, id, hold, held);
  }
  if (!contended && stands_for == 0 && (local.state == nullptr || !local.state->is_pending)) return;
  thread_state* t = this_thread();
  if (t == nullptr) return;
  flush(*t);
  if (contended) write_release(*t, id, since, ended, now);
  if (stands_for != 0) begin_gap(*t, object, id, stands_for);
}

// Of a thread that kept its processor, what passed by the clock; of another one, what the kernel
// says that it ran. Its waits are not part of it, whether they took the processor or not.
void gap_ends() noexcept {
  const std::uint64_t now = machine::ticks();
  const section_gap gap = current_gap;
  current_gap.object = nullptr;
  if (!enabled || gap.object == nullptr || now <= gap.since) return;
  entry inside;
  thread_state* const t = inside ? local.state : nullptr;
  if (t == nullptr) return;
  const usage used = thread_usage() - gap.used;
  const std::uint64_t passed = now - gap.since, waited = t->waited - gap.waited;
  const std::uint64_t outside_waits = passed > waited ? passed - waited : 0;
  const std::uint64_t at_work =
      gap.used.cpu_ns != 0 ? on_processor(used.cpu_ns, outside_waits) : outside_waits;
  // An interruption costs microseconds itself. They are lost in a long time; a short one is hardly
  // ever interrupted, so that it may be left out.
  if (used.preemptions != 0 && at_work < milliseconds(1) / 10) return;
  if (const row_slot* const slot = find_row(*t, gap.id, row_kind(wait_kind::outside)))
    count(*slot->row, at_work, gap.weight);
  // Who left the processor by itself, and in no wait that we know, slept or waited for input.
  const std::uint64_t slept = used.sleeps > t->waits - gap.waits ? outside_waits - at_work : 0;
  if (waited + slept == 0) return;
  if (const row_slot* const slot = find_row(*t, gap.id, row_kind(wait_kind::away)))
    count(*slot->row, waited + slept, gap.weight);
}

// What is no wait, but counted by lock and kind: count(histogram) for this thread's row of it.
template <class Count>
static void count_in_row(std::uint32_t id, wait_kind kind, Count count) noexcept {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  thread_state* const t = this_thread();
  if (t == nullptr) return;
  row_slot* const slot = find_row(*t, known_id(id), row_kind(kind));
  if (slot == nullptr) return;
  ++slot->row->waits;
  count(slot->row->histogram);
}

void elided(std::uint32_t id, const elision_counts& of) noexcept {
  count_in_row(id, wait_kind::elision, [&of](auto& histogram) {
    histogram[committed] += of.committed;
    histogram[fell_back] += of.fell_back;
    histogram[conflicts] += of.conflict;
    histogram[capacities] += of.capacity;
    histogram[lock_helds] += of.lock_held;
    histogram[explicits] += of.explicit_;
    histogram[others] += of.other;
  });
}

void count_run(speculation_counts& of, const machine::htm::status& how) noexcept {
  using machine::htm::cause;
  ++of.runs;
  of.lines += machine::htm::lines_touched();
  switch (how.why) {
    case cause::explicit_: ++of.whole; break;
    case cause::conflict: ++of.conflict; break;
    case cause::capacity: ++of.capacity; break;
    default: ++of.other;
  }
}

void speculated(std::uint32_t id, const speculation_counts& of) noexcept {
  count_in_row(id, wait_kind::speculation, [&of](auto& histogram) {
    histogram[runs_ahead] += of.runs;
    histogram[whole_sections] += of.whole;
    histogram[runs_conflict] += of.conflict;
    histogram[runs_capacity] += of.capacity;
    histogram[runs_other] += of.other;
    histogram[runs_left_out] += of.left_out;
    histogram[lines_touched] += of.lines;
    histogram[trials] += of.trials;
    histogram[gains] += of.gain;
  });
}

}  // namespace syncopate::record
