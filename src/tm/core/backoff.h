// backoff.h -- waiting for another thread that is expected to be quick, and may be preempted.
#pragma once

#include "tm/logs/memory.h"

#include <syncopate/machine.h>

namespace syncopate::tm {

// wait() pauses a little; after many calls, the thread gives its processor away instead, since more
// threads want to run than can.
class backoff {
 public:
  void wait() noexcept {
    if (rounds_++ < machine::polls(spins) && machine::may_spin()) machine::relax();
    else machine::yield();
  }
  // Whether it is time to sleep, where the caller can.
  [[nodiscard]] bool is_over() const noexcept { return rounds_ > machine::polls(spins) + yields; }

 private:
  static constexpr u32 spins = 100;  // steps; about 2 microseconds: a commit takes less
  static constexpr u32 yields = 20;
  u32 rounds_ = 0;
};

}  // namespace syncopate::tm
