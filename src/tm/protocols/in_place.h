// in_place.h -- what the algorithms have in common that write in place and keep old values in an
// undo log. A must have own(address, transaction*): after it, nobody else changes the bytes.
#pragma once

#include <cstring>
#include <type_traits>

#include "tm/core/engine.h"

namespace syncopate::tm {

template <class A>
struct in_place : algorithm<A> {
  // The bytes are owned, or the transaction's own memory.
  template <class T>
  static T load_own(const T* at, transaction*) {
    return peek(at);
  }

  template <class T>
  static T load_for_write(const T* at, transaction* tx) {
    if (__builtin_expect(!is_aligned(at), 0)) return load_pieces_for_write(at, tx);
    const address a = reinterpret_cast<address>(at);
    if (is_captured(tx, a)) return peek(at);
    A::own(a, tx);
    // GCC calls the store that follows one "after a write" (store_again).
    const T value = peek(at);
    if (__builtin_expect(!tx->undo.add(at, value), 0)) restart(tx, cause::memory);
    return value;
  }

  // Its old value is in the log; but an inner transaction needs the one between.
  template <class T>
  static void store_again(T* at, T value, transaction* tx) {
    if (__builtin_expect(!tx->checkpoints.empty(), 0)) return A::store(at, value, tx);
    poke(at, value);
  }

 private:
  template <class T>
  [[gnu::noinline]] static T load_pieces_for_write(const T* at, transaction* tx) {
    unsigned char bytes[2 * sizeof(u64)];
    for_each_piece(at, sizeof(T), [&](auto* piece, std::size_t offset) {
      const auto part =
          load_for_write(const_cast<const std::remove_pointer_t<decltype(piece)>*>(piece), tx);
      std::memcpy(bytes + offset, &part, sizeof part);
    });
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
};

}  // namespace syncopate::tm
