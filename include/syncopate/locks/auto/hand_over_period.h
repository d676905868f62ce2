// hand_over_period.h -- what a thread learns about handing a lock over: how long it has to be left
// to those who run before a waiter is worth the price. Pure; auto_lock keeps one for each thread.
//
// A waiter that is handed the lock may have to wait for a processor, and all with it; beside other
// processes that takes whole time slices.
#pragma once

#include <algorithm>
#include <cstdint>

namespace syncopate {

class hand_over_period {
 public:
  // Ticks between two hand-overs to waiters while others keep overtaking: bounds the wait to about
  // (waiters * period) and costs two context switches a period; 49 us at 2 GHz. *Measured* with 8
  // and 32 threads on 2 processors: 2.7 times this makes the longest wait 2.4 and 1.9 times as long
  // and the throughput 3 % larger; two thirds cost 6 % of it and gain little.
  static constexpr std::uint64_t least = 3u << 15;
  // What auto_lock's stamps can tell apart: 17 ms at 2 GHz.
  static constexpr std::uint64_t most = 1u << 25;

  // At least what a hand-over has cost of late: half of the time at worst goes into hand-overs.
  // *Measured* beside two busy processes (docs/internals/preemption.md): twice that makes the
  // longest wait longer and the throughput no larger.
  [[nodiscard]] constexpr std::uint64_t period() const noexcept {
    return std::clamp(cost_, least, most);
  }

  // What one has cost, in ticks: quickly learned, slowly forgotten.
  constexpr void note(std::uint64_t cost) noexcept {
    cost_ = cost > cost_ ? (cost_ + cost) / 2 : cost_ - cost_ / 8;
  }

 private:
  std::uint64_t cost_ = 0;
};

}  // namespace syncopate
