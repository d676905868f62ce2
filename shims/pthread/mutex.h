// mutex.h -- what the other objects of this library (condition variables, C11) need of mutexes.
#pragma once

#include <syncopate/machine.h>

#include <pthread.h>

#include "record/recorder.h"

namespace syncopate::shim {

// As pthread_mutex_lock / timedlock (until != nullptr) / trylock / unlock, with the same results.
int lock_mutex(pthread_mutex_t* m, const machine::deadline* until, record::wait_kind why) noexcept;
int try_lock_mutex(pthread_mutex_t* m) noexcept;
int unlock_mutex(pthread_mutex_t* m) noexcept;

// A caller's absolute time as the machine wants it. Negative seconds lie in the past.
inline machine::deadline to_deadline(clockid_t clock, const timespec& at) noexcept {
  return {at.tv_sec < 0 ? timespec{0, 0} : at, clock};
}
inline bool valid(const timespec& at) noexcept {
  return at.tv_nsec >= 0 && at.tv_nsec < 1'000'000'000;
}
inline bool supported(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

}  // namespace syncopate::shim
