// meetings.h -- where threads meet other than at a word: what an execution has done so far at
// futexes, at gatherings (barriers), at reader-writer locks.
#pragma once

#include "by_address.h"
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

struct meetings {
  by_address<futex> futexes;
  by_address<gathering> gatherings;
  by_address<sharing> sharings;
  std::uint64_t parks = 0;  // of this execution, so far

  void forget() noexcept {
    futexes.forget();
    gatherings.forget();
    sharings.forget();
    parks = 0;
  }

  // A share: whether the lock is to be had.
  [[nodiscard]] bool may_share(const operation& op) noexcept {
    const sharing* const s = sharings.find(op.at);
    return s == nullptr || (!s->writer && (op.expected == 0 || s->readers == 0));
  }
};

}  // namespace syncopate::explored
