// poll_rate.h -- native: what a PAUSE takes on this processor, found out by trying, so that a
// budget of polls can be a time. Intel's Optimization Reference Manual reports about 10 cycles
// before Skylake and up to 140 from there on; measured were 40 ticks on an Intel server and 63 on a
// Zen 4.
//
// Memory order
//   [L]  relaxed: a rate is right by itself; who does not see it measures again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace syncopate::machine::detail {

// What machine.h's step is: a PAUSE of the processors on which the constants were measured.
inline constexpr std::uint32_t ticks_per_step = 40;
// Rates are in units of 1/256.
inline constexpr std::uint32_t rate_unit = 256;

// How many polls make a step where `polls` of them took so many ticks, in units of 1/256.
constexpr std::uint32_t rate_of(std::uint32_t polls, std::uint64_t ticks) noexcept {
  const std::uint64_t rate =
      std::uint64_t{ticks_per_step} * rate_unit * polls / std::max<std::uint64_t>(ticks, 1);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rate, 1, 64 * rate_unit));
}

// The polls of so many steps at a rate: at least one for any step, none for none.
constexpr std::uint32_t scaled(std::uint32_t rate, std::uint32_t steps) noexcept {
  const std::uint64_t polls = std::uint64_t{rate} * steps / rate_unit;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(polls, steps != 0, UINT32_MAX));
}

#if defined(__x86_64__)
inline constinit std::atomic<std::uint32_t> polls_per_step{0};  // 0: not measured yet

// The best of some runs: what interrupts one lengthens it.
[[gnu::noinline, gnu::cold]] inline std::uint32_t learn_polls() noexcept {
  constexpr std::uint32_t polls = 32;
  std::uint64_t best = UINT64_MAX;
  for (int run = 0; run < 4; ++run) {
    const std::uint64_t start = __builtin_ia32_rdtsc();
    for (std::uint32_t i = 0; i < polls; ++i) __builtin_ia32_pause();
    best = std::min<std::uint64_t>(best, __builtin_ia32_rdtsc() - start);
  }
  const std::uint32_t rate = rate_of(polls, best);
  polls_per_step.store(rate, std::memory_order_relaxed);  // [L]
  return rate;
}
#endif

}  // namespace syncopate::machine::detail
