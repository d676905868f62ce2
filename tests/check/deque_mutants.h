// deque_mutants.h -- work-stealing deques with one defect each, for mutants_check.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "deque_scenarios.h"

namespace check::deque_mutants {

using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release,
    std::memory_order_seq_cst;

enum class defect {
  unpublished_push,      // an element is offered before it is written
  release_store,         // what take() stores in bottom_ publishes nothing
  take_without_fence,    // the owner does not see the thief that does not see the owner
  steal_without_fence,   // the same, the other way round
  last_taken_unasked,    // the owner takes the last element as any other
  steal_without_rmw,     // two thieves have the same element
  top_before_bottom,     // the owner looks at the thieves' end before it says what it takes
  push_over_the_oldest,  // nobody looks whether there is room
  gives_up,              // a thief that was too slow for one element does not look for the next
};

// Chase and Lev's deque of two places, but for the defect.
template <defect has>
class deque {
 public:
  bool push(element* what) {
    const std::int64_t b = bottom_.load(memory_order_relaxed);
    const std::int64_t t = top_.load(memory_order_acquire);
    if (has != defect::push_over_the_oldest && b - t >= 2) return false;
    places_[b % 2].store(what, memory_order_relaxed);
    bottom_.store(b + 1,
                  has == defect::unpublished_push ? memory_order_relaxed : memory_order_release);
    return true;
  }

  element* take() {
    const std::int64_t b = bottom_.load(memory_order_relaxed) - 1;
    std::int64_t t = top_.load(memory_order_relaxed);
    bottom_.store(b, memory_order_relaxed);
    if (has != defect::take_without_fence) std::atomic_thread_fence(memory_order_seq_cst);
    if (has != defect::top_before_bottom) t = top_.load(memory_order_relaxed);
    element* what = t <= b ? places_[b % 2].load(memory_order_relaxed) : nullptr;
    if (t < b || (t == b && has == defect::last_taken_unasked)) return what;
    if (t == b && !top_.compare_exchange_strong(t, t + 1, memory_order_seq_cst)) what = nullptr;
    bottom_.store(b + 1, memory_order_relaxed);
    return what;
  }

  template <class Predicate>
  element* steal(Predicate) {
    std::int64_t t = top_.load(memory_order_acquire);
    for (;;) {
      if (has != defect::steal_without_fence) std::atomic_thread_fence(memory_order_seq_cst);
      if (t >= bottom_.load(memory_order_acquire)) return nullptr;
      element* const what = places_[t % 2].load(memory_order_relaxed);
      if (has == defect::steal_without_rmw) return top_.store(t + 1, memory_order_release), what;
      if (top_.compare_exchange_strong(t, t + 1, memory_order_seq_cst)) return what;
      if (has == defect::gives_up) return nullptr;
    }
  }

 private:
  std::atomic<std::int64_t> top_{0}, bottom_{0};
  std::atomic<element*> places_[2]{};
};

constexpr scenario scenarios[] = {
    {"unpublished_push", last_element<deque<defect::unpublished_push>>},
    {"release_store", two_elements<deque<defect::release_store>>},
    {"take_without_fence", two_elements<deque<defect::take_without_fence>>},
    {"steal_without_fence", two_elements<deque<defect::steal_without_fence>>},
    {"last_taken_unasked", last_element<deque<defect::last_taken_unasked>>},
    {"steal_without_rmw", two_thieves<deque<defect::steal_without_rmw>>},
    {"top_before_bottom", two_elements<deque<defect::top_before_bottom>>},
    {"push_over_the_oldest", places_used_again<deque<defect::push_over_the_oldest>>},
    {"gives_up", thieves_for_two<deque<defect::gives_up>>},
};

}  // namespace check::deque_mutants
