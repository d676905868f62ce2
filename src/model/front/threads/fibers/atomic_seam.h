// atomic_seam.h -- what the compiler's calls for atomic operations come to on the machines with
// an engine: it makes the operation; code that runs outside the program makes it itself. The
// emulated machine has its own file of this name (src/model/emulated/seam).
//
// Memory order (each tag stands at its site below)
//   [P]  the order that the program asks for, which the engine models.
//   [S]  seq_cst, where no engine makes it: the strongest is right for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/front/compiler/processor_operations.h"
#include "model/front/engine.h"
#include "model/front/scope.h"

namespace syncopate::instrument {
using engine::operation;
using engine::word;
using u128 = unsigned __int128;

// For the engine call that follows. Bits above the lowest 15 are hints (hardware lock elision).
inline std::memory_order order(int given) noexcept {
  order_is_programs = true;
  return static_cast<std::memory_order>(given & 0x7fff);  // [P]
}

template <class T>
engine::address address(const volatile T* at) noexcept {
  return reinterpret_cast<engine::address>(at);
}

template <class T>
T load(const volatile T* at, int how, engine::place where) {
  if (!in_program()) [[unlikely]]
    return processors_load(at);
  const engine_scope inside;
  return static_cast<T>(engine::load(address(at), sizeof(T), order(how), where));
}

template <class T>
void store(volatile T* at, T value, int how, engine::place where) {
  if (!in_program()) [[unlikely]] {
    processors_modify(at, operation::exchange, value);
    return;
  }
  const engine_scope inside;
  engine::store(address(at), sizeof(T), value, order(how), where);
}

template <class T>
void store_in_sequence(volatile T* at, T value, int how, engine::place where) {
  if (!in_program()) [[unlikely]] {
    processors_modify(at, operation::exchange, value);
    return;
  }
  const engine_scope inside;
  engine::store(address(at), sizeof(T), value, order(how), where, engine::sequences::cxx11);
}

template <class T>
T modify(volatile T* at, operation what, T operand, int how, engine::place where) {
  if (!in_program()) [[unlikely]]
    return processors_modify(at, what, operand);
  const engine_scope inside;
  return static_cast<T>(engine::modify(address(at), sizeof(T), what, operand, order(how), where));
}

// Returns what was found.
template <class T>
T compare_exchange(volatile T* at, T expected, T desired, int how, int how_failed, bool weak,
                   bool& exchanged, engine::place where) {
  if (!in_program()) [[unlikely]] {
    const T found = __sync_val_compare_and_swap(at, expected, desired);  // [S]
    exchanged = found == expected;
    return found;
  }
  const engine_scope inside;
  word found = expected;
  exchanged = engine::compare_exchange(address(at), sizeof(T), found, desired, order(how),
                                       order(how_failed), weak, where);
  return exchanged ? expected : static_cast<T>(found);
}

// A compare-exchange is about to read what it expects, or to write there what it found. gcc does
// not tell of that. (clang does, and calls compare_exchange.)
inline void access_expected(const void* expected, std::size_t bytes, engine::kind what,
                            engine::place where) {
  if (!in_program()) return;
  const engine_scope inside;
  engine::access_expected(reinterpret_cast<engine::address>(expected), bytes, what, where);
}

template <class T>
int compare_exchange_at(volatile T* at, T* expected, T desired, int how, int how_failed, bool weak,
                        engine::place where) {
  access_expected(expected, sizeof(T), engine::kind::read, where);
  bool exchanged;
  const T found = compare_exchange(at, *expected, desired, how, how_failed, weak, exchanged, where);
  if (exchanged) return true;
  access_expected(expected, sizeof(T), engine::kind::write, where);
  *expected = found;
  return false;
}

inline void fence(int how, engine::place where) {
  if (!in_program()) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // [S]
    return;
  }
  const engine_scope inside;
  engine::fence(order(how), where);
}

}  // namespace syncopate::instrument
