// schedules.c -- what dealing out a loop costs: 128 iterations of one delay for each thread, by
// each schedule and chunk.
#include <omp.h>
#include <stddef.h>

#include "constructs.h"

enum { each = 128 };

static void reference_loop(int repetitions) {
  for (int r = 0; r < repetitions; ++r)
    for (int i = 0; i < each; ++i) delay();
}

#define SCHEDULE(name, clause)                                                        \
  static void name(int repetitions) {                                                 \
    _Pragma("omp parallel") for (int r = 0; r < repetitions; ++r) {                   \
      _Pragma(clause) for (int i = 0; i < each * omp_get_num_threads(); ++i) delay(); \
    }                                                                                 \
  }
SCHEDULE(static_even, "omp for schedule(static)")
SCHEDULE(static_1, "omp for schedule(static, 1)")
SCHEDULE(static_16, "omp for schedule(static, 16)")
SCHEDULE(dynamic_1, "omp for schedule(dynamic, 1)")
SCHEDULE(dynamic_4, "omp for schedule(dynamic, 4)")
SCHEDULE(dynamic_16, "omp for schedule(dynamic, 16)")
SCHEDULE(guided_1, "omp for schedule(guided, 1)")
SCHEDULE(guided_16, "omp for schedule(guided, 16)")

const struct construct schedule_constructs[] = {
    {"STATIC", "schedule", reference_loop, static_even},
    {"STATIC_1", "schedule", reference_loop, static_1},
    {"STATIC_16", "schedule", reference_loop, static_16},
    {"DYNAMIC_1", "schedule", reference_loop, dynamic_1},
    {"DYNAMIC_4", "schedule", reference_loop, dynamic_4},
    {"DYNAMIC_16", "schedule", reference_loop, dynamic_16},
    {"GUIDED_1", "schedule", reference_loop, guided_1},
    {"GUIDED_16", "schedule", reference_loop, guided_16},
    {NULL, NULL, NULL, NULL}};
