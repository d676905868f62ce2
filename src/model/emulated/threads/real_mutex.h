// real_mutex.h -- the C library's mutex for the machine's own use: pthread's names stand for
// the program's mutexes here, which the machine watches.
#pragma once

#include <pthread.h>

#include "model/front/pthread/real.h"

namespace syncopate::emulated {

class real_mutex {
 public:
  void lock() noexcept { (void)SYNCOPATE_REAL(pthread_mutex_lock)(&mutex_); }
  void unlock() noexcept { (void)SYNCOPATE_REAL(pthread_mutex_unlock)(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace syncopate::emulated
