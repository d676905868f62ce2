// yield.h -- what libomp's offers of its processor (yield.cpp) have to be told.
#pragma once

#include <syncopate/wait/foreign_load.h>

namespace syncopate::openmp {

// The last of the caller's offers inside libomp, if it took long.
extern thread_local constinit waits::peer_yield slow_yield [[gnu::tls_model("initial-exec")]];

void slow_yield_was_last() noexcept;

// The caller begins a region: what it has waited for inside libomp is there.
inline void runtime_wait_ended() noexcept {
  if (__builtin_expect(slow_yield.has_offered(), 0)) slow_yield_was_last();
}

}  // namespace syncopate::openmp
