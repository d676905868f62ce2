// null_lock.h -- no lock at all: what a benchmark's harness costs by itself.
//
// Source        none.
// Fairness      none; excludes nobody.
// Space         1 B.
// Uncontended   nothing.
// Contended     nothing.
//
// Invariants    none.
// Memory order  none: no shared access.
// Checked by    tests/conformance (that it is marked as not excluding); not
//               tests/check/lock_check.cpp, which asks for exclusion.
#pragma once

#include <syncopate/locks/traits.h>

namespace syncopate {

class null_lock {
 public:
  static constexpr lock_traits traits{.fair = fairness::none,
                                      .excludes = false,
                                      .summary = "no lock: measures what the harness costs",
                                      .source = "-"};

  null_lock() noexcept = default;
  null_lock(const null_lock&) = delete;
  null_lock& operator=(const null_lock&) = delete;

  void lock() noexcept { asm volatile("" ::: "memory"); }
  [[nodiscard]] bool try_lock() noexcept {
    asm volatile("" ::: "memory");
    return true;
  }
  void unlock() noexcept { asm volatile("" ::: "memory"); }
  [[nodiscard]] bool is_locked() const noexcept { return false; }
  [[nodiscard]] bool contended() const noexcept { return false; }
};

}  // namespace syncopate
