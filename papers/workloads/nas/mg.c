/* mg.c -- multigrid with the structure of MG of the NAS benchmarks: V-cycles on a cube with
   periodic borders; smoothing, residual, restriction and interpolation, each split by planes.

   Check   The residual falls; its square is that of mg.lua. */
#include "nas.h"

#include <stdlib.h>

enum { cycles = 2, most_levels = 16 };

struct level {
  long m;
  double *u, *f, *r;
};

static struct level levels[most_levels];
static int level_count;

static bool is_power_of_two(long size) { return (size & (size - 1)) == 0; }
static long cells_of(const struct level* l) { return l->m * l->m * l->m; }

/* As in MG: +1 and -1 at random cells, as many of each, so that a solution exists. */
static void prepare(long size) {
  for (long m = size; m >= 2; m /= 2) {
    struct level* const l = &levels[level_count++];
    l->m = m;
    const size_t cells = (size_t)cells_of(l);
    l->u = nas_array(cells, sizeof(double));
    l->f = nas_array(cells, sizeof(double));
    l->r = nas_array(cells, sizeof(double));
  }
  struct nas_random stream = nas_random(9, (uint64_t)cells_of(&levels[0]));
  for (int k = 1; k <= 20; ++k) levels[0].f[nas_next(&stream)] += k % 2 == 0 ? 1.0 : -1.0;
}

/* All sizes are powers of two. */
static long cell_at(long m, long x, long y, long z) {
  const long mask = m - 1;
  return ((z & mask) * m + (y & mask)) * m + (x & mask);
}

static double around(const double* a, long m, long x, long y, long z) {
  return a[cell_at(m, x - 1, y, z)] + a[cell_at(m, x + 1, y, z)] + a[cell_at(m, x, y - 1, z)] +
         a[cell_at(m, x, y + 1, z)] + a[cell_at(m, x, y, z - 1)] + a[cell_at(m, x, y, z + 1)];
}

/* Small levels are not worth several threads. */
static void residual(const struct level* l) {
  const long m = l->m;
#pragma omp parallel for schedule(static) if (m > 2)
  for (long z = 0; z < m; ++z)
    for (long y = 0; y < m; ++y)
      for (long x = 0; x < m; ++x) {
        const long cell = cell_at(m, x, y, z);
        l->r[cell] = l->f[cell] + around(l->u, m, x, y, z) - 6 * l->u[cell];
      }
}

static void smooth(const struct level* l) {
  residual(l);
  const long cells = cells_of(l);
#pragma omp parallel for schedule(static) if (l->m > 2)
  for (long cell = 0; cell < cells; ++cell) l->u[cell] += 0.12 * l->r[cell];
}

static void restrict_to(const struct level* fine, const struct level* coarse) {
  const long m = coarse->m;
#pragma omp parallel for schedule(static) if (m > 2)
  for (long z = 0; z < m; ++z)
    for (long y = 0; y < m; ++y)
      for (long x = 0; x < m; ++x) {
        double sum = 0;
        for (long k = 0; k < 8; ++k)
          sum += fine->r[cell_at(fine->m, 2 * x + k % 2, 2 * y + k / 2 % 2, 2 * z + k / 4)];
        const long cell = cell_at(m, x, y, z);
        coarse->f[cell] = sum / 2;
        coarse->u[cell] = 0;
      }
}

static void interpolate(const struct level* coarse, const struct level* fine) {
  const long m = fine->m;
#pragma omp parallel for schedule(static) if (m > 2)
  for (long z = 0; z < m; ++z)
    for (long y = 0; y < m; ++y)
      for (long x = 0; x < m; ++x)
        fine->u[cell_at(m, x, y, z)] += coarse->u[cell_at(coarse->m, x / 2, y / 2, z / 2)];
}

static void cycle(int k) {
  smooth(&levels[k]);
  if (k + 1 < level_count) {
    residual(&levels[k]);
    restrict_to(&levels[k], &levels[k + 1]);
    cycle(k + 1);
    interpolate(&levels[k + 1], &levels[k]);
  }
  smooth(&levels[k]);
}

static double norm(const struct level* l) {
  double sum = 0;
  for (long cell = 0; cell < cells_of(l); ++cell) sum += l->r[cell] * l->r[cell];
  return sum;
}

static bool run(char* result, size_t length) {
  residual(&levels[0]);
  const double before = norm(&levels[0]);
  for (int i = 0; i < cycles; ++i) cycle(0);
  residual(&levels[0]);
  const double after = norm(&levels[0]);
  nas_print_value(result, length, after);
  return after < before;
}

int main(int argc, char** argv) {
  static const struct nas_program mg = {
      .name = "mg",
      .about = "Threads solve Poisson's equation by multigrid (MG).",
      .size_help = "cells of a side, a power of two",
      .sizes = {8, 64, 256, 512},
      .least = 2,
      .most = 1024,
      .is_size = is_power_of_two,
      .known_values = {"3.3008569832e-01", "8.7966397234e-01", "4.0872928498e+00",
                       "6.6484093231e+00"},
      .prepare = prepare,
      .run = run};
  return nas_main(argc, argv, &mg);
}
