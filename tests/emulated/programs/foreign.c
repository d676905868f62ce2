/* foreign.c -- a library that is not instrumented, with a lock of its own. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long under_mutex, under_rwlock;

void foreign_count(void (*call_back)(void)) {
  pthread_mutex_lock(&mutex);
  ++under_mutex;
  call_back();
  pthread_mutex_unlock(&mutex);
  pthread_rwlock_wrlock(&rwlock);
  ++under_rwlock;
  call_back();
  pthread_rwlock_unlock(&rwlock);
}

long foreign_under_mutex(void) { return under_mutex; }
long foreign_under_rwlock(void) { return under_rwlock; }
