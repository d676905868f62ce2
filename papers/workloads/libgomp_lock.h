// libgomp_lock.h -- the mutex behind libgomp's locks and task queues, as its users know it: to be
// compared with, on machines where libgomp itself does not run.
//
// Source        libgomp's documentation and observed behavior (GCC 4.7 to 12); no code is used.
// Fairness      none: whoever finds it free has it.
// Space         4 B per lock, 0 B per waiter.
// Uncontended   lock 1 RMW; unlock 1 RMW.
// Contended     every waiter exchanges the word whenever it was free, and marks it contended for
//               good: so each unlock calls the kernel, also when all waiters still poll.
//
// Invariants
//   I1  word_ is `unlocked` exactly while nobody holds the lock.
//   I2  A thread sleeps only while word_ is `contended`; whoever leaves that value wakes one.
// Memory order (each tag stands at its site below)
//   [A]  acquire: the previous critical section happens-before ours.
//   [R]  release -- synchronizes with [A].
//   [X]  relaxed: only tells whether to try again.
// Checked by    papers/workloads/test_workloads.py (sums under the lock).
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

namespace workloads {

class libgomp_lock {
 public:
  void lock() {
    std::uint32_t seen = unlocked;
    if (!word_.compare_exchange_strong(seen, held, std::memory_order_acquire,  // [A]
                                       std::memory_order_relaxed))             // [X]
      lock_slow();
  }

  void unlock() {
    if (word_.exchange(unlocked, std::memory_order_release) == contended)  // [R]
      syncopate::machine::wake(&word_, 1);
  }

 private:
  enum : std::uint32_t { unlocked = 0, held = 1, contended = ~0u };
  // 300,000 polls, libgomp's bound while threads do not outnumber processors, at some 7 ns.
  static constexpr std::uint64_t polling_per_second = 500;  // 2 ms

  // While only the holder is there, a waiter takes the lock as `held`; having polled in vain, or
  // lost that race, it takes it as `contended`: others may wait, or sleep.
  void lock_slow() {
    std::uint32_t seen = held;
    if (has_changed(held)) {
      seen = unlocked;
      if (word_.compare_exchange_strong(seen, held, std::memory_order_acquire,  // [A]
                                        std::memory_order_relaxed))             // [X]
        return;
    }
    while (word_.exchange(contended, std::memory_order_acquire) != unlocked)  // [A]
      if (!has_changed(contended)) syncopate::machine::park(word_, contended);
  }

  // Polls until the word is something else; false when the time for that is over.
  bool has_changed(std::uint32_t value) {
    namespace machine = syncopate::machine;
    const std::uint64_t until = machine::ticks() + machine::ticks_per_second() / polling_per_second;
    const auto changed = [value](std::uint32_t now) { return now != value; };
    return machine::wait_until(word_, std::memory_order_relaxed, changed, until);  // [X]
  }

  std::atomic<std::uint32_t> word_{unlocked};
};

}  // namespace workloads
