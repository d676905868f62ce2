// store_buffer.h -- the stores of one processor that others cannot see yet.
#pragma once

#include "memory.h"

namespace syncopate::simulated {

// First in, first out (total store order): a store becomes visible when it has its line and all
// earlier stores are visible. Lines are requested when stores enter, so that misses overlap.
class store_buffer {
 public:
  explicit store_buffer(unsigned entries) : ring_(entries) {}

  // When a store that is made at `now` finds a free entry.
  cycles free_at(cycles now) {
    while (count_ != 0 && ring_[head_].visible <= now) pop();
    return count_ < ring_.size() ? now : ring_[head_].visible;
  }

  // Requires: free_at(now) <= now. Returns: when the store is visible.
  cycles push(std::uintptr_t at, std::size_t bytes, cycles line_ready) {
    const cycles visible = line_ready > last_ ? line_ready : last_ + 1;
    ring_[(head_ + count_) % ring_.size()] = {at, bytes, visible};
    ++count_;
    return last_ = visible;
  }

  // Whether a load at `now` can take its value from here: one store covers it.
  bool forwards(std::uintptr_t at, std::size_t bytes, cycles now) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const entry& store = ring_[(head_ + i) % ring_.size()];
      if (store.visible > now && store.at <= at && at + bytes <= store.at + store.bytes)
        return true;
    }
    return false;
  }

  // When all stores so far are visible.
  cycles drained_at() const { return last_; }

 private:
  struct entry {
    std::uintptr_t at;
    std::size_t bytes;
    cycles visible;
  };

  void pop() {
    head_ = (head_ + 1) % ring_.size();
    --count_;
  }

  std::vector<entry> ring_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  cycles last_ = 0;
};

}  // namespace syncopate::simulated
