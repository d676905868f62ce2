// chosen.h -- the lock algorithm that stands behind the mutexes of a program: SYNCOPATE_LOCK.
//
// Read and dispatched outside of the instrumented code: the machine does not see the choice being
// made, only the lock's own accesses.
#pragma once

#include <syncopate/machine/types.h>

namespace syncopate::instrument::chosen {

// `futex` when nothing was chosen: the algorithm of glibc's mutexes, so that a program behaves as
// it does without us. A name that does not exist ends the process with a message, before main.
bool glibc_word() noexcept;   // the lock's word lies where glibc has it
bool keeps_owner() noexcept;  // the algorithm itself notes owner and user count
// Nobody may note them for a normal mutex: threads in transactions would conflict there.
bool shuns_owner() noexcept;
bool is_timed() noexcept;  // has lock_until; else timed locking polls

void lock(void* state) noexcept;
bool try_lock(void* state) noexcept;
bool lock_until(void* state, const machine::deadline&) noexcept;
void unlock(void* state) noexcept;
bool is_locked(void* state) noexcept;

}  // namespace syncopate::instrument::chosen
