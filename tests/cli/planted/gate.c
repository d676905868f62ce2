// Control: a worker without work waits at a mutex that another thread holds meanwhile, and releases
// it at once: nothing is lost. The lock that is really held too long is another one.
#include "planted.h"
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static int batches, done, lines;
static void* worker(void* x) {
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&batches, __ATOMIC_ACQUIRE) == 0) {
      pthread_mutex_lock(&gate);
      pthread_mutex_unlock(&gate);
      continue;
    }
    work(1000);
    __atomic_fetch_sub(&batches, 1, __ATOMIC_RELEASE);
  }
  return x;
}
static void* writer(void* x) {
  for (int i = 0; i < 12; i++) {
    pthread_mutex_lock(&log_lock);
    lines++;
    usleep(3000);
    pthread_mutex_unlock(&log_lock);
  }
  return x;
}
static void* threads(void* x) {
  if (x == (void*)1) return worker(x);
  if (x) return writer(x);
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&gate);
    usleep(100000);
    __atomic_store_n(&batches, 3, __ATOMIC_RELEASE);
    if (i == 2) __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&gate);
    usleep(3000);
  }
  return x;
}
int main(void) { run_threads(4, threads); }
