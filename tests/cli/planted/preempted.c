// Who holds the lock shares its processor with threads that only compute.
#include "planted.h"
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static int over;
static void* worker(void* x) {
  if ((intptr_t)x >= 2) {
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) work(1000);
    return x;
  }
  for (int i = 0; i < 12; i++) {
    pthread_mutex_lock(&state_lock);
    work(30000000);
    pthread_mutex_unlock(&state_lock);
    usleep(100);
  }
  __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
  return x;
}
int main(void) {
  use_one_processor();
  run_threads(4, worker);
}
