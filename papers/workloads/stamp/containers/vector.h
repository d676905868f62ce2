// vector.h -- an array that grows. As all of these containers: no locking, no atomics; several
// threads use one only inside transactions (see transaction.h).
#pragma once

#include <cstddef>
#include <type_traits>

#include "../transaction.h"

namespace workloads::stamp {

template <class T>
class vector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  vector() = default;
  ~vector() { delete_array(items_); }
  vector(const vector&) = delete;
  vector& operator=(const vector&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Requires, here and below: an element is there.
  [[nodiscard]] T get(std::size_t i) const { return items_[i]; }
  void set(std::size_t i, T value) { items_[i] = value; }
  [[nodiscard]] T back() const { return items_[size_ - 1]; }

  void push_back(T value) {
    const std::size_t at = size_;
    if (at == capacity_) grow();
    items_[at] = value;
    size_ = at + 1;
  }
  T pop_back() {
    const std::size_t last = size_ - 1;
    size_ = last;
    return items_[last];
  }
  // Keeps the memory.
  void clear() { size_ = 0; }

 private:
  void grow() {
    const std::size_t count = size_;
    const std::size_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
    shared<T>* const larger = new_array<shared<T>>(capacity);
    shared<T>* const old = items_;
    for (std::size_t i = 0; i < count; ++i) larger[i] = old[i];
    delete_array(old);
    items_ = larger;
    capacity_ = capacity;
  }

  shared<shared<T>*> items_ = nullptr;
  shared<std::size_t> size_ = 0, capacity_ = 0;
};

}  // namespace workloads::stamp
