// contended.h -- a mutex that elides under SYNCOPATE_ELIDE=auto from now on.
#pragma once

#include <thread>

#include <pthread.h>
#include <sched.h>

// Lets another thread wait for the mutex once. Requires: it is free, and nobody else uses it.
inline void contend_once(pthread_mutex_t& mutex) {
  pthread_mutex_lock(&mutex);
  std::thread other([&mutex] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
  // Until it sleeps: 2 is glibc's word for that.
  while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2) sched_yield();
  pthread_mutex_unlock(&mutex);
  other.join();
}
