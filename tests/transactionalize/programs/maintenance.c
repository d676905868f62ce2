/* Workers wake a maintenance thread, which waits at the end of its section; and a queue, whose
   reader waits in a loop at the beginning of its section. */
#include "threads.h"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t needed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t filled;
static long work, maintained, queued, taken, looks;
static int running = 1;

static void* maintainer(void* unused) {
  int more = 1;
  while (more) {
    pthread_mutex_lock(&guard);
    maintained += work;
    work = 0;
    more = running;
    if (more) pthread_cond_wait(&needed, &guard);
    pthread_mutex_unlock(&guard);
  }
  return unused;
}

static void* reader(void* unused) {
  for (int i = 0; i < THREADS * ROUNDS; ++i) {
    pthread_mutex_lock(&guard);
    while (__sync_fetch_and_add(&looks, 1) < 0 || queued == 0) pthread_cond_wait(&filled, &guard);
    --queued;
    ++taken;
    pthread_mutex_unlock(&guard);
  }
  return unused;
}

static void* worker(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&guard);
    ++queued;
    if (work++) {
      pthread_mutex_unlock(&guard);
      pthread_cond_broadcast(&filled);
      pthread_cond_signal(&needed);
      continue;
    }
    pthread_cond_signal(&needed);
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&guard);
  }
  return unused;
}

int main(void) {
  pthread_t threads[2];
  pthread_cond_init(&filled, NULL);
  if (pthread_create(&threads[0], NULL, maintainer, NULL)) abort();
  if (pthread_create(&threads[1], NULL, reader, NULL)) abort();
  run_threads(worker);
  pthread_join(threads[1], NULL);
  pthread_mutex_lock(&guard);
  running = 0;
  pthread_cond_signal(&needed);
  pthread_mutex_unlock(&guard);
  pthread_join(threads[0], NULL);
  pthread_cond_destroy(&filled);
  printf("%ld %ld %ld %d\n", maintained, queued, taken, looks >= taken);
  return 0;
}
