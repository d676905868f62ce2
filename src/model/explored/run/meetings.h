// meetings.h -- where threads meet other than at a word: what an execution has done so far at
// futexes, at gatherings (barriers), at reader-writer locks.
#pragma once

#include "model/explored/search/trace.h"

#include <cstdint>
#include <vector>

namespace syncopate::explored {

struct frozen_view;

struct futex {
  std::vector<std::uint32_t> steps;  // 1 + the futex operations of this execution there
  void clear() noexcept { steps.clear(); }
};

struct gathering {
  struct part {
    thread_index thread;
    bool asks;
    std::uint32_t step;  // 1 + its number
    const frozen_view* view;
    std::uint64_t time;
  };
  std::vector<part> arrived, left;
  std::vector<choice> told;  // by group
  void clear() noexcept {
    arrived.clear();
    left.clear();
    told.clear();
  }
};

struct sharing {
  struct part {
    thread_index thread;
    bool exclusive;
    std::uint32_t step;       // 1 + its number
    const frozen_view* view;  // of who has given it back; null: of who has got it
    std::uint64_t time;
  };
  unsigned readers = 0;
  bool writer = false;
  std::vector<part> all;
  void clear() noexcept {
    readers = 0;
    writer = false;
    all.clear();
  }
};

}  // namespace syncopate::explored
