// futex_patch.h -- takes over where libgomp's threads wait inside it: at the start and end of
// regions, and wherever else it calls the kernel to sleep or wake. Opt-in.
#pragma once

#include <syncopate/machine.h>

namespace syncopate::openmp {

// Lets each futex call of the module at `base` come to on_futex(). To be called once, before the
// process has a second thread. Returns null when all is done, or why nothing was changed.
const char* patch_futexes(const void* base) noexcept;

// The word on which the caller last woke others: of the barrier that it was the last to reach. Null
// without the patch.
extern thread_local constinit const char* last_woken [[gnu::tls_model("initial-exec")]];

// Takes the cache line that the caller writes when it reaches that barrier again: libgomp counts
// arrivals in the line behind the word. For the master it is the one that begins a region, for
// others the one that ends it; each would wait there for the line (*measured*: 1/10 of a region).
// A hint: any address will do.
inline void prefetch_arrivals() noexcept {
  if (last_woken != nullptr) machine::prefetch_to_write(last_woken + 64);
}

}  // namespace syncopate::openmp
