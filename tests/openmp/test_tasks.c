// Tasks that are pending when their makers reach a barrier are done behind it; those who wait there
// help; cancellation ends loops, sections and regions.
#include "check.h"

#include <unistd.h>

enum { rounds = 40 };

static void pending_at_a_barrier(void) {
  int done = 0;
#pragma omp parallel
  for (int r = 0; r < rounds; ++r) {
#pragma omp single
    done = 0;
    for (int i = 0; i < 5; ++i) {
#pragma omp task
      {
#pragma omp atomic
        ++done;
      }
    }
#pragma omp barrier
    CHECK(done == 5 * omp_get_num_threads());
#pragma omp barrier
  }
}

static void made_by_one(void) {
  for (int r = 0; r < rounds; ++r) {
    int done = 0;
#pragma omp parallel
    {
#pragma omp single
      for (int i = 0; i < 50; ++i) {
#pragma omp task
        {
#pragma omp atomic
          ++done;
        }
      }
      CHECK(done == 50);
#pragma omp barrier
#pragma omp single nowait
      {
#pragma omp task
        {
#pragma omp task
          {
#pragma omp atomic
            ++done;
          }
        }
      }
#pragma omp barrier
      CHECK(done == 51);
    }
  }
}

// The others wait in the barrier already when the tasks are made, one after the other: they are
// called to them. Needs a runtime that lets waiting threads help, as both do.
static void waiters_help(void) {
  int helped = 0, threads = 0;
#pragma omp parallel
  {
#pragma omp master
    threads = omp_get_num_threads();
#pragma omp single
    {
      const int maker = omp_get_thread_num();
      usleep(20000);
      for (int i = 0; i < 20 && helped == 0; ++i) {
        for (int j = 0; j < 4; ++j) {
#pragma omp task firstprivate(maker)
          {
            if (omp_get_thread_num() != maker) {
#pragma omp atomic write
              helped = 1;
            }
            usleep(1000);
          }
        }
        usleep(5000);
      }
    }
  }
  if (threads > 1) CHECK(helped);
}

static int fibonacci(int n) {
  int a, b;
  if (n < 2) return n;
#pragma omp task shared(a) if (n > 5)
  a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 5)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

static void recursive(void) {
  for (int r = 0; r < 5; ++r) {
    int result = 0;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp single
      result = fibonacci(14);
      CHECK(result == 377);
    }
  }
}

static void groups_and_dependences(void) {
  for (int r = 0; r < rounds; ++r) {
    int x = 0, loop = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
      {
#pragma omp task depend(out : x) shared(x)
        x = 5;
#pragma omp task depend(inout : x) shared(x)
        x *= 3;
#pragma omp task depend(in : x) shared(x)
        CHECK(x == 15);
      }
      CHECK(x == 15);
#pragma omp taskloop shared(loop) grainsize(3)
      for (int i = 0; i < 30; ++i) {
#pragma omp atomic
        ++loop;
      }
      CHECK(loop == 30);
    }
  }
}

static void taskloop_without_group(void) {
  for (int r = 0; r < rounds; ++r) {
    int loop = 0;
#pragma omp parallel
    {
#pragma omp single nowait
      {
#pragma omp taskloop nogroup shared(loop)
        for (unsigned long long i = 0; i < 30; ++i) {
#pragma omp atomic
          ++loop;
        }
      }
#pragma omp barrier
      CHECK(loop == 30);
    }
  }
}

// A team started by a task, while others wait in a barrier for it.
static void team_inside_task(void) {
  omp_set_max_active_levels(2);
  for (int r = 0; r < 10; ++r) {
    int inner = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp single nowait
      {
#pragma omp task
        {
#pragma omp parallel num_threads(2)
          {
#pragma omp atomic
            ++inner;
#pragma omp barrier
            CHECK(inner == 2);
          }
        }
      }
#pragma omp barrier
      CHECK(inner == 2);
    }
  }
  omp_set_max_active_levels(1);
}

static void task_reduction(void) {
  for (int r = 0; r < 10; ++r) {
    int sum = 0;
#pragma omp parallel reduction(task, + : sum)
    {
#pragma omp barrier
#pragma omp single
      for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : sum)
        sum += i;
      }
    }
    CHECK(sum == 190);
  }
}

// With OMP_CANCELLATION=true these end early, else they run through; correct in either case.
// libomp 14 itself hangs when a dynamic loop is cancelled again and again.
#ifdef __clang__
#define CANCELLABLE schedule(static)
#else
#define CANCELLABLE schedule(dynamic)
#endif
static void cancelled_loop(void) {
  int left = 0;
#pragma omp parallel
  for (int r = 0; r < rounds; ++r) {
#pragma omp for CANCELLABLE
    for (int i = 0; i < 100; ++i) {
      if (i == 10) {
#pragma omp cancel for
      }
#pragma omp cancellation point for
    }
#pragma omp barrier
    // The next loop must not find itself cancelled.
#pragma omp for reduction(+ : left)
    for (int i = 0; i < 20; ++i) left += 1;
#pragma omp barrier
  }
  CHECK(left == 20 * rounds);
}

static void cancelled_sections(void) {
  int after = 0;
#pragma omp parallel
  for (int r = 0; r < rounds; ++r) {
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp cancel sections
      }
#pragma omp section
      {
#pragma omp cancellation point sections
      }
    }
#pragma omp single
    ++after;
  }
  CHECK(after == rounds);
}

static void cancelled_region(void) {
  for (int r = 0; r < rounds; ++r) {
    int began = 0, after = 0;
#pragma omp parallel
    {
#pragma omp atomic
      ++began;
      if (omp_get_thread_num() == 0 && r % 2 == 0) {
#pragma omp cancel parallel
      }
#pragma omp barrier
    }
    CHECK(began >= 1);
#pragma omp parallel
    {
#pragma omp atomic
      ++after;
#pragma omp barrier
      CHECK(after == omp_get_num_threads());
    }
  }
}

int main(void) {
  pending_at_a_barrier();
  made_by_one();
  if (getenv("SYNCOPATE_TEST_NO_HELP") == NULL) waiters_help();
  recursive();
  groups_and_dependences();
  taskloop_without_group();
  team_inside_task();
  task_reduction();
  cancelled_loop();
  cancelled_sections();
  cancelled_region();
  puts("tasks: all hold");
  return 0;
}
