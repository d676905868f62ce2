// Programs that are nothing but tasks: a tree, a search, a sort by halves, a factorization by
// dependences. Each is compared with what one thread computes without tasks.
#include "check.h"

#include <stdlib.h>
#include <string.h>

static long fibonacci(int n) {
  long a, b;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

static void tree(void) {
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = fibonacci(18);
  CHECK(result == 2584);
}

enum { queens = 7 };

static int is_safe(int row, const char* columns, char column) {
  for (int i = 0; i < row; ++i) {
    const int apart = columns[i] - column;
    if (apart == 0 || apart == row - i || apart == i - row) return 0;
  }
  return 1;
}

// Each task has a copy of the board, on its own stack or in its arguments.
static void place(int row, const char* columns, int* solutions) {
  if (row == queens) {
#pragma omp atomic
    ++*solutions;
    return;
  }
  for (char column = 0; column < queens; ++column) {
    if (!is_safe(row, columns, column)) continue;
    char mine[queens];
    memcpy(mine, columns, queens);
    mine[row] = column;
#pragma omp task firstprivate(mine)
    place(row + 1, mine, solutions);
  }
#pragma omp taskwait
}

static void search(void) {
  int solutions = 0;
  const char nothing[queens] = {0};
#pragma omp parallel
#pragma omp single nowait
  place(0, nothing, &solutions);
  CHECK(solutions == 40);
}

static void merge(const int* a, const int* b, int half, int rest, int* into) {
  int i = 0, j = 0;
  while (i < half && j < rest) *into++ = a[i] <= b[j] ? a[i++] : b[j++];
  while (i < half) *into++ = a[i++];
  while (j < rest) *into++ = b[j++];
}

static void sort(int* numbers, int* other, int count) {
  if (count < 2) return;
  const int half = count / 2;
#pragma omp taskgroup
  {
#pragma omp task untied
    sort(numbers, other, half);
#pragma omp task
    sort(numbers + half, other + half, count - half);
  }
  merge(numbers, numbers + half, half, count - half, other);
  memcpy(numbers, other, sizeof(int) * (size_t)count);
}

static void sorting(void) {
  enum { count = 4000 };
  static int numbers[count], other[count];
  unsigned random = 1;
  for (int i = 0; i < count; ++i) numbers[i] = (int)((random = random * 1103515245 + 12345) >> 8);
#pragma omp parallel
#pragma omp master
  sort(numbers, other, count);
  for (int i = 1; i < count; ++i) CHECK(numbers[i - 1] <= numbers[i]);
}

// LU factorization of a matrix of blocks, some of which are zero: dependences between tasks.
enum { blocks = 8, side = 6 };
typedef double block[side][side];

static void factor(block d) {
  for (int k = 0; k < side; ++k)
    for (int i = k + 1; i < side; ++i) {
      d[i][k] /= d[k][k];
      for (int j = k + 1; j < side; ++j) d[i][j] -= d[i][k] * d[k][j];
    }
}
static void solve_right(block d, block c) {
  for (int k = 0; k < side; ++k)
    for (int i = k + 1; i < side; ++i)
      for (int j = 0; j < side; ++j) c[i][j] -= d[i][k] * c[k][j];
}
static void solve_below(block d, block r) {
  for (int i = 0; i < side; ++i)
    for (int k = 0; k < side; ++k) {
      r[i][k] /= d[k][k];
      for (int j = k + 1; j < side; ++j) r[i][j] -= r[i][k] * d[k][j];
    }
}
static void update(block r, block c, block inner) {
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      for (int k = 0; k < side; ++k) inner[i][j] -= r[i][k] * c[k][j];
}

static void fill(block m[blocks][blocks]) {
  for (int a = 0; a < blocks; ++a)
    for (int b = 0; b < blocks; ++b)
      for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j)
          m[a][b][i][j] = (a == b && i == j ? 100.0 : 1.0) / (1 + (a * 7 + b * 3 + i + j) % 11);
}

static void factorize(block m[blocks][blocks]) {
  for (int k = 0; k < blocks; ++k) {
#pragma omp task depend(inout : m[k][k]) priority(2)
    factor(m[k][k]);
    for (int j = k + 1; j < blocks; ++j) {
#pragma omp task depend(in : m[k][k]) depend(inout : m[k][j]) priority(1)
      solve_right(m[k][k], m[k][j]);
    }
    for (int i = k + 1; i < blocks; ++i) {
#pragma omp task depend(in : m[k][k]) depend(inout : m[i][k])
      solve_below(m[k][k], m[i][k]);
    }
    for (int i = k + 1; i < blocks; ++i)
      for (int j = k + 1; j < blocks; ++j) {
#pragma omp task depend(in : m[i][k], m[k][j]) depend(inout : m[i][j])
        update(m[i][k], m[k][j], m[i][j]);
      }
  }
}

static void factorization(void) {
  static block alone[blocks][blocks], together[blocks][blocks];
  fill(alone);
  factorize(alone);  // outside of a region: one after the other
#pragma omp taskwait
  for (int r = 0; r < 3; ++r) {
    fill(together);
#pragma omp parallel
#pragma omp single
    factorize(together);
    CHECK(memcmp(alone, together, sizeof alone) == 0);
  }
}

int main(void) {
  for (int r = 0; r < 4; ++r) {
    tree();
    search();
    sorting();
    factorization();
  }
  return 0;
}
