// gil_backend.h -- what lies below an elided interpreter lock: transactions, and a clock.
#pragma once

#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::elide {

// What lies below the lock. This: what the program's machine offers.
struct gil_machine_backend {
  static constexpr std::uint32_t points = 1024;  // yield points that are told apart
  [[nodiscard]] static bool usable() noexcept { return machine::htm::commits(); }
  [[nodiscard, gnu::always_inline]] static machine::htm::status begin() noexcept {
    return section::begin();
  }
  static void commit() noexcept { section::commit(); }
  [[nodiscard]] static std::uint64_t ticks() noexcept { return machine::ticks(); }
  [[nodiscard]] static bool active() noexcept { return section::active(); }
  template <abort_code Code>
  static void abort() noexcept {
    section::abort<Code>();
  }
};

namespace detail {
// What an empty transaction costs, in ticks: the best of some.
template <class Backend>
[[nodiscard]] std::uint64_t empty_transaction() noexcept {
  std::uint64_t best = UINT64_MAX;
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t start = Backend::ticks();
    if (!Backend::begin().started()) continue;
    Backend::commit();
    const std::uint64_t took = Backend::ticks() - start;
    best = took < best ? took : best;
  }
  constexpr std::uint64_t guess = 100;
  return best == UINT64_MAX || best == 0 ? guess : best;
}
}  // namespace detail

}  // namespace syncopate::elide
