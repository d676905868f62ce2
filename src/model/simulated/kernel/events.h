// events.h -- what is going to happen, in order of simulated time.
//
// Order: time, then thread index (processors come after all threads), then kind, then age. Nothing
// is ever taken out but the first: an event that is no longer true carries an old generation
// number, and whoever takes it ignores it.
#pragma once

#include "model/simulated/memory/memory.h"

#include <cstdint>
#include <vector>

namespace syncopate::simulated {

class event {
 public:
  enum class kind : std::uint8_t {
    go,     // the thread continues
    look,   // a polling thread reads its word again
    timer,  // the time of a thread's wait is up
    slice,  // the time slice of a polling thread is over; who() is processor_event + processor,
            // or the alarm's
  };
  static constexpr std::uint32_t processor_event = 1u << 31;

  event(cycles at, std::uint32_t who, kind what, std::uint32_t generation) noexcept
      : at_(at),
        rest_(std::uint64_t{who} << 32 | std::uint64_t{static_cast<std::uint8_t>(what)} << 30 |
              (generation & generations)) {}

  [[nodiscard]] cycles at() const noexcept { return at_; }
  [[nodiscard]] std::uint32_t who() const noexcept {
    return static_cast<std::uint32_t>(rest_ >> 32);
  }
  [[nodiscard]] kind what() const noexcept { return static_cast<kind>(rest_ >> 30 & 3); }
  // Whether the count that it was made with is still that. (It wraps around; no event is so old.)
  [[nodiscard]] bool is_of(std::uint32_t generation) const noexcept {
    return ((rest_ ^ generation) & generations) == 0;
  }

  [[nodiscard]] bool before(const event& other) const noexcept { return order() < other.order(); }

 private:
  static constexpr std::uint32_t generations = (1u << 30) - 1;

  // Two words that are compared without a branch: who comes first is hard to predict.
  [[nodiscard]] unsigned __int128 order() const noexcept {
    return static_cast<unsigned __int128>(at_) << 64 | rest_;
  }

  cycles at_;
  std::uint64_t rest_;  // who, what, generation, from the highest bits on
};

class event_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] const event& first() const noexcept { return heap_.front(); }

  void push(const event& e) {
    heap_.push_back(e);
    rise(heap_.size() - 1, e);
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
  // Puts `e` in place of the first. The free place goes down to a leaf, without a branch that
  // depends on the events, and `e` up from there: most events are later than most others.
  void sink(const event& e) {
    event* const heap = heap_.data();
    const std::size_t size = heap_.size();
    std::size_t at = 0, child = 1;
    for (; child + 1 < size; child = 2 * at + 1) {
      child += heap[child + 1].before(heap[child]);
      heap[at] = heap[child];
      at = child;
    }
    if (child < size) {
      heap[at] = heap[child];
      at = child;
    }
    rise(at, e);
  }

  // Puts `e` into a free place or, if it is earlier than what lies above that, higher.
  void rise(std::size_t at, const event& e) {
    event* const heap = heap_.data();
    while (at > 0) {
      const std::size_t parent = (at - 1) / 2;
      if (!e.before(heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = e;
  }

  std::vector<event> heap_;
};

}  // namespace syncopate::simulated
