// chase_lev_deque.h -- one thread pushes and takes at one end, the others steal at the other.
//
// Source        Chase & Lev, SPAA 2005; memory orders of Le, Pop, Cohen & Zappa Nardelli, PPoPP
//               2013, figure 1. How we deviate: the array does not grow, a push that finds it full
//               is refused, so that its owner does the work at once; a thief may look at what it
//               would steal, and leave it; three orders are weaker, where the fences do their work.
// Fairness      none; the owner takes the newest, thieves the oldest.
// Space         8 B * capacity + 128 B, no allocation.
// Uncontended   push 2 loads + 2 stores; take 2 loads + 1 store + 1 fence, the last element 1 RMW
//               more; steal 3 loads + 1 fence + 1 RMW.
// Contended     thieves pass the line of top_ around; the owner misses it only where it is near.
//
// Invariants
//   I1  top_ only grows, by one, and whoever makes it grow from t has the element t.
//   I2  bottom_ is written by the owner alone. Outside of take() top_ <= bottom_, and the elements
//       are those from top_ to bottom_ - 1; bottom_ - top_ <= capacity.
//   I3  The owner takes an element without an RMW only where at least one more lies before it.
//   I4  An element's place is used again only when top_ has passed it: a thief that read something
//       else there fails to make top_ grow.
//
// Memory order (each tag stands at its site below)
//   [R]  release fence in push -- synchronizes with [A]: what the owner did before, and the
//        element, happen before the theft. Not a release store: a thief may read what take()
//        stores in bottom_, which no longer belongs to that store's release sequence in C++20.
//   [A]  acquire load of bottom_ in steal.
//   [T]  acquire load of top_ in push: the theft's look at the place happens before its next use
//        (I4).
//   [F]  seq_cst fence between the owner's store of bottom_ and its load of top_, and between a
//        thief's load of top_ and that of bottom_: one of the two sees the other (I3).
//   [C]  release RMW of top_ by a thief -- synchronizes with [T].
//   [X]  relaxed: the owner's own word; a place whose look the RMW confirms; top_ before a fence
//        that acquires ([F]); the owner's RMW for the last element, which only has to be one: the
//        fences before it and before the thief's keep both from having looked too early.
//
// Checked by    tests/check/deque_check.cpp, tests/conformance/deque_test.cpp.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace syncopate {

// Of pointers. `capacity`: a power of two.
template <class T, std::size_t capacity>
class chase_lev_deque {
  static_assert(capacity != 0 && (capacity & (capacity - 1)) == 0);

 public:
  using position = std::int64_t;

  // The owner's. False: it is full.
  [[nodiscard]] bool push(T* what) noexcept {
    const position b = bottom_.load(std::memory_order_relaxed);  // [X]
    const position t = top_.load(std::memory_order_acquire);     // [T]
    if (b - t >= static_cast<position>(capacity)) return false;
    place(b).store(what, std::memory_order_relaxed);      // [X]
    std::atomic_thread_fence(std::memory_order_release);  // [R]
    bottom_.store(b + 1, std::memory_order_relaxed);      // [X]
    return true;
  }

  // The owner's. Null: nothing is left that was pushed at or behind `floor`.
  [[nodiscard]] T* take(position floor = 0) noexcept {
    const position b = bottom_.load(std::memory_order_relaxed) - 1;  // [X]
    if (b < floor) return nullptr;
    bottom_.store(b, std::memory_order_relaxed);                                       // [X]
    std::atomic_thread_fence(std::memory_order_seq_cst);                               // [F]
    position t = top_.load(std::memory_order_relaxed);                                 // [X]
    T* what = t <= b ? place(b).load(std::memory_order_relaxed) : nullptr;             // [X]
    if (t < b) return what;                                                            // I3
    if (t == b && !top_.compare_exchange_strong(t, t + 1, std::memory_order_relaxed))  // [X]
      what = nullptr;
    bottom_.store(b + 1, std::memory_order_relaxed);  // [X]
    return what;
  }

  // Anybody's. Steals the oldest element if may_have(element) holds; null: there is none, or it may
  // not be had. Where another thread was faster there may be a next one, for which a thief that
  // went to sleep would not be called. may_have() may see an element that is gone already.
  template <class Predicate>
  [[nodiscard]] T* steal(Predicate may_have) noexcept {
    position t = top_.load(std::memory_order_relaxed);  // [X]
    for (;;) {
      std::atomic_thread_fence(std::memory_order_seq_cst);               // [F]
      if (t >= bottom_.load(std::memory_order_acquire)) return nullptr;  // [A]
      T* const what = place(t).load(std::memory_order_relaxed);          // [X]
      if (!may_have(what)) return nullptr;
      if (top_.compare_exchange_strong(t, t + 1, std::memory_order_release,  // [C]
                                       std::memory_order_relaxed))           // [X]
        return what;
    }
  }

  // The owner's: where the next element will lie, for take().
  [[nodiscard]] position end() const noexcept {
    return bottom_.load(std::memory_order_relaxed);  // [X]
  }

  // Anybody's: whether there seems to be something to steal. A hint.
  [[nodiscard]] bool seems_empty() const noexcept {
    return bottom_.load(std::memory_order_relaxed) <= top_.load(std::memory_order_relaxed);  // [X]
  }

 private:
  std::atomic<T*>& place(position p) noexcept {
    return places_[static_cast<std::size_t>(p) & (capacity - 1)];
  }

  alignas(64) std::atomic<position> top_{0};
  alignas(64) std::atomic<position> bottom_{0};
  alignas(64) std::atomic<T*> places_[capacity]{};
};

}  // namespace syncopate
