// Control: threads compute, and meet at their lock twenty times in all.
#include "planted.h"
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;
static void* worker(void* x) {
  for (int i = 0; i < 5; i++) {
    work(20000000);
    pthread_mutex_lock(&sum_lock);
    sum += i;
    pthread_mutex_unlock(&sum_lock);
  }
  return x;
}
int main(void) { run_threads(4, worker); }
