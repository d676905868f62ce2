// htm_lock.h -- run the critical section as a transaction; take the lock when that fails. Elision
// in its least form, as the papers measure it: two accesses to memory around a section. What
// programs want beyond that (nesting, a switch, learning, actions at the commit) has
// elide/elided_lock.h.
//
// Source        Rajwar & Goodman, MICRO 2001 (elision); the policy is that of htm-1 and htm-10 in
//               Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", 2017,
//               section IV-A: 1 or 10 attempts, exponential back-off between them, fall-back lock
//               tatas, and care for the lemming effect. How we deviate: one that finds the
//               lock held aborts and waits outside, where the paper's loops inside until the holder
//               aborts it (PAUSE itself aborts transactions on some processors). Such a wait is
//               none of the attempts, which the paper leaves open: were it one, a holder would make
//               those who wait for it take the lock in turn, the lemming effect itself (MapBench,
//               figure 8, shows both). An abort for which the machine sees no use in retrying takes
//               the lock at once.
// Fairness      none; a waiter can starve.
// Space         4 B per lock, 0 B per waiter.
// Uncontended   one transaction that reads the word; no write to shared memory.
// Contended     critical sections that touch different lines run at the same time; each fall-back
//               aborts all transactions on the lock.
//
// Invariants
//   I1  word_ != free exactly while a thread holds the lock; a thread inside a transaction does not
//       hold it, and has read word_ == free in that transaction (it has subscribed): taking the
//       lock aborts it.
//   I2  A thread that reaches unlock() with word_ == free is inside the transaction that its lock()
//       began.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of free -- synchronizes with [A].
//   [A]  acquire RMW that finds the lock free: the previous critical section happens-before ours.
//        Between transactions the machine provides the order.
//   [S]  relaxed load inside the transaction: subscribes (I1).
//   [T]  relaxed load: decides only when to try, or whose turn unlock() is (I2).
//
// Checked by    tests/conformance (exclusion), natively without transactions that commit;
//               tests/check, with them.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

namespace syncopate {

template <int Attempts>
class htm_lock {
  static_assert(Attempts >= 1);

 public:
  static constexpr lock_traits traits{
      .fair = fairness::none,
      .spins = true,
      .preload = false,  // pthread's owner field would make every two transactions conflict
      .summary = Attempts == 1 ? "one transaction, then tatas"
                               : "several transactions with back-off, then tatas",
      .source = "Rajwar & Goodman 2001; Izraelevitz, Xiang & Scott 2017, section IV-A"};

  // Blocks until the lock is held, or the calling thread is in a transaction that excludes holders.
  void lock() noexcept {
    if (machine::htm::usable()) {
      std::uint32_t delay = min_delay;
      for (int attempt = 0; attempt < Attempts;) {
        const machine::htm::status s = machine::htm::begin();
        if (s.started()) {
          if (__builtin_expect(word_.load(std::memory_order_relaxed) == free, 1)) return;  // [S]
          machine::htm::abort<lock_held>();
        }
        if (!worth_retrying(s)) break;
        if (s.why == machine::htm::cause::explicit_) await_free();
        else if (++attempt == Attempts) break;
        // Also after a wait: all that waited here would begin at once, and abort each other.
        machine::spin(delay);
        delay = delay < longest_delay ? 2 * delay : longest_delay;
      }
    }
    take();
  }

  // Returns whether the lock was free and is now held. Wait-free. Never elides: called by a thread
  // that is in a transaction of this very lock, it would find the lock free. So it ends those.
  [[nodiscard]] bool try_lock() noexcept {
    machine::htm::abort<wants_the_lock>();
    return word_.load(std::memory_order_relaxed) == free &&          // [T]
           word_.exchange(held, std::memory_order_acquire) == free;  // [A]
  }

  // Requires: the calling thread holds the lock, or is in the transaction that lock() began.
  void unlock() noexcept {
    if (word_.load(std::memory_order_relaxed) == free)  // [T]
      machine::htm::commit();
    else word_.store(free, std::memory_order_release);  // [R]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes word_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return word_.load(std::memory_order_relaxed) != free;  // [T]
  }

  // Always false: nobody sleeps.
  [[nodiscard]] bool contended() const noexcept { return false; }

 private:
  enum : std::uint32_t { free = 0, held = 1 };
  static constexpr unsigned char lock_held = 0xff, wants_the_lock = 0xfd;  // glibc's codes
  static constexpr std::uint32_t min_delay = 1, max_delay = 64;            // as tatas_lock.h
  static constexpr std::uint32_t longest_delay = 256;  // what the last of ten attempts comes to

  // `other` without a hint is what a system call gives, or a machine that commits nothing at all.
  static bool worth_retrying(const machine::htm::status& s) noexcept {
    if (s.why == machine::htm::cause::explicit_) return s.code == lock_held;
    return s.may_retry || s.why == machine::htm::cause::conflict;
  }

  void await_free() noexcept {
    machine::wait_until(word_, std::memory_order_relaxed,  // [T]
                        [](std::uint32_t value) { return value == free; });
  }

  void take() noexcept {
    for (std::uint32_t delay = min_delay;
         word_.load(std::memory_order_relaxed) != free ||          // [T]
         word_.exchange(held, std::memory_order_acquire) != free;  // [A]
         delay = delay < max_delay ? 2 * delay : max_delay)
      machine::spin(delay);
  }

  std::atomic<std::uint32_t> word_{free};
};

}  // namespace syncopate
