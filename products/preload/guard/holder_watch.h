// holder_watch.h -- should a waiter go on spinning? A pure decision from two looks at the
// holder's processor time.
//
// A thread's processor time is asked of its clock, which the kernel brings up to date also for a
// thread that is running elsewhere; what /proc tells (schedstat) is as old as the last tick.
#pragma once

#include <cstdint>

namespace syncopate::shim {

struct holder_look {
  int holder = 0;         // kernel thread id; 0: nobody, or not known
  std::uint64_t at = 0;   // ns of the waiter's clock
  std::uint64_t ran = 0;  // ns that the holder had a processor
  bool known = false;     // the kernel told `ran`
};

enum class wait_advice : std::uint8_t { spin, sleep };

// Sleep if the same thread held the lock at both looks and had a processor for less than an eighth
// of the time between them: it cannot release the lock, and may need the waiter's processor.
inline wait_advice advise_waiter(const holder_look& before, const holder_look& now) noexcept {
  if (before.holder == 0 || before.holder != now.holder) return wait_advice::spin;
  if (!before.known || !now.known || now.at <= before.at) return wait_advice::spin;
  return now.ran - before.ran < (now.at - before.at) / 8 ? wait_advice::sleep : wait_advice::spin;
}

}  // namespace syncopate::shim
