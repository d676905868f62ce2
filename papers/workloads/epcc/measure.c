// measure.c -- see measure.h.
#include "measure.h"

#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

static int delay_length = 100;

// Additions that wait for each other, in a register. Not in memory: processors that guess where a
// load's value comes from do such a loop at two speeds (*measured* on a Xeon of 2023: 110 and 313
// ns), by what ran before, and what is shown is a difference of two such times. A thread's delays
// wait for each other as well: else several of them would run at once, where nothing separates them.
static _Thread_local double sum;

void delay(void) {
  double value = sum;
  for (int i = 0; i < delay_length; ++i) value += 1;
  sum = value;
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

static int repetitions_for(void (*run)(int), double test_time) {
  // A multiple of any small number of threads among which repetitions are dealt.
  int repetitions = 48;
  run(repetitions);  // starts the threads
  while (repetitions < 100000000 && seconds_of(run, repetitions) < test_time) repetitions *= 2;
  return repetitions;
}

// What all threads have used. The kernel books a running thread's time only at its next tick (4 ms
// at 250 Hz) or sleep; so what a thread polls before a sample, in the runtime, waiting for its next
// region, would count for the sample. Reading a thread's own clock books it.
static double cpu_seconds(void) {
  DIR* const threads = opendir("/proc/self/task");
  if (threads == NULL) abort();
  for (const struct dirent* entry; (entry = readdir(threads)) != NULL;) {
    const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
    struct timespec ignored;
    // clock_getcpuclockid(3) has processes only; this is pthread_getcpuclockid's number.
    if (thread > 0) clock_gettime((clockid_t)((~(unsigned)thread << 3) | 6), &ignored);
  }
  closedir(threads);
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void* need(void* memory) {
  if (memory == NULL) abort();
  return memory;
}

struct comparison measure(const struct construct* c, const struct settings* how) {
  double* const reference = need(malloc((size_t)how->samples * sizeof *reference));
  double* const test = need(malloc((size_t)how->samples * sizeof *test));
  // Processors change their speed: samples of both by turns, so that it changes for both. Not where
  // threads that wait for their next region would take the reference's processor.
  const int by_turns = omp_get_max_threads() <= omp_get_num_procs();
  const int references = repetitions_for(c->reference, how->test_time);
  for (int i = 0; i < how->samples && !by_turns; ++i)
    reference[i] = seconds_of(c->reference, references) / references;
  const int tests = repetitions_for(c->run, how->test_time);
  double cpu = 0, wall = 0;
  for (int i = 0; i < how->samples; ++i) {
    if (by_turns) reference[i] = seconds_of(c->reference, references) / references;
    const double before = cpu_seconds(), took = seconds_of(c->run, tests);
    cpu += cpu_seconds() - before;
    wall += took;
    test[i] = took / tests;
  }
  const struct comparison result = {summarize(reference, how->samples),
                                    summarize(test, how->samples), cpu / wall};
  free(test);
  free(reference);
  return result;
}
