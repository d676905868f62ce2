// times.h -- the absolute times that pthread's callers give: which are valid, and what they mean.
//
// When a time is looked at differs from object to object, as in the C library: mutexes look only if
// the call would block, all others before anything else.
#pragma once

#include <syncopate/machine/types.h>

#include <cerrno>
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

// For all objects but mutexes: call(limit) with a limit that is valid, else EINVAL at once.
template <class Call>
[[gnu::always_inline]] inline int with_limit(clockid_t clock, const timespec& at, Call call) {
  if (!is_supported(clock) || !is_valid(at)) return EINVAL;
  const machine::deadline until = to_deadline(clock, at);
  return call(&until);
}

}  // namespace syncopate::posix
