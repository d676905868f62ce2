/* Locks whose sections are no blocks: item locks that one function takes and another gives back,
   and that the list's section tries; a maintenance thread that waits in the middle of its loop. */
#include "threads.h"

#include <stdbool.h>

enum { ITEMS = 16, LOCKS = 4 };

static pthread_mutex_t item_locks[LOCKS];
static long items[ITEMS], evicted;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static long oldest;

static pthread_mutex_t maintenance_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t maintenance_wanted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t maintenance_done = PTHREAD_COND_INITIALIZER;
static bool wanted, stopping;
static long maintained;

void item_lock(long item) { pthread_mutex_lock(&item_locks[item % LOCKS]); }
void item_unlock(long item) { pthread_mutex_unlock(&item_locks[item % LOCKS]); }

void* item_trylock(long item) {
  pthread_mutex_t* lock = &item_locks[item % LOCKS];
  if (pthread_mutex_trylock(lock) == 0) {
    return lock;
  }
  return NULL;
}

void item_trylock_unlock(void* lock) { pthread_mutex_unlock((pthread_mutex_t*)lock); }

/* Returns with the item's lock held. */
static long* get_locked(long item) {
  item_lock(item);
  return &items[item];
}

static void add_to(long item) {
  long* value = get_locked(item);
  ++*value;
  item_unlock(item);
}

/* Under the list's lock: an item that nobody has is taken; it is given back behind it. */
static void evict(void) {
  void* held = NULL;
  long item = 0;
  pthread_mutex_lock(&list_lock);
  for (int tries = 0; tries < ITEMS && held == NULL; ++tries) {
    item = oldest++ % ITEMS;
    held = item_trylock(item);
  }
  pthread_mutex_unlock(&list_lock);
  if (held == NULL) return;
  ++items[item];
  __sync_fetch_and_add(&evicted, 1);
  item_trylock_unlock(held);
}

static void ask_for_maintenance(void) {
  pthread_mutex_lock(&maintenance_lock);
  while (wanted) pthread_cond_wait(&maintenance_done, &maintenance_lock);
  wanted = true;
  pthread_cond_signal(&maintenance_wanted);
  pthread_mutex_unlock(&maintenance_lock);
}

static void* maintain(void* unused) {
  pthread_mutex_lock(&maintenance_lock);
  while (!stopping || wanted) {
    if (!wanted) {
      pthread_cond_wait(&maintenance_wanted, &maintenance_lock);
      continue;
    }
    wanted = false;
    ++maintained;
    pthread_cond_broadcast(&maintenance_done);
  }
  pthread_mutex_unlock(&maintenance_lock);
  return unused;
}

static void* body(void* unused) {
  for (long i = 0; i < ROUNDS; ++i) {
    add_to(i % ITEMS);
    evict();
    if (i % 100 == 0) ask_for_maintenance();
  }
  return unused;
}

int main(void) {
  pthread_t maintainer;
  for (int i = 0; i < LOCKS; ++i) pthread_mutex_init(&item_locks[i], NULL);
  if (pthread_create(&maintainer, NULL, maintain, NULL)) abort();
  run_threads(body);
  pthread_mutex_lock(&maintenance_lock);
  stopping = true;
  pthread_cond_signal(&maintenance_wanted);
  pthread_mutex_unlock(&maintenance_lock);
  pthread_join(maintainer, NULL);
  long sum = 0;
  for (int i = 0; i < ITEMS; ++i) sum += items[i];
  printf("%ld %ld\n", sum - evicted, maintained);
  return 0;
}
