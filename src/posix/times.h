// times.h -- the absolute times that pthread's callers give: which are valid, and what they mean.
//
// When a time is looked at differs from object to object, as in the C library: mutexes look only if
// the call would block, all others before anything else.
#pragma once

#include <syncopate/machine/types.h>

#include <ctime>

namespace syncopate::posix {

using limit = const machine::deadline*;  // null: none

inline bool is_valid(const timespec& at) noexcept {
  return at.tv_nsec >= 0 && at.tv_nsec < 1'000'000'000;
}

// Whether a call that is given a clock takes this one; else it says EINVAL at once.
inline bool is_supported(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

// As the machine wants it. Negative seconds lie in the past, whatever the nanoseconds say: who has
// to refuse invalid ones looks at `at` itself.
inline machine::deadline to_deadline(clockid_t clock, const timespec& at) noexcept {
  return {at.tv_sec < 0 ? timespec{0, 0} : at, clock};
}

// A limit of all objects but mutexes: one that is not valid is EINVAL at once. Lives through the
// call.
class early_limit {
 public:
  early_limit(clockid_t clock, const timespec& at) noexcept
      : valid_(is_supported(clock) && is_valid(at)), at_(to_deadline(clock, at)) {}
  early_limit(const early_limit&) = delete;
  early_limit& operator=(const early_limit&) = delete;

  explicit operator bool() const noexcept { return valid_; }
  [[nodiscard]] limit get() const noexcept { return &at_; }

 private:
  bool valid_;
  machine::deadline at_;
};

}  // namespace syncopate::posix
