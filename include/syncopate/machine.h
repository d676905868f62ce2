// machine.h -- what an algorithm may ask of the machine it runs on. The whole contract.
//
// Algorithms are plain C++20 over std::atomic. What the language has no word for -- politeness
// while spinning, waiting for a word to change, sleeping in the kernel, time, the identity of the
// thread and of its memory node -- they ask for here and nowhere else. Another machine is another
// implementation of these names, chosen by include path; no algorithm changes.
//
//   relax()                                    one poll's pause
//   spin(n)                                    lasts n steps of about 40 ticks (back-off)
//   polls(n)                                   how many relax() last n steps here
//   prefetch(address), prefetch_to_write(...)  ask for a cache line; harmless for any address
//   demote(address)                            let a cache line go where others find it sooner
//   yield()                                    let another runnable thread have this processor
//   wait_until(word, order, predicate)         spin until predicate(value); returns that value
//   wait_until(word, order, predicate, until)  the same, false when the clock passes `until`
//   park(word, expected[, deadline])           sleep while the word holds `expected`
//   wake(address, count)                       wake up to `count` threads parked on the address
//   remaining(until)                           nanoseconds until a deadline
//   ticks(), ticks_per_second()                the cheap clock (time stamp counter)
//   now()                                      CLOCK_MONOTONIC in nanoseconds
//   processor(), may_spin()                    where this thread runs; whether spinning can help
//   processor_hint()                           the same, cheaper; no_processor where nobody knows
//   self(), known_self()                       the kernel's id of this thread; 0 before any asked
//   now_and_then(n)                            true about every n-th time
//   monitor_wait(word, order, predicate, depth[, until])  as wait_until, but the processor may
//                                              sleep until the word's cache line is written
//   monitor_usable(), doze(ticks)              whether it can sleep so; let it pass some time
//   processors()                               how many this process may use
//   wake_latency(), measure_wake_latency()     what a sleep in the kernel costs a waiter, in ticks
//   light_fence(), heavy_fence()               a pair of fences of which the frequent one is free;
//   prepare_asymmetric_fences()                to be called before
//   htm::begin(mode) -> status, htm::commit(), htm::abort(code), htm::active(), htm::usable()
//   htm::commits()                             whether transactions ever commit here: was tried
//   htm::fell_back()                           a section runs without a transaction after aborts
//   fork_generation(), forked_from()           tell a forked child from its parent
//   is_modeled                                 whether the machine is a program (a constant)
//   thread_index(), node()                     dense reused thread number; NUMA node (libsyncopate)
//   node_count()                               how many there are
//
// machine/contract.h asks each machine for them, as the concept Machine; what few algorithms need
// has a header of its own (monitor.h, asymmetric_fence.h, wake_latency.h).
//
// One way in: machine/current.h includes the machine that the include path chooses: native.h, or
// instrumented.h (src/model/front/include) for code that will run on the emulated, simulated or
// explored machine. The capability probe (RTM, WAITPKG, MONITORX, each with its reason) is
// machine/probe.h.
#pragma once

#include <syncopate/machine/contract.h>
#include <syncopate/machine/current.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <type_traits>

// What follows from the contract, the same on every machine.
namespace syncopate::machine {

// The time `nanoseconds` from now; the clock's beginning where it would be one before that.
[[nodiscard]] inline deadline after(std::int64_t nanoseconds) noexcept {
  const std::uint64_t time = now(), there = time + static_cast<std::uint64_t>(nanoseconds);
  const std::uint64_t t = nanoseconds < 0 && there > time ? 0 : there;
  return {{static_cast<time_t>(t / 1'000'000'000u), static_cast<long>(t % 1'000'000'000u)},
          CLOCK_MONOTONIC};
}

// park() on a word of the program's.
template <class T>
requires(sizeof(T) == 4) park_result
    park(const std::atomic<T>& word, std::type_identity_t<T> expected,
         const deadline* until = nullptr)
noexcept {
  return park(static_cast<const void*>(&word), static_cast<std::uint32_t>(expected), until);
}

}  // namespace syncopate::machine
