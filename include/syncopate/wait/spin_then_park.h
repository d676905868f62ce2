// spin_then_park.h -- L1 waiting strategy: spin for about the price of a sleep, then sleep.
//
// Source: Karlin, Li, Manasse & Owicki, "Empirical Studies of Competitive Spinning for a
// Shared-Memory Multiprocessor", SOSP 1991: spinning for the cost of a context switch is at most
// twice as expensive as the best choice made with foresight. See spin.h for the contract.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/park.h>

#include <cstdint>

namespace syncopate::waits {

struct spin_then_park {
  static constexpr const char* name = "spin_then_park";
  static constexpr bool parks = true;
  // Ticks of spinning before sleeping: a futex sleep and wake-up between two processors takes
  // some 10 microseconds, 20,000 ticks at 2 GHz. An estimate; no benchmark has tuned it yet.
  static constexpr std::uint64_t spin_ticks = 20'000;

  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t parked_bit,
                             std::uint32_t bitset = ~0u) noexcept {
    // Relaxed: the load behind it has the order. It reads what the poll found, or something newer,
    // and `done`, once it holds, holds until the waiter acts.
    if (machine::may_spin() &&
        machine::wait_until(word, std::memory_order_relaxed, done, machine::ticks() + spin_ticks))
      return word.load(order);
    return park::until(word, order, done, parked_bit, bitset);
  }

  static std::uint64_t polling_ticks() noexcept { return machine::may_spin() ? spin_ticks : 0; }
  static void waited(std::uint64_t /*ticks*/, bool /*slept*/) noexcept {}

  static void delay(std::uint32_t steps) noexcept { machine::spin(steps); }
};

}  // namespace syncopate::waits
