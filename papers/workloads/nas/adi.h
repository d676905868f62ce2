/* adi.h -- what bt.c and sp.c share: alternating directions on a cube of n*n*n cells, two numbers a
   cell, as in BT and SP of the NAS benchmarks. A step computes the right side, solves the lines
   along x, y and z, one direction after the other, and adds the result. */
#ifndef WORKLOADS_NAS_ADI_H
#define WORKLOADS_NAS_ADI_H

#include "nas.h"

enum { adi_parts = 2, adi_longest = 1024 };
#define ADI_DT 0.2

struct adi_grid {
  long n;
  double *u[adi_parts], *r[adi_parts];
};

/* Replaces r on the line that begins at a cell, and whose cells are `step` apart, by its solution.
 */
typedef void adi_solve_line(const struct adi_grid* grid, long first, long step);

void adi_prepare(long n);
/* Three steps; writes the last change's norm, which has to fall: else returns false. */
bool adi_run(adi_solve_line* solve_line, char* result, size_t length);

#endif
