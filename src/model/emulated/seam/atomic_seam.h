// atomic_seam.h -- what the compiler's calls for atomic operations come to on the emulated
// machine. The machines with an engine have the one in src/model/front/threads/fibers.
//
// In a transaction: a plain access of a line that is the transaction's own. Outside: the
// processor's operation, with the line locked against transactions; so the operation is exact also
// where transactions run on the line. Orders are those of the processor's locked operations, the
// strongest: code that needs them weaker does not exist.
//
// Memory order (each tag stands at its site below)
//   [V]  acquire loads of the line's word around a seq_cst load of the value: if the word has the
//        same version and no owner both times, no transaction has written between.
//   [S]  seq_cst: the strongest, whatever is asked for.
//   [R]  release store: the unlocking of the line behind it is a full barrier.
#pragma once

#include <cstdint>

#include "model/emulated/memory/access.h"
#include "model/front/compiler/processor_operations.h"
#include "model/front/engine.h"

namespace syncopate::instrument {

using engine::operation;
using u128 = unsigned __int128;

inline bool in_transaction() noexcept { return emulated::here.current != nullptr; }
template <class T>
std::uintptr_t address(const volatile T* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at);
}

template <class T>
[[gnu::noinline]] T load_locked(const volatile T* at, engine::place where) noexcept {
  const emulated::line_lock lock(address(at), emulated::use::read, where);
  return processors_load(at);
}

// No transaction has written the line before, none after, and the version tells that none came and
// went in between: then the value is nobody's in between.
template <class T>
T load(const volatile T* at, int, engine::place where) noexcept {
  if (in_transaction()) {
    emulated::read(at, sizeof(T), where);
    return *at;
  }
  if constexpr (!is_wide<T>) {
    constexpr std::uint64_t no_owner = emulated::mark::writer | emulated::mark::locked;
    emulated::shadow_word& word = emulated::shadow(emulated::line_of(at));
    const std::uint64_t before = word.load(std::memory_order_acquire);  // [V]
    const T value = __atomic_load_n(at, __ATOMIC_SEQ_CST);              // [S]
    const std::uint64_t after = word.load(std::memory_order_acquire);   // [V]
    const std::uint64_t changed = (before ^ after) & emulated::mark::version;
    if (((before | after) & no_owner) == 0 && changed == 0) [[likely]] {
      emulated::settle_last();
      return value;
    }
  }
  return load_locked(at, where);
}

template <class T>
void store(volatile T* at, T value, int, engine::place where) noexcept {
  if (in_transaction()) {
    emulated::write(at, sizeof(T), where);
    *at = value;
    return;
  }
  const emulated::line_lock lock(address(at), emulated::use::write, where);
  if constexpr (is_wide<T>) processors_modify(at, operation::exchange, value);
  else __atomic_store_n(at, value, __ATOMIC_RELEASE);  // [R] the unlocking is a full barrier
}
template <class T>
void store_in_sequence(volatile T* at, T value, int how, engine::place where) noexcept {
  store(at, value, how, where);
}

template <class T>
T modify(volatile T* at, operation what, T operand, int, engine::place where) noexcept {
  if (in_transaction()) {
    emulated::write(at, sizeof(T), where);
    const T old = *at;
    *at = apply(what, old, operand);
    return old;
  }
  const emulated::line_lock lock(address(at), emulated::use::write, where);
  return processors_modify(at, what, operand);
}

// Returns what was found.
template <class T>
T compare_exchange(volatile T* at, T expected, T desired, int, int, bool, bool& exchanged,
                   engine::place where) noexcept {
  T found;
  if (in_transaction()) {
    emulated::write(at, sizeof(T), where);
    found = *at;
    if (found == expected) *at = desired;
  } else {
    const emulated::line_lock lock(address(at), emulated::use::write, where);
    found = __sync_val_compare_and_swap(at, expected, desired);  // [S]
  }
  exchanged = found == expected;
  return found;
}

template <class T>
int compare_exchange_at(volatile T* at, T* expected, T desired, int how, int how_failed, bool weak,
                        engine::place where) noexcept {
  // gcc does not tell of that read, nor of the write.
  emulated::read_range(address(expected), sizeof(T), where);
  bool exchanged;
  const T found = compare_exchange(at, *expected, desired, how, how_failed, weak, exchanged, where);
  if (exchanged) return 1;
  emulated::write_range(address(expected), sizeof(T), where);
  *expected = found;
  return 0;
}

inline void fence(int, engine::place) noexcept { __atomic_thread_fence(__ATOMIC_SEQ_CST); }  // [S]

}  // namespace syncopate::instrument
