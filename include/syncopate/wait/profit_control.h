// profit_control.h -- L1: whether running ahead of a lock pays, found out by measuring it.
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

namespace syncopate::waits {

class profit_control {
 public:
  static constexpr unsigned trial = 4;                                      // windows
  static constexpr std::uint16_t least_patience = 16, most_patience = 256;  // windows
  static constexpr unsigned margin = 32;  // better by a 32nd, about the spread of such windows

  // For the window that runs now.
  [[nodiscard]] constexpr bool speculate() const noexcept {
    return window_ < trial ? window_ == 0 || window_ == 3 : verdict_;
  }

  // The window that ran has ended after `ticks`. All windows have the same number of sections.
  constexpr void window_ended(std::uint64_t ticks) noexcept {
    if (window_ == trial) {
      if (--left_ == 0) begin_trial();
      return;
    }
    // The shortest: one that was interrupted says nothing about the lock.
    std::uint32_t& shortest = shortest_[speculate() ? 1 : 0];
    shortest = static_cast<std::uint32_t>(std::min<std::uint64_t>(shortest, ticks));
    if (++window_ == trial) decide();
  }

  [[nodiscard]] constexpr bool verdict() const noexcept { return verdict_; }

 private:
  constexpr void begin_trial() noexcept {
    window_ = 0;
    shortest_[0] = shortest_[1] = UINT32_MAX;
  }

  // Keeps what it has unless the other is better by the margin.
  constexpr void decide() noexcept {
    const std::uint64_t without = shortest_[0], with = shortest_[1];
    const bool better =
        verdict_ ? with <= without + without / margin : with + with / margin < without;
    patience_ =
        better == verdict_ ? std::min<std::uint16_t>(2 * patience_, most_patience) : least_patience;
    left_ = patience_;
    verdict_ = better;
  }

  std::uint32_t shortest_[2] = {UINT32_MAX, UINT32_MAX};  // ticks, without and with
  std::uint16_t left_ = 0;                                // windows until the next trial
  std::uint16_t patience_ = least_patience / 2;
  std::uint8_t window_ = 0;  // of the trial; `trial`: none runs
  bool verdict_ = true;
};

}  // namespace syncopate::waits
