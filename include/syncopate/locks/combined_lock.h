// combined_lock.h -- a plain word while few want it, a queue in front of it when many do.
//
// Source        Akkan, Lang & Ionkov, LA-UR-13-26575, section V, future work: the simple method
//               at low core counts, the scalable one at higher ones. The form is that of Linux'
//               queued spin lock (Long & Zijlstra, 2015) without its pending bit: the first in the
//               queue polls the word.
// Fairness      eventual: FIFO among those in the queue; only a thread that came when nobody queued
//               can overtake.
// Space         24 B per lock (adaptive: 40 B); while queuing, one node on the waiter's stack.
// Uncontended   lock 1 load + 1 RMW; unlock 1 store (parking: 1 RMW); one cache line.
// Contended     few: as tatas. Many: O(1) misses per hand-off, as MCS, and one for the word.
//
// Invariants
//   I1  word_ has the bit `held` exactly while a thread holds the lock.
//   I2  Only the first in the queue waits on word_ for long, and sets its bit `parked`; others poll
//       it for a short time at most, and only while nobody queues.
//   I3  Whoever clears `held` clears `parked` and wakes the first in the queue.
//
// Memory order (each tag stands at its site below)
//   [R]  release store (or exchange) of word_ in unlock -- synchronizes with [A].
//   [A]  acquire RMW of word_ that finds it free: the previous critical section happens-before
//        ours.
//   [X]  relaxed: decides only when to try [A].
//
// Checked by    tests/conformance (exclusion, every strategy), tests/check/lock_check.cpp (explored
//               with two and three threads).
#pragma once

#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class combined_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .collapses = true,
      .summary = "a word while few want it, an MCS queue in front of it when many do",
      .source = "Akkan, Lang & Ionkov 2013, section V; Linux qspinlock"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free. Fails while threads queue.
  [[nodiscard]] bool try_lock() noexcept { return !queue_.is_locked() && take(); }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    if constexpr (Wait::parks) {
      const void* const address = &word_;
      if ((word_.exchange(0, std::memory_order_release) & parked) != 0)  // [R]
        machine::wake(address, 1);
    } else {
      word_.store(0, std::memory_order_release);  // [R]
    }
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes word_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return (word_.load(std::memory_order_relaxed) & held) != 0;  // [X]
  }

  // Whether somebody queues; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept { return queue_.is_locked(); }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint32_t now = word_.load(std::memory_order_relaxed);  // [X]
    assert(now == held || (Wait::parks && now == (held | parked)));                    // I1, I2
  }

 private:
  enum : std::uint32_t { held = 1, parked = 2 };
  // Steps of polling by a newcomer before it queues: about a short critical section and its
  // hand-off, so that two threads that take turns never queue.
  static constexpr std::uint32_t steps_before_queue = 32;

  bool take() noexcept {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, held, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);             // [X]
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    for (std::uint32_t left = machine::polls(steps_before_queue); left != 0 && !queue_.is_locked();
         --left) {  // I2
      if (!is_locked() && take()) return;
      machine::relax();
    }
    queue_.lock();
    do {
      wait_.until(
          word_, std::memory_order_relaxed,  // [X]
          [](std::uint32_t value) { return (value & held) == 0; }, parked);
    } while (!take());
    queue_.unlock();
  }

  std::atomic<std::uint32_t> word_{0};
  [[no_unique_address]] Wait wait_;
  mcs_lock<Wait> queue_;
};

}  // namespace syncopate
