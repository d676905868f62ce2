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

}  // namespace syncopate::shim
