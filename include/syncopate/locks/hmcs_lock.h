// hmcs_lock.h -- hierarchical MCS lock: a queue for each half of the memory nodes, whose first
// waiter queues for the root; within its half the lock is passed on a bounded number of times.
//
// Source        Chabbi, Fagan & Mellor-Crummey, "High Performance Locks for Multi-level NUMA
//               Systems", PPoPP 2015, with two levels. How we deviate: a waiter's element lies on
//               its stack for the time of lock() only, as in mcs_lock.h, and so the root can be
//               released by another thread than took it. A lock that nobody holds is taken at the
//               root alone. Who gives the root away passes its queue on before, not after: the
//               release is then the last access to the lock. There are two queues, in one line with
//               the root; where there are more than two nodes, neighbors share one.
// Fairness      eventual: each queue is FIFO; who waits at the root is overtaken by at most
//               max_local + 1 sections of the other queue.
// Space         48 B per lock, one element on the waiter's stack.
// Uncontended   lock 1 load + 1 RMW + 1 store; unlock 2 loads + 1 RMW; one cache line.
// Contended     O(1) misses per hand-off, whose line comes from the other half once in
//               max_local + 1 times.
//
// State of a queue (tails_)
//   null                  nobody of this half has, or waits for, the root by its queue
//   self_                 the holder came by this queue, and nobody waits behind
//   an element            somebody of this half has, or waits for, the root; the last in line
//   next (of self_)       who is behind the holder, or null while it is not linked yet
//
// Invariants
//   I1  Of a queue one thread at most, its first, has or awaits the root.
//   I2  An element is reachable only while its owner is inside lock().
//   I3  came_by_, passed_ and self_ are the holder's alone, but for self_.next, which the waiter
//       writes whose predecessor is self_. came_by_ is 0 where the root was taken without a queue.
//   I4  has_root is written before the baton is passed, and read after: true, and the root, which
//       stays taken, changes hands with it.
//
// Memory order (each tag stands at its site below; those of the root are mcs_lock.h's, of
// the links queue_link.h's)
//   [P]  the baton: pass() releases, await() acquires (wait/baton.h).
//   [E]  acq_rel RMW of a tail that appends our element: publishes the element's initial state to
//        the successor, which reaches it through the tail.
//   [X]  relaxed: a hint; or the tail becomes null, which publishes nothing: what the holder did,
//        the root's release does.
//
// Checked by    tests/conformance (exclusion, every strategy), tests/check/lock_check.cpp (explored
//               with two and three threads), tests/check/hmcs_check.cpp (the same where the root is
//               given away each time, and each second time), tests/check/mutants_check.cpp (that
//               the invariants are asked),
//               tests/simulated_engine/two_sockets.cpp (hand-over within the half, bound on bypass,
//               memory).
#pragma once

#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/queue_link.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

// Hand-overs within a half, one after the other, before the root is given away. *Simulated* on two
// Xeon 8480+, 112 threads that sleep after a long wait, sections of 2 lines, millions a second:
// 2.03 with 16, 2.24 with 32, 2.36 with 64, 0.27 with 128, 0.29 with 256, for then the other half
// sleeps; where nobody sleeps 2.71, 2.89, 2.99, 3.05, 3.08. Tests explore another value.
template <class Wait>
inline constexpr std::uint32_t hmcs_max_local = 64;

template <class Wait = waits::spin>
class hmcs_lock {
  struct element : queue_link {
    waits::baton<Wait> turn;
    bool has_root = false;
  };

 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .collapses = true,
      .preload = false,
      .summary = "an MCS queue for each half of the memory nodes, whose first waiters queue",
      .source = "Chabbi, Fagan & Mellor-Crummey 2015"};

  static constexpr std::uint32_t max_local = hmcs_max_local<Wait>;

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(root_.is_locked() || !try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    if (!root_.try_lock()) return false;
    came_by_ = 0;
    return true;
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    if (came_by_ == 0 || leave(tails_[came_by_ - 1])) root_.unlock();
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes the root's tail by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept { return root_.is_locked(); }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    if (root_.contended()) return true;
    return came_by_ != 0 && tails_[came_by_ - 1].load(std::memory_order_relaxed) != &self_;  // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    root_.check_invariants();
    assert(came_by_ <= halves && passed_ <= max_local);
    if (came_by_ == 0) return;
    [[maybe_unused]] const queue_link& last = self_.template check_waiting<element>();  // I2, I4
    [[maybe_unused]] const queue_link* const tail =
        tails_[came_by_ - 1].load(std::memory_order_relaxed);  // [X]
    assert(tail != nullptr);                                   // I1
    assert(&last == &self_ || tail != &self_);
  }

 private:
  static constexpr unsigned halves = 2;

  // Nodes that are neighbors in hwloc's order, as those of a socket are, share a half.
  static unsigned half() noexcept { return machine::node() * halves / machine::node_count(); }

  // Lets go of the queue. Returns whether the root is still the caller's, to be released.
  // Requires: held, by way of this queue.
  bool leave(std::atomic<queue_link*>& tail) noexcept {
    queue_link* successor = self_.linked();
    if (successor == nullptr) {
      queue_link* expected = &self_;
      if (tail.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed))  // [X]
        return true;
      successor = &self_.await_linked();
    }
    const bool stays = passed_ < max_local;
    ++passed_;
    auto* const next = static_cast<element*>(successor);
    next->has_root = stays;
    next->turn.pass();  // [P]
    return !stays;
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    const unsigned number = half();
    std::atomic<queue_link*>& tail = tails_[number];
    element mine;
    queue_link* const predecessor = tail.exchange(&mine, std::memory_order_acq_rel);  // [E]
    if (predecessor != nullptr) {
      predecessor->append(mine);
      mine.turn.await(wait_);  // [P]
    }
    if (!mine.has_root) {
      root_.lock();
      came_by_ = number + 1;
      passed_ = 0;
    }
    self_.take_place_of(mine, tail);  // so that the element may die with this frame (I2)
  }

  mcs_lock<Wait> root_;
  [[no_unique_address]] Wait wait_;  // not last: it would not lie in the root's place
  std::atomic<queue_link*> tails_[halves]{};
  queue_link self_;
  std::uint32_t came_by_{0};  // its queue's number, from 1
  std::uint32_t passed_{0};   // hand-overs within the half since it took the root
};

}  // namespace syncopate
