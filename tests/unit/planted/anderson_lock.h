// anderson_lock.h -- FIFO lock: each waiter watches a slot of an array.
//
// Source        Anderson, IEEE TPDS 1(1), 1990, section 3.2. How we deviate: a slot has the number
//               that may go on instead of a flag, so that two slots are enough for any number of
//               threads, and a mutex has room for them.
// Fairness      FIFO; bypass bound 0.
// Space         16 B per lock, 0 B per waiter.
// Uncontended   lock 1 RMW + 1 load; unlock 1 load + 1 store; one cache line.
// Contended     each unlock invalidates the waiters of one slot.
//
// Invariants
//   I1  Each number is drawn once; the holder's stands in its slot.
//   I2  Only the holder writes slots_ and held_.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of the next number in unlock -- synchronizes with [A].
//   [A]  acquire load of a slot: the previous critical section happens-before ours.
//   [X]  relaxed RMW of next_, or load and store of held_ by the holder: needs atomicity only.
//
// Checked by    tests/unit/test_extending.py, which puts it into a copy of the catalogue.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::yield>
class anderson_lock {
 public:
  static constexpr lock_traits traits{.fair = fairness::fifo,
                                      .collapses = !yielding<Wait>,
                                      .summary = "FIFO: each waiter watches a slot of an array",
                                      .source = "Anderson 1990, section 3.2"};

  void lock() noexcept {
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);  // [X]
    wait_.until(
        slot(mine), std::memory_order_acquire,  // [A]
        [mine](std::uint32_t value) { return value == mine; }, 0);
    held_.store(mine, std::memory_order_relaxed);  // [X]
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t mine = next_.load(std::memory_order_relaxed);                    // [X]
    if (slot(mine).load(std::memory_order_acquire) != mine) return false;          // [A]
    if (!next_.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed,  // [X]
                                       std::memory_order_relaxed))                 // [X]
      return false;
    held_.store(mine, std::memory_order_relaxed);  // [X]
    return true;
  }

  void unlock() noexcept {
    const std::uint32_t next = held_.load(std::memory_order_relaxed) + 1;  // [X]
    slot(next).store(next, std::memory_order_release);                     // [R]
  }

  [[nodiscard]] bool is_locked() const noexcept {
    const std::uint32_t next = next_.load(std::memory_order_relaxed);  // [X]
    return slots_[next % 2].load(std::memory_order_relaxed) != next;   // [X]
  }

  [[nodiscard]] bool contended() const noexcept {
    return next_.load(std::memory_order_relaxed) -      // [X]
               held_.load(std::memory_order_relaxed) >  // [X]
           1;
  }

 private:
  std::atomic<std::uint32_t>& slot(std::uint32_t number) noexcept { return slots_[number % 2]; }

  std::atomic<std::uint32_t> next_{0}, held_{0};
  std::atomic<std::uint32_t> slots_[2]{};
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
