/* cg.c -- conjugate gradients, with the structure of CG of the NAS benchmarks: products of a sparse
   matrix and a vector, and updates of vectors, each split among the threads.

   Check   The residual falls; its square is that of cg.lua, to the last digit: sums over all are
           made by one thread, so that their order does not depend on the number of threads. */
#include "nas.h"

#include <stdlib.h>

enum { steps = 4, per_row = 8 };

struct row {
  long size, room;
  long* columns;
  double* values;
};

static long n;
static struct row* rows;
static double *x, *r, *p, *q;

static void add(struct row* to, long column, double value) {
  if (to->size == to->room) {
    to->room = to->room == 0 ? per_row + 2 : 2 * to->room;
    to->columns = realloc(to->columns, (size_t)to->room * sizeof *to->columns);
    to->values = realloc(to->values, (size_t)to->room * sizeof *to->values);
    if (to->columns == NULL || to->values == NULL) {
      fprintf(stderr, "cg: no memory for a row of %ld elements\n", to->room);
      exit(2);
    }
  }
  to->columns[to->size] = column;
  to->values[to->size++] = value;
}

/* A symmetric matrix whose diagonal outweighs the rest, so that it is positive definite. */
static void prepare(long size) {
  n = size;
  rows = nas_array((size_t)n, sizeof *rows);
  for (long i = 0; i < n; ++i) add(&rows[i], i, 2.0 * per_row);
  struct nas_random stream = nas_random(7, (uint64_t)n);
  for (long i = 0; i < n; ++i)
    for (int k = 0; k < per_row / 2; ++k) {
      const long j = (long)nas_next(&stream);
      if (j == i) continue;
      add(&rows[i], j, -0.5);
      add(&rows[j], i, -0.5);
    }
  double** const vectors[] = {&x, &r, &p, &q};
  for (int v = 0; v < 4; ++v) *vectors[v] = nas_array((size_t)n, sizeof(double));
  for (long i = 0; i < n; ++i) r[i] = p[i] = 1.0;
}

static void multiply(void) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) {
    double sum = 0;
    for (long k = 0; k < rows[i].size; ++k) sum += rows[i].values[k] * p[rows[i].columns[k]];
    q[i] = sum;
  }
}

static void advance(double alpha) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) {
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
  }
}

static void turn(double beta) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) p[i] = r[i] + beta * p[i];
}

static double dot(const double* a, const double* b) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

static bool run(char* result, size_t length) {
  double rho = dot(r, r);
  for (int step = 0; step < steps; ++step) {
    multiply();
    const double alpha = rho / dot(p, q), before = rho;
    advance(alpha);
    rho = dot(r, r);
    turn(rho / before);
  }
  nas_print_value(result, length, rho);
  return rho < 1e-3 * (double)n;
}

int main(int argc, char** argv) {
  static const struct nas_program cg = {
      .name = "cg",
      .about = "Threads solve a sparse system by conjugate gradients (CG).",
      .size_help = "rows of the matrix",
      .sizes = {100, 200000, 1500000, 6000000},
      .least = 2,
      .most = 16000000,
      .known_values = {"2.5418647113e-07", "7.4015179691e-04", "5.5343585162e-03",
                       "2.4336308183e-02"},
      .prepare = prepare,
      .run = run};
  return nas_main(argc, argv, &cg);
}
