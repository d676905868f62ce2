// A log is flushed by a sleep, under the lock of the log.
#include "planted.h"
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned lines;
__attribute__((noinline)) static void flush_log(void) { usleep(1000); }
static void* worker(void* x) {
  for (int i = 0; i < 60; i++) {
    pthread_mutex_lock(&log_lock);
    lines++;
    flush_log();
    pthread_mutex_unlock(&log_lock);
    work(20000);
  }
  return x;
}
int main(void) { run_threads(4, worker); }
