// norec.cpp -- NOrec: no ownership records; one sequence lock for all that commit, and reads
// validated by value.
//
// Source        Dalessandro, Spear & Scott, "NOrec: streamlining STM by abolishing ownership
//               records", PPoPP 2010. How we deviate: reads of what the transaction has written are
//               found by a 64-bit filter before the redo log is searched; reads that the compiler
//               knows to be repeated are not logged again.
// Reads         invisible; 1 load of the sequence word and 16 B of log each.
// Writes        redo log. Commit: 1 RMW + 1 store on the sequence word, whatever was written.
// Conflicts     found at the next read after another's commit, by value: no false ones.
// Privatization safe without waiting: those that commit write back one after the other, and a
//               transaction that is doomed finds the sequence word changed at its next read,
//               before it uses the value.
//
// Invariants
//   I1  sequence is odd exactly while one transaction, the one that made it odd, writes back.
//   I2  All that a transaction has read was in memory together at a moment when sequence was its
//       snapshot, an even number.
// Memory order (each tag stands at its site below)
//   [S]  acquire load of sequence -- synchronizes with [W]: memory is at least as new as that
//     commit.
//   [V]  acquire fence between reading a value and reading sequence again: if the value came from a
//        write-back, the odd number before it, or a later one, is seen.
//   [L]  acquire RMW that makes sequence odd; the release fence behind it keeps the write-back from
//        being seen before the odd number (pairs with [V]).
//   [W]  release store that makes it even again.
#include "tm/engine.h"
#include "tm/parts/patience.h"
#include "tm/parts/redo.h"

namespace syncopate::tm {
namespace {

alignas(64) constinit std::atomic<u64> sequence{0};

// What the transaction read from its own stack or its own blocks may have changed by its own hand.
bool may_change(const transaction* tx, address a) noexcept {
  return on_own_stack(tx, a) || stacks::is_private(tx, a) || tx->allocated.covers(a);
}

[[gnu::noinline, gnu::cold]] u64 wait_for_even_sequence() noexcept {
  u64 now = sequence.load(std::memory_order_acquire);                                  // [S]
  for (patience p; now & 1; now = sequence.load(std::memory_order_acquire)) p.wait();  // [S]
  return now;
}
u64 even_sequence() noexcept {
  const u64 now = sequence.load(std::memory_order_acquire);  // [S]
  return __builtin_expect((now & 1) == 0, 1) ? now : wait_for_even_sequence();
}

// Returns a snapshot at which all that was read is still what it was; restarts if there is none.
[[gnu::noinline]] u64 validate(transaction* tx, cause why) noexcept {
  for (;;) {
    const u64 now = even_sequence();
    for (const logged_value& entry : tx->reads)
      if (entry.at.value() != entry.value && !may_change(tx, entry.at.where())) {
        observer::loses(tx, entry.at.where(), nullptr);
        restart(tx, why);
      }
    std::atomic_thread_fence(std::memory_order_acquire);              // [V]
    if (sequence.load(std::memory_order_relaxed) == now) return now;  // [V]
  }
}

struct norec : redo<norec> {
  // The fast path calls nothing, so that it needs no stack frame: everything else is a tail call.
  template <class T>
  static T load(const T* at, transaction* tx) {
    if (!is_unwritten(at, tx)) return load_slow(at, tx);
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);                              // [V]
    if (__builtin_expect(sequence.load(std::memory_order_relaxed) != tx->snapshot ||  // [V]
                             tx->reads.is_full(),
                         0))
      return read_memory(at, tx);
    tx->reads.push_unchecked({place(at), value});
    return value;
  }
  template <class T>
  static T load_again(const T* at, transaction* tx) {
    if (!is_unwritten(at, tx)) return load_slow(at, tx);
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);                                // [V]
    if (__builtin_expect(sequence.load(std::memory_order_relaxed) != tx->snapshot, 0))  // [V]
      return read_moved(at, tx);
    return value;
  }
  template <class T>
  static T load_for_write(const T* at, transaction* tx) {
    return load(at, tx);
  }

  // As load(), of bytes that the transaction has not written.
  template <class T>
  [[gnu::noinline]] static T read_memory(const T* at, transaction* tx) {
    T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);           // [V]
    if (sequence.load(std::memory_order_relaxed) != tx->snapshot)  // [V]
      value = read_moved(at, tx);
    if (__builtin_expect(!tx->reads.add(at, value), 0)) restart(tx, cause::memory);
    return value;
  }

  // Memory has a newer state than the transaction's snapshot.
  template <class T>
  [[gnu::noinline]] static T read_moved(const T* at, transaction* tx) {
    for (;;) {
      tx->snapshot = validate(tx, cause::read_conflict);
      const T value = peek(at);
      std::atomic_thread_fence(std::memory_order_acquire);                         // [V]
      if (sequence.load(std::memory_order_relaxed) == tx->snapshot) return value;  // [V]
    }
  }

  static u32 begin(transaction* tx) {
    forget(tx);
    tx->reads.clear();
    tx->snapshot = even_sequence();
    return started;
  }

  static bool commit(transaction* tx) {
    if (tx->writes.empty()) return keep_memory(tx), true;
    while (!sequence.compare_exchange_strong(tx->snapshot, tx->snapshot + 1,
                                             std::memory_order_acquire,   // [L]
                                             std::memory_order_relaxed))  // validated next
      tx->snapshot = validate(tx, cause::commit_conflict);
    std::atomic_thread_fence(std::memory_order_release);  // [L]
    observer::publishes(tx);
    tx->writes.write_back();
    sequence.store(tx->snapshot + 2, std::memory_order_release);  // [W]
    keep_memory(tx);
    return true;
  }

  static void roll_back(transaction* tx) { restore_memory(tx); }

  // Of its own stack and blocks, nothing is left; what it read there, nobody else changes.
  static bool has_changed(const transaction* tx) {
    for (const logged_value& entry : tx->reads)
      if (!on_own_stack(tx, entry.at.where()) && entry.at.value() != entry.value) return true;
    return tx->reads.empty();
  }
};

}  // namespace

extern const operations norec_operations = make_operations<norec>("norec");

}  // namespace syncopate::tm
