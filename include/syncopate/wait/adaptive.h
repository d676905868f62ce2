// adaptive.h -- waiting strategy: spins, sleeps on a monitor, yields or parks, by what waits on
// this lock or barrier have been like, what sleeping costs here, and whether there are processors
// to spare. plan.h decides.
//
// See spin.h for the contract. This strategy is an object that belongs to one lock or barrier and
// is shared by its waiters, all zero at first. Two forms: `adaptive` for locks, 8 bytes;
// `team_adaptive` for barriers, whose waiters wait for each other and so may yield to each other.
//
// Memory order (each tag stands at its site below)
//   [X]  relaxed polls: the caller loads again with its own order, and reads what the poll found,
//        or something newer; `done`, once it holds, holds until the waiter acts.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/foreign_load.h>
#include <syncopate/wait/park.h>
#include <syncopate/wait/plan.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace syncopate::waits {

// Offers the processor until done(word) or the limit of `duration` ticks. Returns whether it was
// the former; the latter at once where offers do not pay.
template <class T, class Predicate>
bool yield_until(const std::atomic<T>& word, Predicate done, std::uint64_t duration) noexcept {
  // After an offer all peers on this processor have had their turn. Whom we still wait for is on
  // another one: polling for as long as an offer takes sees its end sooner.
  constexpr std::uint64_t between_offers = 1000;  // ticks
  const std::uint64_t start = machine::ticks();
  for (peer_yield ours;;) {
    const bool offered = ours.offer();
    if (done(word.load(std::memory_order_relaxed))) return ours.was_last(), true;  // [X]
    const std::uint64_t now = machine::ticks();
    if (!offered || now - start > duration) return others.took(now - start), false;
    if (machine::may_spin() &&
        machine::wait_until(word, std::memory_order_relaxed, done, now + between_offers))  // [X]
      return true;
  }
}

// Polls as the plan says (spin or monitor) until done(word) or ticks() passes `until`. Returns
// whether it was the former.
template <class T, class Predicate>
bool poll_by(const plan& how, const std::atomic<T>& word, Predicate done,
             std::uint64_t until) noexcept {
  if (how.first == way::monitor)
    return machine::monitor_wait(word, std::memory_order_relaxed, done,  // [X]
                                 machine::sleep_depth::light, until);
  return machine::wait_until(word, std::memory_order_relaxed, done, until);  // [X]
}

// For locks.
class adaptive {
 public:
  static constexpr const char* name = "adaptive";
  static constexpr bool parks = true;

  template <class Predicate>
  std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order, Predicate done,
                      std::uint32_t parked_bit, std::uint32_t bitset = ~0u) noexcept {
    const std::uint32_t value = word.load(order);
    if (done(value)) return value;
    const std::uint64_t start = machine::ticks();
    const plan how = choose_now();
    const bool polled = how.first != way::park && poll_by(how, word, done, start + how.limit);
    const std::uint32_t result =
        polled ? word.load(order) : park::until(word, order, done, parked_bit, bitset);
    waited(machine::ticks() - start, !polled);
    return result;
  }

  // Polling on a word of the lock's own making: no monitor, no yields.
  std::uint64_t polling_ticks() noexcept {
    const plan how = choose_now();
    return how.first == way::park ? 0 : std::min(how.limit, machine::wake_latency());
  }

  void waited(std::uint64_t took, bool slept) noexcept {
    const std::uint64_t wake_latency = machine::wake_latency();
    past_.note(slept ? took - std::min(took, wake_latency) : took, wake_latency);
    if (took > wake_latency / 8) last_.is_me();
  }

  static void delay(std::uint32_t steps, std::uint32_t /*before*/ = 0) noexcept {
    machine::spin(steps);
  }

 protected:
  [[nodiscard]] plan choose_now(bool crowded = false, bool may_yield = false) noexcept {
    const std::uint64_t wake_latency = machine::wake_latency(), expected = past_.expected();
    return choose({.expected = expected,
                   .wake_latency = wake_latency,
                   .alone = !machine::may_spin(),
                   .crowded = crowded || last_.is_in_our_way(),
                   .may_yield = may_yield,
                   .monitor = machine::monitor_usable(),
                   .probe = expected > wake_latency && history::probe()});
  }

 private:
  history past_;
  last_waiter last_;
};

// For barriers.
class team_adaptive : public adaptive {
 public:
  // To be called before any wait: the waiters are `count` threads, which wait for nobody else.
  void set_team(std::uint32_t count) noexcept { team_ = count; }

  template <class Predicate>
  std::uint32_t until(std::atomic<std::uint32_t>& word, std::memory_order order, Predicate done,
                      std::uint32_t parked_bit, std::uint32_t bitset = ~0u) noexcept {
    const std::uint32_t value = word.load(order);
    if (done(value)) return value;
    const bool crowded = team_ > machine::processors();
    if (crowded) be_seen();
    const std::uint64_t start = machine::ticks();
    const plan how = choose_now(crowded, true);
    const bool polled = how.first == way::yield
                            ? yield_until(word, done, how.limit)
                            : how.first != way::park && poll_by(how, word, done, start + how.limit);
    const std::uint32_t result =
        polled ? word.load(order) : park::until(word, order, done, parked_bit, bitset);
    waited(machine::ticks() - start, !polled);
    if (crowded) be_seen();
    return result;
  }

 private:
  std::uint32_t team_ = 0;
};

}  // namespace syncopate::waits
