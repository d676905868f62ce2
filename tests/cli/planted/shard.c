// A table of 64 parts with a lock each; nearly all keys fall into one of them.
#include "planted.h"
enum { SHARDS = 64 };
struct shard {
  pthread_mutex_t lock;
  uint64_t sum;
} __attribute__((aligned(64)));
static struct shard table[SHARDS];
static void* worker(void* x) {
  unsigned seed = 1 + (unsigned)(intptr_t)x;
  for (int i = 0; i < 60000; i++) {
    seed = seed * 1103515245 + 12345;
    struct shard* s = &table[(seed >> 16) % 16 ? 17 : (seed >> 20) % SHARDS];
    pthread_mutex_lock(&s->lock);
    s->sum++;
    work(1500);
    pthread_mutex_unlock(&s->lock);
    work(500);
  }
  return x;
}
int main(void) {
  for (int i = 0; i < SHARDS; i++) pthread_mutex_init(&table[i].lock, 0);
  run_threads(4, worker);
}
