// by_address.h -- what an execution keeps of addresses that the program uses in some way: one T for
// each, which has clear(). The memory of one execution serves the next.
#pragma once

#include "model/explored/search/trace.h"

#include <cstddef>
#include <vector>

namespace syncopate::explored {

template <class T>
class by_address {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return used_ == 0; }

  // Null: nothing is known of it.
  [[nodiscard]] T* find(address at) noexcept {
    for (std::size_t i = 0; i < used_; ++i)
      if (all_[i].at == at) return &all_[i].what;
    return nullptr;
  }

  // It begins as nothing. The reference is good until at() of another address.
  T& at(address at) {
    if (T* const known = find(at)) return *known;
    if (used_ == all_.size()) all_.emplace_back();
    entry& e = all_[used_++];
    e.at = at;
    e.what.clear();
    return e.what;
  }

  void clear_within(address at, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < used_; ++i)
      if (all_[i].at - at < bytes) all_[i].what.clear();
  }

  void forget() noexcept { used_ = 0; }

 private:
  struct entry {
    address at = 0;
    T what;
  };
  std::vector<entry> all_;
  std::size_t used_ = 0;
};

}  // namespace syncopate::explored
