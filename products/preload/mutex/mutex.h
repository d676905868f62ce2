// mutex.h -- what the other objects of this library (condition variables, C11) need of mutexes.
#pragma once

#include <syncopate/machine.h>

#include <pthread.h>

#include "record/recorder.h"

namespace syncopate::shim {

// As pthread_mutex_lock, timedlock (until != nullptr), trylock and unlock, with the same results.
// `caller`: where the program's call returns to.
int lock_mutex(pthread_mutex_t* m, const void* caller) noexcept;
int lock_mutex(pthread_mutex_t* m, const machine::deadline* until, record::wait_kind why,
               const void* caller) noexcept;
int try_lock_mutex(pthread_mutex_t* m, const void* caller) noexcept;
int unlock_mutex(pthread_mutex_t* m) noexcept;

}  // namespace syncopate::shim
