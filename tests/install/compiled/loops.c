/* Regions, a loop with a reduction, tasks. */
#include <stdio.h>

static long tasks_of(int depth) {
  if (depth == 0) return 1;
  long left = 0, right = 0;
#pragma omp task shared(left)
  left = tasks_of(depth - 1);
  right = tasks_of(depth - 1);
#pragma omp taskwait
  return left + right;
}

int main(void) {
  long sum = 0, tasks = 0;
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
  }
#pragma omp parallel
#pragma omp single
  tasks = tasks_of(8);
  printf("sum %ld, tasks %ld\n", sum, tasks);
  return 0;
}
