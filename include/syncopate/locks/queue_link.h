// queue_link.h -- what the queue locks with K42's interface share: elements on the waiters' stacks,
// each linked to the one behind it, and the holder's place, which moves into the lock.
//
// Source        mcs_lock.h, cna_lock.h and hmcs_lock.h say which lock has it from where.
// Space         8 B.
//
// Memory order (each tag stands at its site below)
//   [L]  release store of the predecessor's next, and the acquire load that follows the link.
//   [F]  release RMW of the tail from our element to the lock's own: the next one that appends must
//        see that one's next as null.
//   [X]  relaxed: written before publication by [F].
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/yield.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

struct queue_link {
  std::atomic<queue_link*> next{nullptr};

  void append(queue_link& behind) noexcept {
    next.store(&behind, std::memory_order_release);  // [L]
  }

  // The next one, or null while it is not linked yet.
  [[nodiscard]] queue_link* linked() const noexcept {
    return next.load(std::memory_order_acquire);  // [L]
  }

  // The next one, which has appended itself. Waits until it has linked itself: a few instructions
  // of another thread; that thread may be preempted between the two, so yield.
  [[nodiscard]] queue_link& await_linked() const noexcept {
    for (std::uint32_t left = machine::polls(waits::yield::polite_steps);;) {
      if (queue_link* const behind = linked()) return *behind;
      if (left != 0) --left, machine::relax();
      else machine::yield();
    }
  }

  // Takes the place of `mine`, the first in the queue, which may die then. For the lock's own.
  void take_place_of(const queue_link& mine, std::atomic<queue_link*>& tail) noexcept {
    queue_link* behind = mine.linked();
    if (behind == nullptr) {
      auto* expected = const_cast<queue_link*>(&mine);
      next.store(nullptr, std::memory_order_relaxed);                              // [X]
      if (tail.compare_exchange_strong(expected, this, std::memory_order_release,  // [F]
                                       std::memory_order_relaxed))                 // [X]
        return;
      behind = &mine.await_linked();
    }
    next.store(behind, std::memory_order_relaxed);  // [X]
  }

  // check_invariants() of the lock that has this one: whoever is linked behind it still waits.
  // Returns the last. Requires: the lock is held, by way of this queue.
  template <class Element>
  const queue_link& check_waiting() const noexcept {
    const queue_link* last = this;
    while (const queue_link* const behind = last->linked()) {
      last = behind;
      assert(!static_cast<const Element*>(last)->turn.is_passed());
    }
    return *last;
  }
};

}  // namespace syncopate
