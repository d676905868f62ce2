// told.cpp -- see told.h.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: stored by this thread, or behind an entry, which has loaded it with acquire.
#include "record/told.h"

#include <cstring>

#include "record/file.h"
#include "record/objects.h"
#include "record/rows.h"
#include "record/stacks.h"
#include "record/waits.h"

namespace syncopate::record {

namespace {

struct {
  tiny_lock lock;
  chunk_header* chunk = nullptr;
  const file_header* of = nullptr;  // the file that the chunk is in
} constinit lines;

constexpr std::size_t chunk_bytes = std::size_t{64} << 10;

bool start_telling(const char* path, const char* lock_name) {
  if (!start(path, lock_name, "")) return false;
  header.load(std::memory_order_relaxed)->recorder = by_jvm;  // [H]
  return true;
}

void finish_telling(bool detached) {
  file_header* const h = header.load(std::memory_order_relaxed);  // [H]
  if (h == nullptr || !enabled) return;
  finish();
  if (detached) set_flag(record::detached);
}

bool is_recording() { return enabled; }

void add_names(const char* text, std::size_t bytes) {
  if (!enabled) return;
  entry inside;
  if (inside) tell_names(text, bytes);
}

}  // namespace

void tell_names(const char* text, std::size_t bytes) noexcept {
  holding lock(lines.lock);
  if (!lock) return;
  const file_header* const h = header.load(std::memory_order_relaxed);  // [H]
  if (lines.of != h) lines.chunk = nullptr;
  lines.of = h;
  if (lines.chunk == nullptr ||
      sizeof(chunk_header) + lines.chunk->used + bytes > lines.chunk->bytes)
    lines.chunk = grow(chunk_kind::maps, chunk_bytes, 0);
  chunk_header* const chunk = lines.chunk;
  if (chunk == nullptr || sizeof *chunk + chunk->used + bytes > chunk->bytes) return;
  std::memcpy(reinterpret_cast<char*>(chunk + 1) + chunk->used, text, bytes);
  publish(chunk->used, static_cast<std::uint32_t>(chunk->used + bytes));
}

namespace {

void begin_thread() { thread_begin(0); }

bool wants_stack(bool of_release) {
  if (!enabled) return false;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr) return false;
  return (of_release ? t->hold_events : t->wait_events).allows(machine::ticks());
}

std::uint32_t stack_of(const std::uint64_t* numbers, unsigned depth) {
  if (!enabled) return 0;
  entry inside;
  return inside ? intern_numbers(numbers, depth < stack_depth ? depth : stack_depth) : 0;
}

void begin_told(thread_state& t, const told_wait& told, std::uint32_t id, bool before) {
  wait& w = t.told;
  w = {};
  w.id = id;
  w.kind = told.kind;
  w.holder = told.holder;
  w.stack = told.stack;
  w.weight = told.stack != 0 ? 1 : 0;
  w.start = machine::ticks();
  t.began_before = before;
  tell_open(
      t, w,
      {.caller = nullptr, .timed = told.timed, .has_owner = told.has_owner, .began_before = before},
      0);
}

// Of a wait that is over, and of which nobody has seen when it ended.
void forget_told(thread_state& t) {
  t.told = {};
  t.began_before = false;
  tell_closed(t);
}

void wait_begins(const told_wait& told) {
  if (!enabled) return;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr) return;
  if (t->began_before) forget_told(*t);
  if (t->told.start != 0) return;
  if (trying_for != nullptr) end_tries(*t);
  flush(*t);
  begin_told(*t, told, identify_told(told.object, told.address, told.stack), false);
}

// What a thread is kept under that has waited for a semaphore: no address.
const void* waited_for(std::uint32_t id) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that is no address
  return reinterpret_cast<const void*>(std::uintptr_t{id});
}

bool wait_is_long() {
  entry inside;
  const thread_state* const t = inside ? known_thread() : nullptr;
  return t != nullptr && t->told.start != 0 && machine::ticks() - t->told.start >= milliseconds(1);
}

void write_hold(thread_state& t, std::uint64_t start, std::uint64_t end, std::uint32_t lock,
                std::uint32_t stack, std::uint32_t holder) noexcept {
  std::uint32_t skipped = 0;
  write_event(t, skipped,
              {.start = start,
               .end = end,
               .lock = lock,
               .stack = stack,
               .holder = holder,
               .weight = 0,
               .kind = static_cast<std::uint8_t>(event_kind::hold),
               .wait = 0,
               .on_processor = 0,
               .sleeps = 0,
               .preemptions = 0});
}

// Writes a told wait that is over, and, where `holder_stack` is not 0, that its holder held the
// lock all the while.
void write_told(thread_state& t, const wait& w, std::uint32_t holder_stack) noexcept {
  note_waited(t, w);
  write_wait(t, w);
  publish(t.entry->open.since, 0u);
  touch_header(w.end);
  if (holder_stack == 0 || w.weight == 0) return;
  write_hold(t, w.start, w.end, w.id, holder_stack, w.holder);
}

void wait_ends(std::uint32_t stack, std::uint32_t holder, std::uint32_t holder_stack) {
  entry inside;
  thread_state* const t = inside ? known_thread() : nullptr;
  if (t == nullptr || t->told.start == 0) return;
  wait w = t->told;
  t->told = {};
  t->began_before = false;
  w.end = machine::ticks();
  if (w.stack == 0 && stack != 0) {
    w.stack = stack;
    w.weight = 1;
  }
  if (holder != 0) w.holder = holder;
  if (w.kind == wait_kind::semaphore) t->futexes.add(waited_for(w.id));
  write_told(*t, w, holder_stack);
}

void thread_runs(std::uint32_t thread) {
  if (!enabled) return;
  entry inside;
  if (inside) const silent_thread made(thread, true);
}

void waits_already(std::uint32_t thread, const told_wait& told) {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  const std::uint32_t id = identify_told(told.object, told.address, told.stack);
  const silent_thread other(thread, true);
  thread_state* const t = other.state();
  if (t == nullptr || t->told.start != 0) return;
  begin_told(*t, told, id, true);
  if (told.holder_stack != 0)
    write_hold(*t, t->told.start, t->told.start, id, told.holder_stack, told.holder);
}

void goes_on(std::uint32_t thread, bool just_now) {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  const silent_thread other(thread, false);
  thread_state* const t = other.state();
  if (t == nullptr || t->told.start == 0) return;
  wait w = t->told;
  if (!just_now) return forget_told(*t);
  t->told = {};
  t->began_before = false;
  w.end = machine::ticks();
  write_told(*t, w, 0);
}

void wait_fails() {
  entry inside;
  thread_state* const t = inside ? known_thread() : nullptr;
  if (t == nullptr || t->told.start == 0) return;
  const wait_kind kind = t->told.kind;
  if (kind == wait_kind::mutex || kind == wait_kind::read || kind == wait_kind::write)
    count_in_vain(*t, t->told.id);
}

// A hold of the calling thread that ends now.
void write_told_release(thread_state& t, std::uint32_t lock, std::uint32_t stack) noexcept {
  write_hold(t, 0, machine::ticks(), lock, stack, 0);
}

void releases(object_kind kind, std::uint64_t address, std::uint32_t stack) {
  if (!enabled || stack == 0) return;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr) return;
  const std::uint32_t id = identify_told(kind, address, stack);
  // As of semaphores that processes share: a lock's are posted by who takes it.
  if (kind == object_kind::semaphore) count_wake(id, t->futexes.has(waited_for(id)), true);
  write_told_release(*t, id, stack);
}

}  // namespace

constinit const telling told = {.version = 3,
                                .start = start_telling,
                                .finish = finish_telling,
                                .is_recording = is_recording,
                                .names = add_names,
                                .wants_stack = wants_stack,
                                .stack_id = stack_of,
                                .wait_begins = wait_begins,
                                .wait_is_long = wait_is_long,
                                .wait_ends = wait_ends,
                                .wait_fails = wait_fails,
                                .thread_runs = thread_runs,
                                .waits_already = waits_already,
                                .goes_on = goes_on,
                                .releases = releases,
                                .thread_begins = begin_thread,
                                .thread_ends = thread_end};

}  // namespace syncopate::record
