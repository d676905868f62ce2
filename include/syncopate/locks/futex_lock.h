// futex_lock.h -- sleep at once; the algorithm of glibc's normal mutex.
//
// Source        Drepper, "Futexes Are Tricky", 2011, "mutex2"; glibc nptl lowlevellock.
// Fairness      none: a running thread overtakes every sleeper.
// Space         4 B per lock, 0 B per waiter.
// Uncontended   lock 1 RMW; unlock 1 RMW; one cache line.
// Contended     every waiter sleeps; each unlock with sleepers is a system call.
//
// Invariants
//   I1  word_ != free exactly while a thread holds the lock.
//   I2  If a waiter sleeps, word_ == held_waiters, or somebody awake will make it so: a waiter that
//       has slept acquires with held_waiters.
//
// Memory order (each tag stands at its site below)
//   [R]  release exchange to free -- synchronizes with [A].
//   [A]  acquire RMW that finds the lock free: the previous critical section happens-before ours.
//   [X]  relaxed: a failed attempt, a hint, or a reset that nobody can race with.
//
// Checked by    tests/conformance (exclusion, time-outs), tests/check/lock_check.cpp (explored with
//               two and three threads), tests/elide,
//               tests/simulated_engine/{late_balance,pollers,ratios}.cpp,
//               tests/check/{condition_check,elided_condition_check,lockset_check}.cpp (below other
//               parts), tests/posix under SYNCOPATE_LOCK=futex,
//               tests/simulated_engine/{beside,many_beside}_foreign_load.cpp.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

class futex_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::none,
      .timed = true,
      .glibc_word = true,
      .summary = "sleep at once; the algorithm of glibc's normal mutex",
      .source = "Drepper 2011, mutex2"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow(nullptr);
  }

  // Blocks until the lock is held (true) or the deadline has passed (false).
  [[nodiscard]] bool lock_until(const machine::deadline& until) noexcept {
    return try_lock() || lock_slow(&until);
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, held, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);                 // [X]
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    const void* const address = &word_;
    if (__builtin_expect(word_.exchange(free, std::memory_order_release) == held_waiters,
                         0))  // [R]
      machine::wake(address, 1);
  }

  // Makes the lock free, whoever holds it. Requires: no other thread uses it (a forked child).
  void reset() noexcept { word_.store(free, std::memory_order_relaxed); }  // [X]

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes word_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return word_.load(std::memory_order_relaxed) != free;  // [X]
  }

  // Whether somebody sleeps; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return word_.load(std::memory_order_relaxed) == held_waiters;  // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint32_t now = word_.load(std::memory_order_relaxed);  // [X]
    assert(now == held || now == held_waiters);                                        // I1
  }

 private:
  enum : std::uint32_t { free = 0, held = 1, held_waiters = 2 };

  [[gnu::noinline, gnu::cold]] bool lock_slow(const machine::deadline* until) noexcept {
    while (word_.exchange(held_waiters, std::memory_order_acquire) != free)  // [A]
      if (machine::park(word_, held_waiters, until) == machine::park_result::timed_out)
        return false;
    return true;
  }

  std::atomic<std::uint32_t> word_{free};
};

}  // namespace syncopate
