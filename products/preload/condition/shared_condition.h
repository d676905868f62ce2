// shared_condition.h -- glibc's process-shared condition variables: their waits are recorded, and
// mutexes of ours go with them.
//
// glibc's wait releases and takes the mutex that it is given, which ours are not for: not
// all have glibc's word, and glibc wakes none that sleeps elsewhere. So it gets another one, the
// *gate* of the condition variable's address:
//
//   wait     closes the gate, releases the mutex, lets glibc wait with the gate (which opens it
//            once the waiter is enlisted, and closes it again), opens it, takes the mutex
//   signal   passes the gate: closes it, signals, opens it
//
// No wake-up is lost: who changes the condition under the mutex after the waiter released it comes
// through the gate only when that waiter is enlisted. No deadlock: with a gate closed nobody waits
// for anything but, inside glibc's wait, the signal.
#pragma once

#include <pthread.h>

#include "preload/mutex/mutex.h"

namespace syncopate::shim {

// A wait of the program: as pthread_cond_wait (at == nullptr), timedwait (clock == nullptr),
// clockwait, whose clock may be any number.
struct real_wait {
  pthread_cond_t* condition;
  pthread_mutex_t* mutex;
  const clockid_t* clock;
  const timespec* at;
  const void* caller;  // where the program's call returns to
};
// glibc's own, with a mutex that is glibc's. A record has what that takes to get the mutex again as
// a part of it.
int wait_for_real(const real_wait&);
// Requires: the mutex is ours; no section is elided, whose abort would open a gate that it closed.
int wait_at_gate(const real_wait&);
// As pthread_cond_signal and broadcast, of condition variables that wait_at_gate() may use.
int signal_at_gate(pthread_cond_t* c) noexcept;
int broadcast_at_gate(pthread_cond_t* c) noexcept;
// The gates as new: those that other threads of the parent had closed would stay so.
void open_gates_after_fork() noexcept;

}  // namespace syncopate::shim
