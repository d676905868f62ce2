// lib_constructor.cpp -- a library whose constructor locks before anything else has started.
//
// Its mutex stays locked until test_constructor's main releases it; the program links against this
// library, whose constructor may run before that of a preloaded one.
#include <pthread.h>

extern "C" {
pthread_mutex_t constructor_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t constructor_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_cond_t constructor_cond = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t constructor_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t constructor_spin;
int constructor_errors = -1;
}

namespace {

__attribute__((constructor(101))) void lock_early() {
  int errors = 0;
  errors += pthread_mutex_lock(&constructor_mutex) != 0;
  errors += pthread_mutex_lock(&constructor_recursive) != 0;
  errors += pthread_mutex_lock(&constructor_recursive) != 0;
  errors += pthread_cond_signal(&constructor_cond) != 0;
  errors += pthread_rwlock_rdlock(&constructor_rwlock) != 0;
  errors += pthread_spin_init(&constructor_spin, PTHREAD_PROCESS_PRIVATE) != 0;
  errors += pthread_spin_lock(&constructor_spin) != 0;
  constructor_errors = errors;
}

}  // namespace
