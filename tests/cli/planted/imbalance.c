// One thread of two has six times as much to do before each barrier. TAKING_TURNS: now one has,
// now the other. BALANCED: both have as much; ONE_PROCESSOR: so they have, and share a processor;
// NEIGHBORS: one of them shares its processor with threads that are not of the team; LOCKED: it
// waits for a lock that such a thread holds for long.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
static void work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}
static unsigned parts_of(int me, int round) {
#if defined(TAKING_TURNS)
  return me == round % 2 ? 6 : 1;
#elif defined(BALANCED) || defined(ONE_PROCESSOR) || defined(NEIGHBORS) || defined(LOCKED)
  return 2 + 0 * (me + round);
#else
  return me == 1 ? 6 : 1 + 0 * round;
#endif
}
// The calling thread, and those that it makes.
static void use_one_processor(void) {
  cpu_set_t may, one;
  sched_getaffinity(0, sizeof may, &may);
  CPU_ZERO(&one);
  for (int i = CPU_SETSIZE - 1; i >= 0; i--)
    if (CPU_ISSET(i, &may) && CPU_COUNT(&one) == 0) CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);
}
static volatile int done;
static omp_lock_t lock;
static void* neighbor(void* unused) {
#ifdef NEIGHBORS
  use_one_processor();
  while (!done) work(1000);
#else
  while (!done) {
    omp_set_lock(&lock);
    work(24000000);
    omp_unset_lock(&lock);
    work(100000);
  }
#endif
  return unused;
}
int main(void) {
#ifdef ONE_PROCESSOR
  use_one_processor();
#endif
#ifdef NEIGHBORS
  enum { others = 3 };
#elif defined(LOCKED)
  enum { others = 1 };
#else
  enum { others = 0 };
#endif
  pthread_t other[others + 1];
  omp_init_lock(&lock);
  for (int i = 0; i < others; ++i) pthread_create(&other[i], 0, neighbor, 0);
#pragma omp parallel num_threads(2)
  {
#ifdef NEIGHBORS
    if (omp_get_thread_num() == 1) use_one_processor();
#endif
    for (int r = 0; r < 60; ++r) {
      const unsigned parts = parts_of(omp_get_thread_num(), r);
#ifdef LOCKED
      if (omp_get_thread_num() == 1) {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
      }
#endif
      work(parts * 4000000u);
#pragma omp barrier
    }
  }
  done = 1;
  for (int i = 0; i < others; ++i) pthread_join(other[i], 0);
  return 0;
}
