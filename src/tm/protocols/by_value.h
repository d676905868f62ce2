// by_value.h -- reads that are validated by value: what NOrec and its in-place form share.
//
// Source        Dalessandro, Spear & Scott, "NOrec: streamlining STM by abolishing ownership
//               records", PPoPP 2010.
//
// A class derived from by_value<A> has A::sequence, an std::atomic<u64> that is odd exactly while
// one transaction writes to memory and grows with each that did, and A::wait_for_even_sequence(),
// which returns it.
//
// Invariants
//   I1  All that a transaction has read was in memory together at a moment when sequence was its
//       snapshot.
// Memory order (each tag stands at its site below)
//   [S]  acquire load of sequence -- synchronizes with the release store that makes it even: memory
//        is at least as new as that commit.
//   [V]  acquire fence between reading a value and reading sequence again: if the value came from a
//        transaction that writes, the odd number before it, or a later one, is seen.
#pragma once

#include "tm/core/engine.h"
#include "tm/core/stacks.h"

namespace syncopate::tm {

// What the transaction read from its own stack or its own blocks may have changed by its own hand.
[[nodiscard]] inline bool may_change(const transaction* tx, address a) noexcept {
  return on_own_stack(tx, a) || stacks::is_private(tx, a) || tx->allocated.covers(a);
}

template <class A>
struct by_value {
  static u64 even_sequence() noexcept {
    const u64 now = A::sequence.load(std::memory_order_acquire);  // [S]
    return __builtin_expect((now & 1) == 0, 1) ? now : A::wait_for_even_sequence();
  }

  // Whether all that was read is in memory now. From the first to the last: what says that memory
  // is gone was read before what was in it (doomed.h; test_unmapped).
  static bool reads_are_there(const transaction* tx) noexcept {
    for (const logged_value& entry : tx->reads)
      if (entry.at.value() != entry.value && !may_change(tx, entry.at.where())) {
        observer::loses(tx, entry.at.where(), nullptr);
        return false;
      }
    return true;
  }

  // Returns a snapshot at which all that was read is still what it was; restarts if there is none.
  [[gnu::noinline]] static u64 validate(transaction* tx, cause why) noexcept {
    for (;;) {
      const u64 now = even_sequence();
      if (!reads_are_there(tx)) restart(tx, why);
      std::atomic_thread_fence(std::memory_order_acquire);                 // [V]
      if (A::sequence.load(std::memory_order_relaxed) == now) return now;  // [V]
    }
  }

  // Reads memory that is aligned, and logs it. The fast path calls nothing, so that it needs no
  // stack frame: everything else is a tail call.
  template <class T>
  [[gnu::always_inline]] static T read_and_log(const T* at, transaction* tx) {
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);                                 // [V]
    if (__builtin_expect(A::sequence.load(std::memory_order_relaxed) != tx->snapshot ||  // [V]
                             tx->reads.is_full(),
                         0))
      return read_memory(at, tx);
    tx->reads.push_unchecked({place(at), value});
    return value;
  }
  // The same, of what has been logged before.
  template <class T>
  [[gnu::always_inline]] static T read_again(const T* at, transaction* tx) {
    const T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);                                   // [V]
    if (__builtin_expect(A::sequence.load(std::memory_order_relaxed) != tx->snapshot, 0))  // [V]
      return read_moved(at, tx);
    return value;
  }

  template <class T>
  [[gnu::noinline]] static T read_memory(const T* at, transaction* tx) {
    T value = peek(at);
    std::atomic_thread_fence(std::memory_order_acquire);              // [V]
    if (A::sequence.load(std::memory_order_relaxed) != tx->snapshot)  // [V]
      value = read_moved(at, tx);
    const auto key = [](const logged_value& entry) { return entry.at.identity(); };
    if (tx->reads.is_full() && __builtin_expect(!tx->read_twice.make_room(tx->reads, key), 0))
      restart(tx, cause::memory);
    tx->reads.push_unchecked({place(at), value});
    return value;
  }

  // Memory has a newer state than the transaction's snapshot.
  template <class T>
  [[gnu::noinline]] static T read_moved(const T* at, transaction* tx) {
    for (;;) {
      tx->snapshot = validate(tx, cause::read_conflict);
      const T value = peek(at);
      std::atomic_thread_fence(std::memory_order_acquire);                            // [V]
      if (A::sequence.load(std::memory_order_relaxed) == tx->snapshot) return value;  // [V]
    }
  }

  // Of its own stack and blocks, nothing is left; what it read there, nobody else changes.
  static bool has_changed(const transaction* tx) {
    for (const logged_value& entry : tx->reads)
      if (!on_own_stack(tx, entry.at.where()) && entry.at.value() != entry.value) return true;
    return tx->reads.empty();
  }
};

}  // namespace syncopate::tm
