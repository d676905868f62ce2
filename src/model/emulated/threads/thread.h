// thread.h -- what the emulated machine keeps of a thread, its transaction above all.
//
// Records are made once and used again, never given back: others may look at the record of a thread
// that ends. A transaction needs a slot, its bit in the marks of lines; a thread keeps the slot it
// had until another one takes it over in between.
//
// Invariants
//   T1  here.current is set from begin to commit or roll-back, and null while memory is being
//       rolled back.
//   T2  slot_owner[i] == t while t's transaction runs in slot i; it is taken from an idle t only.
//   T3  The status is `active` before the stack is copied, `idle` after the last mark is cleared.
//
// Memory order (each tag stands at its site below)
//   [L]  release store that puts a thread into the list: who finds it with acquire finds its
//        fields.
//   [G]  relaxed: under the registry's lock.
//   [S]  relaxed RMW of the mark that a line may lie in a live stack. Behind its setting, before
//        the stack is copied, stands a fence on all processors (htm/transaction.cpp).
//   [T]  release store: as announced.h.
//   [O]  relaxed: a slot that is the thread's own, or not.
//   [A]  release store: as announced.h.
//   [C]  compiler barrier: for signals of this thread.
//   [Q]  seq_cst: a slot is emptied, then its owner's status is looked at; an owner stores its
//        status, then looks whether the slot is still its own: one of the two sees the other.
#pragma once

#include <syncopate/machine/types.h>

#include <atomic>
#include <cstdint>

#include <signal.h>

#include "model/emulated/memory/announced.h"
#include "model/emulated/memory/buffer.h"
#include "model/emulated/memory/shadow.h"
#include "model/front/engine.h"
#include "model/front/scope.h"

namespace syncopate::emulated {

using place = engine::place;

// What the assembly saves and restores (switch_x86_64.cpp knows the order).
struct registers {
  std::uintptr_t preserved[6];   // rbx rbp r12 r13 r14 r15
  std::uintptr_t stack_pointer;  // after begin's return
  std::uintptr_t resume;         // begin's return address
  std::uint32_t vector_control;
  std::uint16_t float_control;
};

// A transaction's life in one word, so that a doom hits no later transaction of the thread:
// bits 0..2 state, 3..22 number of the transaction, 23..63 the line that it was doomed for.
enum class state : std::uint64_t { idle = 0, active = 1, doomed = 2, committed = 4 };
namespace status_word {
constexpr state state_of(std::uint64_t word) noexcept { return static_cast<state>(word & 7); }
constexpr bool is_doomed(std::uint64_t word) noexcept { return (word & 2) != 0; }
constexpr std::uint64_t make(state s, std::uint64_t number) noexcept {
  return static_cast<std::uint64_t>(s) | (number & 0xfffff) << 3;
}
constexpr std::uint64_t doomed(std::uint64_t active, line by) noexcept {
  return (active & ~std::uint64_t{7}) | static_cast<std::uint64_t>(state::doomed) | by << 23;
}
constexpr line line_of(std::uint64_t word) noexcept { return word >> 23; }
}  // namespace status_word

// Why a transaction ended; finer than machine::htm::cause.
enum class reason : std::uint8_t {
  none,
  conflict,
  write_capacity,
  read_capacity,
  explicit_,
  nesting,
  time_limit,
  injected,
  spurious,
  system_call,
  library_call,
  waiting,
  signal,
  fault,
  always_abort,
  refused,  // begin() found no slot, or a stack that is not the thread's
  count
};

struct undo_entry {
  std::uint64_t where;  // the address; its length, at most 8, from bit 48
  std::uint64_t old;
};

struct touched_line {
  line at;
  place first;  // the first access
};

// Handlers that may have interrupted each other; accesses that a deeper one interrupts are not
// told.
inline constexpr unsigned most_handlers = 4;

struct thread {
  registers saved;

  // What each access looks at.
  std::uint64_t bit = 0;     // of the slot; 0 without one
  std::uint64_t writer = 0;  // the slot's number in place in a shadow word
  std::uint8_t writer_byte = 0;
  std::uint8_t slot = 0;
  std::int64_t countdown = 0;  // accesses until something is due (events.cpp)
  buffer<undo_entry> undo;
  std::uintptr_t stack_low = 0, stack_top = 0;  // [low, top): what begin copies ends at top
  std::atomic<std::uintptr_t> live_from{0};     // begin's stack pointer

  unsigned depth = 0;
  machine::htm::mode mode{};
  std::uint64_t number = 0;
  buffer<touched_line> lines;
  std::uint32_t read_lines = 0, written_lines = 0;
  std::uint32_t last_lines = 0;  // of the transaction that was rolled back last
  std::uint8_t set_use[1024];
  buffer<unsigned char> stack_copy;
  std::uint64_t armed = 0;  // the access at which countdown runs out
  std::uint64_t spurious_at = 0, yield_at = 0;
  bool inject = true;  // the next transaction is to be aborted by injection
  std::uint64_t random_state = 0;

  buffer<void*> allocated, freed;
  int saved_errno = 0;
  void* exceptions[2] = {};  // a copy of __cxa_eh_globals
  void** exceptions_at = nullptr;

  // Why it is being aborted.
  reason why = reason::none;
  std::uint8_t code = 0;
  const char* called = nullptr;  // library_call
  place where = nullptr;

  // The kernel reads this byte at each system call of the thread (system_calls.cpp).
  volatile char block_calls = 0;
  bool dispatches_calls = false;
  bool has_signal = false;  // one that came at a bad moment, with the mask to return to
  siginfo_t signal_info;
  sigset_t signal_mask;

  unsigned index = 0;              // dense, used again
  std::uintptr_t marked_from = 0;  // the stack's lines from here on have their marks
  bool fresh_marks = false;        // which some other thread's check may not have seen
  bool in_use = false;
  int end_rounds = 0;
  int id = 0;  // the system's
  std::uintptr_t thread_pointer = 0;
  thread* next_thread = nullptr;
  void* statistics = nullptr;             // observer.cpp
  std::uintptr_t known_callers[64] = {};  // callers.cpp

  alignas(64) std::atomic<std::uint64_t> status{0};
  std::atomic<place> requester{nullptr};  // of the conflict; while statistics are kept
  write_to_foreign_stack foreign_write;
  interruption interruptions[most_handlers];
  std::atomic<unsigned> interruptions_told{0};  // of these, as others have to see it
  unsigned depth_of_handlers = 0;
  const struct local_state* local = nullptr;  // while the thread lives; guarded by the registry
};

struct local_state {
  thread* current = nullptr;        // while the thread is in a transaction
  thread* self = nullptr;           // once it is known
  int inside = 0;                   // the machine's code runs that must not be left halfway
  int own = 0;                      // what it accesses is no business of transactions
  bool has_more_to_settle = false;  // what self->foreign_write or ->interruptions_told say

  // Each is stored before the shadow is looked at (conflict.h).
  announced_accesses accesses;
  unsigned next_range = 0;
  bool has_ended = false;  // its record was left; nothing tells when these variables go
};
inline thread_local constinit local_state here [[gnu::tls_model("initial-exec")]];

// The plain accesses that the calling thread has been checked for have been made.
void settle_more() noexcept;
inline void settle_accesses() noexcept {
  here.accesses.settle();
  if (here.has_more_to_settle) [[unlikely]]
    settle_more();
}

// The same of the last one alone: all that a write to another thread's stack needs.
inline void settle_last() noexcept {
  here.accesses.last.store(0, std::memory_order_release);  // [A]
}

// Around a handler of the program's: keeps what it has interrupted told (announced.h, A2).
class handler_scope {
 public:
  handler_scope() noexcept;
  ~handler_scope();
  handler_scope(const handler_scope&) = delete;
  handler_scope& operator=(const handler_scope&) = delete;

 private:
  static constexpr unsigned none = most_handlers;
  unsigned level_ = none;
};

inline constinit std::atomic<thread*> slot_owner[slots] = {};
inline constinit std::atomic<thread*> all_threads{nullptr};

// The calling thread's record, made at the first call. A thread that did not say where its stack
// ends (enter_thread) cannot begin transactions.
thread& self() noexcept;
// At the start of a thread: its stack ends at `top`.
void enter_thread(std::uintptr_t top) noexcept;

// Gives the thread a slot of its own. Returns: whether there was one.
bool take_slot(thread&) noexcept;

// Marks the lines of the stack from `low` up as stack.
void mark_stack(thread&, std::uintptr_t low) noexcept;

inline bool on_own_stack(const thread& t, std::uintptr_t at) noexcept {
  return at - t.stack_low < t.stack_top - t.stack_low;
}

// While one exists, signals wait and system calls pass: the machine's own work.
class runtime_scope {
 public:
  runtime_scope() noexcept;
  ~runtime_scope();
  runtime_scope(const runtime_scope&) = delete;
  runtime_scope& operator=(const runtime_scope&) = delete;
};

// signals.cpp: has_signal, and nothing is in its way now. In a transaction: ends it first.
void take_signal(thread&) noexcept;

// While one exists, memory is the machine's own business: what it allocates and writes for itself,
// also by the instrumented parts of the standard library, belongs to no transaction.
class own_memory_scope {
 public:
  own_memory_scope() noexcept : hidden_(here.current) {
    here.current = nullptr;
    ++here.own;
  }
  ~own_memory_scope() {
    --here.own;
    here.current = hidden_;
  }
  own_memory_scope(const own_memory_scope&) = delete;
  own_memory_scope& operator=(const own_memory_scope&) = delete;

 private:
  const runtime_scope signals_wait_;
  const instrument::engine_scope ours_;
  thread* const hidden_;
};

// The byte and the count change in this order so that a signal never finds calls blocked by one who
// may not be left: its own return is a call, too.
inline runtime_scope::runtime_scope() noexcept {
  if (here.current != nullptr) here.current->block_calls = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  here.inside = here.inside + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
}
inline runtime_scope::~runtime_scope() {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  here.inside = here.inside - 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  if (here.inside != 0 || here.self == nullptr) return;
  if (here.self->has_signal) [[unlikely]]
    take_signal(*here.self);
  if (here.current != nullptr && here.current->dispatches_calls) here.current->block_calls = 1;
}

}  // namespace syncopate::emulated
