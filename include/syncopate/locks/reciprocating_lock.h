// reciprocating_lock.h -- who arrives pushes itself on a stack; whoever releases last of a segment
// takes the whole stack as the next segment.
//
// Source        Dice & Kogan, "Reciprocating Locks", PPoPP 2025, listing 1. How we deviate: an
//               uncontended lock() enters by compare and exchange, as try_lock() does; what the
//               paper passes from acquire to release (successor, end of segment) lies in the lock.
// Fairness      eventual: from the newest to the oldest within a segment, segments in their order;
//               a waiter is overtaken by another thread at most twice.
// Space         24 B per lock, one element on the waiter's stack.
// Uncontended   lock 1 RMW + 2 stores; unlock 2 loads + 1 RMW; one cache line.
// Contended     O(1) misses per hand-off; one RMW of the lock per arrival, one per segment.
//
// State of arrivals_
//   null                  free
//   base (not a pointer)  held; nobody has arrived since the last segment was taken, or ever
//   an element            held; the newest of those who have arrived, or, where it is end_, the
//                         element of the holder, who found the lock free and nobody else yet
//
// Invariants
//   I1  An element's successor is what arrivals_ held before it. The oldest of a stack has end_ of
//       the holder that will take it: base, or the address that a holder which found the lock free
//       left there. That address is compared, never followed.
//   I2  An element is followed only while its owner is inside lock().
//   I3  successor_ and end_ are the holder's alone. successor_ null: the segment is used up.
//   I4  Only the holder takes elements off, and only when its segment is used up; all at once.
//
// Memory order (each tag stands at its site below)
//   [A]  acquire RMW of arrivals_ that finds it null -- synchronizes with [R].
//   [R]  release RMW of arrivals_ to null: nobody has arrived.
//   [E]  acq_rel RMW of arrivals_ that pushes our element: publishes its initial state to [T].
//   [T]  acquire RMW of arrivals_ that takes the stack.
//   [P]  the baton: pass() releases, await() acquires (wait/baton.h); it carries end_ along.
//   [X]  relaxed: a failed RMW, or a hint.
//
// Checked by    tests/conformance (exclusion, every strategy), tests/check/lock_check.cpp (explored
//               with two and three threads), tests/simulated_engine/two_sockets.cpp (bound on
//               bypass, memory).
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class reciprocating_lock {
  // Elements as numbers: some are compared only, when what they name may be gone.
  using address = std::uintptr_t;
  struct element {
    waits::baton<Wait> turn;
    address end = 0;
  };

 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .collapses = true,
      .preload = false,
      .summary = "stack of arrivals, taken as a whole: each other overtakes at most twice",
      .source = "Dice & Kogan 2025, listing 1"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    address expected = 0;
    if (!arrivals_.compare_exchange_strong(expected, base, std::memory_order_acquire,  // [A]
                                           std::memory_order_relaxed))                 // [X]
      return false;
    hold(nullptr, base);
    return true;
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    const address end = end_;
    element* next = successor_;
    if (next == nullptr) {
      address expected = end;
      if (arrivals_.compare_exchange_strong(expected, 0, std::memory_order_release,  // [R]
                                            std::memory_order_relaxed))              // [X]
        return;
      next = at(arrivals_.exchange(base, std::memory_order_acquire));  // [T]
    }
    next->end = end;
    next->turn.pass();  // [P]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes arrivals_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return arrivals_.load(std::memory_order_relaxed) != 0;  // [X]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return successor_ != nullptr || arrivals_.load(std::memory_order_relaxed) != end_;  // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    assert(arrivals_.load(std::memory_order_relaxed) != 0);  // [X] I4: what it left there, or more
    assert(end_ != 0 && (successor_ == nullptr || successor_ != at(end_)));  // I1, I3
  }

 private:
  static constexpr address base = 1;

  static element* at(address a) noexcept { return reinterpret_cast<element*>(a); }

  void hold(element* successor, address end) noexcept {
    successor_ = successor;
    end_ = end;
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    element mine;
    const auto me = reinterpret_cast<address>(&mine);
    const address before = arrivals_.exchange(me, std::memory_order_acq_rel);  // [E] [A]
    if (before == 0) return hold(nullptr, me);
    mine.turn.await(wait_);  // [P]
    if (before == mine.end || before == base) hold(nullptr, base);
    else hold(at(before), mine.end);
  }

  std::atomic<address> arrivals_{0};
  element* successor_{nullptr};
  address end_{0};
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
