// mutex.h -- what the other objects of this library (condition variables, C11) need of mutexes.
#pragma once

#include <pthread.h>
#include <time.h>

#include "record/recorder.h"

namespace syncopate::shim {

// A limit as the program gives it, which may be invalid: as pthread_mutex_lock (at == nullptr),
// timedlock (clock == nullptr), clocklock.
struct given_limit {
  const timespec* at = nullptr;
  const clockid_t* clock = nullptr;
};

// As pthread_mutex_lock, timedlock, trylock and unlock, with the same results. `caller`: where the
// program's call returns to.
int lock_mutex(pthread_mutex_t* m, const void* caller) noexcept;
int lock_mutex(pthread_mutex_t* m, const given_limit& given, record::wait_kind why,
               const void* caller) noexcept;
int try_lock_mutex(pthread_mutex_t* m, const void* caller) noexcept;
int unlock_mutex(pthread_mutex_t* m) noexcept;

}  // namespace syncopate::shim
