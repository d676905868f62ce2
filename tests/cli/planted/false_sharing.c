// Threads count in the line of the lock, without the lock.
#include "planted.h"
static struct {
  pthread_mutex_t lock;
  uint64_t requests;
  uint64_t sum;
} server __attribute__((aligned(64))) = {.lock = PTHREAD_MUTEX_INITIALIZER};
static void* worker(void* x) {
  for (int i = 0; i < 1500000; i++) {
    for (int j = 0; j < 2; j++) __atomic_fetch_add(&server.requests, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&server.lock);
    for (int j = 0; j < 40; j++) __asm__ volatile("addq $1, %0" : "+m"(server.sum));
    pthread_mutex_unlock(&server.lock);
  }
  return x;
}
int main(void) { run_threads(4, worker); }
