// cna_lock.h -- compact NUMA-aware queue lock: MCS, but waiters of the holder's node go first.
//
// Source        Dice & Kogan, "Compact NUMA-aware Locks", EuroSys 2019, section 4. How we deviate:
//               a waiter's node lies on its stack for the time of lock() only, as in mcs_lock.h; so
//               the second queue hangs in the lock, not in the holder's node. The paper lets the
//               second queue in by chance (once in 65,536); we count, so that there is a bound.
// Fairness      eventual: a waiter of another node is overtaken by at most max_local hand-overs on
//               each turn of the queues; within a node FIFO.
// Space         40 B per lock, however many nodes; one node on the waiter's stack.
// Uncontended   lock 1 RMW; unlock 3 loads + 2 stores + 1 RMW; one cache line.
// Contended     O(1) misses per hand-off, within the node mostly; the holder looks past waiters of
//               other nodes once, and moves them to the second queue.
//
// State
//   tail_ == null         free; the second queue is empty
//   tail_ == this         held, nobody waits in the first queue
//   tail_ == a node       held, that node is the last of the first queue
//   next (of this)        the holder's successor there, or null while it is not linked yet
//   away_, away_tail_     the second queue: waiters of other nodes, in order, linked through next
//
// Invariants
//   I1  From next (of this) on, every element is linked, or about to be linked by its owner.
//   I2  A node is reachable only while its owner is inside lock().
//   I3  away_, away_tail_, local_ and the links of the second queue are the holder's alone; the
//       next holder has them by [P].
//   I4  A waiter is in one queue; whoever releases passes to one of them unless both are empty.
//
// Memory order (each tag stands at its site below; those of the links are queue_link.h's)
//   [A]  acquire RMW of tail_ that finds it null -- synchronizes with [R].
//   [R]  release RMW of tail_ to null when nobody waits.
//   [P]  the baton: pass() releases, await() acquires (wait/baton.h).
//   [E]  acq_rel RMW of tail_ that appends our node: publishes the node's initial state to the
//        successor, which reaches it through tail_.
//   [F]  release RMW of tail_ from this to the second queue's last: the next one that appends
//        ([E]) must see that element's next as null.
//   [X]  relaxed: written before publication by [F] or [P], a failed attempt, or a hint.
//
// Checked by    tests/conformance (exclusion, every strategy), tests/check/lock_check.cpp (explored
//               with two and three threads), tests/check/mutants_check.cpp (that the invariants
//               are asked), tests/simulated_engine/two_sockets.cpp (hand-over within the node,
//               bound on bypass, memory).
#pragma once

#include <syncopate/locks/queue_link.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class cna_lock {
  struct node : queue_link {
    waits::baton<Wait> turn;
    unsigned where;  // the waiter's NUMA node
  };

 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .collapses = true,
      .preload = false,
      .summary = "MCS queue whose waiters on the holder's node go first",
      .source = "Dice & Kogan 2019"};

  // Hand-overs within a node, one after the other, before the second queue is let in. Not measured:
  // no machine with two nodes is at hand.
  static constexpr std::uint32_t max_local = 256;

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
      node* const away = away_;  // all of it, should nobody have come: the first queue from then on
      queue_link* const last = away_tail_;
      away_ = nullptr;
      away_tail_ = nullptr;
      queue_link* expected = &self_;
      if (tail_.compare_exchange_strong(expected, last, std::memory_order_release,  // [R] [F]
                                        std::memory_order_relaxed)) {               // [X]
        if (away != nullptr) away->turn.pass();                                     // [P]
        return;
      }
      away_ = away;
      away_tail_ = last;
      successor = &self_.await_linked();
    }
    next_holder(static_cast<node*>(successor))->turn.pass();  // [P]
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes tail_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return tail_.load(std::memory_order_relaxed) != nullptr;  // [X]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return away_ != nullptr || tail_.load(std::memory_order_relaxed) != &self_;  // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const queue_link& last = self_.template check_waiting<node>();  // I1, I2
    [[maybe_unused]] const queue_link* const tail = tail_.load(std::memory_order_relaxed);  // [X]
    assert(tail != nullptr);
    assert(&last == &self_ || tail != &self_);  // who is linked behind this has appended itself
    assert((away_ == nullptr) == (away_tail_ == nullptr));  // I3
    assert(local_ <= max_local);
    for (const queue_link* at = away_; at != nullptr; at = at->linked()) {
      assert(!static_cast<const node*>(at)->turn.is_passed());
      assert(at != &last && at != tail);  // I4
      assert((at->linked() == nullptr) == (at == away_tail_));
    }
  }

 private:
  // Whom to pass the lock to: `first` is the first of the first queue. Requires: held.
  node* next_holder(node* first) noexcept {
    if (local_ < max_local) {
      if (node* const near = nearest(first)) {
        local_ += away_ != nullptr ? 1 : 0;
        return near;
      }
    }
    local_ = 0;
    if (away_ == nullptr) return first;
    // The second queue goes before what is left of the first.
    node* const away = away_;
    away_tail_->next.store(first, std::memory_order_relaxed);  // [X]
    away_ = nullptr;
    away_tail_ = nullptr;
    return away;
  }

  // The first waiter of the holder's node, as far as the queue is linked; those before it move to
  // the second queue. Null, and nothing has moved, where there is none.
  node* nearest(node* first) noexcept {
    const unsigned here = machine::node();
    node* before = nullptr;
    for (node* at = first; at->where != here;) {
      before = at;
      at = static_cast<node*>(at->linked());
      if (at == nullptr) return nullptr;
    }
    if (before == nullptr) return first;
    auto* const near = static_cast<node*>(before->next.load(std::memory_order_relaxed));  // [X]
    before->next.store(nullptr, std::memory_order_relaxed);                               // [X]
    if (away_ == nullptr) away_ = first;
    else away_tail_->next.store(first, std::memory_order_relaxed);  // [X]
    away_tail_ = before;
    return near;
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    node mine;
    mine.where = machine::node();
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
  node* away_{nullptr};
  queue_link* away_tail_{nullptr};
  std::uint32_t local_{0};  // hand-overs within the node, since somebody is away
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
