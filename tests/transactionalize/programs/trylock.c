/* A mutex taken by spinning on trylock, and one that is only tried. */
#include "threads.h"

#include <sched.h>

static pthread_mutex_t spun = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static long counter, tried, begun;

/* Returns whether it has begun: with a transaction it always does. */
static int begin_once(void) {
  if (pthread_mutex_trylock(&busy) != 0) {
    return 0;
  }
  ++begun;
  pthread_mutex_unlock(&busy);
  return 1;
}

static void* body(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    while (pthread_mutex_trylock(&spun) != 0)
      ;
    ++counter;
    pthread_mutex_unlock(&spun);

    while (pthread_mutex_trylock(&spun)) {
      sched_yield();
    }
    ++counter;
    pthread_mutex_unlock(&spun);

    do {
    } while (pthread_mutex_trylock(&spun) != 0);
    ++counter;
    pthread_mutex_unlock(&spun);

    do {
      sched_yield();
    } while (pthread_mutex_trylock(&spun));
    ++counter;
    pthread_mutex_unlock(&spun);

    do
      ;
    while (pthread_mutex_trylock(&spun));
    ++counter;
    pthread_mutex_unlock(&spun);

    while (!begin_once())
      ;

    int done = 0;
    while (!done) {
      if (pthread_mutex_trylock(&spun) == 0) {
        ++tried;
        done = 1;
        pthread_mutex_unlock(&spun);
      }
    }
  }
  return unused;
}

int main(void) {
  run_threads(body);
  printf("%ld %ld %ld\n", counter, tried, begun);
  return 0;
}
