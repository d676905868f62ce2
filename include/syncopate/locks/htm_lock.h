// htm_lock.h -- run the critical section as a transaction; take the lock when that fails. Elision
// in its least form, as the papers measure it: two accesses to memory around a section. What
// programs want beyond that (nesting, a switch, learning, actions at the commit) has
// elide/elided_lock.h.
//
// Source        Rajwar & Goodman, MICRO 2001 (elision); the policy is that of htm-1, htm-10 and
//               htm-10-fb-aahtm in Izraelevitz, Xiang & Scott, "Performance Improvement via
//               Always-Abort HTM", 2017, section IV-A: 1 or 10 attempts, exponential back-off
//               between them, fall-back lock tatas (or, the last one's, tatas whose waiters run
//               ahead), and care for the lemming effect. How we deviate: one that finds the
//               lock held aborts and waits outside, where the paper's loops inside until the holder
//               aborts it (PAUSE itself aborts transactions on some processors). Such a wait is
//               none of the attempts, which the paper leaves open: were it one, a holder would make
//               those who wait for it take the lock in turn, the lemming effect itself (figures 8
//               and 12 show both). An abort for which the machine sees no use in retrying takes
//               the lock at once.
// Fairness      none; a waiter can starve.
// Space         the fall-back's: 4 B per lock, 0 B per waiter.
// Uncontended   one transaction that reads the word; no write to shared memory.
// Contended     critical sections that touch different lines run at the same time; each fall-back
//               aborts all transactions on the lock.
//
// Fallback: lock(), try_lock() and unlock(); is_locked() reads the word that the first two write by
// an atomic instruction; await_free() returns once that word said free.
//
// Invariants
//   I1  A thread inside a transaction does not hold the fall-back lock, and has read in that
//       transaction that nobody does (it has subscribed): whoever takes the lock aborts it.
//   I2  A thread that reaches unlock() with the lock free, and does not run ahead, is inside the
//       transaction that its lock() began.
//   I3  A thread that runs ahead of a lock (wait/speculate.h) begins and commits nothing here.
//
// Memory order   the fall-back's: no access of this file's own. Between transactions the machine
//                provides the order.
//
// Checked by    tests/conformance (exclusion), natively without transactions that commit; with them
//               tests/check/lock_check.cpp (explored with two and three threads).
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/speculate.h>

#include <cstdint>

namespace syncopate {

// InMutex: what it is in unmodified programs' mutexes, whose sections the preload library elides by
// the policy of this lock's name (elide/retry_policy.h): pthread's owner field, which this lock
// knows nothing of, would make every two transactions conflict.
template <int Attempts, class Fallback, class InMutex = Fallback>
class htm_lock {
  static_assert(Attempts >= 1);
  static constexpr bool runs_ahead = Fallback::traits.runs_ahead;

 public:
  using in_mutex = InMutex;

  static constexpr lock_traits traits{
      .fair = fairness::none,
      .spins = true,
      .runs_ahead = runs_ahead,
      .transacts = true,
      .summary = runs_ahead      ? "several transactions with back-off, then tatas that runs ahead"
                 : Attempts == 1 ? "one transaction, then tatas"
                                 : "several transactions with back-off, then tatas",
      .source = "Rajwar & Goodman 2001; Izraelevitz, Xiang & Scott 2017, section IV-A"};

  // Blocks until the lock is held, or the calling thread is in a transaction that excludes holders,
  // or runs ahead as if the lock were held.
  void lock() noexcept {
    if (is_ahead()) return;  // I3
    if (!machine::htm::usable() || !begin()) fallback_.lock();
  }

  // Returns whether the lock was free and is now held. Wait-free. Never elides: called by a thread
  // that is in a transaction of this very lock, it would find the lock free. So it ends those.
  [[nodiscard]] bool try_lock() noexcept {
    machine::htm::abort<wants_the_lock>();
    return !fallback_.is_locked() && fallback_.try_lock();
  }

  // Requires: the calling thread holds the lock, or is in the transaction that lock() began, or
  // runs ahead.
  void unlock() noexcept {
    if (fallback_.is_locked() || is_ahead()) fallback_.unlock();
    else machine::htm::commit();  // I2
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed (I1).
  [[nodiscard]] bool is_locked() const noexcept { return fallback_.is_locked(); }

  // Always false: nobody sleeps.
  [[nodiscard]] bool contended() const noexcept { return false; }

 private:
  static constexpr unsigned char lock_held = 0xff, wants_the_lock = 0xfd;  // glibc's codes
  // What the last of ten attempts comes to, in PAUSE steps.
  static constexpr std::uint32_t min_delay = 1, longest_delay = 256;

  static bool is_ahead() noexcept {
    if constexpr (runs_ahead) return waits::speculation::active();
    else return false;
  }

  // Returns true inside a transaction that has subscribed; false when the attempts are used up.
  // In line: the place that begins a transaction is what reports of modeled machines name.
  [[nodiscard, gnu::always_inline]] bool begin() noexcept {
    std::uint32_t delay = min_delay;
    for (int attempt = 0;;) {
      const machine::htm::status s = machine::htm::begin();
      if (s.started()) {
        if (__builtin_expect(!fallback_.is_locked(), 1)) return true;  // I1
        machine::htm::abort<lock_held>();
      }
      if (!worth_retrying(s)) return false;
      if (s.why == machine::htm::cause::explicit_) fallback_.await_free();
      else if (++attempt == Attempts) return false;
      // Also after a wait: all that waited here would begin at once, and abort each other.
      machine::spin(delay);
      delay = delay < longest_delay ? 2 * delay : longest_delay;
    }
  }

  // `other` without a hint is what a system call gives, or a machine that commits nothing at all.
  static bool worth_retrying(const machine::htm::status& s) noexcept {
    if (s.why == machine::htm::cause::explicit_) return s.code == lock_held;
    return s.may_retry || s.why == machine::htm::cause::conflict;
  }

  Fallback fallback_;
};

}  // namespace syncopate
