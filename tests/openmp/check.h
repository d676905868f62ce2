// check.h -- the little that the OpenMP conformance programs share.
#pragma once

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

// Fails the program, with what did not hold and where. Outside and inside of regions.
#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                       \
    }                                                                                \
  } while (0)

// As the runtime sees it: how many threads a region gets that asks for no number.
static inline int threads_of_a_region(void) {
  int n = 0;
#pragma omp parallel
#pragma omp master
  n = omp_get_num_threads();
  return n;
}
