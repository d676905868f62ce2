// threads.cpp -- registering threads, and finding their rows.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: how many threads run, for budgets; whether some are silent: who was made a state
//        for in vain makes one itself, at its first event.
#include "record/threads.h"

#include <syncopate/machine/processor_mask.h>

#include <cstring>
#include <utility>

#include <sys/prctl.h>

#include "record/objects.h"
#include "record/stacks.h"
#include "record/usage.h"

namespace syncopate::record {

constinit thread_local thread_local_data local;
constinit thread_hook* thread_is_new = nullptr;
constinit thread_local section_gap current_gap;
constinit thread_local const void* trying_for = nullptr;
constinit thread_local std::uint64_t* read_held = nullptr;

namespace {

// Beyond so many threads, a new one goes on in the entry of one that ended (so that a program which
// makes a thread per request does not fill the disk). Its entry then covers several threads: the
// last one's name and id, and a start time moved up by the pause, so that end - start is the time
// that they lived, all together.
constexpr std::uint32_t separate_threads = 2048;
constexpr std::uint32_t most_threads = 1u << 20;

// Rows beyond this many go to the thread's rows of lock 0; those of holds and the like, which tell
// less, beyond half as many, so that waits have room where a thread has taken many locks.
constexpr std::uint32_t most_rows = 16'384;

std::uint32_t most_rows_of(std::uint32_t kind) noexcept {
  using enum wait_kind;
  for (const wait_kind of_holds : {holder, inside, outside, away})
    if (kind == static_cast<std::uint32_t>(of_holds)) return most_rows / 2;
  return most_rows;
}

constexpr std::size_t slab_bytes = std::size_t{64} << 10;
constexpr std::size_t state_bytes = (sizeof(thread_state) + 63) / 64 * 64;

table<thread_entry, chunk_kind::threads, 64, most_threads> constinit entries;

struct {
  tiny_lock lock;
  thread_state* idle = nullptr;
  thread_state* newest = nullptr;
  char* slab = nullptr;  // unused rest of the last slab
  std::size_t slab_left = 0;
  std::atomic<std::uint32_t> running{0}, silent{0};
} constinit threads;

thread_state* new_state_locked() noexcept {
  if (threads.slab_left < state_bytes) {
    threads.slab = static_cast<char*>(sys::pages(slab_bytes));
    threads.slab_left = threads.slab != nullptr ? slab_bytes : 0;
    if (threads.slab == nullptr) return nullptr;
  }
  char* at = threads.slab;
  threads.slab += state_bytes;
  threads.slab_left -= state_bytes;
  return reinterpret_cast<thread_state*>(at);  // zeroed pages
}

thread_state* new_thread_locked(std::uint64_t now) noexcept {
  thread_entry* e = entries.reserve();
  if (e == nullptr) return nullptr;
  thread_state* t = new_state_locked();
  if (t == nullptr) return nullptr;
  e->start_ticks = now;
  t->entry = e;
  t->rows = t->first_rows;
  t->rows_size = first_row_slots;
  t->row_chunk.next_bytes = t->event_chunk.next_bytes = 4096;
  t->older = threads.newest;
  threads.newest = t;
  t->index = entries.append();
  return t;
}

thread_state* adopt_idle_locked(std::uint64_t now) noexcept {
  thread_state* t = threads.idle;
  if (t == nullptr) return nullptr;
  threads.idle = t->next_idle;
  thread_entry& e = *t->entry;
  e.start_ticks += now - e.end_ticks;
  e.end_ticks = 0;
  for (std::uint64_t& held : e.read_held) held = 0;
  t->is_pending = t->began_before = false;
  t->told = {};
  t->seen_stacks.forget();  // of another stack
  return t;
}

// How long a thread could have run but had no processor, in nanoseconds; 0 where the kernel does
// not tell. Its file has three numbers, this the second.
std::uint64_t run_delay(std::uint32_t thread_id) noexcept {
  char path[64] = "/proc/self/task/", text[64];
  std::memcpy(sys::put_number(path + 16, thread_id), "/schedstat", 11);
  const char* const end = text + sys::read_file(path, text, sizeof text);
  const char* at = text;
  while (at < end && *at != ' ') ++at;
  std::uint64_t ns = 0;
  for (++at; at < end && *at >= '0' && *at <= '9'; ++at) ns = ns * 10 + unsigned(*at - '0');
  return ns;
}

// 0 where the kernel does not tell any more.
std::uint64_t since(std::uint64_t before, std::uint64_t now) noexcept {
  return now > before ? now - before : 0;
}

std::uint64_t cpu_before(const thread_entry& e) noexcept {
  return std::uint64_t{e.cpu_before_us} * 1000;
}

thread_state* make_locked(std::uint64_t now) noexcept {
  thread_state* t = entries.count() >= separate_threads ? adopt_idle_locked(now) : nullptr;
  if (t == nullptr) t = new_thread_locked(now);
  return t != nullptr ? t : adopt_idle_locked(now);
}

// The thread that runs, and has a state.
thread_state* find_locked(std::uint32_t thread_id) noexcept {
  for (thread_state* t = threads.newest; t != nullptr; t = t->older)
    if (t->entry->thread_id == thread_id && t->entry->end_ticks == 0) return t;
  return nullptr;
}

thread_state* take_silent_locked(std::uint32_t thread_id) noexcept {
  if (threads.silent.load(std::memory_order_relaxed) == 0) return nullptr;  // [K]
  thread_state* const t = find_locked(thread_id);
  if (t == nullptr || !t->is_silent) return nullptr;
  t->is_silent = false;
  threads.silent.fetch_sub(1, std::memory_order_relaxed);  // [K]
  return t;
}

void fill(thread_entry& e, std::uint32_t thread_id, std::uint64_t cpu_ns) noexcept {
  threads.running.fetch_add(1, std::memory_order_relaxed);  // [K]
  e.thread_id = thread_id;
  e.cpu_before_us = static_cast<std::uint32_t>(cpu_ns / 1000);
  e.delay_before_ns = run_delay(thread_id);
  e.open.seen_cpu_ns = e.open.seen_delay_ns = 0;  // of another thread
}

thread_state* register_thread() noexcept {
  const std::uint64_t now = machine::ticks();
  const std::uint32_t thread_id = sys::thread_id();
  thread_state* t = nullptr;
  bool was_silent = false;
  {
    holding lock(threads.lock);
    if (!lock) {
      give_up();
      return nullptr;
    }
    t = take_silent_locked(thread_id);
    was_silent = t != nullptr;
    if (!was_silent) t = make_locked(now);
  }
  if (t == nullptr) return nullptr;
  if (!was_silent) fill(*t->entry, thread_id, cpu_time(CLOCK_THREAD_CPUTIME_ID));
  t->entry->handle = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  sys::call(SYS_prctl, PR_GET_NAME, t->entry->name);
  t->stack = find_stack_bounds();
  // The first threads may spend 1 ms at once, so that short programs show stacks too, and 5 ms on
  // where objects come from: servers make hundreds at their start, which have no other name.
  const std::uint64_t credit = ticks_per_second / (t->index < 16 ? 2000 : 6000);
  for (capture_budget& budget : t->captures) budget.start(now, credit);
  if (t->index < 16)
    t->captures[static_cast<int>(capture_reason::creation)].start(now, ticks_per_second / 200);
  local.state = t;
  read_held = t->entry->read_held;
  if (thread_is_new != nullptr) thread_is_new();
  return t;
}

std::uint32_t hash_row(std::uint32_t lock, std::uint32_t kind) noexcept {
  return (lock * 0x9e3779b1u) ^ (kind * 0x85ebca6bu);
}

row_slot* probe(const thread_state& t, std::uint32_t lock, std::uint32_t kind) noexcept {
  const std::uint32_t mask = t.rows_size - 1;
  for (std::uint32_t i = hash_row(lock, kind) >> 4 & mask;; i = (i + 1) & mask) {
    row_slot& s = t.rows[i];
    if (!s.used || (s.lock == lock && s.kind == kind)) return &s;
  }
}

bool enlarge_rows(thread_state& t) noexcept {
  row_slot* const old = t.rows;
  const std::uint32_t old_size = t.rows_size;
  auto* fresh = static_cast<row_slot*>(sys::pages(std::size_t{2} * old_size * sizeof(row_slot)));
  if (fresh == nullptr) return false;
  t.rows = fresh;
  t.rows_size = 2 * old_size;
  for (std::uint32_t i = 0; i < old_size; ++i)
    if (old[i].used) *probe(t, old[i].lock, old[i].kind) = old[i];
  if (old != t.first_rows) sys::free_pages(old, old_size * sizeof(row_slot));
  return true;
}

constexpr std::size_t times_bytes = separate_threads * sizeof(thread_times);

std::uint32_t separate_count() noexcept {
  return entries.count() < separate_threads ? entries.count() : separate_threads;
}

// What the kernel says now; zeros of a thread that has ended.
thread_times times_of(const thread_entry& e) noexcept {
  return {cpu_time(cpu_clock_of(e.thread_id)), run_delay(e.thread_id)};
}

void ask_name(thread_entry& e) noexcept {
  char path[64] = "/proc/self/task/";
  std::memcpy(sys::put_number(path + 16, e.thread_id), "/comm", 6);
  char name[17];
  const std::size_t n = sys::read_file(path, name, sizeof name - 1);
  if (n < 2) return;
  std::memset(e.name, 0, sizeof e.name);
  std::memcpy(e.name, name, n - 1);  // without the newline
}

// Those that the program's threads may use: as they ended, or in the end. Under `threads.lock`.
using machine::detail::processor_mask;
constinit processor_mask usable{processor_mask::nobodys{}};

}  // namespace

std::uint32_t running_threads() noexcept {
  return threads.running.load(std::memory_order_relaxed);  // [K]
}

thread_state* this_thread() noexcept {
  if (local.state != nullptr) return local.state;
  return local.ended ? nullptr : register_thread();
}

thread_state* known_thread() noexcept {
  if (local.state != nullptr || local.ended) return local.state;
  if (threads.silent.load(std::memory_order_relaxed) == 0) return nullptr;  // [K]
  {
    holding lock(threads.lock);
    const thread_state* const t = lock ? find_locked(sys::thread_id()) : nullptr;
    if (t == nullptr || !t->is_silent) return nullptr;
  }
  return register_thread();
}

silent_thread::silent_thread(std::uint32_t thread_id, bool make) noexcept : lock_(threads.lock) {
  if (!lock_) return;
  thread_state* t = find_locked(thread_id);
  if (t == nullptr && make && (t = make_locked(machine::ticks())) != nullptr) {
    t->entry->thread_id = thread_id;
    fill(*t->entry, thread_id, times_of(*t->entry).cpu_ns);
    ask_name(*t->entry);
    t->is_silent = true;
    threads.silent.fetch_add(1, std::memory_order_relaxed);  // [K]
  }
  if (t != nullptr && t->is_silent) state_ = t;
}

row_slot* find_row(thread_state& t, std::uint32_t lock, std::uint32_t kind) noexcept {
  row_slot* s = probe(t, lock, kind);
  if (s->used) return s;
  if (t.rows_used >= most_rows_of(kind) && lock != 0) return find_row(t, 0, kind);
  if (2 * (t.rows_used + 1) > t.rows_size) {
    if (!enlarge_rows(t)) return nullptr;
    s = probe(t, lock, kind);
  }
  auto* row = next_item<wait_row>(t.row_chunk, chunk_kind::rows, t.index);
  if (row == nullptr) return nullptr;
  row->lock = lock;
  row->kind = kind;
  publish_item(t.row_chunk);
  s->row = row;
  s->lock = lock;
  s->kind = kind;
  s->used = 1;
  ++t.rows_used;
  return s;
}

bool has_row(thread_state& t, std::uint32_t lock, std::uint32_t kind) noexcept {
  return t.rows_size != 0 && probe(t, lock, kind)->used;
}

void thread_begin(std::uint32_t creator_stack) noexcept {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  thread_state* t = this_thread();
  if (t != nullptr) t->entry->start_stack = creator_stack;
}

void thread_end() noexcept {
  if (!enabled) return;
  entry inside;
  thread_state* const t = inside ? known_thread() : nullptr;
  if (t == nullptr) return;
  end_tries(*t);
  t->told = {};
  flush(*t);
  while (t->entry->open.since != 0 && t->waits_at != 0) end_left_wait(*t);  // by pthread_exit()
  publish(t->entry->open.since, 0u);
  tell_capture_ticks(*t);
  tell_counts(*t);
  t->holds.drop_all();
  current_gap.object = nullptr;
  sys::call(SYS_prctl, PR_GET_NAME, t->entry->name);
  t->entry->cpu_ns += since(cpu_before(*t->entry), cpu_time(CLOCK_THREAD_CPUTIME_ID));
  t->entry->delay_ns += since(t->entry->delay_before_ns, run_delay(t->entry->thread_id));
  t->entry->end_ticks = machine::ticks();
  threads.running.fetch_sub(1, std::memory_order_relaxed);  // [K]
  local.state = nullptr;
  local.ended = true;
  read_held = nullptr;
  const processor_mask mine;
  holding lock(threads.lock);
  if (!lock) return;
  usable.add(mine);
  t->next_idle = threads.idle;
  threads.idle = t;
}

std::uint32_t capture_creator() noexcept {
  if (!enabled) return 0;
  entry inside;
  if (!inside) return 0;
  thread_state* t = this_thread();
  return t != nullptr ? capture_stack(*t, capture_reason::creation, machine::ticks()) : 0;
}

void tell_all_counts() noexcept {
  holding lock(threads.lock);
  if (!lock) return;
  for (thread_state* t = threads.newest; t != nullptr; t = t->older) tell_counts(*t);
}

thread_times* read_thread_times() noexcept {
  auto* const times = static_cast<thread_times*>(sys::pages(times_bytes));
  if (times == nullptr) return nullptr;
  const std::uint32_t count = separate_count();
  for (std::uint32_t id = 0; id < count; ++id)
    if (load(entries.at(id)->end_ticks) == 0) times[id] = times_of(*entries.at(id));
  return times;
}

void free_thread_times(thread_times* times) noexcept { sys::free_pages(times, times_bytes); }

// Threads often get their names after they began: asks for those of the threads still running, and
// for their processor time.
void refresh_threads(const thread_times* before) noexcept {
  const std::uint32_t count = separate_count();
  for (std::uint32_t id = 0; id < count; ++id) {
    thread_entry& e = *entries.at(id);
    if (load(e.end_ticks) != 0) continue;
    thread_times now = times_of(e);
    if (now.cpu_ns == 0 && before != nullptr) now = before[id];  // it has ended since
    e.cpu_ns += since(cpu_before(e), now.cpu_ns);
    e.delay_ns += since(e.delay_before_ns, now.delay_ns);
    ask_name(e);
  }
}

std::uint64_t recorded_cpu_ns() noexcept {
  std::uint64_t sum = 0;
  const std::uint32_t count = separate_count();
  for (std::uint32_t id = 0; id < count; ++id) sum += entries.at(id)->cpu_ns;
  return sum;
}

std::uint32_t usable_processors() noexcept {
  processor_mask of_running{processor_mask::nobodys{}};
  const std::uint32_t count = separate_count();
  for (std::uint32_t id = 0; id < count; ++id)
    if (const thread_entry& e = *entries.at(id); load(e.end_ticks) == 0)
      of_running.add(processor_mask(e.thread_id));
  if (holding lock(threads.lock); lock) of_running.add(usable);
  return static_cast<std::uint32_t>(of_running.count());
}

void look_at_threads(std::uint32_t after_ms) noexcept {
  const std::uint32_t count = separate_count();
  for (std::uint32_t id = 0; id < count; ++id) {
    thread_entry& e = *entries.at(id);
    if (load(e.end_ticks) != 0) continue;
    const thread_times now = times_of(e);
    store(e.open.seen_after_ms, after_ms);
    store(e.open.seen_cpu_ns, since(cpu_before(e), now.cpu_ns));
    store(e.open.seen_delay_ns, since(e.delay_before_ns, now.delay_ns));
  }
}

// The states' own memory is left behind: a few kilobytes in the child of a fork.
void forget_threads() noexcept {
  entries.reset();
  threads.lock.reset();
  threads.idle = threads.newest = nullptr;
  threads.slab = nullptr;
  threads.slab_left = 0;
  usable = processor_mask{processor_mask::nobodys{}};
  threads.running.store(0, std::memory_order_relaxed);  // [K]
  threads.silent.store(0, std::memory_order_relaxed);   // [K]
  local = {.state = nullptr, .inside = local.inside, .ended = false};
  measured = {};
  current_gap = {};
  trying_for = nullptr;
  read_held = nullptr;
}

}  // namespace syncopate::record
