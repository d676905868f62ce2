// heap.h -- a binary heap: the largest element first.
#pragma once

#include <functional>

#include "vector.h"

namespace workloads::stamp {

template <class T, class Less = std::less<T>>
class heap {
 public:
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }

  void push(T value) {
    std::size_t hole = items_.size();
    items_.push_back(value);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      const T above = items_.get(parent);
      if (!Less{}(above, value)) break;
      items_.set(hole, above);
      hole = parent;
    }
    items_.set(hole, value);
  }

  // Sets `value` to the largest element and removes that; false where there is none.
  bool pop(T& value) {
    if (items_.empty()) return false;
    const T last = items_.pop_back();
    if (items_.empty()) {
      value = last;
      return true;
    }
    value = items_.get(0);
    sink(last);
    return true;
  }

 private:
  // Moves the hole at the root down to where `value` belongs.
  void sink(T value) {
    const std::size_t count = items_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < count; child = 2 * hole + 1) {
      if (child + 1 < count && Less{}(items_.get(child), items_.get(child + 1))) ++child;
      const T below = items_.get(child);
      if (!Less{}(value, below)) break;
      items_.set(hole, below);
      hole = child;
    }
    items_.set(hole, value);
  }

  vector<T> items_;
};

}  // namespace workloads::stamp
