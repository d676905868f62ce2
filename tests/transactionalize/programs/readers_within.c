// A reader that calls one of the same lock: a transaction within a transaction.
#include <pthread.h>
#include <stdio.h>
#include "threads.h"
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static long a, b, torn;
static long inner(void) {
  long x;
  pthread_rwlock_rdlock(&l);
  x = a - b;
  pthread_rwlock_unlock(&l);
  return x;
}
static long outer(void) {
  long x;
  pthread_rwlock_rdlock(&l);
  x = inner() + (a - b);
  pthread_rwlock_unlock(&l);
  return x;
}
static void* work(void* p) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_rwlock_wrlock(&l);
    ++a;
    ++b;
    pthread_rwlock_unlock(&l);
    if (outer()) __atomic_add_fetch(&torn, 1, __ATOMIC_RELAXED);
  }
  return p;
}
int main(void) {
  run_threads(work);
  printf("%ld %ld %ld\n", a, b, torn);
}
