// measure.c -- see measure.h.
#include "measure.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

static int delay_length = 100;

void delay(void) {
  volatile double value = 0;
  for (int i = 0; i < delay_length; ++i) value += i;
}

void calibrate_delay(double seconds) {
  enum { calls = 2000 };
  delay_length = 0;
  for (double took = 0; took < seconds && delay_length < 1000000000;) {
    delay_length = delay_length * 11 / 10 + 1;
    // The best of three: an interruption makes it look long.
    took = 1e9;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const double start = omp_get_wtime();
      for (int i = 0; i < calls; ++i) delay();
      const double each = (omp_get_wtime() - start) / calls;
      if (each < took) took = each;
    }
  }
}

static double seconds_of(void (*run)(int), int repetitions) {
  const double start = omp_get_wtime();
  run(repetitions);
  return omp_get_wtime() - start;
}

static struct statistics summarize(const double* sample, int count) {
  struct statistics s = {0, 0, sample[0], sample[0], 0};
  for (int i = 0; i < count; ++i) {
    s.mean += sample[i] / count;
    if (sample[i] < s.least) s.least = sample[i];
    if (sample[i] > s.most) s.most = sample[i];
  }
  double squares = 0;
  for (int i = 0; i < count; ++i) squares += (sample[i] - s.mean) * (sample[i] - s.mean);
  s.deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
  for (int i = 0; i < count; ++i) s.outliers += fabs(sample[i] - s.mean) > 3 * s.deviation;
  return s;
}

struct statistics measure(void (*run)(int), const struct settings* how) {
  // A multiple of any small number of threads among which repetitions are dealt.
  int repetitions = 48;
  run(repetitions);  // starts the threads
  while (repetitions < 100000000 && seconds_of(run, repetitions) < how->test_time) repetitions *= 2;
  double* const sample = malloc((size_t)how->samples * sizeof *sample);
  if (sample == NULL) abort();
  for (int i = 0; i < how->samples; ++i) sample[i] = seconds_of(run, repetitions) / repetitions;
  const struct statistics result = summarize(sample, how->samples);
  free(sample);
  return result;
}
