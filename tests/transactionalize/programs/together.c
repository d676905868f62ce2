// together.c -- item locks as memcached 1.4.15 has them: by item or one for all, tried by whoever
// holds the cache's lock.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "threads.h"

static pthread_mutex_t item_locks[8];
static pthread_mutex_t item_global_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other_lock = PTHREAD_MUTEX_INITIALIZER;
static int granular = 1;
static long items[8], moved, others;

void item_lock(uint32_t which) {
  const int* how = &granular;
  if (*how) {
    pthread_mutex_lock(&item_locks[which & 7]);
  } else {
    pthread_mutex_lock(&item_global_lock);
  }
}

void item_unlock(uint32_t which) {
  const int* how = &granular;
  if (*how) {
    pthread_mutex_unlock(&item_locks[which & 7]);
  } else {
    pthread_mutex_unlock(&item_global_lock);
  }
}

void item_lock_global(void) { pthread_mutex_lock(&item_global_lock); }
void item_unlock_global(void) { pthread_mutex_unlock(&item_global_lock); }

void* item_trylock(uint32_t which) {
  pthread_mutex_t* lock = &item_locks[which & 7];
  if (pthread_mutex_trylock(lock) == 0) {
    return lock;
  }
  return NULL;
}
void item_trylock_unlock(void* lock) { pthread_mutex_unlock((pthread_mutex_t*)lock); }

static void add(uint32_t which) {
  item_lock(which);
  ++items[which & 7];
  item_unlock(which);
}

static void move(uint32_t from, uint32_t to) {
  void* held = NULL;
  pthread_mutex_lock(&cache_lock);
  if ((held = item_trylock(from)) != NULL) {
    void* second = NULL;
    if ((second = item_trylock(to)) != NULL) {
      --items[from & 7];
      ++items[to & 7];
      ++moved;
      item_trylock_unlock(second);
    }
    item_trylock_unlock(held);
  }
  pthread_mutex_unlock(&cache_lock);
}

static void* work(void* number) {
  for (int i = 0; i < ROUNDS; ++i) {
    add((uint32_t)i);
    move((uint32_t)i, (uint32_t)i + 3);
    pthread_mutex_lock(&other_lock);
    ++others;
    pthread_mutex_unlock(&other_lock);
  }
  return number;
}

int main(void) {
  run_threads(work);
  long sum = 0;
  item_lock_global();
  for (int i = 0; i < 8; ++i) sum += items[i];
  item_unlock_global();
  printf("%ld %ld %d\n", sum, others, moved > 0);
  return 0;
}
