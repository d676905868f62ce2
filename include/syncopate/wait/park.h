// park.h -- waiting strategy: sleep in the kernel at once.
//
// The waiter announces itself with `parked_bit` before it sleeps; a releaser that finds the bit
// wakes by address. Least power, longest hand-off. See spin.h for the contract.
//
// Memory order
//   [X]  relaxed: only announces the waiter; the load in front has the caller's order.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::waits {

struct park {
  static constexpr const char* name = "park";
  static constexpr bool parks = true;

  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t parked_bit,
                             std::uint32_t bitset = ~0u) noexcept {
    for (;;) {
      std::uint32_t value = word.load(order);
      if (done(value)) return value;
      // Announce, then look again: a release between the load and here changed the value, so the
      // exchange fails and the wake that did not see the bit is not needed.
      if ((value & parked_bit) == 0 &&
          !word.compare_exchange_strong(value, value | parked_bit,
                                        std::memory_order_relaxed,   // [X]
                                        std::memory_order_relaxed))  // [X]
        continue;
      machine::park(&word, value | parked_bit, nullptr, bitset);
    }
  }

  static std::uint64_t polling_ticks() noexcept { return 0; }
  static void waited(std::uint64_t /*ticks*/, bool /*slept*/) noexcept {}

  static void delay(std::uint32_t steps, std::uint32_t /*before*/ = 0) noexcept {
    machine::spin(steps);
  }
};

}  // namespace syncopate::waits
