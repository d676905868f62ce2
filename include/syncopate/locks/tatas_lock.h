// tatas_lock.h -- test-and-test-and-set with exponential back-off.
//
// Source        Rudolph & Segall, ISCA 1984 (test, then test-and-set); Anderson, IEEE TPDS 1(1),
//               1990 (back-off). How we deviate: strategies that park use state `held_parked`.
// Fairness      none; a waiter can starve.
// Space         4 B per lock (with the strategy adaptive 12 B), 0 B per waiter.
// Uncontended   lock 1 RMW; unlock 1 store (parking: 1 RMW); one cache line.
// Contended     each release lets every polling waiter race; back-off keeps the races rare.
//
// Invariants
//   I1  word_ != free exactly while a thread holds the lock.
//   I2  If a waiter sleeps, word_ == held_parked, or somebody awake will make it so: a waiter that
//       has slept acquires with held_parked.
//
// Memory order (each tag stands at its site below)
//   [R]  release store (or exchange) of free -- synchronizes with [A].
//   [A]  acquire RMW that finds the lock free: the previous critical section happens-before ours.
//   [T]  relaxed load: the first test; it publishes nothing and decides only when to try [A].
//
// Checked by    tests/conformance (exclusion, every strategy), tests/check/lock_check.cpp (explored
//               with two and three threads), tests/check/{gil_check,htm_check,lockset_check}.cpp
//               (below other parts), tests/posix under SYNCOPATE_LOCK=tatas, tests/elide and
//               tests/emulated (below elided locks),
//               tests/simulated_engine/{deadlock,locks,oversubscribed,ratios}.cpp.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class tatas_lock {
 public:
  static constexpr lock_traits traits{.fair = fairness::none,
                                      .summary = "test-and-test-and-set with exponential back-off",
                                      .source = "Rudolph & Segall 1984; Anderson 1990"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    // An exchange is the cheaper instruction, but would overwrite held_parked.
    if constexpr (!Wait::parks)
      return word_.exchange(held, std::memory_order_acquire) == free;  // [A]
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, held, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);                 // [T]
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    if constexpr (!Wait::parks) {
      word_.store(free, std::memory_order_release);  // [R]
    } else {
      const void* const address = &word_;
      if (word_.exchange(free, std::memory_order_release) == held_parked)  // [R]
        machine::wake(address, 1);
    }
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

  // Whether somebody sleeps; a hint, always false for strategies that never sleep.
  [[nodiscard]] bool contended() const noexcept {
    return word_.load(std::memory_order_relaxed) == held_parked;  // [T]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint32_t now = word_.load(std::memory_order_relaxed);  // [T]
    assert(now == held || (Wait::parks && now == held_parked));                        // I1
  }

 private:
  enum : std::uint32_t { free = 0, held = 1, held_parked = 2 };
  // Back-off in PAUSE steps: from one to about the length of a short critical section times a
  // handful of waiters (an estimate; no benchmark has tuned it yet).
  static constexpr std::uint32_t min_delay = 1, max_delay = 64;

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    if constexpr (!Wait::parks) {
      back_off_until([](std::uint32_t) { return false; });
    } else {
      const std::uint64_t start = machine::ticks(), limit = wait_.polling_ticks();
      const auto enough = [start, limit](std::uint32_t) {
        return machine::ticks() - start >= limit;
      };
      const bool polled = limit != 0 && back_off_until(enough);
      if (!polled) {
        while (word_.exchange(held_parked, std::memory_order_acquire) != free)  // [A]
          machine::park(word_, held_parked);
      }
      wait_.waited(machine::ticks() - start, !polled);
    }
  }

  // Polls with growing delays until the lock is held (true) or enough(delay) says so (false).
  template <class Enough>
  bool back_off_until(Enough enough) noexcept {
    for (std::uint32_t delay = min_delay;; delay = delay < max_delay ? 2 * delay : max_delay) {
      if (word_.load(std::memory_order_relaxed) == free && try_lock()) return true;  // [T]
      if (enough(delay)) return false;
      Wait::delay(delay);
    }
  }

  std::atomic<std::uint32_t> word_{free};
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
