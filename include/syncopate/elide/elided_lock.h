// elided_lock.h -- any lock of locks/all.h, whose critical sections run as transactions where
// those commit, and under the lock where they do not.
//
// Source        Rajwar & Goodman, "Speculative Lock Elision", MICRO 2001; Yoo, Hughes, Lai &
//               Rajwar, SC 2013, sections 2 and 3. The policies: retry_policy.h.
// Fairness      none, whatever the lock's: transactions overtake those that queue for it only while
//               it is free, but they do. With elision off, the lock's own.
// Space         the lock's; where the policy learns, 2 B more and what its alignment adds.
// Uncontended   off: the lock's, and 2 loads and branches. On: one transaction; no write to the
//               lock.
// Contended     sections that touch different lines run at the same time; each that falls back
//               aborts all transactions on the lock.
//
// lock(), unlock(), try_lock() and the timed form mean what they mean without elision:
//   - try_lock() elides, in one attempt and without waiting: it returns true exactly where the lock
//     is free. Called in a section of the same lock that is elided, it aborts it, so that the real
//     lock answers.
//   - lock() by the thread that has elided the lock does the same: without elision it would hang.
//   - unlock() of a lock that the thread has not elided is the lock's own, free or not.
//   - nested sections of several locks are one transaction, which ends with the last of them,
//     whatever their order. A lock inside that is held by another thread aborts it.
//   - a condition variable's wait ends the section and begins it again (elide/condition.h); others
//     work as well, by aborting into the lock when they enter the kernel.
// A transaction ends the way machine.h says at whatever hardware does not take: system calls, too
// much memory, interrupts. Then the section runs again, under the lock.
#pragma once

#include <syncopate/elide/engine.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <type_traits>

namespace syncopate::elide {

namespace detail {

struct no_learning {};

}  // namespace detail

template <class Lock, retry_policy Policy = policies::standard>
class elided_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::none,
      .timed = Lock::traits.timed,
      .collapses = Lock::traits.collapses,
      .spins = never_sleeps<Lock>,
      // pthread's owner field would make every two transactions conflict: the preload library
      // elides by itself.
      .preload = false,
      .transacts = true,
      .summary =
          Policy.learns ? "transactions where they pay, which it learns; else the lock inside"
          : Policy.attempts == 1 ? "one transaction, then the lock inside"
                                 : "several transactions with back-off, then the lock inside",
      .source = "Rajwar & Goodman 2001; Yoo et al. 2013; Izraelevitz, Xiang & Scott 2017"};

  // Blocks until the lock is held, or the calling thread is in a transaction that excludes holders.
  [[gnu::always_inline]] void lock() noexcept {
    if (__builtin_expect(control::is_off(), 1) || !enter()) lock_.lock();
  }

  // The same (true), or the deadline has passed (false). Waits in the lock's own way only.
  [[nodiscard]] bool lock_until(const machine::deadline& until) noexcept
      requires(Lock::traits.timed) {
    if (__builtin_expect(control::is_off(), 1)) return lock_.lock_until(until);
    // A lock that is held is waited for in its own way.
    const bool queues = lock_.is_locked() && !section::active();
    const entry end = queues ? entry::not_tried : enter_once();
    if (end == entry::elided) return true;
    if (!lock_.lock_until(until)) return false;
    if (end == entry::aborted) machine::htm::fell_back();
    return true;
  }

  // Returns whether the lock was free and is now held or elided. Wait-free but for what an abort
  // repeats.
  [[nodiscard]] bool try_lock() noexcept {
    if (__builtin_expect(control::is_off(), 1)) return lock_.try_lock();
    if (lock_.is_locked()) return !section::active() && lock_.try_lock();
    const entry end = enter_once();
    if (end == entry::elided) return true;
    if (!lock_.try_lock()) return false;
    if (end == entry::aborted) machine::htm::fell_back();
    return true;
  }

  // Requires: the calling thread holds the lock, or is in the section that it elided.
  [[gnu::always_inline]] void unlock() noexcept {
    if (__builtin_expect(control::is_off(), 1) || !try_leave(this)) lock_.unlock();
  }

  // Whether a thread holds the lock really; a hint.
  [[nodiscard]] bool is_locked() const noexcept { return lock_.is_locked(); }

  // Whether somebody waits; a hint. Requires: as unlock(). Nobody waits for a thread that elides.
  [[nodiscard]] bool contended() const noexcept { return lock_.is_locked() && lock_.contended(); }

  // The lock inside: taken by those who fall back on their own account (lockset.h).
  [[nodiscard]] Lock& underlying() noexcept { return lock_; }

  // What was learned (learning.h); 0 where the policy does not learn.
  [[nodiscard]] std::uint16_t learned() const noexcept {
    if constexpr (Policy.learns) return learning_.state();
    else return 0;
  }

 private:
  [[nodiscard]] learning* history() noexcept {
    if constexpr (Policy.learns) return &learning_;
    else return nullptr;
  }

  // Out of line, so that a lock that does not elide pays nothing. But reports of modeled machines
  // name a transaction by the place in the code that begins it, which should be the caller's.
  [[nodiscard, gnu::always_inline]] bool enter() noexcept {
    if constexpr (machine::is_modeled) return enter_here();
    else return enter_elsewhere();
  }
  [[nodiscard, gnu::noinline]] bool enter_elsewhere() noexcept { return enter_here(); }
  [[nodiscard, gnu::always_inline]] bool enter_here() noexcept {
    return try_enter({this}, Policy, history(), [this] { return !lock_.is_locked(); });
  }
  [[nodiscard, gnu::always_inline]] entry enter_once() noexcept {
    constexpr retry_policy policy = once(Policy);
    const auto is_free = [this] { return !lock_.is_locked(); };
    return elide::enter({this}, policy, history(), is_free, is_free);
  }

  Lock lock_;
  [[no_unique_address]] std::conditional_t<Policy.learns, learning, detail::no_learning> learning_;
};

}  // namespace syncopate::elide
