// yield.h -- waiting strategy: poll a little, then offer the processor between two polls.
//
// Never sleeps, so releases stay one store; survives oversubscription better than spin, at the
// price of a system call per poll. See spin.h for the contract.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::waits {

struct yield {
  static constexpr const char* name = "yield";
  static constexpr bool parks = false;
  // Polls before the first yield: a little more than a sched_yield() that finds nobody else to run
  // costs (about 550 ticks where a PAUSE takes 40). No benchmark has tuned it yet.
  static constexpr int polite_polls = 32;

  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t /*parked_bit*/,
                             std::uint32_t /*bitset*/ = ~0u) noexcept {
    for (int poll = 0;; ++poll) {
      const std::uint32_t value = word.load(order);
      if (done(value)) return value;
      if (poll < polite_polls) machine::relax();
      else machine::yield();
    }
  }

  static void delay(std::uint32_t steps) noexcept {
    if (steps <= polite_polls) machine::spin(steps);
    else machine::yield();
  }
};

}  // namespace syncopate::waits
