// profit_control.h -- whether running ahead of a lock pays, found out by measuring it.
//
// A pure state machine: it is told how long each window of critical sections took, and answers
// whether waiters may run ahead in the next one. A trial is four windows, with and without in turn
// (1 0 0 1, so that a steady drift favors neither); the better one is kept for a number of windows
// that doubles as long as trials agree. So a lock for which running ahead loses, like the
// adversarial one of the always-abort paper (section IV-A.6, figure 13), spends two windows in
// patience + 4 on it, and finds out when that changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace syncopate::waits {

class profit_control {
 public:
  static constexpr unsigned trial = 4;                                      // windows
  static constexpr std::uint16_t least_patience = 16, most_patience = 256;  // windows
  static constexpr unsigned margin = 32;  // better by a 32nd, about the spread of such windows

  // For the window that runs now.
  [[nodiscard]] constexpr bool speculate() const noexcept {
    return window_ < trial ? window_ == 0 || window_ == 3 : !loses_;
  }

  // The window that ran has ended after `ticks`. All windows have the same number of sections.
  // Returns whether it was the last of a trial, which is decided now.
  constexpr bool window_ended(std::uint64_t ticks) noexcept {
    if (window_ == trial) {
      if (--left_ == 0) begin_trial();
      return false;
    }
    // The shortest: one that was interrupted says nothing about the lock.
    std::uint32_t& shortest = shortest_[speculate() ? 1 : 0];
    const std::uint32_t taken = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(ticks, 1, std::numeric_limits<std::uint32_t>::max()));
    if (shortest == 0 || taken < shortest) shortest = taken;
    if (++window_ != trial) return false;
    decide();
    return true;
  }

  // What the last trial has found: the time of a window without, in thousandths of one with; above
  // 1000 where running ahead pays. Requires: window_ended() has just returned true.
  [[nodiscard]] constexpr std::uint32_t gain() const noexcept {
    constexpr std::uint64_t most = 1'000'000;
    const std::uint64_t found = std::uint64_t{shortest_[0]} * 1000 / shortest_[1];
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(found, 1, most));
  }

  // Whether the last trial was in favor of running ahead.
  [[nodiscard]] constexpr bool verdict() const noexcept { return !loses_; }

 private:
  constexpr void begin_trial() noexcept {
    window_ = 0;
    shortest_[0] = shortest_[1] = 0;
  }

  // Keeps what it has unless the other is better by the margin.
  constexpr void decide() noexcept {
    const std::uint64_t without = shortest_[0], with = shortest_[1];
    const bool loses = loses_ ? with + with / margin >= without : with > without + without / margin;
    patience_ = loses != loses_
                    ? least_patience
                    : std::clamp<std::uint16_t>(static_cast<std::uint16_t>(2 * patience_),
                                                least_patience, most_patience);
    left_ = patience_;
    loses_ = loses;
  }

  // Zero bytes are the initial state, as in all locks.
  std::uint32_t shortest_[2] = {};  // ticks, without and with; 0: none yet
  std::uint16_t left_ = 0;          // windows until the next trial
  std::uint16_t patience_ = 0;
  std::uint8_t window_ = 0;  // of the trial; `trial`: none runs
  bool loses_ = false;
};

}  // namespace syncopate::waits
