// preemption.h -- holders that lose their processor, under SYNCOPATE_GUARD=slices (guard.h).
//
// Where the kernel extends time slices (slice_extension.h), sections ask for it. Elsewhere waiters
// that would spin for as long as it takes look at the holder instead, and sleep for a while when it
// does not run (holder_watch.h); then nobody keeps his place in a queue.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: an answer of the kernel, which is the same for all.
//   [S]  relaxed sums, read when the program ends.
#pragma once

#include <syncopate/machine.h>

#include "preload/guard/guard.h"

namespace syncopate::shim {

// The calling thread holds a lock, or does not hold it any more; they nest.
void section_begins() noexcept;
void section_ends() noexcept;

// Whether waiters of this lock are to look at its holder.
bool minds_holder(const lock_in_use& lock) noexcept;
// Takes the lock, or returns false at the deadline (null: none). Requires: minds_holder().
bool acquire_minding_holder(mutex_object& o, const lock_in_use& lock,
                            const machine::deadline* until) noexcept;

// One line: what was done about it.
void report_preemption() noexcept;

}  // namespace syncopate::shim
