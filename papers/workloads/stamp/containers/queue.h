// queue.h -- first in, first out, in a ring that grows.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../transaction.h"

namespace workloads::stamp {

template <class T>
class queue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  queue() = default;
  ~queue() { delete_array(ring_); }
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }

  void push(T value) {
    const std::size_t end = end_;
    if (end - first_ == capacity_) grow();
    ring_[end & (capacity_ - 1)] = value;
    end_ = end + 1;
  }
  // Sets `value` to the oldest element and removes that; false where there is none.
  bool pop(T& value) {
    const std::size_t first = first_;
    if (first == end_) return false;
    value = ring_[first & (capacity_ - 1)];
    first_ = first + 1;
    return true;
  }

 private:
  // first_ and end_ count for ever, modulo 2^64; the capacity is a power of two.
  void grow() {
    const std::size_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
    shared<T>* const larger = new_array<shared<T>>(capacity);
    const std::size_t end = end_;
    for (std::size_t i = first_; i != end; ++i)
      larger[i & (capacity - 1)] = ring_[i & (capacity_ - 1)];
    delete_array(ring_);
    ring_ = larger;
    capacity_ = capacity;
  }

  shared<shared<T>*> ring_ = nullptr;
  shared<std::size_t> first_ = 0, end_ = 0, capacity_ = 0;
};

}  // namespace workloads::stamp
