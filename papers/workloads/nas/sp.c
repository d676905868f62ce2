/* sp.c -- scalar pentadiagonal systems along the lines of a cube, with the structure of SP of the
   NAS benchmarks: the same steps as bt.c, but each number of a cell for itself, damped by its
   neighbors' neighbors.

   Check   The change of a step falls; its norm is that of sp.lua. */
#include "adi.h"

/* What a row keeps of the next one and the one after it, and its right side. */
struct kept {
  double one, two, y;
};

/* Symmetric elimination of rows (f, -e, d, -e, f) without pivots: d outweighs the rest. */
static void solve_part(double* r, long n, long first, long step) {
  const double e = ADI_DT, f = 0.05 * ADI_DT;
  struct kept rows[adi_longest], last = {0, 0, 0}, before = {0, 0, 0};
  for (long k = 0; k < n; ++k) {
    const long cell = first + k * step;
    const double low =
        -e - f * before.one; /* of the row before, once the one before that is gone */
    const double scale = 1 / (1 + 2.2 * e - f * before.two - low * last.one);
    const struct kept now = {(-e - low * last.two) * scale, f * scale,
                             (r[cell] - f * before.y - low * last.y) * scale};
    before = last;
    last = rows[k] = now;
    r[cell] = now.y;
  }
  for (long k = n - 2; k >= 0; --k) {
    const long cell = first + k * step;
    const double further = k + 2 < n ? rows[k].two * r[cell + 2 * step] : 0;
    r[cell] = r[cell] - rows[k].one * r[cell + step] - further;
  }
}

static void solve_line(const struct adi_grid* grid, long first, long step) {
  for (int part = 0; part < adi_parts; ++part) solve_part(grid->r[part], grid->n, first, step);
}

static bool run(char* result, size_t length) { return adi_run(solve_line, result, length); }

int main(int argc, char** argv) {
  static const struct nas_program sp = {
      .name = "sp",
      .about = "Threads solve pentadiagonal systems along the lines of a cube (SP).",
      .size_help = "cells of a side",
      .sizes = {6, 64, 162, 408},
      .least = 2,
      .most = adi_longest,
      .known_values = {"1.8247560551e+00", "9.5379104915e+02", "1.4545841921e+04",
                       "2.2696553704e+05"},
      .prepare = adi_prepare,
      .run = run};
  return nas_main(argc, argv, &sp);
}
