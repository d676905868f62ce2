// guard.cpp -- the table of guarded mutexes, epochs, and the change of a lock in use.

#include "preload/guard/guard.h"

#include <cstring>
#include <new>

#include "base/option.h"
#include "preload/choice/policy.h"
#include "preload/guard/preemption.h"
#include "preload/log/guard_log.h"
#include "preload/misuse/misuse.h"
#include "record/internal.h"
#include "record/unwind.h"

namespace syncopate::shim {

constinit guard_settings guards;

namespace {

constexpr std::uint32_t most_guarded = 4096, no_room = ~0u;
constexpr std::uint64_t epoch_ms = 100;
constexpr std::uint64_t hard_epoch = 16;       // acquisitions, in the hard modes
constexpr std::uint64_t looks_at_clock = 256;  // acquisitions that were free, between two looks

struct {
  record::tiny_lock changing;  // the members below
  guarded* entries = nullptr;  // entries[0] is nobody's
  std::uint32_t used = 1;
  std::uint32_t first_free = 0;
  const algorithm* fallback = nullptr;
  std::uint64_t epoch_ticks = 0;
  std::uint32_t given_up = 0;
  bool full = false;
} constinit table;

const char* unknown_word = nullptr;

const algorithm& choice_of(const mutex_object& o) noexcept {
  return *chosen_locks[o.chosen_lock()];
}
bool can_be_guarded(const mutex_object& o) noexcept { return !choice_of(o).traits.glibc_word; }

lock_in_use choice_in_use(mutex_object& o) noexcept {
  const algorithm& lock = choice_of(o);
  return {&lock, o.state(lock.traits.glibc_word), lock.traits.keeps_owner};
}
lock_in_use use_of(guarded& g, mutex_object& o) noexcept {
  if (__atomic_load_n(&g.in_use, __ATOMIC_RELAXED) == guarded::choice)
    return choice_in_use(o);  // [U]
  return {table.fallback, g.fallback_state, false};
}

// Null also for a copy of a mutex, which has the index of the other one's entry in it.
guarded* entry_of(mutex_object& o) noexcept {
  if (!can_be_guarded(o)) return nullptr;
  const std::uint32_t index = __atomic_load_n(&o.slot_a, __ATOMIC_ACQUIRE);  // [I]
  if (index == 0 || index == no_room) return nullptr;
  guarded* const entry = table.entries + index;
  return __atomic_load_n(&entry->object, __ATOMIC_RELAXED) == &o ? entry : nullptr;  // [O]
}

// ---- the table ----------------------------------------------------------------------------------

std::uint32_t take_entry() noexcept {
  record::holding lock(table.changing);
  if (!lock) return no_room;
  if (table.entries == nullptr)
    table.entries = static_cast<guarded*>(record::sys::pages(most_guarded * sizeof(guarded)));
  if (table.entries == nullptr) return no_room;
  if (const std::uint32_t index = table.first_free; index != 0) {
    table.first_free = table.entries[index].next_free;
    return index;
  }
  if (table.used < most_guarded) return table.used++;
  table.full = true;
  return no_room;
}

void give_back(std::uint32_t index) noexcept {
  record::holding lock(table.changing);
  if (!lock) return;
  table.entries[index].next_free = table.first_free;
  table.first_free = index;
}

// By the thread that holds the mutex, so nobody else sets the index.
guarded* begin_guarding(mutex_object& o, const void* caller) noexcept {
  if (!can_be_guarded(o) || o.slot_a == no_room || entry_of(o) != nullptr) return nullptr;
  const std::uint32_t index = take_entry();
  if (index != no_room) {
    guarded& g = *new (table.entries + index) guarded{};
    __atomic_store_n(&g.object, &o, __ATOMIC_RELAXED);  // [O]
    g.site = reinterpret_cast<std::uintptr_t>(caller);
    g.epoch_begin = machine::ticks();
    g.generation = machine::fork_generation();
  }
  __atomic_store_n(&o.slot_a, index, __ATOMIC_RELEASE);  // [I]
  return index == no_room ? nullptr : table.entries + index;
}

// ---- epochs -------------------------------------------------------------------------------------

bool is_hard() noexcept { return guards.distrust || guards.restless; }

bool epoch_is_over(const guarded& g, bool waited) noexcept {
  if (is_hard()) return g.tally.acquisitions >= hard_epoch;
  // Of a lock that hardly moves an epoch takes as long as it needs.
  if (g.tally.acquisitions < guard_history::least_acquisitions) return false;
  if (!waited && g.tally.acquisitions % looks_at_clock != 0) return false;
  return machine::ticks() - g.epoch_begin >= table.epoch_ticks;
}

guard_step next_step(guarded& g) noexcept {
  const bool on_fallback = g.in_use == guarded::fallback;
  if (guards.restless) return on_fallback ? guard_step::back_to_choice : guard_step::try_fallback;
  if (!guards.distrust) return g.history.after(g.tally);
  epoch_tally made{guard_history::least_acquisitions, guard_history::least_waits, 0};
  made.wait_ticks = on_fallback ? made.acquisitions : 1000 * made.acquisitions;
  made.ticks = made.wait_ticks;
  return g.history.after(made);
}

std::uint64_t to_ns(double ticks) noexcept {
  return static_cast<std::uint64_t>(ticks * 1e9 / static_cast<double>(machine::ticks_per_second()));
}

void say_given_up(const guarded& g, const algorithm& choice) noexcept {
  const aside report(guards.misuse);
  const char* const label = label_at(g.object);
  const guard_history& h = g.history;
  guard_line({"mutex ",
              address(g.object),
              label != nullptr ? " (" : "",
              label != nullptr ? label : "",
              label != nullptr ? ")" : "",
              ", first waited for at ",
              code(g.site - 1),
              ": ",
              choice.name.data(),
              choice.wait.empty() ? "" : ":",
              choice.wait.data(),
              " is acquired every ",
              number(to_ns(h.choice_time)),
              " ns and waited for ",
              number(to_ns(h.choice_wait)),
              " ns, ",
              table.fallback->name.data(),
              " every ",
              number(to_ns(h.fallback_time)),
              " ns and ",
              number(to_ns(h.fallback_wait)),
              " ns, and it was so in ",
              number(h.losses),
              " comparisons: the choice does not pay, back to ",
              table.fallback->name.data()});
}

// I1: this thread is inside; it leaves with the other lock held and the old one free.
lock_in_use change(guarded& g, mutex_object& o, const lock_in_use& held) noexcept {
  const std::uint32_t next = guarded::fallback - g.in_use;
  const lock_in_use other = next == guarded::fallback
                                ? lock_in_use{table.fallback, g.fallback_state, false}
                                : choice_in_use(o);
  other.lock->lock(other.state);
  __atomic_store_n(&g.in_use, next, __ATOMIC_RELAXED);  // [U]
  held.lock->unlock(held.state);
  return other;
}

bool wants(guard_step step, std::uint32_t in_use) noexcept {
  if (step == guard_step::try_fallback || step == guard_step::give_up)
    return in_use != guarded::fallback;
  return step == guard_step::back_to_choice && in_use != guarded::choice;
}

}  // namespace

// ---- what mutexes call --------------------------------------------------------------------------

lock_in_use lock_in_use_of(mutex_object& o) noexcept {
  guarded* const g = entry_of(o);
  return g == nullptr ? choice_in_use(o) : use_of(*g, o);
}

bool is_in_use(mutex_object& o, const lock_in_use& held) noexcept {
  return lock_in_use_of(o).state == held.state;
}

lock_in_use note_acquisition(mutex_object& o, const lock_in_use& held, std::uint64_t waited,
                             const void* caller) noexcept {
  guarded* g = entry_of(o);
  if (g == nullptr && (waited != 0 || is_hard())) g = begin_guarding(o, caller);
  if (g == nullptr || g->history.given_up) return held;
  if (g->generation != machine::fork_generation()) return held;  // I4
  const bool had_to_wait = waited != 0;
  ++g->tally.acquisitions;
  g->tally.waits += had_to_wait ? 1 : 0;
  // What was waited before the epoch is not its algorithm's doing.
  if (const std::uint64_t age = waited != 0 ? machine::ticks() - g->epoch_begin : 0; waited > age)
    waited = age;
  g->tally.wait_ticks += waited;
  if (!epoch_is_over(*g, had_to_wait)) return held;
  g->tally.ticks = machine::ticks() - g->epoch_begin;
  const guard_step step = next_step(*g);
  g->tally = {};
  g->epoch_begin = machine::ticks();
  if (step == guard_step::give_up) {
    __atomic_fetch_add(&table.given_up, 1, __ATOMIC_RELAXED);  // [N]
    say_given_up(*g, choice_of(o));
  }
  return wants(step, g->in_use) ? change(*g, o, held) : held;
}

void stop_guarding(mutex_object& o) noexcept {
  if (guarded* const g = entry_of(o)) give_back(static_cast<std::uint32_t>(g - table.entries));
  if (can_be_guarded(o)) o.slot_a = 0;
}

// ---- start and end ------------------------------------------------------------------------------

static_assert(are_words(row_of(option::guard).choices,
                        {"epochs", "misuse", "slices", "distrust", "restless"}));

void configure_guard(bool recording) noexcept {
  const char* text = setting<option::guard>();
  if (text == nullptr) return;
  guard_settings found;
  const struct {
    const char* name;
    bool& flag;
  } words[] = {{"epochs", found.epochs},
               {"misuse", found.misuse},
               {"slices", found.slices},
               {"distrust", found.distrust},
               {"restless", found.restless}};
  while (*text != '\0') {
    const std::size_t length = std::strcspn(text, ",");
    bool known = length == 0;
    for (const auto& word : words)
      if (std::strlen(word.name) == length && std::memcmp(word.name, text, length) == 0)
        word.flag = known = true;
    if (!known) unknown_word = text;
    text += length + (text[length] == ',' ? 1 : 0);
  }
  found.epochs = (found.epochs || found.distrust || found.restless) && !recording;
  table.fallback = find_algorithm("auto");
  guards = found;
}

void start_guard() noexcept {
  if (unknown_word != nullptr)
    guard_line({"SYNCOPATE_GUARD has an unknown word: ", unknown_word,
                " (epochs, misuse and slices are known)"});
  if (!guards.any()) return;
  record::prepare_unwinding();
  open_guard_log();
  if (guards.misuse) start_misuse();
  table.epoch_ticks = machine::ticks_per_second() / 1000 * epoch_ms;
}

void finish_guard(bool verbose) noexcept {
  if (guards.misuse) finish_misuse();
  if (verbose && guards.slices) report_preemption();
  if (!verbose || !guards.epochs) return;
  guard_line({"mutexes watched: ", number(table.used - 1), ", returned to ",
              table.fallback->name.data(), ": ", number(table.given_up),
              table.full ? "; there were more than can be watched" : ""});
}

}  // namespace syncopate::shim
