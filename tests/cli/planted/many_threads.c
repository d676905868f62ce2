// Sixty-four threads compute on two processors, and meet at a lock that is held briefly.
#include "planted.h"
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t jobs;
static void* worker(void* x) {
  for (int i = 0; i < 2400; i++) {
    pthread_mutex_lock(&stats_lock);
    jobs++;
    work(6000);
    pthread_mutex_unlock(&stats_lock);
    work(16000);
  }
  return x;
}
int main(void) {
  use_one_processor();
  run_threads(64, worker);
}
