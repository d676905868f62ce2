// asymmetric_lock.h -- L4: test-and-test-and-set in four bytes, released by a plain store: who
// sleeps is counted elsewhere (sleep_table.h), and pays for being seen. Patience::polling_ticks()
// says how long to poll before that.
//
// Source        locks/tatas_lock.h; asymmetric fences: Dice, Huang & Yang, "Asymmetric Dekker
//               Synchronization", 2001.
// Fairness      none; a waiter can starve.
// Space         4 B per lock, 0 B per waiter.
// Uncontended   lock 1 RMW; unlock 1 store + 1 load of a line that changes only when somebody goes
//               to sleep.
// Contended     as tatas; going to sleep costs a heavy fence (a microsecond) more, and the holder
//               one call of the kernel.
//
// Invariants
//   I1  word_ == held exactly while a thread holds the lock.
//   I2  Who sleeps has counted itself, executed a heavy fence, and then found the lock held; who
//       releases it executes a light fence, then reads the count. So one of the two sees the other.
//   I3  A sleeper is counted until it is woken, and taken off by whoever woke it: releases that
//       follow before it runs call nobody. It then polls as at first, and counts itself anew before
//       it sleeps again. Who was not put to sleep takes itself off.
//   I4  So a sleeper that nobody counts is awake; one too many is counted when the kernel ends a
//       sleep that no release has ended, and that costs calls of the kernel but no wake-up.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of free -- synchronizes with [A].
//   [A]  acquire RMW that finds the lock free: the previous critical section happens-before ours.
//   [T]  relaxed load: the first test; it publishes nothing and decides only when to try [A].
//   [F]  the two fences of I2.
//   [C]  relaxed RMW of the count: the fences order it (I2).
//
// Checked by    tests/openmp/asymmetric_lock_scenarios.cpp (every interleaving), test_locks.c.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

#include "openmp/sleep_table.h"

namespace syncopate::openmp {

template <class Patience>
class asymmetric_lock {
 public:
  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    return word_.exchange(held, std::memory_order_acquire) == free;  // [A]
  }

  // Requires: somebody holds the lock.
  void unlock() noexcept {
    const void* const address = &word_;
    word_.store(free, std::memory_order_release);  // [R]
    if (may_sleep(address)) wake_one(address);     // [F]
  }

  // Whether somebody sleeps; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return sleepers_on(&word_).load(std::memory_order_relaxed) != 0;  // [T]
  }

 private:
  enum : std::uint32_t { free = 0, held = 1 };
  static constexpr std::uint32_t max_delay = 64;  // PAUSE steps; locks/tatas_lock.h

  [[nodiscard]] bool try_lock_tested() noexcept {
    return word_.load(std::memory_order_relaxed) == free && try_lock();  // [T]
  }

  [[gnu::noinline, gnu::cold]] static void wake_one(const void* address) noexcept {
    if (machine::wake(address, 1) == 1)
      sleepers_on(address).fetch_sub(1, std::memory_order_relaxed);  // [C]
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    while (!poll() && !sleep()) {
    }
  }

  // Returns whether the lock is held now.
  [[nodiscard]] bool poll() noexcept {
    const std::uint64_t start = machine::ticks(), limit = Patience::polling_ticks();
    std::uint32_t delay = 1;
    do {
      if (try_lock_tested()) return true;
      machine::spin(delay);
      if (delay < max_delay) delay *= 2;
    } while (machine::ticks() - start < limit);
    return false;
  }

  // Sleeps once, unless the lock is free. Returns whether it is held now.
  [[nodiscard]] bool sleep() noexcept {
    auto& sleepers = sleepers_on(&word_);
    sleepers.fetch_add(1, std::memory_order_relaxed);  // [C]
    const bool is_seen = machine::heavy_fence();       // [F]
    const bool taken = try_lock_tested();
    if (!taken && is_seen && machine::park(word_, held) == machine::park_result::woken)
      return false;                                    // taken off by the waker (I3)
    sleepers.fetch_sub(1, std::memory_order_relaxed);  // [C]
    if (!taken && !is_seen) machine::yield();
    return taken;
  }

  std::atomic<std::uint32_t> word_{free};
};

}  // namespace syncopate::openmp
