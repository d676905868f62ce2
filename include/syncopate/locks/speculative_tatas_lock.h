// speculative_tatas_lock.h -- test-and-test-and-set; waiters run ahead before they poll.
//
// Source        Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", 2017,
//               figure 3 (tatas-aahtm; NUM_TRIES 4: section IV-A). How we deviate: see
//               wait/speculate.h; the polling at the end backs off exponentially, as the paper's
//               plain tatas does.
// Fairness      none; a waiter can starve.
// Space         4 B per lock, 0 B per waiter.
// Uncontended   lock 1 load + 1 RMW; unlock 1 load + 1 store; two cache lines, one of them private.
// Contended     up to 4 runs ahead per waiter, then as tatas_lock.h.
//
// Invariants
//   I1  word_ != free exactly while a thread holds the lock.
//   I2  A thread that runs ahead neither takes nor releases a lock of this kind; what it writes is
//       never seen by others.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of free -- synchronizes with [A].
//   [A]  acquire RMW that finds the lock free: the previous critical section happens-before ours.
//   [T]  relaxed load: the first test; it publishes nothing and decides only when to try [A].
//
// Checked by    tests/conformance (exclusion), natively without transactions that commit; with them
//               tests/check/{lock_check,htm_check}.cpp (explored with two and three threads).
#pragma once

#include <syncopate/locks/speculating_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/speculate.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

class speculative_tatas_lock {
 public:
  // In an unmodified program's mutex, whose threads may outnumber the processors: the same runs
  // ahead, and behind them waiters that sleep.
  using in_mutex = speculating_lock<tatas_lock<waits::spin_then_park>, papers_limits>;

  static constexpr lock_traits traits{
      .fair = fairness::none,
      .spins = true,
      .runs_ahead = true,
      .summary = "tatas whose waiters run ahead in transactions that never commit",
      .source = "Izraelevitz, Xiang & Scott 2017, figure 3"};

  // Blocks until the lock is held, or until the calling thread runs ahead as if it were.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held, or the thread runs ahead. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    if (waits::speculation::active()) return true;
    return word_.exchange(held, std::memory_order_acquire) == free;  // [A]
  }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void unlock() noexcept {
    if (waits::speculation::end(this)) return;
    word_.store(free, std::memory_order_release);  // [R]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes word_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return word_.load(std::memory_order_relaxed) != free;  // [T]
  }

  // Returns when the lock has been seen free, having waited in the way of spinners.
  void await_free() const noexcept {
    machine::wait_until(word_, std::memory_order_relaxed,  // [T]
                        [](std::uint32_t value) { return value == free; });
  }

  // Always false: nobody sleeps.
  [[nodiscard]] bool contended() const noexcept { return false; }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void check_invariants() const noexcept {
    if (waits::speculation::active()) return;
    assert(word_.load(std::memory_order_relaxed) == held);  // [T] I1
  }

 private:
  enum : std::uint32_t { free = 0, held = 1 };
  static constexpr int max_runs_ahead = 4;
  static constexpr std::uint32_t min_delay = 1, max_delay = 64;  // as tatas_lock.h

  bool take_if_free() noexcept {
    return word_.load(std::memory_order_relaxed) == free && try_lock();  // [T]
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    for (int run = 0; run < max_runs_ahead; ++run) {
      if (waits::speculation::begin(this)) return;
      if (take_if_free()) return;
    }
    for (std::uint32_t delay = min_delay; !take_if_free();
         delay = delay < max_delay ? 2 * delay : max_delay)
      machine::spin(delay);
  }

  std::atomic<std::uint32_t> word_{free};
};

}  // namespace syncopate
