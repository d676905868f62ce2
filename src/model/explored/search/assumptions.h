// assumptions.h -- what the search takes for granted of the program until an execution shows
// otherwise: that parks with disjoint bitsets commute, that readers of a reader-writer lock do,
// that the order of execution is all there is to S, and that loops which give up waiting end. Where
// one of the first three is wrong, it begins anew.
#pragma once

#include "model/explored/run/thread.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace syncopate::explored {

class assumptions {
 public:
  // Those that one execution rests on; and how many loops were known to be endless.
  struct state {
    bool parks_ordered = false, readers_ordered = false;
    bool s_by_graph = false, s_by_execution = false;
    std::size_t endless = 0;
    bool operator==(const state&) const = default;
  };
  [[nodiscard]] state now() const noexcept {
    return {parks_ordered_, readers_ordered_, s_by_graph_, s_by_execution_, endless_.size()};
  }

  // Parks are in order also where no bit of their bitsets is common.
  [[nodiscard]] bool are_parks_ordered() const noexcept { return parks_ordered_; }
  void order_parks() noexcept { parks_ordered_ = begins_anew_ = true; }
  // Each step at a reader-writer lock is in order, as on a word.
  [[nodiscard]] bool are_readers_ordered() const noexcept { return readers_ordered_; }
  void order_readers() noexcept { readers_ordered_ = begins_anew_ = true; }
  // S is found by its graph (sc_graph.h), unless the program does what that has no place for:
  // transactions, awaits.
  [[nodiscard]] bool has_s_by_graph() const noexcept { return s_by_graph_ && !s_by_execution_; }
  [[nodiscard]] bool may_have_s_by_graph() const noexcept { return !s_by_execution_; }
  void find_s_by_graph() noexcept { s_by_graph_ = begins_anew_ = true; }
  // What is repeated may be of a search that had come to that.
  void begin_with_s_by_graph() noexcept { s_by_graph_ = true; }
  // Returns whether that is news to the search.
  bool take_s_from_execution() noexcept {
    const bool begins_anew = has_s_by_graph();
    s_by_execution_ = true;
    begins_anew_ |= begins_anew;
    return begins_anew;
  }

  // Since one of these has just turned out.
  [[nodiscard]] bool begins_anew() const noexcept { return begins_anew_; }
  void has_begun_anew() noexcept { begins_anew_ = false; }

  // Loops that never give up.
  [[nodiscard]] bool is_endless(const loop& l) const {
    return std::find(endless_.begin(), endless_.end(), l) != endless_.end();
  }
  void add_endless(const loop& l) { endless_.push_back(l); }
  [[nodiscard]] const std::vector<loop>& endless() const noexcept { return endless_; }
  void forget_endless() noexcept { endless_.clear(); }

  // What another process has found out.
  void join(const state& other, bool begins_anew) noexcept {
    parks_ordered_ |= other.parks_ordered;
    readers_ordered_ |= other.readers_ordered;
    s_by_graph_ |= other.s_by_graph;
    s_by_execution_ |= other.s_by_execution;
    begins_anew_ |= begins_anew;
  }

 private:
  bool parks_ordered_ = false, readers_ordered_ = false, begins_anew_ = false;
  bool s_by_graph_ = false, s_by_execution_ = false;
  std::vector<loop> endless_;
};

}  // namespace syncopate::explored
