// priority_lock.h -- test-and-test-and-set that prefers waiters which have run ahead.
//
// Source        Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", 2017,
//               section III-B, figure 4 (tatas-pri-aahtm; MAX_SPECS 1: section IV-A). How we
//               deviate: see wait/speculate.h; the listing reads both words in one load, here a
//               thread may read them around a change and win one race that the other deserved.
// Fairness      none among those that have run ahead; they go before all others.
// Space         8 B per lock, 0 B per waiter.
// Uncontended   lock 3 loads + 1 RMW; unlock 1 load + 1 store; two cache lines, one private.
// Contended     one waiter at a time polls for the lock, warm; the others look now and then whether
//               it has got it. A machine without transactions counts as having run ahead at once.
//
// Invariants
//   I1  held_ != 0 exactly while a thread holds the lock.
//   I2  warm_ is the number of threads between the end of their run ahead and their acquisition;
//       each takes part in the race for held_ until it wins, so warm_ returns to 0.
//   I3  A thread that runs ahead neither takes nor releases a lock of this kind; what it writes is
//       never seen by others.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of held_ = 0 -- synchronizes with [A].
//   [A]  acquire RMW that finds held_ 0: the previous critical section happens-before ours.
//   [T]  relaxed load of held_: decides only when to try [A].
//   [P]  relaxed warm_: a priority, no permission; exclusion does not depend on it.
//
// Checked by    tests/conformance (exclusion), natively without transactions that commit; with them
//               tests/check/lock_check.cpp (explored with two and three threads).
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/speculate.h>
#include <syncopate/wait/spin.h>
#include <syncopate/wait/yield.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait>
class basic_priority_lock {
 public:
  // In an unmodified program's mutex, whose threads may outnumber the processors.
  using in_mutex = basic_priority_lock<waits::yield>;

  static constexpr lock_traits traits{
      .fair = fairness::none,
      .spins = true,
      .runs_ahead = true,
      .summary = "tatas that prefers waiters whose caches a run ahead has warmed",
      .source = "Izraelevitz, Xiang & Scott 2017, figure 4"};

  // Blocks until the lock is held, or until the calling thread runs ahead as if it were.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free, with nobody warm waiting, and is now held; or the thread
  // runs ahead. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    if (waits::speculation::active()) return true;
    return warm_.load(std::memory_order_relaxed) == 0 && take_if_free();  // [P]
  }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void unlock() noexcept {
    if (waits::speculation::end(this)) return;
    held_.store(0, std::memory_order_release);  // [R]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes held_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return held_.load(std::memory_order_relaxed) != 0;  // [T]
  }

  // Whether a warm waiter is there; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return warm_.load(std::memory_order_relaxed) != 0;  // [P]
  }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void check_invariants() const noexcept {
    if (waits::speculation::active()) return;
    assert(held_.load(std::memory_order_relaxed) == 1);  // [T] I1
  }

 private:
  static constexpr std::uint32_t max_ahead = 1, nobody_sleeps = 0;
  // PAUSE steps of a cold waiter between two looks (the listing's INTERVAL, which the paper does
  // not give): as tatas_lock.h's longest delay.
  static constexpr std::uint32_t interval = 64;

  bool take_if_free() noexcept {
    return held_.load(std::memory_order_relaxed) == 0 &&       // [T]
           held_.exchange(1, std::memory_order_acquire) == 0;  // [A]
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    while (!try_lock()) {
      if (warm_.load(std::memory_order_relaxed) < max_ahead) {  // [P]
        if (waits::speculation::begin(this)) return;
        return take_warm();
      }
      Wait::delay(interval);
    }
  }

  void take_warm() noexcept {
    warm_.fetch_add(1, std::memory_order_relaxed);  // [P]
    while (!take_if_free())
      Wait::until(
          held_, std::memory_order_relaxed,  // [T]
          [](std::uint32_t held) { return held == 0; }, nobody_sleeps);
    warm_.fetch_sub(1, std::memory_order_relaxed);  // [P]
  }

  std::atomic<std::uint32_t> held_{0};
  std::atomic<std::uint32_t> warm_{0};
};

using priority_lock = basic_priority_lock<waits::spin>;

}  // namespace syncopate
