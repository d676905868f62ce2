// tsan_atomic.cpp -- what gcc and clang call under -fsanitize=thread instead of each atomic
// operation. The machine makes the operation (atomic_seam.h). Stores of files whose language has
// longer release sequences have names of their own (syncopate/instrument/builtins.h); so has what
// clang's plugin makes of weak compare-exchanges, which return the value found, and whether they
// have exchanged by another call (clang/weak_exchanges.h).
#include <atomic_seam.h>

#include <cstdint>

#include "model/front/compiler/entered.h"
#include "model/front/pthread/real.h"

namespace instrument = syncopate::instrument;
using syncopate::engine::operation;

namespace {
// Between the two calls of a weak compare-exchange nothing else of the program runs.
#if defined(SYNCOPATE_REAL_THREADS)
thread_local constinit bool has_exchanged [[gnu::tls_model("initial-exec")]] = false;
#else
constinit bool has_exchanged = false;
#endif
}  // namespace

#define MODIFY(bits, T, name, what)                                                      \
  SYNCOPATE_NOTES_REGISTERS(T, __tsan_atomic##bits##_##name)                             \
  (volatile T * at, T operand, int order) {                                              \
    return instrument::modify<T>(at, operation::what, operand, order, SYNCOPATE_CALLER); \
  }
#define ATOMICS(bits, T)                                                                           \
  SYNCOPATE_NOTES_REGISTERS(T, __tsan_atomic##bits##_load)(const volatile T* at, int order) {      \
    return instrument::load<T>(at, order, SYNCOPATE_CALLER);                                       \
  }                                                                                                \
  SYNCOPATE_EXPORT void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {          \
    instrument::store<T>(at, value, order, SYNCOPATE_CALLER);                                      \
  }                                                                                                \
  SYNCOPATE_EXPORT void syncopate_atomic##bits##_store_in_sequence(volatile T* at, T value,        \
                                                                   int order) {                    \
    instrument::store_in_sequence<T>(at, value, order, SYNCOPATE_CALLER);                          \
  }                                                                                                \
  MODIFY(bits, T, exchange, exchange)                                                              \
  MODIFY(bits, T, fetch_add, add)                                                                  \
  MODIFY(bits, T, fetch_sub, sub)                                                                  \
  MODIFY(bits, T, fetch_and, and_)                                                                 \
  MODIFY(bits, T, fetch_or, or_)                                                                   \
  MODIFY(bits, T, fetch_xor, xor_)                                                                 \
  MODIFY(bits, T, fetch_nand, nand)                                                                \
  SYNCOPATE_NOTES_REGISTERS(int, __tsan_atomic##bits##_compare_exchange_strong)                    \
  (volatile T * at, T * expected, T desired, int order, int failed) {                              \
    return instrument::compare_exchange_at<T>(at, expected, desired, order, failed, false,         \
                                              SYNCOPATE_CALLER);                                   \
  }                                                                                                \
  SYNCOPATE_NOTES_REGISTERS(int, __tsan_atomic##bits##_compare_exchange_weak)                      \
  (volatile T * at, T * expected, T desired, int order, int failed) {                              \
    return instrument::compare_exchange_at<T>(at, expected, desired, order, failed, true,          \
                                              SYNCOPATE_CALLER);                                   \
  }                                                                                                \
  SYNCOPATE_NOTES_REGISTERS(T, __tsan_atomic##bits##_compare_exchange_val)                         \
  (volatile T * at, T expected, T desired, int order, int failed) {                                \
    bool exchanged;                                                                                \
    return instrument::compare_exchange<T>(at, expected, desired, order, failed, false, exchanged, \
                                           SYNCOPATE_CALLER);                                      \
  }                                                                                                \
  SYNCOPATE_NOTES_REGISTERS(T, syncopate_atomic##bits##_compare_exchange_weak)                     \
  (volatile T * at, T expected, T desired, int order, int failed) {                                \
    return instrument::compare_exchange<T>(at, expected, desired, order, failed, true,             \
                                           has_exchanged, SYNCOPATE_CALLER);                       \
  }

ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
ATOMICS(128, instrument::u128)

SYNCOPATE_EXPORT int syncopate_atomic_has_exchanged() { return has_exchanged; }
SYNCOPATE_EXPORT void __tsan_atomic_thread_fence(int order) {
  instrument::fence(order, SYNCOPATE_CALLER);
}
// Orders a thread with its own signal handlers: the compiler has done its part.
SYNCOPATE_EXPORT void __tsan_atomic_signal_fence(int) {}
