// scratch.h -- an array that grows, private to a thread: its accesses are not part of transactions,
// and stay when one is tried again. So a transaction first clears those that it uses.
#pragma once

#include <cstddef>
#include <vector>

#include "../transaction.h"

namespace workloads::stamp {

template <class T>
class scratch {
 public:
  TRANSACTION_PURE void clear() { items_.clear(); }
  TRANSACTION_PURE void push(T value) { items_.push_back(value); }
  // Requires, here and below: an element is there.
  TRANSACTION_PURE T pop() {
    const T last = items_.back();
    items_.pop_back();
    return last;
  }
  TRANSACTION_PURE T get(std::size_t i) const { return items_[i]; }
  TRANSACTION_PURE void set(std::size_t i, T value) { items_[i] = value; }
  TRANSACTION_PURE std::size_t size() const { return items_.size(); }
  // Makes it `count` copies of the value.
  TRANSACTION_PURE void assign(std::size_t count, T value) { items_.assign(count, value); }

 private:
  std::vector<T> items_;
};

}  // namespace workloads::stamp
