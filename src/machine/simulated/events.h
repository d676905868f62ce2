// events.h -- L0: what is going to happen, in order of simulated time.
//
// Order: time, then thread index (processors come after all threads), then kind, then age. Nothing
// is ever taken out but the first: an event that is no longer true carries an old generation
// number, and whoever takes it ignores it.
#pragma once

#include "memory.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace syncopate::simulated {

struct event {
  enum class kind : std::uint8_t {
    go,     // the thread continues
    look,   // a polling thread reads its word again
    timer,  // the time of a thread's wait is up
    slice,  // the time slice of a polling thread is over; `who` is processor_event + processor
  };
  static constexpr std::uint32_t processor_event = 1u << 31;

  cycles at;
  std::uint32_t who;
  kind what;
  std::uint32_t generation;

  [[nodiscard]] bool before(const event& other) const noexcept {
    if (at != other.at) return at < other.at;
    if (who != other.who) return who < other.who;
    if (what != other.what) return what < other.what;
    return generation < other.generation;
  }
};

class event_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] const event& first() const noexcept { return heap_.front(); }

  void push(const event& e) {
    heap_.push_back(e);
    std::size_t at = heap_.size() - 1;
    while (at > 0) {
      const std::size_t parent = (at - 1) / 2;
      if (!e.before(heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = e;
  }

  event pop() {
    const event result = heap_.front();
    const event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return result;
  }

  // Takes the first and puts `e` in, as push() after pop() does, in one way through the heap.
  event exchange_first(const event& e) {
    const event result = heap_.front();
    sink(e);
    return result;
  }

 private:
  // Puts `e` in place of the first.
  void sink(const event& e) {
    std::size_t at = 0;
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
      if (!heap_[child].before(e)) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = e;
  }

  std::vector<event> heap_;
};

}  // namespace syncopate::simulated
