// futex_patch.h -- L4: takes over where libgomp's threads wait inside it: at the start and end of
// regions, and wherever else it calls the kernel to sleep or wake. Opt-in.
#pragma once

namespace syncopate::openmp {

// Lets each futex call of the module at `base` come to on_futex(). To be called once, before the
// process has a second thread. Returns null when all is done, or why nothing was changed.
const char* patch_futexes(const void* base) noexcept;

}  // namespace syncopate::openmp
