// Control: a table of 64 parts, evenly used, whose sections are a small part of the work.
#include "planted.h"
enum { SHARDS = 64 };
static struct {
  pthread_mutex_t lock;
  uint64_t sum;
} __attribute__((aligned(64))) table[SHARDS];
static void* worker(void* x) {
  unsigned seed = 1 + (unsigned)(intptr_t)x;
  for (int i = 0; i < 8000; i++) {
    seed = seed * 1103515245 + 12345;
    int at = (seed >> 20) % SHARDS;
    pthread_mutex_lock(&table[at].lock);
    table[at].sum++;
    pthread_mutex_unlock(&table[at].lock);
    work(30000);
  }
  return x;
}
int main(void) {
  for (int i = 0; i < SHARDS; i++) pthread_mutex_init(&table[i].lock, 0);
  run_threads(2, worker);
}
