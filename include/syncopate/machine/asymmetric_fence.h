// asymmetric_fence.h -- native: a pair of fences of which the frequent one costs nothing.
//
// T1: x = 1; light_fence(); read y.   T2: y = 1; heavy_fence(); read x.   One of the two sees the
// other's store, as with two sequentially consistent fences. The heavy one makes all processors
// that run this process execute a fence (Linux: membarrier); some microseconds.
//
// Memory order (each tag stands at its site below)
//   [F]  the two fences. The compiler's alone is enough where the other side's makes all processors
//        execute one.
//   [L]  relaxed: whether it does. A light fence that does not know yet is a full one.
#pragma once

#include <syncopate/machine/system_call.h>

#include <atomic>

#include <linux/membarrier.h>
#include <sys/syscall.h>

namespace syncopate::machine {
namespace detail {
inline constinit std::atomic<bool> membarrier_ready{false};

inline long membarrier(int command) noexcept {
  return system_call(SYS_membarrier, command, 0, 0, 0, 0, 0);
}
}  // namespace detail

// To be called once before the fences are worth their name, at construction of what uses them.
// Where the kernel refuses, both stay full fences. Idempotent, survives fork.
inline void prepare_asymmetric_fences() noexcept {
  if (detail::membarrier_ready.load(std::memory_order_relaxed)) return;  // [L]
  if (detail::membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
    detail::membarrier_ready.store(true, std::memory_order_relaxed);  // [L]
}

inline void light_fence() noexcept {
  if (__builtin_expect(detail::membarrier_ready.load(std::memory_order_relaxed), 1))  // [L]
    std::atomic_signal_fence(std::memory_order_seq_cst);                              // [F]
  else std::atomic_thread_fence(std::memory_order_seq_cst);                           // [F]
}

// Pairs also with a light_fence() that still was a full one. Returns false, without effect on light
// fences, when the kernel has begun to refuse (a filter set up later): then do not sleep.
[[nodiscard]] inline bool heavy_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);                         // [F]
  if (!detail::membarrier_ready.load(std::memory_order_relaxed)) return true;  // [L]
  if (detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
  return detail::membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
         detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace syncopate::machine
