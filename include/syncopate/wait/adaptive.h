// adaptive.h -- L1 waiting strategy: spins, sleeps on a monitor, yields or parks, by what waits on
// this lock or barrier have been like, what sleeping costs here, and whether there are processors to
// spare. plan.h decides.
//
// See spin.h for the contract. This strategy is an object with a state of 24 bytes, all zero at
// first, that belongs to one lock or barrier and is shared by its waiters.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/park.h>
#include <syncopate/wait/plan.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace syncopate::waits {

// Offers the processor until done(word) or the limit of `duration` ticks. Returns whether it was
// the former. Learns when yielding does not pay.
template <class T, class Predicate>
bool yield_until(const std::atomic<T>& word, Predicate done, std::uint64_t duration,
                 history& past) noexcept {
  // A yield that took longer than so many sleeps' price met a foreign time slice: peers on their
  // way do not take that long.
  constexpr std::uint64_t foreign_factor = 16;
  const std::uint64_t start = machine::ticks();
  for (std::uint64_t before = start;;) {
    machine::yield();
    const bool satisfied = done(word.load(std::memory_order_relaxed));
    const std::uint64_t now = machine::ticks();
    if (now - before > foreign_factor * machine::wake_latency()) past.avoid_yields();
    if (satisfied) return past.yield_paid(), true;
    if (now - start > duration) return false;
    before = now;
  }
}

// Carries out the plan's first part. Returns whether done(word) held within its limit.
// Relaxed: the caller loads again with its own order, and reads what the poll found, or something
// newer; `done`, once it holds, holds until the waiter acts.
template <class T, class Predicate>
bool poll_by(const plan& how, const std::atomic<T>& word, Predicate done, history& past) noexcept {
  const std::uint64_t until = machine::ticks() + how.limit;
  switch (how.first) {
    case way::spin: return machine::wait_until(word, std::memory_order_relaxed, done, until);
    case way::monitor:
      return machine::monitor_wait(word, std::memory_order_relaxed, done,
                                   machine::sleep_depth::light, until);
    case way::yield: return yield_until(word, done, how.limit, past);
    case way::park: break;
  }
  return false;
}

class adaptive {
 public:
  static constexpr const char* name = "adaptive";
  static constexpr bool parks = true;

  // For barriers: the waiters are `count` threads that wait for each other, and for nobody else.
  void set_team(std::uint32_t count) noexcept { team_.store(count, std::memory_order_relaxed); }

  template <class Predicate>
  std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order, Predicate done,
                      std::uint32_t parked_bit, std::uint32_t bitset = ~0u) noexcept {
    const std::uint32_t value = word.load(order);
    if (done(value)) return value;
    const std::uint32_t team = team_.load(std::memory_order_relaxed);
    const std::uint64_t start = machine::ticks(), wake_latency = machine::wake_latency();
    const std::uint64_t expected = past_.expected();
    const plan how = choose({.expected = expected,
                             .wake_latency = wake_latency,
                             .alone = !machine::may_spin(),
                             .crowded = team > machine::processors() || last_.is_in_our_way(),
                             .may_yield = team != 0 && past_.may_yield(),
                             .monitor = machine::monitor_usable(),
                             .probe = expected > wake_latency && past_.probe()});
    const bool polled = poll_by(how, word, done, past_);
    const std::uint32_t result =
        polled ? word.load(order) : park::until(word, order, done, parked_bit, bitset);
    const std::uint64_t took = machine::ticks() - start;
    past_.note(polled ? took : took - std::min(took, wake_latency), wake_latency);
    if (took > wake_latency / 8) last_.is_me();
    return result;
  }

  static void delay(std::uint32_t steps) noexcept { machine::spin(steps); }

 private:
  history past_;
  last_waiter last_;
  std::atomic<std::uint32_t> team_{0};  // 0: a lock's waiters
};

}  // namespace syncopate::waits
