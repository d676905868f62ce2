// Cause: one thread sleeps with the lock, now and then; the others hold it for moments, far more
// often.
#include "planted.h"
static pthread_mutex_t db_lock = PTHREAD_MUTEX_INITIALIZER;
static long rows, begun;
static void* saver(void* x) {
  for (int i = 0; i < 6; i++) {
    pthread_mutex_lock(&db_lock);
    __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    usleep(20000);
    rows++;
    pthread_mutex_unlock(&db_lock);
    usleep(15000);
  }
  return x;
}
static void* worker(void* x) {
  while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) usleep(1000);
  for (int i = 0; i < 2000; i++) {
    pthread_mutex_lock(&db_lock);
    rows += i;
    pthread_mutex_unlock(&db_lock);
    work(20000);
  }
  return x;
}
static void* threads(void* x) { return x ? worker(x) : saver(x); }
int main(void) { run_threads(4, threads); }
