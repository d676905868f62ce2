// speculative_ticket_lock.h -- FIFO ticket lock; those who are nearly next run ahead.
//
// Source        Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", 2017,
//               section III-C, figure 5 (ticket-aahtm; NUM_TRIES 4, MIN_DIST 2, MAX_DIST 4: section
//               IV-A); the back-off is that of ticket_lock.h. How we deviate: see wait/speculate.h.
// Fairness      FIFO; bypass bound 0.
// Space         8 B per lock, 0 B per waiter.
// Uncontended   lock 1 RMW + 2 loads; unlock 2 loads + 1 store; two cache lines, one of them
//               private.
// Contended     each unlock invalidates every waiter: O(n) misses per hand-off. The second and the
//               third in line run ahead, so that the first is back in time for its turn.
//
// Invariants
//   I1  next_ - serving_ == holders + waiters, mod 2^32.
//   I2  Each number is drawn once; the owner of the number in serving_ is the holder.
//   I3  Only the holder advances serving_.
//   I4  A thread that runs ahead neither draws a number nor advances serving_; what it writes is
//       never seen by others.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of serving_ in unlock -- synchronizes with [A].
//   [A]  acquire load of serving_ in lock and try_lock: the previous critical section
//        happens-before ours.
//   [X]  relaxed RMW of next_: needs atomicity only (I2).
//   [O]  relaxed load of serving_ by its only advancer (I3), or of either word as a hint.
//
// Checked by    tests/conformance (exclusion, FIFO order), natively without transactions that
//               commit; with them tests/check/lock_check.cpp (explored with two and three threads).
#pragma once

#include <syncopate/locks/speculating_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/speculate.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

class speculative_ticket_lock {
 public:
  // In an unmodified program's mutex, whose threads may outnumber the processors: the same runs
  // ahead, and behind them waiters that sleep.
  using in_mutex = speculating_lock<ticket_lock<waits::spin_then_park>, papers_limits>;

  static constexpr lock_traits traits{
      .fair = fairness::fifo,
      .collapses = true,
      .spins = true,
      .runs_ahead = true,
      .summary = "ticket lock; the second and third in line run ahead of their turn",
      .source = "Izraelevitz, Xiang & Scott 2017, figure 5"};

  // Blocks until the lock is held, or until the calling thread runs ahead as if it were.
  void lock() noexcept {
    if (waits::speculation::active()) return;
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);   // [X]
    if (__builtin_expect(serving_.load(std::memory_order_acquire) != mine, 0))  // [A]
      lock_slow(mine);
  }

  // Returns whether the lock was free and is now held, or the thread runs ahead. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    if (waits::speculation::active()) return true;
    // next_ == s implies serving_ == s at that moment: serving_ cannot have passed next_ (I1).
    std::uint32_t s = serving_.load(std::memory_order_acquire);                // [A]
    return next_.compare_exchange_strong(s, s + 1, std::memory_order_relaxed,  // [X]
                                         std::memory_order_relaxed);           // [X]
  }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void unlock() noexcept {
    if (waits::speculation::end(this)) return;
    const std::uint32_t mine = serving_.load(std::memory_order_relaxed);  // [O]
    serving_.store(mine + 1, std::memory_order_release);                  // [R]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes next_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    const std::uint32_t drawn = next_.load(std::memory_order_relaxed);  // [O]
    return drawn != serving_.load(std::memory_order_relaxed);           // [O]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return next_.load(std::memory_order_relaxed) -  // [O]
               serving_.load(std::memory_order_relaxed) >
           1;  // [O]
  }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void check_invariants() const noexcept {
    if (waits::speculation::active()) return;
    [[maybe_unused]] const std::uint32_t inside = next_.load(std::memory_order_relaxed) -    // [O]
                                                  serving_.load(std::memory_order_relaxed);  // [O]
    assert(inside != 0 && inside < 1u << 31);                                                // I1
  }

 private:
  static constexpr int max_runs_ahead = 4;
  static constexpr std::uint32_t nearest = 2, farthest = 3;  // places in line that run ahead
  static constexpr std::uint32_t slice = 4;                  // as ticket_lock.h

  [[gnu::noinline, gnu::cold]] void lock_slow(std::uint32_t mine) noexcept {
    for (int runs = 0;;) {
      const std::uint32_t ahead = mine - serving_.load(std::memory_order_relaxed);  // [O]
      if (ahead <= 1) break;
      if (runs < max_runs_ahead && ahead >= nearest && ahead <= farthest) {
        if (waits::speculation::begin(this)) return;
        ++runs;
      } else {
        machine::spin(ahead * slice);
      }
    }
    machine::wait_until(serving_, std::memory_order_acquire,  // [A]
                        [mine](std::uint32_t number) { return number == mine; });
  }

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
};

}  // namespace syncopate
