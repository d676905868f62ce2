// Reader-writer locks and spin locks, under macros that check, log and may be put around any call.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "threads.h"

#define CHECKED(call)                                                                     \
  do {                                                                                    \
    int status;                                                                           \
    if ((status = (call)) != 0)                                                           \
      fprintf(stderr, "%s at %d: " #call ": %s\n", __FILE__, __LINE__, strerror(status)); \
  } while (0)
#define TO_READ(lock) CHECKED(pthread_rwlock_rdlock(lock))
#define TO_WRITE(lock) CHECKED(pthread_rwlock_wrlock(lock))
#define DONE(lock) CHECKED(pthread_rwlock_unlock(lock))
#define QUICK(lock) CHECKED(pthread_spin_lock(lock))
#define QUICKLY_DONE(lock) CHECKED(pthread_spin_unlock(lock))

typedef pthread_rwlock_t table_lock;
struct table {
  table_lock lock;
  long entries[16], sum;
};
static struct table table = {PTHREAD_RWLOCK_INITIALIZER, {0}, 0};
static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER, tried = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t timed = PTHREAD_RWLOCK_INITIALIZER, upgraded = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t quick, quicker;
static long torn, plains, tries, times, quicks, quicker_ones, upgrades, again;

static long sum_of(struct table* t) {
  long sum = 0;
  TO_READ(&t->lock);
  for (int i = 0; i < 16; ++i) sum += t->entries[i];
  if (sum != t->sum) {
    DONE(&t->lock);
    return -1;
  }
  DONE(&t->lock);
  return sum;
}

static void put(struct table* t, int at) {
  TO_WRITE(&t->lock);
  ++t->entries[at & 15];
  ++t->sum;
  DONE(&t->lock);
}

static int twice(void) {  // a reader may read in itself
  pthread_rwlock_rdlock(&plain);
  const int before = plains & 1;
  pthread_rwlock_rdlock(&plain);
  const int inside = plains & 1;
  pthread_rwlock_unlock(&plain);
  pthread_rwlock_unlock(&plain);
  return before != inside;
}

static void upgrade(int writes) {  // one unlock ends two sections: the lock stays
  if (writes) TO_WRITE(&upgraded);
  else TO_READ(&upgraded);
  upgrades += writes;
  DONE(&upgraded);
}

static void within_time(void) {  // this one stays, too
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 1000;
  if (pthread_rwlock_timedwrlock(&timed, &end) == 0) {
    ++times;
    pthread_rwlock_unlock(&timed);
  }
  pthread_rwlock_rdlock(&timed);
  again += times < 0;
  pthread_rwlock_unlock(&timed);
}

static void* work(void* number) {
  for (int i = 0; i < ROUNDS; ++i) {
    put(&table, i + (int)(long)number);
    const long found = sum_of(&table), other = twice();
    pthread_rwlock_wrlock(&plain);
    plains += 2;
    torn += found < 0;
    again += other;
    pthread_rwlock_unlock(&plain);
    while (pthread_rwlock_trywrlock(&tried) == EBUSY) {
    }
    ++tries;
    pthread_rwlock_unlock(&tried);
    QUICK(&quick);
    ++quicks;
    QUICKLY_DONE(&quick);
    pthread_spin_lock(&quicker);
    ++quicker_ones;
    pthread_spin_unlock(&quicker);
    upgrade(1);
    within_time();
  }
  return NULL;
}

int main(void) {
  pthread_spin_init(&quick, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&quicker, 0);
  run_threads(work);
  upgrade(0);
  printf("%ld %ld %ld %ld %ld %ld %ld %ld %ld\n", sum_of(&table), torn, plains, again, tries,
         quicks, quicker_ones, upgrades, times);
}
