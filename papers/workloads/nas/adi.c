/* adi.c -- see adi.h. */
#include "adi.h"

enum { steps = 3 };

static struct adi_grid grid;

void adi_prepare(long n) {
  grid.n = n;
  const size_t cells = (size_t)(n * n * n);
  for (int part = 0; part < adi_parts; ++part) {
    grid.u[part] = nas_array(cells, sizeof(double));
    grid.r[part] = nas_array(cells, sizeof(double));
    struct nas_random stream = nas_random((uint64_t)part + 1, 1000);
    for (size_t cell = 0; cell < cells; ++cell)
      grid.u[part][cell] = (double)nas_next(&stream) / 1000;
  }
}

/* The sum over the neighbors of a cell, those outside being 0. */
static double neighbors(const double* u, long n, long cell) {
  double sum = 0;
  long step = 1;
  for (int direction = 0; direction < 3; ++direction, step *= n) {
    const long k = cell / step % n;
    if (k > 0) sum += u[cell - step];
    if (k < n - 1) sum += u[cell + step];
  }
  return sum;
}

/* Diffusion, and a coupling of both numbers of a cell. */
static void right_side(void) {
  const long cells = grid.n * grid.n * grid.n;
  for (int part = 0; part < adi_parts; ++part) {
    const double *const u = grid.u[part], *const other = grid.u[1 - part];
    double* const r = grid.r[part];
#pragma omp parallel for schedule(static)
    for (long cell = 0; cell < cells; ++cell)
      r[cell] = ADI_DT * (neighbors(u, grid.n, cell) - 6 * u[cell] + 0.1 * (other[cell] - u[cell]));
  }
}

static void add(void) {
  const long cells = grid.n * grid.n * grid.n;
  for (int part = 0; part < adi_parts; ++part) {
    double *const u = grid.u[part], *const r = grid.r[part];
#pragma omp parallel for schedule(static)
    for (long cell = 0; cell < cells; ++cell) u[cell] += r[cell];
  }
}

static void sweep(int direction, adi_solve_line* solve_line) {
  const long n = grid.n, step_of[] = {1, n, n * n};
  const long a = step_of[(direction + 1) % 3], b = step_of[(direction + 2) % 3];
#pragma omp parallel for schedule(static)
  for (long line = 0; line < n * n; ++line)
    solve_line(&grid, line % n * a + line / n * b, step_of[direction]);
}

/* The sum of squares of what a step would change, by one thread. */
static double norm(void) {
  double sum = 0;
  for (int part = 0; part < adi_parts; ++part)
    for (long cell = 0; cell < grid.n * grid.n * grid.n; ++cell)
      sum += grid.r[part][cell] * grid.r[part][cell];
  return sum;
}

bool adi_run(adi_solve_line* solve_line, char* result, size_t length) {
  bool falls = true;
  double before = 0;
  for (int step = 0; step < steps; ++step) {
    right_side();
    for (int direction = 0; direction < 3; ++direction) sweep(direction, solve_line);
    add();
    const double after = norm();
    falls = falls && (step == 0 || after < before);
    before = after;
  }
  nas_print_value(result, length, before);
  return falls;
}
