// A team whose threads arrive at its barriers at different times: who is early runs ahead into the
// next phase. Whatever a phase does, it is done once.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, ROUNDS = 400, WORDS = 512 };

static long counted[THREADS][8], words[THREADS][WORDS];
static long in_critical, in_single, in_loops, in_sections, in_tasks, in_lock, by_atomic, copied;

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

// Nothing that would end a run.
static long busy(long steps) {
  volatile long done = 0;
  for (long i = 0; i < steps; ++i) done += i & 1;
  return done;
}

// What follows a barrier, each kind of it in turn.
static void phase(int kind, omp_lock_t *lock) {
  static long each = 0;
#pragma omp threadprivate(each)
  switch (kind) {
    case 0:
#pragma omp critical
      ++in_critical;
      break;
    case 1:
#pragma omp single
      ++in_single;
      break;
    case 2:
#pragma omp for schedule(dynamic, 4)
      for (int i = 0; i < 32; ++i)
#pragma omp atomic
        ++in_loops;
      break;
    case 3:
#pragma omp sections
    {
#pragma omp section
#pragma omp atomic
      ++in_sections;
#pragma omp section
#pragma omp atomic
      ++in_sections;
    }
    break;
    case 4:
#pragma omp task
#pragma omp atomic
      ++in_tasks;
#pragma omp taskwait
      break;
    case 5:
      omp_set_lock(lock);
      ++in_lock;
      omp_unset_lock(lock);
      break;
    case 6:
#pragma omp atomic
      ++by_atomic;
      break;
    default: {
      long value = 0;
#pragma omp single copyprivate(value)
      value = 7;
      each = value;
#pragma omp atomic
      copied += each;
    }
  }
}

int main(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  omp_set_dynamic(0);
#pragma omp parallel num_threads(THREADS)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < ROUNDS; ++round) {
      if (round % THREADS == me) (void)busy(20000);
#pragma omp barrier
      ++counted[me][0];
      for (int i = 0; i < WORDS; ++i) words[me][i] += i;
      phase(round % 8, &lock);
#pragma omp barrier
      // The neighbor's, as they are behind the barrier alone.
      for (int i = 0; i < WORDS; ++i) CHECK(words[(me + 1) % THREADS][i] == (round + 1L) * i);
#pragma omp barrier
    }
  }
  // Teams that end while somebody runs ahead.
  for (int region = 0; region < 50; ++region) {
#pragma omp parallel num_threads(THREADS)
    {
      if (omp_get_thread_num() == region % THREADS) (void)busy(20000);
#pragma omp barrier
#pragma omp atomic
      ++by_atomic;
    }
  }
  for (int i = 0; i < THREADS; ++i) CHECK(counted[i][0] == ROUNDS);
  const long each = ROUNDS / 8;
  CHECK(in_critical == each * THREADS);
  CHECK(in_single == each);
  CHECK(in_loops == each * 32);
  CHECK(in_sections == each * 2);
  CHECK(in_tasks == each * THREADS);
  CHECK(in_lock == each * THREADS);
  CHECK(by_atomic == each * THREADS + 50L * THREADS);
  CHECK(copied == each * THREADS * 7);
  printf("each phase was done once\n");
}
