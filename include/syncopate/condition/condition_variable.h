// condition_variable.h -- condition variable: a FIFO list of waiters, each with a word of its own.
//
// Source        Birrell, "An Introduction to Programming with Threads", 1989, for the semantics;
//               the per-waiter words follow nsync and musl. No sequence counter, hence no
//               wrap-around, and no later waiter can take an earlier one's signal.
// Fairness      FIFO among waiters; the mutex decides afterwards.
// Space         24 B; one list element on each waiter's stack.
// Uncontended   signal and broadcast without waiters: 1 load.
// Contended     wait: 2 short locked sections; signal: 1 locked section + 1 wake.
//
// State of a waiter's element: waiting -> chosen -> signaled, by a signaler; or waiting -> leaving,
// by the waiter itself when its time is up.
//
// Invariants
//   I1  The list and its links are read and written with lock_ held; empty lists are also noticed
//       without it (a signal that races with an enlist may see either).
//   I2  Whoever takes an element from waiting takes it out of the list: a signaler at once, a
//       leaving waiter when it gets lock_. So a waiter that was chosen does not touch the condition
//       variable any more, and one that leaves is in the list until it is done with it; the
//       destructor waits for those.
//   I3  A signaler touches an element last by storing `signaled`; it wakes by address. It does not
//       touch the condition variable after that, so a woken thread may destroy it.
//   I4  After a fork the child's first use empties the list: its elements belong to threads that
//       the child does not have.
//
// Memory order (each tag stands at its site below)
//   [S]  release store of signaled -- synchronizes with [W].
//   [W]  acquire load of the element's state by its waiter.
//   [C]  relaxed RMW that takes an element from waiting: decides only who goes on.
//   [E]  relaxed load of head_: emptiness as a hint. A waiter that enqueued before its mutex was
//        locked by the signaler is seen, because the mutex orders the two.
//   [X]  relaxed store under lock_, atomic only because of [E]; or generation_ under `resetting`.
//   [F]  release store and acquire load of generation_ around the reset of I4.
//
// Checked by    tests/conformance (no lost wake-up, FIFO, time-outs),
//               tests/check/condition_check.cpp (explored), tests/check/mutants_check.cpp (that
//               the invariants are asked), tests/posix (cancellation, destroy after broadcast),
//               tests/elide/simulated/paths.cpp, tests/unit/costs/costs.cpp (what a call costs).
#pragma once

#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>

namespace syncopate {

enum class cv_status { signaled, timed_out };

// The time so long from now; of a longer one than the clock counts, its end.
template <class Rep, class Period>
[[nodiscard]] machine::deadline deadline_after(std::chrono::duration<Rep, Period> time) noexcept {
  using std::chrono::nanoseconds;
  const double ns = std::chrono::duration<double, std::nano>(time).count();
  if (!(ns > 0)) return machine::after(0);
  if (ns >= static_cast<double>(nanoseconds::max().count()))
    return machine::after(nanoseconds::max().count());
  return machine::after(std::chrono::duration_cast<nanoseconds>(time).count());
}

class condition_variable {
 public:
  // One wait of one thread; lives on its stack from enlist() until it has left the list.
  class waiter {
   public:
    // Sleeps until signaled or the deadline; may return early.
    machine::park_result sleep(const machine::deadline* until) noexcept {
      const std::uint32_t seen = state_.load(std::memory_order_relaxed);  // [C]
      return seen == signaled ? machine::park_result::value_changed
                              : machine::park(state_, seen, until);
    }
    [[nodiscard]] bool is_signaled() const noexcept {
      return state_.load(std::memory_order_acquire) == signaled;  // [W]
    }
    // The address that sleep() parks on: waking it ends a sleep early.
    [[nodiscard]] const void* parked_on() const noexcept { return &state_; }

   private:
    friend class condition_variable;
    enum : std::uint32_t { waiting, chosen, signaled, leaving };
    bool take(std::uint32_t as) noexcept {
      std::uint32_t expected = waiting;
      return state_.compare_exchange_strong(expected, as, std::memory_order_relaxed,  // [C]
                                            std::memory_order_relaxed);               // [C]
    }
    waiter* next_{nullptr};
    waiter* previous_{nullptr};
    std::atomic<std::uint32_t> state_{waiting};
  };

  // Requires: the calling thread holds `lock` (anything with lock() and unlock()), the same one as
  // every concurrent waiter. Releases it, waits for a signal, takes it again. No spurious wake-ups.
  template <class Lock>
  void wait(Lock& lock) noexcept {
    wait_with(lock, nullptr);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done()) wait(lock);
  }

  // The same until an absolute time on the deadline's clock.
  template <class Lock>
  cv_status wait_until(Lock& lock, const machine::deadline& until) noexcept {
    return wait_with(lock, &until);
  }
  template <class Lock, class Rep, class Period>
  cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> time) noexcept {
    return wait_until(lock, deadline_after(time));
  }

  // Wakes the longest waiter, if any. The caller may or may not hold the mutex.
  void notify_one() noexcept { notify_one_by(wake); }

  // Wakes every waiter.
  void notify_all() noexcept { notify_all_by(wake); }

  // The same; the system call that ends the sleep of a chosen waiter is the caller's to make, by
  // machine::wake(address, 1), now or later. wake_later(address) is called once for each.
  template <class WakeLater>
  void notify_one_by(WakeLater wake_later) noexcept {
    if (empty()) return;
    forget_parent();
    lock_.lock();
    waiter* first = head();
    while (first != nullptr && !first->take(waiter::chosen)) first = first->next_;
    if (first != nullptr) remove_locked(*first);
    lock_.unlock();
    if (first != nullptr) signal(*first, wake_later);
  }
  template <class WakeLater>
  void notify_all_by(WakeLater wake_later) noexcept {
    if (empty()) return;
    forget_parent();
    lock_.lock();
    waiter* first = nullptr;
    waiter** end = &first;
    for (waiter *w = head(), *next; w != nullptr; w = next) {
      next = w->next_;
      if (!w->take(waiter::chosen)) continue;
      remove_locked(*w);
      w->next_ = nullptr;
      *end = w;
      end = &w->next_;
    }
    lock_.unlock();
    while (first != nullptr) {
      waiter* const next = first->next_;  // read before the signal: then the element may be gone
      signal(*first, wake_later);
      first = next;
    }
  }

  // Waits until no waiter whose time was up still touches the condition variable. Requires: nobody
  // is blocked on it any more, as for its destruction.
  void drain() noexcept {
    if (generation_.load(std::memory_order_relaxed) == 0) return;  // [X]
    forget_parent();
    for (;;) {
      lock_.lock();
      const bool done = head() == nullptr;
      lock_.unlock();
      if (done) return;
      machine::yield();
    }
  }
  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  ~condition_variable() { drain(); }

  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == nullptr;  // [E]
  }

  // Any thread; what it looks at, it looks at with lock_ held.
  void check_invariants() noexcept {
    lock_.lock();
    [[maybe_unused]] const waiter* before = nullptr;
    for (const waiter* w = head(); w != nullptr; before = w, w = w->next_) {
      assert(w->previous_ == before);  // I1
      [[maybe_unused]] const std::uint32_t state =
          w->state_.load(std::memory_order_relaxed);                 // [C]
      assert(state == waiter::waiting || state == waiter::leaving);  // I2
    }
    assert(tail_ == before);
    lock_.unlock();
  }

  // ---- the parts of wait(), for callers that sleep in their own way (cancellation points) -------

  void enlist(waiter& w) noexcept {
    forget_parent();
    lock_.lock();
    w.previous_ = tail_;
    if (tail_ != nullptr) tail_->next_ = &w;
    else head_.store(&w, std::memory_order_relaxed);  // [X]
    tail_ = &w;
    lock_.unlock();
  }

  // Takes the waiter out of the list. Returns false when a signaler has been faster: the signal is
  // this waiter's. The element may be destroyed after either.
  [[nodiscard]] bool withdraw(waiter& w) noexcept {
    if (w.take(waiter::leaving)) {
      lock_.lock();
      remove_locked(w);
      lock_.unlock();
      return true;
    }
    machine::wait_until(w.state_, std::memory_order_acquire,  // [W]
                        [](std::uint32_t state) { return state == waiter::signaled; });
    return false;
  }

 private:
  template <class Lock>
  cv_status wait_with(Lock& lock, const machine::deadline* until) noexcept {
    waiter me;
    enlist(me);
    lock.unlock();
    cv_status result = cv_status::signaled;
    while (!me.is_signaled())
      if (me.sleep(until) == machine::park_result::timed_out) {
        if (withdraw(me)) result = cv_status::timed_out;
        break;
      }
    lock.lock();
    return result;
  }

  void forget_parent() noexcept {
    const std::uint32_t now = machine::fork_generation();
    if (__builtin_expect(generation_.load(std::memory_order_acquire) != now, 0))  // [F]
      forget_parent_slow(now);
  }

  [[gnu::noinline, gnu::cold]] void forget_parent_slow(std::uint32_t now) noexcept {
    static constinit futex_lock resetting;  // lock_ itself may be held by a thread left behind
    resetting.lock();
    if (generation_.load(std::memory_order_relaxed) != now) {  // [X]
      if (generation_.load(std::memory_order_relaxed) != 0) {  // [X]
        head_.store(nullptr, std::memory_order_relaxed);       // [X]
        tail_ = nullptr;
        lock_.reset();
      }
      generation_.store(now, std::memory_order_release);  // [F]
    }
    resetting.unlock();
  }

  [[nodiscard]] waiter* head() const noexcept {
    return head_.load(std::memory_order_relaxed);  // [E]
  }

  void remove_locked(waiter& w) noexcept {
    if (w.previous_ != nullptr) w.previous_->next_ = w.next_;
    else head_.store(w.next_, std::memory_order_relaxed);  // [X]
    if (w.next_ != nullptr) w.next_->previous_ = w.previous_;
    else tail_ = w.previous_;
  }

  static void wake(const void* address) noexcept { machine::wake(address, 1); }

  template <class WakeLater>
  static void signal(waiter& w, WakeLater wake_later) noexcept {
    const void* const address = &w.state_;
    w.state_.store(waiter::signaled, std::memory_order_release);  // [S]
    wake_later(address);
  }

  std::atomic<waiter*> head_{nullptr};
  waiter* tail_{nullptr};
  futex_lock lock_;
  std::atomic<std::uint32_t> generation_{0};  // 0: never used, nothing to forget
};

}  // namespace syncopate
