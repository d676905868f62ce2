// scratch.h -- an array that grows, private to a thread: its accesses are not part of transactions,
// and stay when one is tried again. So a transaction first clears those that it uses.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../transaction.h"

namespace workloads::stamp {

template <class T>
class scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  scratch() = default;
  ~scratch() { delete_array(items_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  TRANSACTION_PURE void clear() { size_ = 0; }
  TRANSACTION_PURE void push(T value) {
    if (size_ == capacity_) grow(2 * capacity_ + 8);
    items_[size_++] = value;
  }
  // Requires, here and below: an element is there.
  TRANSACTION_PURE T pop() { return items_[--size_]; }
  TRANSACTION_PURE T get(std::size_t i) const { return items_[i]; }
  TRANSACTION_PURE void set(std::size_t i, T value) { items_[i] = value; }
  TRANSACTION_PURE std::size_t size() const { return size_; }
  // Makes it `count` copies of the value.
  TRANSACTION_PURE void assign(std::size_t count, T value) {
    if (count > capacity_) grow(count);
    size_ = count;
    for (std::size_t i = 0; i < count; ++i) items_[i] = value;
  }

 private:
  void grow(std::size_t capacity) {
    const untracked here;  // a transaction that begins again keeps the memory
    T* const larger = new_array<T>(capacity);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = items_[i];
    delete_array(items_);
    items_ = larger;
    capacity_ = capacity;
  }

  T* items_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace workloads::stamp
