// Barriers, explicit and at the end of every construct that has one: nobody goes on before all
// have come.
#include "check.h"

enum { rounds = 300, most = 64 };
static int stamp[most][16];

// Each thread writes its round, and finds after the barrier that all others have.
static void expect_all(int round) {
  for (int i = 0; i < omp_get_num_threads(); ++i)
    CHECK(__atomic_load_n(&stamp[i][0], __ATOMIC_RELAXED) >= round);
}
static void arrive(int round) {
  __atomic_store_n(&stamp[omp_get_thread_num()][0], round, __ATOMIC_RELAXED);
}
static void reset(void) {
  for (int i = 0; i < most; ++i) stamp[i][0] = 0;
}

static void orphaned_barrier(void) {
#pragma omp barrier
}

static void explicit_barrier(void) {
  reset();
#pragma omp parallel
  for (int r = 1; r <= rounds; ++r) {
    arrive(r);
#pragma omp barrier
    expect_all(r);
    arrive(r);
    orphaned_barrier();
  }
}

#define LOOP(name, clause)                                      \
  static void name(void) {                                      \
    reset();                                                    \
    long sum = 0;                                               \
    _Pragma("omp parallel") for (int r = 1; r <= rounds; ++r) { \
      arrive(r);                                                \
      _Pragma(clause) for (int i = 0; i < 40; ++i) sum += i;    \
      expect_all(r);                                            \
    }                                                           \
    CHECK(sum == rounds * 780L);                                \
  }
LOOP(static_loop, "omp for schedule(static) reduction(+ : sum)")
LOOP(dynamic_loop, "omp for schedule(dynamic, 3) reduction(+ : sum)")
LOOP(guided_loop, "omp for schedule(guided) reduction(+ : sum)")
LOOP(runtime_loop, "omp for schedule(runtime) reduction(+ : sum)")
LOOP(monotonic_loop, "omp for schedule(monotonic : dynamic) reduction(+ : sum)")

static void nowait_loops(void) {
  long done = 0;
#pragma omp parallel
  for (int r = 0; r < rounds; ++r) {
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 10; ++i) {
#pragma omp atomic
      ++done;
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) {
#pragma omp atomic
      ++done;
    }
    CHECK(done >= (r + 1) * 20L);
#pragma omp barrier
  }
  CHECK(done == rounds * 20L);
}

static void ordered_loop(void) {
  for (int r = 0; r < 30; ++r) {
    int next = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 50; ++i) {
#pragma omp ordered
      {
        CHECK(next == i);
        ++next;
      }
    }
  }
}

static void doacross(void) {
  static int value[101];
  for (int r = 0; r < 10; ++r) {
    value[0] = 1;
#pragma omp parallel for ordered(1)
    for (int i = 1; i <= 100; ++i) {
#pragma omp ordered depend(sink : i - 1)
      value[i] = value[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    CHECK(value[100] == 101);
  }
}

static void sections(void) {
  reset();
  int runs[3] = {0, 0, 0};
#pragma omp parallel
  for (int r = 1; r <= rounds; ++r) {
    arrive(r);
#pragma omp sections
    {
#pragma omp section
      ++runs[0];
#pragma omp section
      ++runs[1];
#pragma omp section
      ++runs[2];
    }
    expect_all(r);
  }
  CHECK(runs[0] == rounds && runs[1] == rounds && runs[2] == rounds);
}

static void combined_sections(void) {
  for (int r = 0; r < 20; ++r) {
    int a = 0, b = 0;
#pragma omp parallel sections
    {
#pragma omp section
      a = 1;
#pragma omp section
      b = 2;
    }
    CHECK(a == 1 && b == 2);
  }
}

static void single(void) {
  reset();
  int runs = 0;
#pragma omp parallel
  for (int r = 1; r <= rounds; ++r) {
    arrive(r);
#pragma omp single
    ++runs;
    expect_all(r);
    CHECK(runs == r);
#pragma omp barrier
  }
}

// GCC has it from version 12 on, clang not yet. Its variables are each thread's own.
static void scope(void) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
  reset();
  long sum = 0;
#pragma omp parallel
  for (int r = 1; r <= rounds; ++r) {
    arrive(r);
#pragma omp scope reduction(+ : sum)
    sum += 1;
    expect_all(r);
    CHECK(sum == (long)r * omp_get_num_threads());
#pragma omp barrier
  }
#endif
}

static void copyprivate(void) {
#pragma omp parallel
  {
    long mine = -1;
    double also = 0;
    for (int r = 0; r < rounds; ++r) {
#pragma omp single copyprivate(mine, also)
      {
        mine = 1000 + r;
        also = r / 2.0;
      }
      CHECK(mine == 1000 + r && also == r / 2.0);
    }
  }
}

int main(void) {
  explicit_barrier();
  static_loop();
  dynamic_loop();
  guided_loop();
  runtime_loop();
  monotonic_loop();
  nowait_loops();
  ordered_loop();
  doacross();
  sections();
  combined_sections();
  single();
  scope();
  copyprivate();
  puts("barriers: all hold");
  return 0;
}
