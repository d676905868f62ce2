// spin_tuning.h -- what a lock learns about spinning: for how long, and how often, a newcomer
// polls before it sleeps. Pure; auto_lock keeps it in twelve bits.
//
// Source   spin budget per lock: after glibc's adaptive mutex and Mozilla's. The pace is ours.
#pragma once

#include <cstdint>

namespace syncopate {

struct spin_tuning {
  // The budget is how long a newcomer polls before it sleeps. The pace is how long it pauses before
  // its second poll (2^pace PAUSEs): each poll takes the line from the holder, so on a busy lock
  // rare polls let the holder do many sections at full speed.
  std::uint32_t budget, pace;

  static constexpr unsigned pace_shift = 9, bits_used = 12;
  static constexpr std::uint32_t max_pace = 7, budget_mask = 0x1ff;
  static constexpr std::uint32_t budget_unit = 128;  // ticks
  static constexpr std::uint32_t min_budget = 4;     // 512 ticks: a cheap probe
  static constexpr std::uint32_t first_budget = 64;  // 8,192 ticks, until something was learned
  static constexpr std::uint32_t max_budget = 320;   // 40,960 ticks: two sleeps and wake-ups

  static constexpr spin_tuning from_bits(std::uint16_t bits) noexcept {
    return {bits & budget_mask, bits >> pace_shift & max_pace};
  }
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept {
    return static_cast<std::uint16_t>(pace << pace_shift | budget);
  }

  // The same for a lock of which nothing was learned yet.
  [[nodiscard]] constexpr spin_tuning or_first() const noexcept {
    return {budget == 0 ? first_budget : budget, pace};
  }

  // How long to poll, in ticks; `explore`: as long as it can ever pay.
  [[nodiscard]] constexpr std::uint64_t ticks(bool explore) const noexcept {
    return (explore ? max_budget : budget) * std::uint64_t{budget_unit};
  }

  // Twice the wait that paid, approached quickly from below and slowly from above. Where the holder
  // changes in quick succession (`hectic`) the pace slows down, elsewhere it speeds up.
  [[nodiscard]] constexpr spin_tuning after_success(std::uint64_t waited,
                                                    bool hectic) const noexcept {
    const std::uint64_t units = 2 * waited / budget_unit + min_budget;
    const auto target = static_cast<std::uint32_t>(units < max_budget ? units : max_budget);
    const std::uint32_t next =
        target > budget ? budget + (target - budget + 3) / 4 : budget - (budget - target) / 16;
    const std::uint32_t slower = pace < max_pace ? pace + 1 : pace;
    const std::uint32_t faster = pace > 0 ? pace - 1 : pace;
    return {next, hectic ? slower : faster};
  }

  [[nodiscard]] constexpr spin_tuning after_failure() const noexcept {
    const std::uint32_t next = budget - budget / 8;
    return {next > min_budget ? next : min_budget, pace};
  }

  friend constexpr bool operator==(const spin_tuning&, const spin_tuning&) = default;
};

}  // namespace syncopate
