// ticket_lock.h -- FIFO lock: draw a number, wait until it is called.
//
// Source        Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, section 2.2, with its proportional
//               back-off. How we deviate: numbers advance by 2, which leaves bit 0 of serving_ for
//               "somebody sleeps"; strategies that park use it.
// Fairness      FIFO; bypass bound 0.
// Space         8 B per lock (with the strategy adaptive 16 B), 0 B per waiter.
// Uncontended   lock 1 RMW + 1 load; unlock 1 load + 1 store (parking: 1 load + 1 RMW); one
//               cache line.
// Contended     each unlock invalidates every spinning waiter: O(n) misses per hand-off. A sleeping
//               waiter is woken through a futex bit of its own number (mod 32).
//
// Invariants
//   I1  next_ - serving_ (bit 0 aside) == 2 * (holders + waiters), mod 2^32: below 2^31 threads.
//   I2  Each number is drawn once; the owner of the number in serving_ is the holder.
//   I3  Only the holder advances serving_ or clears its bit 0. Waiters only set the bit.
//   I4  If a waiter sleeps, bit 0 is set, or serving_ has reached its number and a wake for it is
//       under way. (A waiter sleeps only on a value with bit 0 set; unlock() keeps the bit while
//       anyone but the next in line may sleep.)
//
// Memory order (each tag stands at its site below)
//   [R]  release store (or RMW) of serving_ in unlock -- synchronizes with [A].
//   [A]  acquire load of serving_ in lock and try_lock: the previous critical section
//        happens-before ours.
//   [X]  relaxed RMW of next_, or of bit 0 by the holder: needs atomicity only (I2, I3).
//   [O]  relaxed load of serving_ by its only advancer (I3), or of next_ as a hint.
//   [D]  seq_cst, parking only: a waiter draws, then looks at bit 0; unlock() clears bit 0, then
//        looks at next_. One of the two sees the other (I4).
//
// Checked by    tests/conformance (exclusion, FIFO order, every strategy),
//               tests/check/lock_check.cpp (explored with two and three threads),
//               tests/check/lockset_check.cpp, tests/posix under SYNCOPATE_LOCK=ticket and
//               ticket:park, tests/elide (below others), tests/install,
//               tests/simulated_engine/{convoy,locks,oversubscribed}.cpp.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class ticket_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::fifo,
      .collapses = !yielding<Wait>,  // *simulated*: tests/simulated_engine/oversubscribed.cpp
      .summary = "FIFO: draw a number, wait until it is called; proportional back-off",
      .source = "Mellor-Crummey & Scott 1991, section 2.2"};

  // Blocks until the lock is held.
  void lock() noexcept {
    const std::uint32_t mine = draw();
    const std::uint32_t value = serving_.load(look_order);  // [A] [D]
    if (__builtin_expect(number(value) != mine, 0)) lock_slow(mine);
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    // next_ == s implies serving_ == s at that moment: serving_ cannot have passed next_ (I1).
    std::uint32_t s = number(serving_.load(std::memory_order_acquire));           // [A]
    return next_.compare_exchange_strong(s, s + step, std::memory_order_relaxed,  // [X]
                                         std::memory_order_relaxed);              // [X]
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    if constexpr (!Wait::parks) {
      const std::uint32_t mine = serving_.load(std::memory_order_relaxed);  // [O]
      serving_.store(mine + step, std::memory_order_release);               // [R]
    } else {
      unlock_and_wake();
    }
  }

  // lock() in two halves, for callers with something to do while they are in line: draw() joins the
  // line for good, ahead() says how many are before the drawer, await() blocks until it is zero
  // and the lock is held. Requires: what draw() returned is passed to await() once.
  [[nodiscard]] std::uint32_t draw() noexcept {
    return next_.fetch_add(step, draw_order);  // [X] [D]
  }
  [[nodiscard]] std::uint32_t ahead(std::uint32_t mine) const noexcept {
    return (mine - number(serving_.load(std::memory_order_relaxed))) / step;  // [O]
  }
  void await(std::uint32_t mine) noexcept {
    if (number(serving_.load(look_order)) != mine) lock_slow(mine);  // [A] [D]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes next_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    const std::uint32_t drawn = next_.load(std::memory_order_relaxed);  // [O]
    return drawn != number(serving_.load(std::memory_order_relaxed));   // [O]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return next_.load(std::memory_order_relaxed) -  // [O]
               number(serving_.load(std::memory_order_relaxed)) >
           step;  // [O]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint32_t drawn = next_.load(std::memory_order_relaxed);  // [O]
    [[maybe_unused]] const std::uint32_t inside =
        drawn - number(serving_.load(std::memory_order_relaxed));      // [O]
    assert(drawn % step == 0 && inside >= step && inside < 1u << 31);  // I1
  }

 private:
  static constexpr std::uint32_t asleep = 1, step = 2;
  static constexpr std::memory_order draw_order =
      Wait::parks ? std::memory_order_seq_cst : std::memory_order_relaxed;  // [X] [D]
  static constexpr std::memory_order look_order =
      Wait::parks ? std::memory_order_seq_cst : std::memory_order_acquire;  // [A] [D]
  // PAUSE steps per waiter ahead of us: a fraction of a short critical section plus its hand-off
  // (TOCS paper, section 2.2: "a lock-holding time"). No benchmark has tuned it yet.
  static constexpr std::uint32_t slice = 4;

  static std::uint32_t number(std::uint32_t value) noexcept { return value & ~asleep; }
  static std::uint32_t futex_bit(std::uint32_t ticket) noexcept {
    return 1u << ((ticket / step) % 32);
  }

  [[gnu::noinline, gnu::cold]] void lock_slow(std::uint32_t mine) noexcept {
    if constexpr (!Wait::parks) {
      std::uint32_t passed = 0;
      for (std::uint32_t before_us; (before_us = ahead(mine)) > 1; passed += before_us * slice)
        Wait::delay(before_us * slice, passed);
    }
    wait_.until(
        serving_, std::memory_order_acquire,  // [A]
        [mine](std::uint32_t value) { return number(value) == mine; }, asleep, futex_bit(mine));
  }

  void unlock_and_wake() noexcept {
    const void* const address = &serving_;
    const std::uint32_t before = serving_.load(std::memory_order_relaxed);  // [O]
    const std::uint32_t mine = number(before);
    // The bit is cleared while the lock is still held, and only for certain (I4): a waiter that
    // draws its number after the look finds the bit cleared and sets it again.
    if ((before & asleep) != 0 && !others_wait(mine)) {
      serving_.fetch_and(~asleep, std::memory_order_seq_cst);                       // [D]
      if (others_wait(mine)) serving_.fetch_or(asleep, std::memory_order_relaxed);  // [X]
    }
    // fetch_add, so that a bit set meanwhile is not lost.
    const std::uint32_t after = serving_.fetch_add(step, std::memory_order_release);  // [R]
    if (((before | after) & asleep) != 0) machine::wake(address, INT32_MAX, futex_bit(mine + step));
  }

  // Whether somebody waits behind the next in line.
  [[nodiscard]] bool others_wait(std::uint32_t mine) const noexcept {
    return next_.load(std::memory_order_seq_cst) - mine > 2 * step;  // [D]
  }

  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
