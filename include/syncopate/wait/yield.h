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
  static constexpr bool yields = true;
  // Steps of polling before the first yield: a little more than a sched_yield() that finds nobody
  // else to run costs (about 550 ticks). No benchmark has tuned it yet.
  static constexpr std::uint32_t polite_steps = 32;

  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t /*parked_bit*/,
                             std::uint32_t /*bitset*/ = ~0u) noexcept {
    std::uint32_t value = word.load(order);
    if (done(value)) return value;
    // Not before: it reads the clock, which a sandbox may forbid who has nothing to wait for.
    for (std::uint32_t left = machine::polls(polite_steps);;) {
      if (left != 0) --left, machine::relax();
      else machine::yield();
      value = word.load(order);
      if (done(value)) return value;
    }
  }

  static void delay(std::uint32_t steps, std::uint32_t before = 0) noexcept {
    if (before + steps <= polite_steps) machine::spin(steps);
    else machine::yield();
  }
};

}  // namespace syncopate::waits
