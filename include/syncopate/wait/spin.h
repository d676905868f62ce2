// spin.h -- waiting strategy: keep the processor and poll.
//
// Every strategy answers the same questions, and a lock asks nothing else. A lock has a strategy as
// a member; most are empty classes, one remembers (adaptive.h).
//   parks                          may a waiter sleep, so that the releaser has to wake it?
//   until(word, order, done, bit)  wait until done(value); a strategy that sleeps first sets `bit`
//                                  in the word, and `done` must ignore that bit
//   delay(steps, before)           pass time between two polls (back-off); `before`: how many steps
//                                  this wait has passed so already
// Those that park, for locks that poll by themselves (tatas):
//   polling_ticks()                how long to poll before sleeping; 0: not at all
//   waited(ticks, slept)           how long it took, and whether it slept
// Best when every waiter has a processor of its own; collapses when threads outnumber processors
// and the lock is FIFO, because the next in line may not be running.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::waits {

struct spin {
  static constexpr const char* name = "spin";
  static constexpr bool parks = false;

  // Returns the first value for which done(value) holds, read with `order`.
  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t /*parked_bit*/,
                             std::uint32_t /*bitset*/ = ~0u) noexcept {
    return machine::wait_until(word, order, done);
  }

  static void delay(std::uint32_t steps, std::uint32_t /*before*/ = 0) noexcept {
    machine::spin(steps);
  }
};

}  // namespace syncopate::waits
