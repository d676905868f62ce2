// mcs_lock.h -- FIFO queue lock: each waiter waits on a word of its own.
//
// Source        Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, section 2.4, in the form with the
//               standard interface of IBM's K42 (Scott, "Shared-Memory Synchronization", 2013,
//               section 4.3.1): a waiter's node lives on its stack for the time of lock() only, and
//               the lock itself is the holder's node.
// Fairness      FIFO; bypass bound 0 (among threads that found the lock held).
// Space         16 B per lock (with the strategy adaptive 24 B), one node on the waiter's stack.
// Uncontended   lock 1 RMW; unlock 1 load + 1 RMW; one cache line.
// Contended     O(1) misses per hand-off.
//
// State
//   tail_ == null         free
//   tail_ == this         held, nobody waits
//   tail_ == a node       held, that node is the last in line
//   next (of this)        the holder's successor, or null while it is not linked yet
//
// Invariants
//   I1  From tail_ (a node) backwards to this, every element is linked, or about to be linked by
//       its owner, through `next` of its predecessor.
//   I2  A node is reachable only while its owner is inside lock().
//   I3  Only the holder writes next of this, except the one waiter whose predecessor is this.
//
// Memory order (each tag stands at its site below; those of the links are queue_link.h's)
//   [A]  acquire RMW of tail_ that finds it null -- synchronizes with [R].
//   [R]  release RMW of tail_ to null when nobody waits.
//   [P]  the baton: pass() releases, await() acquires (wait/baton.h).
//   [E]  acq_rel RMW of tail_ that appends our node: publishes the node's initial state to the
//        successor, which reaches it through tail_.
//   [X]  relaxed: a failed attempt, or a hint.
//
// Checked by    tests/conformance (exclusion, FIFO order, every strategy),
//               tests/check/lock_check.cpp (explored with two and three threads),
//               tests/check/mutants_check.cpp (that the invariants are asked),
//               tests/check/pool_check.cpp (its nodes), tests/posix under SYNCOPATE_LOCK=mcs and
//               mcs:park, tests/elide (below others),
//               tests/simulated_engine/{convoy,locks,two_sockets}.cpp.
#pragma once

#include <syncopate/locks/queue_link.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include <atomic>
#include <cassert>

namespace syncopate {

template <class Wait = waits::spin>
class mcs_lock {
  struct node : queue_link {
    waits::baton<Wait> turn;
  };

 public:
  static constexpr lock_traits traits{
      .fair = fairness::fifo,
      .collapses = true,
      .summary = "FIFO queue: each waiter waits on a word of its own",
      .source = "Mellor-Crummey & Scott 1991, section 2.4; K42 interface"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    queue_link* expected = nullptr;
    return tail_.compare_exchange_strong(expected, &self_, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);                   // [X]
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    queue_link* successor = self_.linked();
    if (successor == nullptr) {
      queue_link* expected = &self_;
      if (tail_.compare_exchange_strong(expected, nullptr, std::memory_order_release,  // [R]
                                        std::memory_order_relaxed))                    // [X]
        return;
      successor = &self_.await_linked();
    }
    static_cast<node*>(successor)->turn.pass();  // [P]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes tail_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return tail_.load(std::memory_order_relaxed) != nullptr;  // [X]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return tail_.load(std::memory_order_relaxed) != &self_;  // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const queue_link& last = self_.template check_waiting<node>();  // I1, I2
    [[maybe_unused]] const queue_link* const tail = tail_.load(std::memory_order_relaxed);  // [X]
    assert(tail != nullptr);
    assert(&last == &self_ || tail != &self_);  // who is linked behind this has appended itself
  }

 private:
  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    node mine;
    // One RMW however many come at once. It may find the lock free by now: then we hold it.
    queue_link* const predecessor = tail_.exchange(&mine, std::memory_order_acq_rel);  // [E] [A]
    if (predecessor != nullptr) {
      predecessor->append(mine);
      mine.turn.await(wait_);  // [P]
    }
    self_.take_place_of(mine, tail_);  // so that the node may die with this frame (I2)
  }

  std::atomic<queue_link*> tail_{nullptr};
  queue_link self_;
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
