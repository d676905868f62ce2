// Control: it sleeps under its lock, but nobody else takes that.
#include "planted.h"
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static void* worker(void* x) {
  for (int i = 0; i < 50 && !x; i++) {
    pthread_mutex_lock(&own_lock);
    usleep(1000);
    pthread_mutex_unlock(&own_lock);
  }
  work(50000000);
  return x;
}
int main(void) { run_threads(2, worker); }
