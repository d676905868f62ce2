// transaction.h -- all that a thread knows about its running transaction.
//
// Memory order (each tag stands at its site below)
//   [C]  relaxed: a count that its owner alone writes; nothing depends on it.
#pragma once

#include "tm/core/operations.h"
#include "tm/logs/actions.h"
#include "tm/logs/allocations.h"
#include "tm/logs/duplicates.h"
#include "tm/logs/exceptions.h"
#include "tm/logs/limbo.h"
#include "tm/logs/value_log.h"
#include "tm/logs/write_set.h"
#include "tm_observer.h"

#include <atomic>
#include <cstring>

namespace syncopate::tm {

// What a transaction's beginning has to have back for its second return (begin_x86_64.S).
struct registers {
  void* callee_saved[6];
  address stack;  // of the caller, as if the beginning had returned
  void* resume_at;
};

// How the program may be continued: the bits are those of the compilers' interface.
enum action_bits : u32 {
  run_instrumented = 0x01,
  run_uninstrumented = 0x02,
  save_live_variables = 0x04,
  restore_live_variables = 0x08,
  abort_transaction = 0x10,
};
inline constexpr u32 started = run_instrumented | save_live_variables;
enum property_bits : u32 {
  instrumented_code = 0x0001,
  uninstrumented_code = 0x0002,
  has_no_abort = 0x0008,
  goes_irrevocable = 0x0040,
  read_only = 0x4000,
};

enum class mode : unsigned char {
  idle,
  optimistic,  // an algorithm watches over it
  alone_undo,  // no other transaction runs; can be canceled
  hardware,    // in a hardware transaction, uninstrumented
  alone,       // no other transaction runs; cannot roll back
  writer,      // uninstrumented, the only one that writes; others read. Cannot roll back
};

// Under an algorithm of which operations::commit() has to be called.
[[nodiscard]] inline bool runs_beside_others(mode how) noexcept {
  return how == mode::optimistic || how == mode::writer;
}
[[nodiscard]] inline bool cannot_roll_back(mode how) noexcept { return how >= mode::alone; }

enum class cause : unsigned char {
  read_conflict,
  write_conflict,
  commit_conflict,
  memory,
  unsafe_call,
  retry
};
inline constexpr unsigned causes = 6;

// A number that its owner alone writes, and others read as it is. Relaxed: nothing depends on it.
class counter {
 public:
  operator u64() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }  // [C]
  void operator+=(u64 n) noexcept {
    __atomic_store_n(&value_, *this + n, __ATOMIC_RELAXED);  // [C]
  }
  u64 operator++() noexcept {
    const u64 next = *this + 1;
    __atomic_store_n(&value_, next, __ATOMIC_RELAXED);  // [C]
    return next;
  }

 private:
  u64 value_ = 0;
};
struct statistics {
  counter commits, alone, hardware;
  counter restarts[causes];

  [[nodiscard]] u64 aborts() const noexcept {
    u64 sum = 0;
    for (const counter& each : restarts) sum += each;
    return sum;
  }
};

// A record that the transaction owns (orecs.h), and what was in it.
struct owned_orec {
  std::atomic<u64>* record;
  u64 before;
};

// Where an inner transaction that can be canceled alone began.
struct checkpoint {
  registers where;
  u32 depth;
  const operations* ops;
  mode how;
  exceptions eh;
  std::size_t undo, allocated, freed, on_commit, on_undo;
  write_set::mark writes;
};

// How far the thread is. Written as one word: commit() reads it as one, and a load of more than the
// last store has written waits for that store.
struct alignas(u64) progress {
  u32 depth = 0;
  mode how = mode::idle;
  bool plain = false;  // since the beginning, nothing came that commit has to look at
  unsigned short unused = 0;

  [[nodiscard]] static constexpr u64 word_of(u32 depth, mode how, bool plain) noexcept {
    return depth | u64{static_cast<unsigned char>(how)} << 32 | u64{plain} << 40;
  }
  [[nodiscard]] u64 word() const noexcept {
    u64 all;
    std::memcpy(&all, this, sizeof all);
    return all;
  }
  void set_word(u64 all) noexcept { std::memcpy(static_cast<void*>(this), &all, sizeof all); }
  void set(u32 new_depth, mode new_how, bool is_plain) noexcept {
    set_word(word_of(new_depth, new_how, is_plain));
  }
  void not_plain() noexcept { set_word(word() & ~word_of(0, mode::idle, true)); }
};
static_assert(sizeof(progress) == sizeof(u64));

// Straight to memory, for a transaction that cannot roll back while no other runs; and for accesses
// outside of transactions: GCC 12 moves some there (docs/tm.md).
extern const operations alone_operations;

struct alignas(64) transaction : progress {
  // ---- what every access needs ------------------------------------------------------------
  const operations* ops = &alone_operations;
  u64 snapshot = 0;
  u64 filter =
      0;  // bit (address / 8) % 64 of each word written, whether to the redo log or directly
  address stack_begin = 0;        // [stack_low, stack_begin) is stack that the transaction made
  std::size_t stack_extent = 0;   // stack_begin - stack_low
  std::size_t stack_above = 0;    // [stack_begin, stack_begin + stack_above) is older stack
  std::size_t private_above = 0;  // of that, what it may write in place (stacks.h)
  address captured = 0;           // the block allocated last
  std::size_t captured_size = 0;
  value_log reads;                       // by value
  buffer<std::atomic<u64>*> read_orecs;  // by ownership record (orecs.h)
  duplicate_filter read_twice;
  write_set writes;
  buffer<owned_orec> owned;

  // ---- what the beginning and the end need ---------------------------------------------------
  u32 properties = 0;
  bool holds_mutex = false;
  u32 attempts = 0;  // of this transaction that failed
  registers where;
  value_log undo;
  allocations allocated, freed;
  buffer<checkpoint> checkpoints;
  actions on_commit, on_undo;
  exceptions eh;
  u64 id = 0;  // 0: nobody has asked yet
  u64 next_id = 0;
  u64 random = 0;
  u32 hardware_failures = 0;  // in a row
  limbo deferred;
  statistics counts;

  // ---- what other threads look at --------------------------------------------------------------
  // The epoch in which the running transaction began; 0: none runs, or it has the mutex.
  alignas(64) std::atomic<u32> active{0};
  // As active, for a transaction that waits and is going to look at what it read: memory is kept.
  std::atomic<u32> looking{0};
  // protocols/quiescence.h: the snapshot, and whether it may have written in place
  std::atomic<u64> seen{0};
  std::atomic<bool> writing{false};
  // stacks.h: the thread's stack, as others know it; from where on they use it, and since when
  std::atomic<bool> writes_stack{false};
  std::atomic<address> announced_low{0}, announced_high{0};
  std::atomic<address> shared_from{~address{0}}, settled_from{~address{0}};
  std::atomic<u32> shared_since{0};
  u32 slot = 0;  // dense number, reused
  bool in_use = false;
  transaction* next = nullptr;  // in the list of all

  address stack_low = 0, stack_high = 0;  // the thread's stack
  bool wants_stack_announced = false;     // at its next beginning, alone

  [[no_unique_address]] mutable observer::notes observed;
};

// What threads have before their first transaction: nothing but `ops` may be used of it.
extern constinit transaction nobody;
// The calling thread's, or &nobody.
extern thread_local constinit transaction* current [[gnu::tls_model("initial-exec")]];

// Whether the bytes are stack that the transaction itself made: nobody else can know of it, and it
// is gone when the transaction rolls back.
[[nodiscard]] inline bool on_own_stack(const transaction* tx, address a) noexcept {
  return tx->stack_begin - 1 - a < tx->stack_extent;
}
// Whether the bytes lie in the block that the transaction allocated last.
[[nodiscard]] inline bool in_captured_block(const transaction* tx, address a) noexcept {
  return a - tx->captured < tx->captured_size;
}
[[nodiscard]] inline bool is_captured(const transaction* tx, address a) noexcept {
  return on_own_stack(tx, a) || in_captured_block(tx, a);
}

[[nodiscard]] inline u64 filter_bit(address a) noexcept { return u64{1} << (a >> 3 & 63); }

}  // namespace syncopate::tm
