// condition.h -- condition variable whose wait and signal work inside elided sections.
//
// Source        Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional
//               Synchronization Extensions for High-Performance Computing", SC 2013, section 6.1
//               and listings 4-6. How we deviate: a signal changes the futex word inside the
//               transaction, and leaves to the commit callback only the wake-up, which uses the
//               address alone; so a woken thread may destroy what it waited for.
// Fairness      the kernel wakes the longest sleeper first; the lock decides afterwards. Wake-ups
//               may be spurious: wait in a loop, or give the predicate.
// Space         8 B, 0 B per waiter.
// Uncontended   signal without waiters: 1 store and 1 load inside a transaction, else 1 RMW and
//               1 load; no system call.
// Contended     wait: 2 RMWs and a futex sleep; a signal adds one futex wake.
//
// What wait() does in a transaction is chosen by `wait_variant`, the names being the paper's:
//   transaction_aware (tsx.cond)      commits the first half of the section, sleeps, begins again
//   abort             (tsx.abort)     aborts; the section starts over under its lock. So does a
//                                     signal
//   busy_wait         (tsx.busywait)  ends the section and begins it anew, without sleeping. A
//                                     signal does nothing
//
// Works with any lock: one that elides, a lockset, or a plain one, for which all three variants but
// busy_wait are the same. In a section that runs under its lock, wait and signal do the same as in
// a transaction, and the commit is the unlock.
//
// Invariants
//   I1  sequence_ changes with every signal, by a thread whose section made the predicate true or
//       that comes after such a section.
//   I2  A waiter reads sequence_ in the section in which it found the predicate false, before that
//       ends. So a signal whose section comes later finds sequence_ as the waiter read it, and
//       changes it: a waiter that sleeps on what it read has not slept through a signal.
//   I3  waiters_ counts the threads between the end of their first half and their wake-up; it is
//       raised in the first half. So a signal that comes later finds it raised, or the waiter has
//       gone on already.
//   I4  A waiter touches the variable last by lowering waiters_; the destructor waits for that. A
//       signaler touches it last inside its section, or before it wakes.
// No wake-up is lost: let the waiter's first half be F and the signaler's section S, S after F. S
// or what follows it changes sequence_ (I1), then reads waiters_ != 0 (I3), then wakes. The kernel
// compares the word with what F read and queues the waiter in one step. If that comes before the
// wake, the wake finds it. If after, the word has changed, since the change comes before the wake.
//
// Memory order (each tag stands at its site below)
//   [X]  relaxed: both words are ordered by the sections that they are used in; between kernel and
//        waiter by the futex. Inside transactions the machine orders everything.
//   [R]  release RMW of waiters_ by a leaving waiter -- synchronizes with [A].
//   [A]  acquire load of waiters_ by the destructor: every waiter has let go.
//
// Checked by    tests/check (under the lock), tests/elide (transactions on the simulated machine),
//               tests/unit/costs/costs.cpp (what a call costs).
#pragma once

#include <syncopate/condition/condition_variable.h>
#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace syncopate::elide {

enum class wait_variant : unsigned char { transaction_aware, abort, busy_wait };

template <wait_variant Variant = wait_variant::transaction_aware>
class basic_condition {
 public:
  basic_condition() noexcept = default;
  basic_condition(const basic_condition&) = delete;
  basic_condition& operator=(const basic_condition&) = delete;
  // Requires: nobody waits any more without having been signaled; in the child of a fork, nobody
  // did at the fork.
  ~basic_condition() {
    machine::wait_until(waiters_, std::memory_order_acquire,  // [A]
                        [](std::uint32_t n) { return n == 0; });
  }

  // Requires: the calling thread is in the section of `lock` (anything with lock() and unlock()).
  // Ends the section, sleeps until a signal, and begins the section again. May return without one.
  // In a section nested in another one that is elided too, starts over under the outer one's lock,
  // which is then kept while waiting, as without elision.
  template <class Lock>
  void wait(Lock& lock) {
    (void)wait_with(lock, nullptr);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done()) wait(lock);
  }

  // The same until an absolute time on the deadline's clock. Returns timed_out when that has passed
  // without a signal.
  template <class Lock>
  cv_status wait_until(Lock& lock, const machine::deadline& until) {
    return wait_with(lock, &until);
  }
  template <class Lock, class Rep, class Period>
  cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> time) {
    return wait_until(lock, deadline_after(time));
  }
  // Returns what done() says at the end.
  template <class Lock, class Predicate>
  bool wait_until(Lock& lock, const machine::deadline& until, Predicate done) {
    while (!done())
      if (wait_until(lock, until) == cv_status::timed_out) return done();
    return true;
  }

  // Wakes one waiter, or all, once the calling thread's section has ended; at once outside of
  // sections. Requires: the predicate was made true in this section or an earlier one.
  void notify_one() { notify(1); }
  void notify_all() { notify(INT_MAX); }

 private:
  template <class Lock>
  cv_status wait_with(Lock& lock, const machine::deadline* until) {
    if constexpr (Variant == wait_variant::busy_wait) return pass_by(lock, until);
    if constexpr (Variant == wait_variant::abort) section::needs_lock();
    const std::uint32_t seen = sequence_.load(std::memory_order_relaxed);  // [X] I2
    waiters_.fetch_add(1, std::memory_order_relaxed);                      // [X] I3
    lock.unlock();
    // Still inside: sections of other locks enclose this one, and only their locks can be kept.
    section::needs_lock();
    const machine::park_result woken = machine::park(sequence_, seen, until);
    waiters_.fetch_sub(1, std::memory_order_release);  // [R] I4
    lock.lock();
    return woken == machine::park_result::timed_out ? cv_status::timed_out : cv_status::signaled;
  }

  // Listing 6: the section ends and begins again; its predicate is what is polled.
  template <class Lock>
  static cv_status pass_by(Lock& lock, const machine::deadline* until) {
    lock.unlock();
    section::needs_lock();
    machine::relax();
    const bool late = until != nullptr && machine::remaining(*until) <= 0;
    lock.lock();
    return late ? cv_status::timed_out : cv_status::signaled;
  }

  void notify(int count) {
    if constexpr (Variant == wait_variant::busy_wait) return;
    if constexpr (Variant == wait_variant::abort) section::needs_lock();
    sequence_.fetch_add(1, std::memory_order_relaxed);          // [X] I1
    if (waiters_.load(std::memory_order_relaxed) == 0) return;  // [X] I3
    on_commit(
        [address = static_cast<const void*>(&sequence_), count] { machine::wake(address, count); });
  }

  std::atomic<std::uint32_t> sequence_{0};
  std::atomic<std::uint32_t> waiters_{0};
};

using condition = basic_condition<>;

}  // namespace syncopate::elide
