// releases.cpp -- what ends with a release: the hold, and then the time until the next section; and
// whom it wakes.
#include <algorithm>
#include <span>
#include <utility>

#include "record/objects.h"
#include "record/rows.h"
#include "record/stacks.h"

namespace syncopate::record {

namespace {

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

// Before read_ends().
bool is_held_for_reading(const thread_state& t, const void* object) noexcept {
  const std::span held{t.entry->read_held};
  return std::ranges::find(held, reinterpret_cast<std::uintptr_t>(object)) != held.end();
}

// Whether others wait for what is released; where nobody knows, the hold alone is of interest.
enum class waiters : std::uint8_t { none, some, unknown };

// A contended release: its row, and the hold that it ended, where the budget allows.
void write_release(thread_state& t, std::uint32_t id, std::uint64_t since, std::uint64_t ended,
                   std::uint64_t now, waiters who) noexcept {
  const auto release = std::exchange(t.release, {});
  row_slot* slot = find_row(t, id, row_kind(wait_kind::release));
  if (slot == nullptr) return;
  const std::uint64_t began = release.since != 0 ? release.since : ended;
  const std::uint64_t ticks = now > began ? now - began : 0;
  const std::uint32_t weight = release.weight != 0 ? release.weight : 1;
  if (who == waiters::some) count(*slot->row, ticks, weight);
  std::uint32_t& skipped = slot->skipped[release.is_late];
  if (release.since != 0 ? !release.is_event : !t.hold_events.allows(now)) {
    skip_event(skipped, weight);
    return;
  }
  if (weight > 1) skip_event(skipped, weight - 1);
  const std::uint64_t used =
      release.cpu_ns != 0 ? cpu_time(CLOCK_THREAD_CPUTIME_ID) - release.cpu_ns : 0;
  write_event(t, skipped,
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

// What this takes is time with the lock held, hence the budget: it belongs to neither the hold nor
// the release. Where readers come and go beside a writer that waits, all their releases are
// contended, far more of them than there are waits.
std::uint64_t hold_ends_now(const void* object, bool contended) noexcept {
  thread_state* const t = local.state;
  const bool is_release = contended && t != nullptr && !local.inside;
  const bool is_sampled = t != nullptr && !local.inside && t->holds.has(object);
  if (!is_release && !is_sampled) return 0;
  const std::uint64_t now = machine::ticks();
  std::uint32_t weight = 1;
  bool is_late = false;
  if (is_release && !is_sampled) {
    weight = t->turns.take(object, now, long_wait(), is_late);
    if (weight == 0) return 0;
  }
  if (is_sampled) {
    entry inside;
    t->holds.end_watch(object, now, is_held_for_reading(*t, object));
  }
  if (!is_release) return now;
  const bool is_event = is_late ? t->hold_events.allows_long(now) : t->hold_events.allows(now);
  t->release = {now, 0, is_event, is_late, weight};
  if (t->release.is_event && asks_usage(*t)) {
    t->release.cpu_ns = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    t->release.since = machine::ticks();
  }
  return now;
}

static void end_hold(const void* object, std::uint32_t id, waiters who,
                     std::uint64_t ended) noexcept {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  const std::uint64_t now = machine::ticks();
  if (ended == 0) ended = now;
  std::uint64_t since = 0;
  std::uint32_t stands_for = 0;
  const bool is_known = id == 0 || is_of(id, object);  // else of the parent's: is_of()
  if (!is_known) id = 0;
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
  if (!is_known) who = waiters::none;
  if (who == waiters::none && stands_for == 0 &&
      (local.state == nullptr || !local.state->is_pending))
    return;
  thread_state* t = this_thread();
  if (t == nullptr) return;
  flush(*t);
  if (who != waiters::none) write_release(*t, id, since, ended, now, who);
  if (stands_for != 0) begin_gap(*t, object, id, stands_for);
}

void released(const void* object, std::uint32_t id, bool contended, std::uint64_t ended) noexcept {
  end_hold(object, id, contended ? waiters::some : waiters::none, ended);
}

void released_unseen(const void* object, std::uint32_t id, std::uint64_t ended) noexcept {
  end_hold(object, id, waiters::unknown, ended);
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

void futex_waited(const void* word) noexcept {
  if (!enabled) return;
  entry inside;
  if (thread_state* const t = inside ? this_thread() : nullptr) t->futexes.add(word);
}

// Id of the object at `word`, 0 where nobody has waited for it; else its waking is counted.
static std::uint32_t note_wake(object_kind kind, const void* word, bool one) noexcept {
  if (!enabled) return 0;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  const std::uint32_t id = t != nullptr ? known_object(kind, word) : 0;
  if (id != 0) count_wake(id, t->futexes.has(word), one);
  return id;
}

void futex_woken(const void* word, bool one, std::uint64_t began) noexcept {
  const std::uint32_t id = note_wake(object_kind::futex, word, one);
  if (id != 0) released(word, id, true, began);
}

void shared_semaphore_taken(const void* semaphore) noexcept { futex_waited(semaphore); }

void shared_semaphore_posted(const void* semaphore, bool contended, std::uint64_t began) noexcept {
  const std::uint32_t id = note_wake(object_kind::semaphore, semaphore, true);
  if (id != 0 && contended) released(semaphore, id, true, began);
}

}  // namespace syncopate::record
