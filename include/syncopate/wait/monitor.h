// monitor.h -- waiting strategy: let the processor sleep until the word's cache line is written.
//
// Source: Akkan, Lang & Ionkov, "HPC Runtime Support for Fast and Power Efficient Locking and
// Synchronization", LA-UR-13-26575, section III: MONITOR/MWAIT in place of the polling loop. No
// kernel is involved: a release stays one store, and the waiter goes on within a microsecond. Where
// the machine has no such instruction (machine/monitor.h finds out) this is spin.h. See there for
// the contract.
//
// For waiters that watch a word of their own. On a word that many watch, each write wakes them all.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::waits {

struct monitor {
  static constexpr const char* name = "monitor";
  static constexpr bool parks = false;
  static constexpr bool dozes = true;

  template <class Predicate>
  static std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order,
                             Predicate done, std::uint32_t /*parked_bit*/,
                             std::uint32_t /*bitset*/ = ~0u) noexcept {
    return machine::monitor_wait(word, order, done, machine::sleep_depth::light);
  }

  static void delay(std::uint32_t steps, std::uint32_t /*before*/ = 0) noexcept {
    constexpr std::uint64_t ticks_per_step = 40;  // of relax(), about
    machine::doze(steps * ticks_per_step);
  }
};

}  // namespace syncopate::waits
