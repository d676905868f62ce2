// Teams of changing size, nested, larger than the machine, serialized, combined with their loops;
// threadprivate data that stays.
#include "check.h"

static int kept;
#pragma omp threadprivate(kept)

static int count_threads(void) {
  int n = 0;
#pragma omp atomic
  ++n;
  return n;
}

static void resized(void) {
  for (int r = 0; r < 200; ++r) {
    const int wanted = 1 + (r * 7) % 9;
    int came = 0, passed = 0;
#pragma omp parallel num_threads(wanted)
    {
#pragma omp atomic
      ++came;
#pragma omp barrier
      CHECK(came == omp_get_num_threads());
#pragma omp atomic
      ++passed;
#pragma omp barrier
      CHECK(passed == omp_get_num_threads());
    }
  }
}

static void resized_by_calls(void) {
  const int before = omp_get_max_threads();
  for (int r = 0; r < 60; ++r) {
    omp_set_num_threads(1 + r % 5);
    int came = 0;
#pragma omp parallel
    {
#pragma omp atomic
      ++came;
#pragma omp barrier
      CHECK(came == omp_get_num_threads());
    }
  }
  omp_set_num_threads(before);
}

static void dynamically_adjusted(void) {
  omp_set_dynamic(1);
  for (int r = 0; r < 20; ++r) {
    int came = 0;
#pragma omp parallel num_threads(16)
    {
#pragma omp atomic
      ++came;
#pragma omp barrier
      CHECK(came == omp_get_num_threads());
    }
  }
  omp_set_dynamic(0);
}

static void nested(void) {
  omp_set_max_active_levels(3);
  for (int r = 0; r < 20; ++r) {
    int inner_total = 0, outer = 0;
#pragma omp parallel num_threads(3)
    {
      int came = 0;
#pragma omp parallel num_threads(2 + r % 2) shared(came)
      {
#pragma omp atomic
        ++came;
#pragma omp barrier
        CHECK(came == omp_get_num_threads());
        long value = 0;
#pragma omp single copyprivate(value)
        value = 100 * omp_get_ancestor_thread_num(1) + r;
        CHECK(value == 100 * omp_get_ancestor_thread_num(1) + r);
#pragma omp barrier
#pragma omp atomic
        ++inner_total;
      }
#pragma omp atomic
      ++outer;
#pragma omp barrier
      CHECK(outer == omp_get_num_threads());
    }
    CHECK(inner_total == 3 * (2 + r % 2));
  }
  omp_set_max_active_levels(1);
}

static void serialized_inside(void) {
#pragma omp parallel num_threads(4)
  for (int r = 0; r < 50; ++r) {
    int alone = 0;
#pragma omp parallel shared(alone)
    {
      ++alone;
#pragma omp barrier
#pragma omp single
      ++alone;
    }
    CHECK(alone == 2);
#pragma omp parallel if (0) shared(alone)
    {
      ++alone;
#pragma omp barrier
    }
    CHECK(alone == 3);
#pragma omp barrier
  }
}

static void larger_than_the_machine(void) {
  int came = 0;
#pragma omp parallel num_threads(48)
  for (int r = 1; r <= 20; ++r) {
#pragma omp atomic
    ++came;
#pragma omp barrier
    CHECK(came == r * omp_get_num_threads());
#pragma omp barrier
  }
}

static void threadprivate_stays(void) {
#pragma omp parallel num_threads(4)
  kept = 10 + omp_get_thread_num();
#pragma omp parallel num_threads(4)
  CHECK(kept == 10 + omp_get_thread_num());
  kept = 77;
#pragma omp parallel num_threads(4) copyin(kept)
  CHECK(kept == 77);
}

static void combined_loops(void) {
  for (int r = 0; r < 40; ++r) {
    long a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel for schedule(static) reduction(+ : a)
    for (int i = 0; i < 100; ++i) a += i;
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : b)
    for (int i = 0; i < 100; ++i) b += i;
#pragma omp parallel for schedule(guided) reduction(+ : c)
    for (int i = 0; i < 100; ++i) c += i;
#pragma omp parallel for schedule(runtime) reduction(+ : d)
    for (int i = 0; i < 100; ++i) d += i;
    CHECK(a == 4950 && b == 4950 && c == 4950 && d == 4950);
  }
}

// More shared variables than fit registers: each becomes an argument in some compilers.
static void many_variables(void) {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
  long sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  {
#pragma omp barrier
    sum += a + b + c + d + e + f + g + h + i + j + k + l;
#pragma omp barrier
#pragma omp single
    a = b = c = d = e = f = g = h = i = j = k = l = 2;
    sum += a + b + c + d + e + f + g + h + i + j + k + l;
  }
  CHECK(sum % (78 + 24) == 0 && sum > 0);
}

#ifndef __clang__  // LLVM 14's own code dies in these target tasks, without us too.
static int passed_alone;

// What is a barrier in a team is nothing to a thread that is alone.
static void pass_everything(void) {
  int mine = 0;
#pragma omp barrier
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 3; ++i) mine += i;
#pragma omp sections
  {
#pragma omp section
    ++mine;
  }
#pragma omp single copyprivate(mine)
  ++mine;
#pragma omp atomic
  passed_alone += mine;
}

static void be_alone(int way) {
  if (way == 0) {
#pragma omp parallel num_threads(1)
    pass_everything();
  } else if (way == 1) {
#pragma omp parallel if (0)
    pass_everything();
  } else {
    omp_set_num_threads(1);
#pragma omp parallel
    pass_everything();
  }
}

// A target region is a task of whichever thread comes by, and its nesting begins anew.
static void alone_in_target_tasks(void) {
  enum { threads = 4, rounds = 8 };
  int reached[threads] = {0};
  passed_alone = 0;
#pragma omp parallel num_threads(threads)
  for (int r = 1; r <= rounds; ++r) {
#pragma omp target nowait
    be_alone(r % 3);
#pragma omp taskwait
    reached[omp_get_thread_num()] = r;
#pragma omp barrier
    for (int i = 0; i < threads; ++i) CHECK(reached[i] == r);
#pragma omp barrier
  }
  CHECK(passed_alone == 5 * threads * rounds);
}
#else
static void alone_in_target_tasks(void) {}
#endif

int main(void) {
  CHECK(count_threads() == 1);
  resized();
  resized_by_calls();
  dynamically_adjusted();
  nested();
  serialized_inside();
  larger_than_the_machine();
  threadprivate_stays();
  combined_loops();
  many_variables();
  alone_in_target_tasks();  // the last: no region is kept after a target region
  puts("teams: all hold");
  return 0;
}
