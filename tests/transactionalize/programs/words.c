/* A volatile flag and atomic counters, within sections and outside of them. */
#include "threads.h"

struct item {
  unsigned short references;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static volatile int level;
static long events, sum;
static struct item only;

static void* body(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&guard);
    if (i == -1) {
      pthread_mutex_unlock(&guard);
      if (level > 0) __sync_fetch_and_add(&events, 7);
      return unused;
    }
    if (level < 10) level++;
    __sync_fetch_and_add(&events, 1);
    long first = __sync_add_and_fetch(&only.references, 1);
    pthread_mutex_unlock(&guard);
    long before = __sync_fetch_and_add(&events, 2);
    if (first < 1 || before < 0 || level > 10) level = 100;
    if (__atomic_sub_fetch(&events, 1, __ATOMIC_SEQ_CST) < 0) abort();
    __sync_sub_and_fetch(&only.references, 1);
  }
  return unused;
}

int main(void) {
  run_threads(body);
  sum = events + level;
  pthread_mutex_lock(&guard);
  sum += only.references;
  pthread_mutex_unlock(&guard);
  printf("%ld %d\n", sum, level);
  return 0;
}
