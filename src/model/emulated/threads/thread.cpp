#include "thread.h"
#include "real_mutex.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/emulated/htm/observer.h"
#include "model/emulated/htm/transaction.h"
#include "model/emulated/libc/library_calls.h"
#include "model/emulated/libc/system_calls.h"
#include "model/emulated/memory/conflict.h"
#include "model/emulated/options.h"
#include "model/front/names/names.h"
#include "model/front/program/options.h"
#include "model/front/scope.h"
#include "registry.h"

extern "C" void* __libc_stack_end;

namespace syncopate::emulated {

constinit real_mutex registry;

namespace {

constinit pthread_key_t end_of_thread_key = 0;
constinit bool has_key = false;

struct bounds {
  std::uintptr_t low, high;
};

// Of the calling thread. pthread_getattr_np() reads a file for the main thread.
bounds stack_bounds(bool is_main) noexcept {
  if (is_main) {
    const auto top = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    constexpr std::uintptr_t most = std::uintptr_t{1} << 30;
    return {top - std::min<std::uintptr_t>(limit.rlim_cur, most), top};
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {0, 0};
  void* low = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  const auto start = reinterpret_cast<std::uintptr_t>(low);
  return {start, start + bytes};
}

thread& new_record() noexcept {
  const std::lock_guard lock(registry);
  unsigned count = 0;
  for (thread* t = all_threads.load(std::memory_order_relaxed); t != nullptr;  // [G]
       t = t->next_thread, ++count) {
    if (t->in_use) continue;
    // The lowest free index: the list has the highest first.
    thread* lowest = t;
    for (thread* u = t->next_thread; u != nullptr; u = u->next_thread)
      if (!u->in_use) lowest = u;
    lowest->in_use = true;
    return *lowest;
  }
  // Not by new: what it throws, and a thread's exceptions, need a record, too.
  void* const room = std::aligned_alloc(64, sizeof(thread));
  if (room == nullptr) instrument::fail("no memory for a thread");
  auto* const t = new (room) thread{};
  t->index = count;
  t->in_use = true;
  t->next_thread = all_threads.load(std::memory_order_relaxed);  // [G]
  all_threads.store(t, std::memory_order_release);               // [L]
  return *t;
}

// Destructors of thread-local variables run before and after this one; the record goes last.
void end_thread(void* argument) noexcept {
  auto& t = *static_cast<thread*>(argument);
  constexpr std::intptr_t rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
  if (t.end_rounds++ < rounds - 1) {
    pthread_setspecific(end_of_thread_key, &t);
    return;
  }
  leave_thread(t);
}

void unmark_stack(thread& t) noexcept {
  for (line l = line_of(t.marked_from); l <= line_of(t.stack_top - 1); ++l)
    shadow(l).fetch_and(~mark::stack, std::memory_order_relaxed);  // [S]
}

void attend(std::uintptr_t top) noexcept {
  const own_memory_scope ours;
  thread& t = new_record();
  t.id = gettid();
  t.thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  t.end_rounds = 0;
  t.bit = 0;
  t.why = reason::none;
  t.random_state = options.seed + 0x9e3779b97f4a7c15u * (t.index + 1);
  const bool is_main = t.id == getpid();
  t.stack_low = t.stack_top = t.marked_from = 0;
  if (is_main || top != 0) {
    const bounds stack = stack_bounds(is_main);
    t.stack_low = stack.low;
    t.stack_top = t.marked_from = is_main ? stack.high : top;
  }
  syncopate_emulated_outermost_call = {0, 0, t.stack_low, t.stack_top - t.stack_low};
  t.exceptions_at = reinterpret_cast<void**>(abi::__cxa_get_globals());
  if (has_key && !is_main) pthread_setspecific(end_of_thread_key, &t);
  here.self = &t;
  const std::lock_guard lock(registry);
  // In a destructor of the last round: others do not see its plain accesses.
  if (!here.has_ended) t.local = &here;
  if (observing) {
    instrument::note_thread(t.index, t.stack_low, t.stack_top, t.stack_top, t.thread_pointer);
  }
}

}  // namespace

void make_registry() noexcept { has_key = pthread_key_create(&end_of_thread_key, end_thread) == 0; }

thread& self() noexcept {
  if (here.self == nullptr) attend(0);
  return *here.self;
}

void enter_thread(std::uintptr_t top) noexcept {
  if (here.self == nullptr) attend(top);
}

void leave_thread(thread& t) noexcept {
  const runtime_scope inside;
  if (t.stack_top != 0) unmark_stack(t);
  syncopate_emulated_outermost_call = {};
  settle_accesses();
  t.interruptions_told.store(t.depth_of_handlers = 0, std::memory_order_release);  // [T]
  here.has_more_to_settle = false;
  here.self = nullptr;
  here.has_ended = true;
  stop_dispatching(t);
  const std::lock_guard lock(registry);
  if (t.bit != 0 && slot_owner[t.slot].load(std::memory_order_relaxed) == &t)  // [O]
    slot_owner[t.slot].store(nullptr, std::memory_order_seq_cst);              // [Q]
  t.bit = 0;
  t.local = nullptr;
  t.stack_low = t.stack_top = t.marked_from = 0;
  t.fresh_marks = false;
  t.in_use = false;
}

void mark_stack(thread& t, std::uintptr_t low) noexcept {
  // Some frames more, so that this is rare.
  constexpr std::uintptr_t ahead = 16 << 10;
  const std::uintptr_t from = std::max(low - ahead, t.stack_low);
  for (line l = line_of(from); l <= line_of(t.marked_from - 1); ++l)
    shadow(l).fetch_or(mark::stack, std::memory_order_relaxed);  // [S]
  t.marked_from = from;
}

bool take_slot(thread& t) noexcept {
  const std::lock_guard lock(registry);
  t.bit = 0;
  for (unsigned pass = 0; pass < 2; ++pass) {
    for (unsigned i = 0; i < slots; ++i) {
      thread* const owner = slot_owner[i].load(std::memory_order_seq_cst);  // [Q]
      if (owner != nullptr && owner != &t) {
        if (pass == 0) continue;  // free ones first
        // The owner publishes its status, then looks whether the slot is its own still.
        slot_owner[i].store(nullptr, std::memory_order_seq_cst);  // [Q]
        if (status_word::state_of(owner->status.load(std::memory_order_seq_cst)) !=
            state::idle) {                                        // [Q]
          slot_owner[i].store(owner, std::memory_order_seq_cst);  // [Q]
          continue;
        }
      }
      slot_owner[i].store(&t, std::memory_order_seq_cst);  // [Q]
      t.slot = static_cast<std::uint8_t>(i);
      t.bit = std::uint64_t{1} << i;
      t.writer_byte = static_cast<std::uint8_t>(i + 1);
      t.writer = std::uint64_t{t.writer_byte} << mark::writer_shift;
      return true;
    }
  }
  return false;
}

}  // namespace syncopate::emulated
