// Regions one after the other that are alike, so that their team may be kept, and all that comes in
// between: what the thread between two regions sees, and what the next region has to see.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { many = 12 };  // regions, more than it takes until a team is kept

static int came;
static int mine;
#pragma omp threadprivate(mine)

static void one_region(int threads) {
  came = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp atomic
    ++came;
    CHECK(omp_get_num_threads() == threads && omp_get_level() == 1 && omp_in_parallel());
    CHECK(omp_get_thread_num() < threads && omp_get_team_size(1) == threads);
  }
  CHECK(came == threads);
}

static void regions(int threads) {
  for (int r = 0; r < many; ++r) one_region(threads);
}

static void nothing_between(void) {
  CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && omp_get_level() == 0);
  CHECK(!omp_in_parallel() && omp_get_active_level() == 0 && omp_get_team_size(0) == 1);
  int alone = 0;
#pragma omp barrier
#pragma omp single
  ++alone;
#pragma omp for schedule(dynamic) ordered
  for (int i = 0; i < 5; ++i) {
#pragma omp ordered
    ++alone;
  }
#pragma omp sections
  {
#pragma omp section
    ++alone;
#pragma omp section
    ++alone;
  }
#pragma omp task shared(alone)
  ++alone;
#pragma omp taskwait
#pragma omp taskgroup
  {
#pragma omp task shared(alone)
    ++alone;
  }
  CHECK(alone == 10);
}

static void serial_code(void) {
  for (int r = 0; r < many; ++r) {
    one_region(3);
    nothing_between();
  }
}

static void changing_sizes(void) {
  for (int r = 0; r < many; ++r) {
    regions(2 + r % 3);
    one_region(4);
    int alone = 0;
#pragma omp parallel num_threads(1) shared(alone)
    alone += omp_get_num_threads();
#pragma omp parallel if (0) shared(alone)
    alone += omp_get_num_threads();
    CHECK(alone == 2);
  }
}

// Work-sharing that goes on where the region before ended, without a barrier at its end.
static void work_sharing(void) {
  for (int r = 0; r < 3 * many; ++r) {
    int sum = 0, singles = 0, parts = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
#pragma omp single nowait
      {
#pragma omp atomic
        ++singles;
      }
#pragma omp for schedule(dynamic, 2) nowait
      for (int i = 0; i < 40; ++i) sum += i;
#pragma omp sections nowait
      {
#pragma omp section
        {
#pragma omp atomic
          ++parts;
        }
#pragma omp section
        {
#pragma omp atomic
          ++parts;
        }
      }
#pragma omp for schedule(guided) nowait
      for (int i = 0; i < 7 + r; ++i) sum += 1;
    }
    CHECK(sum == 780 + 7 + r && singles == 1 && parts == 2);
    if (r % 5 != 0) continue;
    int inside = 0, last = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic) reduction(+ : inside)
    for (int i = 0; i < 50; ++i) inside += i;
#pragma omp parallel for num_threads(3) ordered lastprivate(last)
    for (int i = 0; i < 50; ++i) {
#pragma omp ordered
      last = i;
    }
    CHECK(inside == 1225 && last == 49);
  }
}

// Regions that are a loop, whose parts are handed out one by one, between others.
static void loops(void) {
  for (int r = 0; r < 2 * many; ++r) {
    long parts = 0, grown = 0, set = 0, down = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic) reduction(+ : parts)
    for (int i = 0; i < 30 + r; ++i) parts += i;
#pragma omp parallel for num_threads(3) schedule(monotonic : dynamic, 4) reduction(+ : down)
    for (int i = 100; i > r; i -= 3) down += i;
    if (r % 4 == 0) one_region(3);
#pragma omp parallel for num_threads(3) schedule(guided, 2) reduction(+ : grown)
    for (int i = 0; i < r; ++i) grown += i;  // none at first
    if (r >= many) omp_set_schedule(r % 2 == 0 ? omp_sched_dynamic : omp_sched_static, 3);
#pragma omp parallel for num_threads(3) schedule(runtime) reduction(+ : set)
    for (int i = 0; i < 50; ++i) set += omp_get_num_threads();
    long wanted = 0;
    for (int i = 100; i > r; i -= 3) wanted += i;
    CHECK(parts == (30 + r) * (29 + r) / 2 && down == wanted);
    CHECK(grown == r * (r - 1) / 2 && set == 150);
    if (r % 6 == 5) nothing_between();
  }
  omp_set_schedule(omp_sched_static, 0);
}

// Made by the last statement of the region, run by whoever has time, done when it has ended.
static void tasks_at_the_end(void) {
  for (int r = 0; r < 4 * many; ++r) {
    int done = 0;
#pragma omp parallel num_threads(4) shared(done)
    {
      if (r % 3 == 0) {
#pragma omp barrier
      }
      if (omp_get_thread_num() == r % 4) {
        for (int i = 0; i < 20; ++i) {
#pragma omp task shared(done)
          {
#pragma omp task shared(done)
            {
#pragma omp atomic
              ++done;
            }
          }
        }
      }
    }
    CHECK(done == 20);
    one_region(4);
  }
}

static void dependent_tasks(void) {
  for (int r = 0; r < many; ++r) {
    int value = 0;
#pragma omp parallel num_threads(3) shared(value)
#pragma omp single
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(inout : value) shared(value)
      value = 2 * value + 1;
    }
    CHECK(value == 1023);
  }
}

// What a region inherits, changed before it.
static void settings_outside(void) {
  const int threads = omp_get_max_threads();
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  for (int r = 0; r < many; ++r) {
    regions(3);
    omp_set_schedule(omp_sched_dynamic, 3 + r);
    omp_set_num_threads(2 + r % 4);
    omp_set_max_active_levels(1 + r % 3);
    came = 0;
#pragma omp parallel num_threads(3)
    {
      omp_sched_t found;
      int size;
      omp_get_schedule(&found, &size);
      CHECK((found & 0x7fffffff) == omp_sched_dynamic && size == 3 + r);
      CHECK(omp_get_max_threads() == 2 + r % 4 && omp_get_max_active_levels() == 1 + r % 3);
#pragma omp atomic
      ++came;
    }
    CHECK(came == 3);
    for (int again = 0; again < 4; ++again) {
      came = 0;
#pragma omp parallel
      {
#pragma omp atomic
        ++came;
      }
      CHECK(came == 2 + r % 4);
    }
  }
  omp_set_num_threads(threads);
  omp_set_schedule(kind, chunk);
  omp_set_max_active_levels(1);
}

// Changed in a region by one of its threads: that is over with it.
static void settings_inside(void) {
  for (int r = 0; r < many; ++r) {
    regions(3);
    const int threads = omp_get_max_threads();
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
#pragma omp parallel num_threads(3)
    if (omp_get_thread_num() == r % 3) {
      omp_set_num_threads(7);
      omp_set_schedule(omp_sched_guided, 77);
    }
#pragma omp parallel num_threads(3)
    {
      omp_sched_t found;
      int size;
      omp_get_schedule(&found, &size);
      CHECK(found == kind && size == chunk && omp_get_max_threads() == threads);
    }
    CHECK(omp_get_max_threads() == threads);
  }
}

static void nested(void) {
  omp_set_max_active_levels(2);
  for (int r = 0; r < many; ++r) {
    int total = 0;
#pragma omp parallel num_threads(2) shared(total)
    {
#pragma omp parallel num_threads(2) shared(total)
      {
        CHECK(omp_get_level() == 2 && omp_get_ancestor_thread_num(1) < 2);
#pragma omp atomic
        ++total;
      }
      CHECK(omp_get_level() == 1 && omp_get_num_threads() == 2);
    }
    CHECK(total == 4);
  }
  omp_set_max_active_levels(1);
}

static void threads_stay(void) {
#pragma omp parallel num_threads(4)
  mine = 100 + omp_get_thread_num();
  for (int r = 0; r < many; ++r) {
#pragma omp parallel num_threads(4)
    CHECK(mine == 100 + omp_get_thread_num());
    if (r == many / 2) nothing_between();
  }
#pragma omp parallel for num_threads(4) schedule(dynamic, 1)
  for (int i = 0; i < 16; ++i) CHECK(mine == 100 + omp_get_thread_num());
}

static void* a_master(void* with_cleanup) {
  for (int r = 0; r < many; ++r) {
    int count = 0;
#pragma omp parallel num_threads(3) reduction(+ : count)
    count += 1;
    CHECK(count == 3);
  }
  if (with_cleanup != NULL) pthread_exit(with_cleanup);
  return NULL;
}

// Threads with teams of their own begin and end.
static void several_masters(void) {
  for (int r = 0; r < many; ++r) {
    pthread_t thread[3];
    for (int i = 0; i < 3; ++i)
      CHECK(pthread_create(&thread[i], NULL, a_master, i == 1 ? &thread[i] : NULL) == 0);
    for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
    one_region(3);
  }
}

// A child that has no region of several threads ends as ever.
static void forked(void) {
  regions(3);
  const pid_t child = fork();
  if (child == 0) {
    int alone = 0;
#pragma omp parallel num_threads(1) reduction(+ : alone)
    alone += 1;
    exit(alone == 1 && omp_get_level() == 0 ? 0 : 1);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  regions(3);
}

// The threads end; the next region starts others.
static void given_back(void) {
  for (int r = 0; r < 3; ++r) {
    regions(3);
    CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
  }
  regions(3);
}

// Begun and ended by separate calls, as programs of compilers before GCC 4.9 do.
#ifdef __clang__
static void old_entry_points(void) {}
#else
extern void GOMP_parallel_start(void (*)(void*), void*, unsigned);
extern void GOMP_parallel_end(void);

static void count(void* data) {
#pragma omp atomic
  ++*(int*)data;
  CHECK(omp_get_num_threads() == 3);
}

static void old_entry_points(void) {
  for (int r = 0; r < many; ++r) {
    regions(3);
    int counted = 0;
    GOMP_parallel_start(count, &counted, 3);
    count(&counted);
    GOMP_parallel_end();
    CHECK(counted == 3);
  }
}
#endif

// On the host, by a thread without a past. From then on no team is kept.
static void target_regions(void) {
  for (int r = 0; r < many; ++r) {
    regions(3);
    int counted = 0;
#pragma omp target map(tofrom : counted)
    for (int again = 0; again < many; ++again) {
#pragma omp parallel num_threads(3) reduction(+ : counted)
      counted += 1;
    }
    CHECK(counted == 3 * many);
  }
}

static void late_regions(void) {
  for (int r = 0; r < 5; ++r) {
    usleep(3000);
    regions(3);
  }
}

// libgomp: each test in a thread of its own, since whose teams were kept in vain, waits longer the
// next time. libomp, whose teams are not kept, fails assertions of its own where such threads end.
#ifdef __clang__
enum { own_threads = 0 };
#else
enum { own_threads = 1 };
#endif

static void* run(void* test) {
  (*(void (**)(void))test)();
  return NULL;
}

static void run_apart(void (*test)(void)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run, &test) == 0);
  pthread_join(thread, NULL);
}

static void four(void) { regions(4); }

int main(void) {
  void (*tests[])(void) = {four,
                           serial_code,
                           changing_sizes,
                           work_sharing,
                           loops,
                           nested,
                           dependent_tasks,
                           threads_stay,
                           tasks_at_the_end,
                           late_regions,
                           settings_outside,
                           settings_inside,
                           target_regions};
  void (*of_threads[])(void) = {forked, given_back, several_masters, old_entry_points};
  alarm(100);
  for (size_t i = 0; own_threads && i < sizeof of_threads / sizeof *of_threads; ++i)
    run_apart(of_threads[i]);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
    if (own_threads) run_apart(tests[i]);
    else tests[i]();
  }
  regions(3);  // of the first thread, which ends with the team
  puts("kept: all hold");
  return 0;
}
