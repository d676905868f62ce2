// sync.c -- what synchronization costs: each construct around, or after, one delay.
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "constructs.h"

void reference_delays(int repetitions) {
  for (int r = 0; r < repetitions; ++r) delay();
}

static void parallel(int repetitions) {
  for (int r = 0; r < repetitions; ++r) {
#pragma omp parallel
    delay();
  }
}

static void loop(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp for
    for (int i = 0; i < omp_get_num_threads(); ++i) delay();
  }
}

static void parallel_loop(int repetitions) {
  for (int r = 0; r < repetitions; ++r) {
#pragma omp parallel for
    for (int i = 0; i < omp_get_max_threads(); ++i) delay();
  }
}

static void barrier(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
    delay();
#pragma omp barrier
  }
}

// The plainest barrier of two: each of the first two threads sets its flag and polls the other's,
// and no more. It tells how far apart the two processors are. Where it takes long, as it does when
// the threads share a processor, they yield.
static struct { _Alignas(128) atomic_int passed; } flags[2];

static void wait_for_flag(const atomic_int* flag, int round) {
  for (int polls = 0; atomic_load_explicit(flag, memory_order_acquire) < round; ++polls)
    if (polls > 10000) sched_yield();
}

static void two_flags(int repetitions) {
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), other = omp_get_num_threads() > 1 ? 1 - me : me;
    if (me < 2) atomic_store_explicit(&flags[me].passed, 0, memory_order_relaxed);
#pragma omp barrier
    for (int r = 1; r <= repetitions; ++r) {
      delay();
      if (me >= 2) continue;
      atomic_store_explicit(&flags[me].passed, r, memory_order_release);
      wait_for_flag(&flags[other].passed, r);
    }
  }
}

// What waiting costs: thread 0 comes 2 milliseconds late. To be read are the processors kept busy.
static void late(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
    if (omp_get_thread_num() == 0) nanosleep(&(struct timespec){0, 2000000}, NULL);
#pragma omp barrier
  }
}

static void single(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp single
    delay();
  }
}

static void single_copyprivate(int repetitions) {
#pragma omp parallel
  {
    long value = 0;
    for (int r = 0; r < repetitions; ++r) {
#pragma omp single copyprivate(value)
      {
        delay();
        value = r;
      }
    }
    if (value != repetitions - 1) delay();
  }
}

// The threads share the repetitions: what they do is one after the other anyway.
static void critical(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions / omp_get_num_threads(); ++r) {
#pragma omp critical
    delay();
  }
}

static omp_lock_t lock;

static void lock_unlock(int repetitions) {
  omp_init_lock(&lock);
#pragma omp parallel
  for (int r = 0; r < repetitions / omp_get_num_threads(); ++r) {
    omp_set_lock(&lock);
    delay();
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
}

static void ordered(int repetitions) {
#pragma omp parallel for ordered schedule(static, 1)
  for (int r = 0; r < repetitions; ++r) {
#pragma omp ordered
    delay();
  }
}

static double accumulated;

static void reference_additions(int repetitions) {
  volatile double* const sum = &accumulated;
  for (int r = 0; r < repetitions; ++r) *sum += 1;
}

static void atomic(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions / omp_get_num_threads(); ++r) {
#pragma omp atomic
    accumulated += 1;
  }
}

static void reduction(int repetitions) {
  for (int r = 0; r < repetitions; ++r) {
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
      delay();
      sum += 1;
    }
    accumulated = sum;
  }
}

const struct construct sync_constructs[] = {
    {"PARALLEL", "sync", reference_delays, parallel},
    {"FOR", "sync", reference_delays, loop},
    {"PARALLEL_FOR", "sync", reference_delays, parallel_loop},
    {"BARRIER", "sync", reference_delays, barrier},
    {"TWO_FLAGS", "sync", reference_delays, two_flags},
    {"LATE", "sync", reference_delays, late},
    {"SINGLE", "sync", reference_delays, single},
    {"COPYPRIVATE", "sync", reference_delays, single_copyprivate},
    {"CRITICAL", "sync", reference_delays, critical},
    {"LOCK", "sync", reference_delays, lock_unlock},
    {"ORDERED", "sync", reference_delays, ordered},
    {"ATOMIC", "sync", reference_additions, atomic},
    {"REDUCTION", "sync", reference_delays, reduction},
    {NULL, NULL, NULL, NULL}};
