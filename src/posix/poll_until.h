// poll_until.h -- timed waiting for locks whose waiters cannot leave the queue: ask now and then.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

namespace syncopate::posix {

// Calls try_lock() until it returns true (true) or the limit has passed (false); sleeps in between.
template <class TryLock>
bool poll_until(const machine::deadline& until, TryLock try_lock) {
  constexpr std::int64_t first_nap = 20'000, longest_nap = 1'000'000;  // ns
  static const std::uint32_t nobody_wakes = 0;
  for (std::int64_t nap = first_nap;; nap = nap < longest_nap ? 2 * nap : longest_nap) {
    if (try_lock()) return true;
    const std::int64_t left = machine::remaining(until);
    if (left <= 0) return false;
    const machine::deadline next = machine::after(nap < left ? nap : left);
    machine::park(&nobody_wakes, 0, &next);
  }
}

}  // namespace syncopate::posix
