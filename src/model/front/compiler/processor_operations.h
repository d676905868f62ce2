// processor_operations.h -- atomic operations as the processor makes them, sequentially
// consistent: what stays of the compiler's calls where no machine makes them.
//
// Memory order (each tag stands at its site below)
//   [S]  seq_cst, whatever the program has asked for: the strongest is right for each.
#pragma once

#include "model/front/engine.h"

namespace syncopate::instrument {

template <class T>
inline constexpr bool is_wide = sizeof(T) == 16;

template <class T>
T processors_load(const volatile T* at) noexcept {
  // There is no 16-byte load but the compare-exchange, which writes what it found.
  if constexpr (is_wide<T>)
    return __sync_val_compare_and_swap(const_cast<volatile T*>(at), T{0}, T{0});  // [S]
  else return __atomic_load_n(at, __ATOMIC_SEQ_CST);                              // [S]
}

// What `what` makes of a value.
template <class T>
T apply(engine::operation what, T old, T operand) noexcept {
  using engine::operation;
  switch (what) {
    case operation::exchange: return operand;
    case operation::add: return static_cast<T>(old + operand);
    case operation::sub: return static_cast<T>(old - operand);
    case operation::and_: return static_cast<T>(old & operand);
    case operation::or_: return static_cast<T>(old | operand);
    case operation::xor_: return static_cast<T>(old ^ operand);
    case operation::nand: return static_cast<T>(~(old & operand));
  }
  __builtin_unreachable();
}

// Returns the value before. Uninstrumented code may change the word at the same time.
template <class T>
T processors_modify(volatile T* at, engine::operation what, T operand) noexcept {
  if constexpr (!is_wide<T>) {
    if (what == engine::operation::exchange)
      return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);  // [S]
    if (what == engine::operation::add)
      return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);  // [S]
  }
  T old = processors_load(at);
  for (;;) {
    const T found = __sync_val_compare_and_swap(at, old, apply(what, old, operand));  // [S]
    if (found == old) return old;
    old = found;
  }
}

}  // namespace syncopate::instrument
