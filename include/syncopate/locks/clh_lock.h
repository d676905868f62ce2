// clh_lock.h -- FIFO queue lock: each waiter waits on its predecessor's word.
//
// Source        Craig, TR 93-02-02, University of Washington, 1993; Magnusson, Landin & Hagersten,
//               IPPS 1994. How we deviate: a holder that found the lock free uses the lock's own
//               word instead of a node, and a holder with no successor takes its node back by a
//               compare-and-swap of tail_; so a free lock owns no node, all-zero memory is a free
//               lock, and destroying one needs no action.
// Fairness      FIFO; bypass bound 0 (among threads that found the lock held).
// Space         12 B per lock (with the strategy adaptive 20 B); one 64 B node per waiter and
//               contended holder (node_pool.h).
// Uncontended   lock 1 RMW; unlock 1 load + 1 store + 1 RMW; one cache line.
// Contended     O(1) misses per hand-off; no wait for a successor to link itself (MCS has one).
//
// State (batons are numbered: 0 none, 1 the lock's own, from 2 on nodes of the pool)
//   tail_ == none       free
//   tail_ == own        held by a thread without a node, nobody waits
//   tail_ == a node     that node's owner is the last in line, or the holder if nobody waits
//   holder_             the holder's node; none stands for own, so that a try_lock sets nothing
//
// Invariants
//   I1  Each baton has at most one waiter: whoever replaced it in tail_.
//   I2  own_ is used by a holder that found tail_ none; its successor, if any, has left it before
//       tail_ can be none again. So one word per lock suffices.
//   I3  A node is given back by its successor after the pass, or by its owner when it removed it
//       from tail_ itself. Exactly one of the two happens.
//   I4  holder_ is read and written by the holder only.
//
// Memory order (each tag stands at its site below)
//   [A]  acquire RMW of tail_ that finds it none -- synchronizes with [R].
//   [R]  release RMW of tail_ to none when nobody waits.
//   [E]  acq_rel exchange of tail_ that appends our baton: publishes its reset state, and makes the
//        predecessor's reset visible to us before we wait on it.
//   [P]  the baton: pass() releases, await() acquires (wait/baton.h).
//   [X]  relaxed: a failed attempt or a hint.
//
// Checked by    tests/conformance (exclusion, FIFO order, every strategy),
//               tests/check/lock_check.cpp (explored with two and three threads),
//               tests/check/mutants_check.cpp (that the invariants are asked),
//               tests/check/pool_check.cpp (its nodes), tests/posix under SYNCOPATE_LOCK=clh and
//               clh:park, tests/simulated_engine/convoy.cpp.
#pragma once

#include <syncopate/locks/node_pool.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>
#include <syncopate/wait/baton.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::spin>
class clh_lock {
  using baton = waits::baton<Wait>;

 public:
  static constexpr lock_traits traits{
      .fair = fairness::fifo,
      .collapses = true,
      .summary = "FIFO queue: each waiter waits on its predecessor's word",
      .source = "Craig 1993; Magnusson, Landin & Hagersten 1994"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t expected = none;
    return tail_.compare_exchange_strong(expected, own, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);                // [X]
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept {
    const std::uint32_t mine = holder();
    holder_ = none;
    std::uint32_t expected = mine;
    if (__builtin_expect(
            tail_.compare_exchange_strong(expected, none, std::memory_order_release,  // [R]
                                          std::memory_order_relaxed),                 // [X]
            1)) {
      if (mine != own) pool::give_back(mine);
    } else {
      baton_of(mine).pass();  // [P]
    }
  }

  // Whether some thread holds the lock; a hint. A transaction that reads false has subscribed:
  // whoever takes the lock writes tail_ by an atomic instruction, which aborts it.
  [[nodiscard]] bool is_locked() const noexcept {
    return tail_.load(std::memory_order_relaxed) != none;  // [X]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return tail_.load(std::memory_order_relaxed) != holder();  // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint32_t last = tail_.load(std::memory_order_relaxed);  // [X]
    assert(last != none);
    assert(!baton_of(holder()).is_passed());                                  // I1
    assert(last == holder() || (last > own && !pool::at(last).is_passed()));  // I2, I3
  }

 private:
  using pool = node_pool<baton>;
  enum : std::uint32_t { none = 0, own = 1 };

  [[nodiscard]] std::uint32_t holder() const noexcept { return holder_ != none ? holder_ : own; }
  baton& baton_of(std::uint32_t number) noexcept { return number == own ? own_ : pool::at(number); }
  const baton& baton_of(std::uint32_t number) const noexcept {
    return number == own ? own_ : pool::at(number);
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    const std::uint32_t mine = pool::take();
    pool::at(mine).reset();
    const std::uint32_t predecessor = tail_.exchange(mine, std::memory_order_acq_rel);  // [E]
    if (predecessor != none) {
      baton_of(predecessor).await(wait_);  // [P]
      if (predecessor == own)
        own_.reset();  // I2: nobody else looks at it before tail_ is none again
      else pool::give_back(predecessor);
    }
    holder_ = mine;
  }

  std::atomic<std::uint32_t> tail_{none};
  std::uint32_t holder_{none};
  baton own_;
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
