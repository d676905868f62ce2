// Reductions, with and without a barrier at the end: no part is lost, and after the barrier every
// thread sees the sum.
#include "check.h"

enum { rounds = 100 };

struct pair {
  long sum, count;
};
#pragma omp declare reduction(add                                                         \
                              : struct pair                                               \
                              : omp_out.sum += omp_in.sum, omp_out.count += omp_in.count) \
    initializer(omp_priv = (struct pair){0, 0})

static void at_the_end_of_a_region(void) {
  for (int r = 0; r < rounds; ++r) {
    long sum = 0;
    int threads = 0;
#pragma omp parallel reduction(+ : sum, threads)
    {
      sum += omp_get_thread_num();
      ++threads;
    }
    CHECK(sum == threads * (threads - 1L) / 2);
  }
}

// The loop's end is a barrier: each thread finds the whole sum.
static void at_the_end_of_a_loop(void) {
  long sum = 0;
  double largest = -1;
  struct pair both = {0, 0};
#pragma omp parallel
  for (int r = 1; r <= rounds; ++r) {
#pragma omp for reduction(+ : sum) reduction(max : largest) reduction(add : both)
    for (int i = 0; i < 50; ++i) {
      sum += i;
      if (i > largest) largest = i;
      both.sum += i;
      ++both.count;
    }
    CHECK(sum == r * 1225L && largest == 49 && both.sum == sum && both.count == r * 50);
#pragma omp barrier
  }
}

static void without_a_barrier(void) {
  long first = 0, second = 0;
#pragma omp parallel
  {
    for (int r = 0; r < rounds; ++r) {
#pragma omp for reduction(+ : first) nowait
      for (int i = 0; i < 20; ++i) ++first;
#pragma omp for reduction(+ : second) nowait
      for (int i = 0; i < 20; ++i) second += 2;
    }
#pragma omp barrier
    CHECK(first == 20L * rounds && second == 40L * rounds);
  }
}

static void of_arrays(void) {
  long histogram[8] = {0};
#pragma omp parallel for reduction(+ : histogram)
  for (int i = 0; i < 800; ++i) ++histogram[i % 8];
  for (int i = 0; i < 8; ++i) CHECK(histogram[i] == 100);
}

// One place in the program, used by teams of several sizes, some of them at the same time.
static long sum_of(int threads) {
  long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (int i = 0; i < 30; ++i) sum += i;
  return sum;
}
static void by_several_teams(void) {
  for (int threads = 1; threads <= 9; ++threads) CHECK(sum_of(threads) == 435);
  omp_set_max_active_levels(2);
  long all = 0;
#pragma omp parallel num_threads(3) reduction(+ : all)
  for (int r = 0; r < 10; ++r) all += sum_of(2 + r % 2);
  CHECK(all == 3 * 10 * 435);
  for (int threads = 9; threads >= 1; --threads) CHECK(sum_of(threads) == 435);
}

static void beside_tasks(void) {
  long sum = 0, done = 0;
#pragma omp parallel
  for (int r = 1; r <= 20; ++r) {
#pragma omp task
    {
#pragma omp atomic
      ++done;
    }
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 10; ++i) ++sum;
    long seen;
#pragma omp atomic read
    seen = done;
    CHECK(sum == 10L * r && seen == (long)r * omp_get_num_threads());
#pragma omp barrier
  }
}

int main(void) {
  at_the_end_of_a_region();
  at_the_end_of_a_loop();
  without_a_barrier();
  of_arrays();
  by_several_teams();
  beside_tasks();
  puts("reductions: all hold");
  return 0;
}
