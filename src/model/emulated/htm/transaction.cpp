#include "transaction.h"

#include <syncopate/machine/instrumented.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "events.h"
#include "model/emulated/libc/library_calls.h"
#include "model/emulated/libc/system_calls.h"
#include "model/emulated/memory/conflict.h"
#include "model/emulated/memory/memory.h"
#include "model/emulated/options.h"
#include "model/emulated/report/callers.h"
#include "model/emulated/threads/registry.h"
#include "model/front/libc/libc_copy.h"
#include "model/front/scope.h"
#include "observer.h"

namespace syncopate::emulated {

using machine::htm::cause;
using machine::htm::mode;

constinit std::atomic<bool> transactions_stopped{false};

namespace {

constexpr unsigned most_nesting = 7;  // as processors with RTM

cause cause_of(reason why) noexcept {
  switch (why) {
    case reason::none: return cause::started;
    case reason::conflict: return cause::conflict;
    case reason::write_capacity:
    case reason::read_capacity:
    case reason::nesting: return cause::capacity;
    case reason::explicit_: return cause::explicit_;
    default: return cause::other;
  }
}

std::uint32_t refuse(thread& t, place where) noexcept {
  if (observing) observe_refused(t, where);
  return status_bits(reason::refused, 0, false);
}

// The first line of the live stack that another thread is writing; 0 when there is none.
line foreign_line_on_stack(const thread& t) noexcept {
  const line last = line_of(t.stack_top - 1);
  for (line l = line_of(t.saved.stack_pointer); l <= last; ++l)
    if (owner_of(l) != 0) return l;
  return 0;
}

void set_idle(thread& t) noexcept {
  t.status.store(status_word::make(state::idle, t.number), std::memory_order_release);  // [S]
}

// Whether that thread has announced a write to the stack and not gone on to another access since.
bool is_writing(const thread& t, const write_to_foreign_stack& write,
                const announced_accesses& accesses) noexcept {
  const std::uintptr_t at = write.overlaps(t.saved.stack_pointer, t.stack_top);
  return at != 0 && accesses.last.load(std::memory_order_seq_cst) == at;  // [Q]
}

// The order matters: announced.h, A2.
bool is_writing(const thread& t, const thread& other) noexcept {
  if (other.foreign_write.overlaps(t.saved.stack_pointer, t.stack_top) != 0) {
    const std::lock_guard lock(registry);  // the other thread stays
    if (other.local != nullptr && is_writing(t, other.foreign_write, other.local->accesses))
      return true;
  }
  const unsigned told = other.interruptions_told.load(std::memory_order_acquire);  // [T]
  for (unsigned i = 0; i < told; ++i) {
    const interruption& each = other.interruptions[i];
    if (is_writing(t, each.foreign_write, each.accesses)) return true;
  }
  return false;
}

// Lines of the stack that had no mark: who was checked before they got one has announced an access,
// but no write to a foreign stack.
bool is_settled(thread& t) noexcept {
  if (t.fresh_marks)
    t.fresh_marks = may_be_written(t, line_of(t.marked_from) * line_bytes, t.stack_top);
  return !t.fresh_marks;
}

bool is_being_written(thread& t) noexcept {
  if (!is_settled(t)) return true;
  for (const thread* each = all_threads.load(std::memory_order_acquire); each != nullptr;  // [L]
       each = each->next_thread)
    if (is_writing(t, *each)) return true;
  return false;
}

// Makes the transaction visible, then looks whether anybody is writing the stack that will be
// copied: one who comes later sees that the transaction is active, dooms it and waits. Copying
// first would put back what such a writer had not finished. Returns: false when there is no slot,
// or a writer that does not go on to its next atomic operation.
bool publish(thread& t, place where) noexcept {
  constexpr unsigned most_turns = 100;
  settle_accesses();
  backoff wait;
  for (unsigned turn = 0; turn < most_turns; wait.once()) {
    t.status.store(status_word::make(state::active, ++t.number), std::memory_order_seq_cst);  // [Q]
    if (slot_owner[t.slot].load(std::memory_order_seq_cst) != &t || t.bit == 0)
        [[unlikely]] {  // [Q]
      set_idle(t);
      if (!take_slot(t)) return false;
      continue;
    }
    const line foreign = foreign_line_on_stack(t);
    const bool is_written = foreign == 0 && is_being_written(t);
    if (foreign == 0 && !is_written && !transactions_stopped.load(std::memory_order_seq_cst))
      return true;  // [Q]
    set_idle(t);
    if (foreign != 0) expel_holders(foreign, use::read, where);
    turn += is_written ? 1 : 0;
  }
  return false;
}

void copy_stack(thread& t) noexcept {
  const std::size_t bytes = t.stack_top - t.saved.stack_pointer;
  t.stack_copy.clear();
  t.stack_copy.reserve(bytes);
  instrument::real_memcpy(t.stack_copy.first, reinterpret_cast<const void*>(t.saved.stack_pointer),
                          bytes);
}

void put_stack_back(const thread& t) noexcept {
  instrument::real_memcpy(reinterpret_cast<void*>(t.saved.stack_pointer), t.stack_copy.first,
                          t.stack_top - t.saved.stack_pointer);
}

void undo_writes(thread& t) noexcept {
  for (const undo_entry* entry = t.undo.next; entry-- != t.undo.first;) {
    const std::uintptr_t at = entry->where & ((std::uint64_t{1} << 48) - 1);
    switch (entry->where >> 48) {
      case 8: *reinterpret_cast<std::uint64_t*>(at) = entry->old; break;
      case 4: *reinterpret_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(entry->old); break;
      case 2: *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(entry->old); break;
      default: *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(entry->old);
    }
  }
  t.undo.clear();
}

// What belongs to the thread and not to memory that is seen.
void save_thread_state(thread& t) noexcept {
  t.saved_errno = errno;
  t.exceptions[0] = t.exceptions_at[0];
  t.exceptions[1] = t.exceptions_at[1];
}
void restore_exceptions(const thread& t) noexcept {
  t.exceptions_at[0] = t.exceptions[0];
  t.exceptions_at[1] = t.exceptions[1];
}

void start(thread& t, mode how) noexcept {
  t.mode = how;
  t.read_lines = t.written_lines = 0;
  t.undo.reserve(64);
  std::memset(t.set_use, 0, options.sets);
  t.inject = t.why != reason::injected;
  t.why = reason::none;
  arm(t);
  t.depth = 1;
  here.current = &t;
}

}  // namespace

std::uint32_t status_bits(reason why, std::uint8_t code, bool nested) noexcept {
  const bool may_retry = why == reason::conflict || why == reason::injected;
  return static_cast<std::uint32_t>(cause_of(why)) | std::uint32_t{code} << 8 |
         (may_retry ? 1u << 16 : 0) | (nested ? 1u << 17 : 0);
}

extern "C" [[noreturn, gnu::visibility("hidden")]] void syncopate_emulated_abort(thread*) noexcept;

void abort_transaction(thread& t, reason why, place where) noexcept {
  t.block_calls = 0;                                    // first, as in runtime_scope
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  here.inside = 1;
  t.why = why;
  t.where = where;
  syncopate_emulated_abort(&t);
}

void stop_transactions() noexcept {
  transactions_stopped.store(true, std::memory_order_seq_cst);                 // [Q]
  for (thread* t = all_threads.load(std::memory_order_acquire); t != nullptr;  // [L]
       t = t->next_thread) {
    for (backoff wait;; wait.once()) {
      std::uint64_t status = t->status.load(std::memory_order_seq_cst);  // [Q]
      if (status_word::state_of(status) == state::idle) break;
      if (status_word::state_of(status) == state::active)
        t->status.compare_exchange_strong(status, status_word::doomed(status, 0),
                                          std::memory_order_seq_cst);  // [Q]
    }
  }
}

void allow_transactions() noexcept {
  transactions_stopped.store(false, std::memory_order_seq_cst);  // [Q]
}

// ---- called by switch_x86_64.cpp ----------------------------------------------------------------

struct self_and_depth {
  thread* self;
  std::uint64_t depth;
};
extern "C" [[gnu::visibility("hidden")]] self_and_depth syncopate_emulated_self() noexcept {
  thread* const t = here.self != nullptr ? here.self : &self();
  return {t, t->depth};
}

extern "C" [[gnu::visibility("hidden")]] std::uint32_t syncopate_emulated_begin(
    thread* t, int how, place where) noexcept {
  if (t->depth != 0) {
    if (t->depth == most_nesting) abort_transaction(*t, reason::nesting, where);
    ++t->depth;
    return status_bits(reason::none, 0, false);
  }
  const runtime_scope inside;
  const std::uintptr_t stack_pointer = t->saved.stack_pointer;
  if (!options.htm || !on_own_stack(*t, stack_pointer)) return refuse(*t, where);
  // Not the program's: not in its statistics either.
  if (!begins_in_seen_code(*t, where)) return status_bits(reason::refused, 0, false);
  t->live_from.store(stack_pointer, std::memory_order_relaxed);  // [V]
  if (stack_pointer < t->marked_from) {
    mark_stack(*t, stack_pointer);
    t->fresh_marks = fence_all_processors();
  }
  if (!t->dispatches_calls) dispatch_calls(*t);
  if (!publish(*t, where)) return refuse(*t, where);
  copy_stack(*t);
  save_thread_state(*t);
  if (observing) observe_begin(*t, where);
  start(*t, static_cast<mode>(how));
  return status_bits(reason::none, 0, false);
}

// Returns what begin is to return now.
extern "C" [[gnu::visibility("hidden")]] std::uint32_t syncopate_emulated_roll_back(
    thread* t, registers* saved) noexcept {
  t->block_calls = 0;
  const std::uint32_t result = status_bits(t->why, t->code, t->depth > 1);
  here.current = nullptr;
  std::uint64_t status = t->status.load(std::memory_order_seq_cst);  // [Q]
  if (status_word::state_of(status) == state::active)  // nobody needs to doom it anymore
    t->status.compare_exchange_strong(status, status_word::doomed(status, 0),
                                      std::memory_order_seq_cst);  // [Q]
  undo_writes(*t);
  put_stack_back(*t);
  restore_exceptions(*t);
  if (observing) observe_abort(*t);
  t->last_lines = t->read_lines + t->written_lines;
  release_lines(*t);
  *saved = t->saved;
  t->depth = 0;
  t->code = 0;
  t->called = nullptr;
  set_idle(*t);
  drop_allocations(*t);
  errno = t->saved_errno;         // after all that may set it
  instrument::machine_depth = 0;  // of the program that begins, maybe not of what was left
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  here.inside = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  if (t->has_signal) take_signal(*t);
  return result;
}

namespace {

// The processor faults.
[[noreturn]] void commit_without_begin() noexcept {
  instrument::complain("a commit outside of any transaction");
  std::raise(SIGSEGV);
  std::abort();
}

void commit(thread& t, place where) noexcept {
  if (t.depth > 1) {
    --t.depth;
    return;
  }
  if (t.mode == mode::always_abort) abort_transaction(t, reason::always_abort, where);
  const runtime_scope inside;
  std::uint64_t status = status_word::make(state::active, t.number);
  if (!t.status.compare_exchange_strong(status, status_word::make(state::committed, t.number),
                                        std::memory_order_seq_cst))  // [Q]
    abort_transaction(t, reason::conflict, where);
  here.current = nullptr;
  t.depth = 0;
  if (observing) observe_commit(t);
  release_lines(t);
  t.undo.clear();
  set_idle(t);
  perform_frees(t);
}

}  // namespace

}  // namespace syncopate::emulated

using namespace syncopate;

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void syncopate_htm_commit() noexcept {
  emulated::thread* const t = emulated::here.current;
  if (t == nullptr) emulated::commit_without_begin();
  emulated::commit(*t, __builtin_return_address(0));
}

EXPORT void syncopate_htm_abort(unsigned char code) noexcept {
  emulated::thread* const t = emulated::here.current;
  if (t == nullptr) return;
  t->code = code;
  emulated::abort_transaction(*t, emulated::reason::explicit_, __builtin_return_address(0));
}

EXPORT bool syncopate_htm_active() noexcept { return emulated::here.current != nullptr; }

EXPORT bool syncopate_htm_called_back() noexcept {
  return emulated::is_called_back(static_cast<const std::uintptr_t*>(__builtin_frame_address(0)));
}

EXPORT bool syncopate_htm_usable() noexcept { return emulated::options.htm; }

EXPORT unsigned syncopate_htm_lines_touched() noexcept {
  const emulated::thread* const t = emulated::here.self;
  return t != nullptr ? t->last_lines : 0;
}

EXPORT void syncopate_htm_fell_back() noexcept {
  if (emulated::observing) emulated::observe_fell_back(__builtin_return_address(0));
}
