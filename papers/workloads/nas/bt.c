/* bt.c -- block tridiagonal systems along the lines of a cube, with the structure of BT of the NAS
   benchmarks; blocks are 2 by 2 here.

   Check   The change of a step falls; its norm is that of bt.lua. */
#include "adi.h"

/* Block elimination (Thomas): diagonal block {d, c; c, d}, neighbors -e times the unit. */
static void solve_line(const struct adi_grid* grid, long first, long step) {
  const double e = ADI_DT, c = -0.1 * ADI_DT;
  double *const p = grid->r[0], *const q = grid->r[1];
  double upper[adi_longest][2]; /* the symmetric blocks {s, t; t, s} that the next lines see */
  double s = 0, t = 0, a = 0, b = 0;
  for (long k = 0; k < grid->n; ++k) {
    const long cell = first + k * step;
    const double d = 1 + 2 * e - c - e * s, o = c - e * t;
    const double scale = 1 / (d * d - o * o);
    const double x = p[cell] + e * a, y = q[cell] + e * b;
    p[cell] = a = scale * (d * x - o * y);
    q[cell] = b = scale * (d * y - o * x);
    upper[k][0] = s = scale * d * e;
    upper[k][1] = t = -scale * o * e;
  }
  for (long k = grid->n - 2; k >= 0; --k) {
    const long cell = first + k * step;
    const double x = p[cell + step], y = q[cell + step];
    p[cell] += upper[k][0] * x + upper[k][1] * y;
    q[cell] += upper[k][1] * x + upper[k][0] * y;
  }
}

static bool run(char* result, size_t length) { return adi_run(solve_line, result, length); }

int main(int argc, char** argv) {
  static const struct nas_program bt = {
      .name = "bt",
      .about = "Threads solve block tridiagonal systems along the lines of a cube (BT).",
      .size_help = "cells of a side",
      .sizes = {6, 64, 162, 408},
      .least = 2,
      .most = adi_longest,
      .known_values = {"1.9765242713e+00", "9.4205546552e+02", "1.4192722454e+04",
                       "2.2031458988e+05"},
      .prepare = adi_prepare,
      .run = run};
  return nas_main(argc, argv, &bt);
}
