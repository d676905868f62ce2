/* is.c -- integer sort, with the structure of IS of the NAS benchmarks: every thread counts the
   keys of its share, the counts become ranks, every thread puts its keys at their ranks.

   Check   The keys are in order, and as many of each as before; the sum of is.lua. */
#include "nas.h"

#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
#endif

enum { values = 256 };

static long n;
static uint16_t *keys, *sorted;
static long (*counts)[values]; /* by thread */

static void prepare(long size) {
  n = size;
  keys = nas_array((size_t)n, sizeof *keys);
  sorted = nas_array((size_t)n, sizeof *sorted);
  counts = nas_array((size_t)omp_get_max_threads(), sizeof *counts);
  struct nas_random stream = nas_random(1, values);
  for (long i = 0; i < n; ++i) {
    uint64_t sum = 0;
    for (int k = 0; k < 4; ++k) sum += nas_next(&stream);
    keys[i] = (uint16_t)(sum / 4);
  }
}

static long share(long thread, long threads) { return n * thread / threads; }

static void count(long thread, long threads) {
  for (long i = share(thread, threads); i < share(thread + 1, threads); ++i)
    ++counts[thread][keys[i]];
}

/* Where the keys of each share begin: after all smaller keys, and those of the shares before it. */
static void rank(long threads) {
  long place = 0;
  for (int key = 0; key < values; ++key)
    for (long t = 0; t < threads; ++t) {
      const long here = counts[t][key];
      counts[t][key] = place;
      place += here;
    }
}

static void place(long thread, long threads) {
  for (long i = share(thread, threads); i < share(thread + 1, threads); ++i)
    sorted[counts[thread][keys[i]]++] = keys[i];
}

static bool is_sorted_permutation(void) {
  long more[values] = {0};
  bool ordered = true;
  for (long i = 0; i < n; ++i) {
    ordered = ordered && (i == 0 || sorted[i - 1] <= sorted[i]);
    ++more[sorted[i]];
    --more[keys[i]];
  }
  for (int key = 0; key < values; ++key) ordered = ordered && more[key] == 0;
  return ordered;
}

static bool run(char* result, size_t length) {
  const long threads = omp_get_max_threads();
#pragma omp parallel
  {
#pragma omp for schedule(static, 1)
    for (long t = 0; t < threads; ++t) count(t, threads);
#pragma omp single
    rank(threads);
#pragma omp for schedule(static, 1)
    for (long t = 0; t < threads; ++t) place(t, threads);
  }
  uint64_t sum = 0;
  for (long i = 0; i < n; ++i) sum = (sum * 31 + sorted[i]) % 1000000007;
  snprintf(result, length, "%lu", (unsigned long)sum);
  return is_sorted_permutation();
}

int main(int argc, char** argv) {
  static const struct nas_program is = {
      .name = "is",
      .about = "Threads sort numbers by counting them (IS).",
      .size_help = "keys",
      .sizes = {2000, 4000000, 33554432, 134217728},
      .least = 1,
      .most = 2000000000,
      .known_values = {"234579137", "882989724", "125157221", "330660827"},
      .prepare = prepare,
      .run = run};
  return nas_main(argc, argv, &is);
}
