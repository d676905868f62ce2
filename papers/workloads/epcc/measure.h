// measure.h -- the method: a construct's overhead is the time of a loop of it around a short delay,
// less the time of the same delays without it.
//
// Source: J. M. Bull, "Measuring Synchronisation and Scheduling Overheads in OpenMP", EWOMP 1999;
// J. M. Bull, F. Reid & N. McDonnell, "A Microbenchmark Suite for OpenMP Tasks", IWOMP 2012.
// Written from these descriptions; no code of the suite is used.
#pragma once

// One of the microbenchmarks. `run` does the construct `repetitions` times, each with one delay().
struct construct {
  const char* name;
  const char* group;  // sync, task or schedule
  void (*reference)(int repetitions);
  void (*run)(int repetitions);
};

struct settings {
  int samples;        // outer repetitions
  double test_time;   // seconds that one sample takes at least
  double delay_time;  // seconds of one delay()
};

// Of the samples: mean, standard deviation, extremes, and how many lie beyond 3 deviations.
struct statistics {
  double mean, deviation, least, most;
  int outliers;
};

// About delay_time of work that needs no memory.
void delay(void);

// Finds out how long delay() has to be. To be called first.
void calibrate_delay(double seconds);

// Seconds per repetition of a construct and of its reference; processors that the first kept busy.
struct comparison {
  struct statistics reference, test;
  double cpus;
};

// The number of repetitions doubles until a sample takes test_time.
struct comparison measure(const struct construct* c, const struct settings* how);
