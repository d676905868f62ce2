/* ft.c -- Fourier transforms of the rows, then of the columns of a square, as FT of the NAS
   benchmarks does in three dimensions; then back.

   Check   Back where it began, to 1e-9; the sum of ft.lua. */
#include "nas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static long n;
static double *re, *im, *original;

static bool is_power_of_two(long size) { return (size & (size - 1)) == 0; }

static void prepare(long size) {
  n = size;
  const size_t cells = (size_t)(n * n);
  re = nas_array(cells, sizeof *re);
  im = nas_array(cells, sizeof *im);
  original = nas_array(cells, sizeof *original);
  struct nas_random stream = nas_random(3, 1024);
  for (size_t i = 0; i < cells; ++i) {
    re[i] = (double)nas_next(&stream) / 1024;
    im[i] = (double)nas_next(&stream) / 1024;
  }
  memcpy(original, re, cells * sizeof *re);
}

static void swap(double* a, double* b) {
  const double was = *a;
  *a = *b;
  *b = was;
}

static void reverse_bits(double* a, double* b) {
  for (long i = 0, j = 0; i < n; ++i) {
    if (j > i) {
      swap(&a[i], &a[j]);
      swap(&b[i], &b[j]);
    }
    long m = n / 2;
    for (; m >= 1 && j >= m; m /= 2) j -= m;
    j += m;
  }
}

/* In place, of n numbers; sign -1 forth, 1 back (not divided by n). */
static void transform(double* a, double* b, int sign) {
  reverse_bits(a, b);
  for (long half = 1; half < n; half *= 2)
    for (long k = 0; k < half; ++k) {
      const double angle = sign * 3.14159265358979323846 * (double)k / (double)half;
      const double c = cos(angle), s = sin(angle);
      for (long i = k; i < n; i += 2 * half) {
        const long m = i + half;
        const double u = c * a[m] - s * b[m], v = c * b[m] + s * a[m];
        a[m] = a[i] - u;
        b[m] = b[i] - v;
        a[i] += u;
        b[i] += v;
      }
    }
}

/* Of numbers that are `stride` apart, in lines that are `step` apart. */
static void transform_lines(long stride, long step, int sign) {
#pragma omp parallel
  {
    double* const a = nas_array((size_t)n, sizeof *a);
    double* const b = nas_array((size_t)n, sizeof *b);
#pragma omp for schedule(static)
    for (long line = 0; line < n; ++line) {
      for (long i = 0; i < n; ++i) {
        a[i] = re[line * step + i * stride];
        b[i] = im[line * step + i * stride];
      }
      transform(a, b, sign);
      for (long i = 0; i < n; ++i) {
        re[line * step + i * stride] = a[i];
        im[line * step + i * stride] = b[i];
      }
    }
    free(a);
    free(b);
  }
}

static bool is_original(void) {
  for (long i = 0; i < n * n; ++i)
    if (!(fabs(re[i] / (double)(n * n) - original[i]) < 1e-9)) return false;
  return true;
}

static bool run(char* result, size_t length) {
  transform_lines(1, n, -1);
  transform_lines(n, 1, -1);
  double sum = 0;
  for (long i = 0; i < n * n; i += 7) sum += re[i] - im[i];
  transform_lines(n, 1, 1);
  transform_lines(1, n, 1);
  snprintf(result, length, "%.8f", sum);
  return is_original();
}

int main(int argc, char** argv) {
  static const struct nas_program ft = {
      .name = "ft",
      .about = "Threads transform a square of numbers, and back (FT).",
      .size_help = "numbers of a side, a power of two",
      .sizes = {16, 1024, 4096, 8192},
      .least = 2,
      .most = 32768,
      .is_size = is_power_of_two,
      .known_values = {"-41.05359781", "-99107.75901994", "1266025.80618691", "-2950270.02194910"},
      .prepare = prepare,
      .run = run};
  return nas_main(argc, argv, &ft);
}
