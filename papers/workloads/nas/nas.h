/* nas.h -- what the NAS-like kernels share: the command line, numbers at random, the verification
   value and the line of JSON at the end. C11 with OpenMP.

   Source   The structure of the NAS parallel benchmarks (Bailey et al., NAS-94-007), and nothing of
            their code: these are the kernels of papers/workloads/lua/ once more, cell by cell and
            number by number, so that an interpreter's times can be held against C's, and their
            results: both end in the same value. ep is in C alone. */
#ifndef WORKLOADS_NAS_NAS_H
#define WORKLOADS_NAS_NAS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A kernel. */
struct nas_program {
  const char *name, *about;
  const char* size_help;      /* what --size counts */
  long sizes[4];              /* lua, small, paper, large */
  long least, most;           /* that --size may be */
  bool (*is_size)(long size); /* whether it may be this one; null: any between these */
  /* The result with each of sizes: the first is what the Lua program of that name checks, and it
     gives the second and third, too, when it is run with that size. */
  const char* known_values[4];
  /* Makes the input; the time of it is not measured. */
  void (*prepare)(long size);
  /* Runs; writes its result as text. Returns whether its own check holds. */
  bool (*run)(char* result, size_t length);
};

/* The whole of a kernel's main(): the exit status is 0, 1 for a wrong result, 2 for bad use. */
int nas_main(int argc, char** argv, const struct nas_program* program);

/* A stream of numbers in 0..bound-1 that depends on its seed alone: common.lua's. */
struct nas_random {
  uint64_t state, bound;
};
struct nas_random nas_random(uint64_t seed, uint64_t bound);
uint64_t nas_next(struct nas_random* stream);

/* `count` zeroed elements; ends the program with status 2 where there is no memory. */
void* nas_array(size_t count, size_t size);

/* The number as Lua's "%.10e" writes it. */
void nas_print_value(char* result, size_t length, double value);

#endif
