// redo.h -- what all algorithms with a redo log do alike: stores go to the log, loads look
// there first.
//
// A class derived from redo<A> is an algorithm; A::read_memory(at, tx) reads bytes that the
// transaction has not written.
#pragma once

#include "tm/core/engine.h"
#include "tm/core/stacks.h"

namespace syncopate::tm {

template <class A>
struct redo : algorithm<A> {
  // Whether a load may skip the log: none of its bytes' words has been written, and they are on
  // nobody's stack.
  template <class T>
  [[gnu::always_inline]] static bool is_unwritten(const T* at, const transaction* tx) {
    const address a = reinterpret_cast<address>(at);
    return __builtin_expect(
        ((tx->filter >> (a >> 3 & 63) & 1) | stacks::may_be_on_stack(a)) == 0 && is_aligned(at), 1);
  }

  template <class T>
  static T load(const T* at, transaction* tx) {
    return is_unwritten(at, tx) ? A::read_memory(at, tx) : load_slow(at, tx);
  }

  // Bytes that the transaction may have written, or that lie in two words.
  template <class T>
  [[gnu::noinline]] static T load_slow(const T* at, transaction* tx) {
    const address a = reinterpret_cast<address>(at);
    if (is_captured(tx, a) || stacks::is_private(tx, a)) return peek(at);
    if (!is_aligned(at)) return algorithm<A>::load_pieces(at, tx);
    if (stacks::may_be_on_stack(a) != 0 && !is_older_stack(tx, a)) stacks::use(tx, a);
    const redo_entry* const entry = tx->writes.find(a & ~address{7});
    if (entry == nullptr) return A::read_memory(at, tx);
    const unsigned shift = 8 * (a & 7);
    const T mask = static_cast<T>(entry->mask >> shift);
    const T written = static_cast<T>(entry->value >> shift);
    if (mask == static_cast<T>(~T{0})) return written;
    if (mask == 0) return A::read_memory(at, tx);
    return static_cast<T>((A::read_memory(at, tx) & static_cast<T>(~mask)) | (written & mask));
  }

  // A local variable of a function that is older than the transaction (stacks.h).
  static bool is_older_stack(const transaction* tx, address a) {
    return a - tx->stack_begin < tx->stack_above;
  }

  template <class T>
  static void store(T* at, T value, transaction* tx) {
    const address a = reinterpret_cast<address>(at);
    tx->filter |= filter_bit(a);
    if (__builtin_expect(is_captured(tx, a), 0)) return store_captured(at, value, tx);
    if (__builtin_expect(is_older_stack(tx, a), 0)) return store_on_stack(at, value, tx);
    if (__builtin_expect(!is_aligned(at), 0)) return algorithm<A>::store_pieces(at, value, tx);
    if (__builtin_expect(stacks::may_be_on_stack(a) != 0, 0)) stacks::use(tx, a);
    const unsigned shift = 8 * (a & 7);
    const u64 mask = (~u64{0} >> (64 - 8 * sizeof(T))) << shift;
    if (__builtin_expect(
            !tx->writes.put(a & ~address{7}, u64{value} << shift, mask, !tx->checkpoints.empty()),
            0))
      restart(tx, cause::memory);
  }

  // Straight to memory: nobody else knows of it, and it is gone when the transaction rolls back. An
  // inner transaction that is canceled alone leaves it behind, and so logs it.
  template <class T>
  [[gnu::noinline]] static void store_captured(T* at, T value, transaction* tx) {
    tx->filter |= filter_bit(reinterpret_cast<address>(at) + sizeof(T) - 1);
    if (!tx->checkpoints.empty() && !tx->undo.add_block(at, sizeof(T))) restart(tx, cause::memory);
    poke(at, value);
  }

  template <class T>
  [[gnu::noinline]] static void store_on_stack(T* at, T value, transaction* tx) {
    const address a = reinterpret_cast<address>(at);
    if (!stacks::is_private(tx, a) && !stacks::make_private(tx, a)) restart(tx, cause::unsafe_call);
    tx->filter |= filter_bit(a + sizeof(T) - 1);
    if (__builtin_expect(!tx->undo.add_block(at, sizeof(T)), 0)) restart(tx, cause::memory);
    poke(at, value);
  }

  // Puts back what was written in place.
  static void restore_memory(transaction* tx) {
    tx->undo.undo(0, tx->stack_begin - tx->stack_extent, tx->stack_begin);
    stacks::end_private(tx);
  }
  // What was written in place is committed.
  static void keep_memory(transaction* tx) {
    if (__builtin_expect(tx->private_above != 0, 0)) stacks::end_private(tx);
  }

  static void forget(transaction* tx) {
    tx->filter = 0;
    tx->writes.clear();
  }
};

}  // namespace syncopate::tm
