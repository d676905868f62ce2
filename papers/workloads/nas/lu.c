/* lu.c -- symmetric over-relaxation with the structure of LU of the NAS benchmarks: a sweep down
   and one up, in which every cell needs the new values of those before it. Each thread has a band of
   rows; as a pipeline, it takes a column once the thread before it has done that column.

   Check   The residual falls; its square is that of lu.lua. */
#include "nas.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static int omp_get_num_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
#endif

enum { sweeps = 3 };
static const double omega = 1.3;

/* How many columns of a sweep a thread has done. On lines of their own. */
struct progress {
  _Alignas(128) atomic_long done;
};

static long n, width; /* with a border of zeros */
static double *u, *f;
static struct progress* bands;

static void prepare(long size) {
  n = size;
  width = n + 2;
  u = nas_array((size_t)(width * width), sizeof *u);
  f = nas_array((size_t)(width * width), sizeof *f);
  bands = aligned_alloc(_Alignof(struct progress),
                        (size_t)omp_get_max_threads() * sizeof(struct progress));
  if (bands == NULL) exit(2);
  struct nas_random stream = nas_random(5, 1000);
  for (long row = 1; row <= n; ++row)
    for (long column = 1; column <= n; ++column)
      f[row * width + column] = (double)nas_next(&stream) / 1000;
}

static double around(long cell) {
  return u[cell - 1] + u[cell + 1] + u[cell - width] + u[cell + width];
}

/* A band's rows of one column, in the sweep's direction. */
static void relax(long first, long last, long column, bool up) {
  for (long i = 0; i <= last - first; ++i) {
    const long cell = (up ? last - i : first + i) * width + column;
    u[cell] = u[cell] + omega * (0.25 * (around(cell) + f[cell]) - u[cell]);
  }
}

/* Waits until the band before has done more than `columns` columns: its rows are then visible. */
static void wait_for(const struct progress* before, long columns) {
  for (int spins = 0; atomic_load_explicit(&before->done, memory_order_acquire) <= columns; ++spins)
    if (spins > 1000) sched_yield();
}

static void sweep(bool up) {
  for (long t = 0; t < omp_get_max_threads(); ++t) atomic_init(&bands[t].done, 0);
#pragma omp parallel
  {
    const long threads = omp_get_num_threads(), me = omp_get_thread_num();
    const long share = up ? threads - 1 - me : me;
    const long first = share * n / threads + 1, last = (share + 1) * n / threads;
    for (long k = 0; k < n; ++k) {
      if (me > 0) wait_for(&bands[me - 1], k);
      relax(first, last, up ? n - k : k + 1, up);
      atomic_store_explicit(&bands[me].done, k + 1, memory_order_release);
    }
  }
}

static double residual(void) {
  double sum = 0;
  for (long row = 1; row <= n; ++row)
    for (long column = 1; column <= n; ++column) {
      const long cell = row * width + column;
      const double difference = f[cell] + around(cell) - 4 * u[cell];
      sum += difference * difference;
    }
  return sum;
}

static bool run(char* result, size_t length) {
  const double before = residual();
  for (int i = 0; i < sweeps; ++i) {
    sweep(false);
    sweep(true);
  }
  const double after = residual();
  nas_print_value(result, length, after);
  return after < before;
}

int main(int argc, char** argv) {
  static const struct nas_program lu = {.name = "lu",
                                        .about = "Threads relax a square in a pipeline (LU).",
                                        .size_help = "cells of a side",
                                        .sizes = {20, 1500, 8000, 16000},
                                        .least = 2,
                                        .most = 30000,
                                        .known_values = {"4.6189619653e+01", "5.5771029864e+05",
                                                         "1.5988883687e+07", "6.4023321692e+07"},
                                        .prepare = prepare,
                                        .run = run};
  return nas_main(argc, argv, &lu);
}
