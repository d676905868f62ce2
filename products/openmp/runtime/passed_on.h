// passed_on.h -- which runtime has a lock that is not ours, where the process has several.
//
// Who was asked for a lock first, is asked again: with `omp_unset_lock` as a function's last call
// its return address may lie in a module of another runtime (caller.h, R1). Noted in a table of
// fixed size by the lock's address; a lock that another has pushed out of it goes by its caller.
#pragma once

#include <cstdint>

#include "openmp/runtime/runtime.h"

namespace syncopate::openmp {

// Notes that the lock is what the call says, and returns its runtime's functions.
const entry_points& asked_now(const void* lock, const binding& by_caller) noexcept;
// Those of the runtime that was noted; if there is none, by the caller, which is noted.
const entry_points& asked_before(const void* lock, const binding& by_caller) noexcept;

// The runtime that was noted for it; null if none was.
const runtime* noted_for(const void* lock) noexcept;
void forget(const void* lock) noexcept;
// Those of all locks that lie there.
void forget_within(std::uintptr_t begin, std::uintptr_t size) noexcept;

}  // namespace syncopate::openmp
