// nest_lock.h -- locks that their owner may take again, in the pool of locks.h.
//
// Who owns one is what the runtime says: since OpenMP 3.0 the task, of which libgomp tells nobody
// but its own nest locks; in libomp the thread.
#pragma once

#include "openmp/runtime/runtime.h"

namespace syncopate::openmp {

// Whether the runtime's nest locks reveal their owner as we know it; tried out, in a lock of ours.
bool can_tell_owners(const runtime& to) noexcept;

void nest_lock(const runtime& to, void* word) noexcept;
// Returns how often the caller now holds the lock; 0 when another holds it.
int nest_try_lock(const runtime& to, void* word) noexcept;
void nest_unlock(void* word) noexcept;

}  // namespace syncopate::openmp
