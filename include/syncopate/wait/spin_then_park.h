// spin_then_park.h -- waiting strategy: spin for about the price of a sleep, then sleep; with
// processors to spare, spin for ten times that.
//
// Source: Karlin, Li, Manasse & Owicki, "Empirical Studies of Competitive Spinning for a
// Shared-Memory Multiprocessor", SOSP 1991: spinning for the cost of a context switch is at most
// twice as expensive as the best choice made with foresight. See spin.h for the contract. Longer
// spinning is ours: once the waiters of a FIFO lock have begun to sleep, the lock is handed over at
// the speed of wake-ups, every turn comes late, and so all go on sleeping. Only who polls through a
// queue of wake-ups ends that. *Measured* on 16 processors, short sections of 4 to 16 threads under
// mcs, clh and ticket: 0.05 of the throughput of glibc's mutex without it, with it 0.9 to 1.1 (mcs,
// clh) and 0.4 to 0.6 (ticket).
//
// Memory order (each tag stands at its site below)
//   [X]  relaxed: the load behind the polls has the caller's order. It reads what the poll found,
//        or something newer, and `done`, once it holds, holds until the waiter acts.
//   [C]  relaxed RMWs: a count, which orders nothing.
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
    if (machine::may_spin() && (poll(word, done, spin_ticks) || keep_polling(word, done)))
      return word.load(order);
    return park::until(word, order, done, parked_bit, bitset);
  }

  static std::uint64_t polling_ticks() noexcept { return machine::may_spin() ? spin_ticks : 0; }
  static void waited(std::uint64_t /*ticks*/, bool /*slept*/) noexcept {}

  static void delay(std::uint32_t steps, std::uint32_t /*before*/ = 0) noexcept {
    machine::spin(steps);
  }

 private:
  // With fewer processors somebody always needs the one that a long poll would keep.
  static constexpr unsigned enough_processors = 4;
  static constexpr std::uint64_t long_spin_ticks = 10 * spin_ticks;

  // Threads of this process that poll for long, on whatever lock. A hint, but exact.
  alignas(64) static inline constinit std::atomic<std::uint32_t> long_pollers{0};

  template <class Predicate>
  static bool poll(std::atomic<std::uint32_t>& word, Predicate done, std::uint64_t limit) noexcept {
    const std::uint64_t until = machine::ticks() + limit;
    return machine::wait_until(word, std::memory_order_relaxed, done, until);  // [X]
  }

  // Only while every such poller can have a processor, and the one they wait for another.
  template <class Predicate>
  static bool keep_polling(std::atomic<std::uint32_t>& word, Predicate done) noexcept {
    const unsigned processors = machine::processors();
    if (processors < enough_processors) return false;
    const bool fits = long_pollers.fetch_add(1, std::memory_order_relaxed) + 1 < processors;  // [C]
    const bool satisfied = fits && poll(word, done, long_spin_ticks);
    long_pollers.fetch_sub(1, std::memory_order_relaxed);  // [C]
    return satisfied;
  }
};

}  // namespace syncopate::waits
