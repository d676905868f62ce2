// What OpenMP says of tasks, construct by construct, also where few implementations differ.
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { rounds = 20 };

#define ADD(variable)                 \
  do {                                \
    _Pragma("omp atomic")++ variable; \
  } while (0)

// libomp of LLVM 14 to 17 goes on from an undeferred task with dependences, and from a taskwait
// with some, while the task that it waited for still writes to a node on its stack: "Assertion
// failure at kmp_taskdeps.h: n >= 0" (llvm-project's 85963). There no such task is in flight.
#ifdef __clang__
#define NOTHING_IN_FLIGHT _Pragma("omp taskwait")
#else
#define NOTHING_IN_FLIGHT
#endif

// More than any deque holds, and from tasks as well.
static void many(void) {
  int done = 0;
#pragma omp parallel
  {
    for (int i = 0; i < 700; ++i) {
#pragma omp task
      {
#pragma omp task
        ADD(done);
        ADD(done);
      }
    }
#pragma omp barrier
    CHECK(done == 1400 * omp_get_num_threads());
  }
}

// At the end of a region that has no barrier before: made by one, by all, by the last there.
static void at_the_end(void) {
  int done = 0, threads = 0;
#pragma omp parallel
  {
#pragma omp single nowait
    threads = omp_get_num_threads();
#pragma omp task
    {
      usleep(100);
#pragma omp task
      ADD(done);
    }
  }
  CHECK(done == threads);
  done = 0;
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    usleep(500);
    for (int i = 0; i < 30; ++i) {
#pragma omp task
      ADD(done);
    }
  }
  CHECK(done == 30);
}

// Arguments that are large, aligned, or arrays.
struct large {
  char text[1000];
  _Alignas(64) int number;
};
static void arguments(void) {
  struct large one;
  memset(one.text, 'x', sizeof one.text);
  one.number = 5;
  int right = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 20; ++i) {
      one.number = i;
#pragma omp task firstprivate(one, i)
      if (one.number == i && one.text[999] == 'x' && (size_t)&one % 64 == 0) ADD(right);
    }
    one.number = -1;
  }
  CHECK(right == 20);
}

// `if (0)` and `final`: at once; what a final task makes is done when it has been made.
static void at_once(void) {
#pragma omp parallel
#pragma omp single
  {
    int order = 0;
#pragma omp task if (0) shared(order)
    {
      order = 1;
      CHECK(!omp_in_final());
    }
    CHECK(order == 1);
    int inner = 0;
#pragma omp task final(1) shared(inner)
    {
      CHECK(omp_in_final());
#pragma omp task shared(inner)
      {
        CHECK(omp_in_final());
        inner = 1;
      }
      CHECK(inner == 1);
    }
#pragma omp taskwait
    CHECK(inner == 1);
    // It waits for what it depends on.
    int x = 0;
#pragma omp task depend(out : x) shared(x)
    {
      usleep(200);
      x = 1;
    }
    NOTHING_IN_FLIGHT
#pragma omp task if (0) depend(inout : x) shared(x)
    {
      CHECK(x == 1);
      x = 2;
    }
    CHECK(x == 2);
  }
}

// Only children are waited for by taskwait, all descendants by the end of a group.
static void waits(void) {
  int children = 0, others = 0, threads = 0;
#pragma omp parallel
  {
#pragma omp single
    {
      threads = omp_get_num_threads();
#pragma omp taskgroup
      {
        for (int i = 0; i < 10; ++i) {
#pragma omp task
          {
#pragma omp task
            {
              usleep(10);
              ADD(others);
            }
            ADD(children);
          }
        }
#pragma omp taskwait
        CHECK(children == 10);
#pragma omp taskgroup
        {
#pragma omp task
          ADD(children);
        }
        CHECK(children == 11);
      }
      CHECK(others == 10);
    }
  }
  CHECK(threads > 0);
}

// A thread that waits inside of a task runs none that is no descendant of it: this one would wait
// for a lock that the waiting task holds.
static void no_strangers_while_waiting(void) {
  static omp_lock_t lock;
  omp_init_lock(&lock);
  int inside = 0, done = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 40; ++i) {
#pragma omp task shared(inside, done)
    {
      omp_set_lock(&lock);
      CHECK(++inside == 1);
      for (int j = 0; j < 4; ++j) {
#pragma omp task shared(done)
        ADD(done);
      }
#pragma omp taskwait
      --inside;
      omp_unset_lock(&lock);
    }
  }
  CHECK(done == 160);
  omp_destroy_lock(&lock);
}

// A task has settings of its own, those that its maker had then.
static void settings(void) {
#pragma omp parallel
#pragma omp single
  {
    const int before = omp_get_max_threads();
    omp_set_num_threads(before + 3);
    for (int i = 0; i < 20; ++i) {
#pragma omp task firstprivate(before)
      {
        CHECK(omp_get_max_threads() == before + 3);
        omp_set_num_threads(before + 5);
        CHECK(omp_get_max_threads() == before + 5);
      }
    }
#pragma omp taskwait
    CHECK(omp_get_max_threads() == before + 3);
  }
}

// Each address by itself; readers together; in what order tasks were made.
static void dependences(void) {
  int cells[40] = {0}, readers = 0, sets = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int step = 0; step < 5; ++step)
      for (int i = 0; i < 40; ++i) {
#pragma omp task depend(inout : cells[i]) shared(cells)
        {
          CHECK(cells[i] == step * 2);
          ++cells[i];
        }
#pragma omp task depend(in : cells[i]) shared(cells, readers)
        {
          CHECK(cells[i] == step * 2 + 1);
          ADD(readers);
        }
#pragma omp task depend(in : cells[i]) shared(cells, readers)
        {
          CHECK(cells[i] == step * 2 + 1);
          ADD(readers);
        }
#pragma omp task depend(out : cells[i]) shared(cells)
        ++cells[i];
      }
#pragma omp task depend(out : sets) shared(sets)
    sets = 1;
    NOTHING_IN_FLIGHT
#pragma omp taskwait depend(in : sets)
    CHECK(sets == 1);
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(mutexinoutset : sets) shared(sets)
      sets += 2;
    }
    omp_depend_t object;
#pragma omp depobj(object) depend(inout : sets)
#pragma omp task depend(depobj : object) shared(sets)
    {
      CHECK(sets == 21);
      sets = 30;
    }
#pragma omp taskwait
    CHECK(sets == 30);
#pragma omp depobj(object) destroy
  }
  CHECK(readers == 400);
  for (int i = 0; i < 40; ++i) CHECK(cells[i] == 10);
}

static void loops(void) {
  int sum = 0, last = -1, tasks = 0;
  unsigned long long big = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop grainsize(7) lastprivate(last) shared(sum)
    for (int i = 0; i < 100; ++i) {
#pragma omp atomic
      sum += i;
      last = i;
    }
    CHECK(sum == 4950 && last == 99);
#pragma omp taskloop num_tasks(9) shared(sum)
    for (int i = 50; i > -13; i -= 3) {
#pragma omp atomic
      sum -= i;
    }
    CHECK(sum == 4950 - 420);
#pragma omp taskloop nogroup shared(big)
    for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 90; i += 7) {
#pragma omp atomic
      big += i - (1ull << 63);
    }
#pragma omp taskwait
    CHECK(big == 7 * (12 * 13 / 2));
#pragma omp taskloop if (0) shared(tasks)
    for (int i = 0; i < 5; ++i) ++tasks;
    CHECK(tasks == 5);
#pragma omp taskloop shared(tasks)
    for (int i = 0; i < 0; ++i) ++tasks;
    CHECK(tasks == 5);
  }
}

static void reductions(void) {
  int group = 0, loop = 0, construct = 0, region = 0;
#pragma omp parallel
  {
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : group)
      for (int i = 0; i < 30; ++i) {
#pragma omp task in_reduction(+ : group)
        {
          group += i;
#pragma omp task in_reduction(+ : group)
          group += 1;
        }
      }
      CHECK(group == 465);
#pragma omp taskloop reduction(+ : loop)
      for (int i = 0; i < 30; ++i) loop += i;
      CHECK(loop == 435);
    }
#pragma omp for reduction(task, + : construct)
    for (int i = 0; i < 30; ++i) {
#pragma omp task in_reduction(+ : construct)
      construct += i;
    }
    CHECK(construct == 435);
  }
#pragma omp parallel reduction(task, + : region)
  {
#pragma omp task in_reduction(+ : region)
    region += 1;
  }
  CHECK(region >= 1);
}

#if defined(__GNUC__) && !defined(__clang__)
static void* fulfill_later(void* event) {
  usleep(300);
  omp_fulfill_event((omp_event_handle_t)(size_t)event);
  return NULL;
}

// Its completion waits for an event, which another task, a thread of none, or it itself fulfills.
static void detached(void) {
  for (int who = 0; who < 3; ++who) {
    int body = 0, after = 0;
    pthread_t thread;
#pragma omp parallel
#pragma omp single
    {
      omp_event_handle_t event;
#pragma omp task detach(event) depend(out : body) shared(body)
      {
        body = 1;
        if (who == 2) omp_fulfill_event(event);
      }
#pragma omp task depend(in : body) shared(body, after)
      {
        CHECK(body == 1);
        after = 1;
      }
      if (who == 0) pthread_create(&thread, NULL, fulfill_later, (void*)(size_t)event);
      if (who == 1) {
#pragma omp task
        omp_fulfill_event(event);
      }
#pragma omp taskwait
      CHECK(after == 1);
    }
    if (who == 0) pthread_join(thread, NULL);
  }
}
#else
static void detached(void) {}
#endif

// Regions inside of tasks, tasks inside of these; regions of one thread; no region at all.
static void nested(void) {
  int done = 0, inner = 0, alone = 0;
  omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 4; ++i) {
#pragma omp task shared(done, inner)
    {
#pragma omp parallel num_threads(2) shared(done, inner)
      {
#pragma omp task shared(done)
        ADD(done);
#pragma omp barrier
#pragma omp parallel num_threads(1) shared(inner)
        {
#pragma omp task shared(inner)
          ADD(inner);
#pragma omp taskwait
        }
      }
    }
  }
  CHECK(done >= 4 && inner >= 4);
#pragma omp task shared(alone)
  alone = 1;
#pragma omp taskwait
  CHECK(alone == 1);
#pragma omp taskgroup
  {
#pragma omp task shared(alone)
    alone = 2;
  }
  CHECK(alone == 2);
  omp_set_max_active_levels(1);
}

// Yields in between; priorities are hints.
static void yields_and_priorities(void) {
  int done = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 50; ++i) {
#pragma omp task priority(i % 4) untied mergeable shared(done)
    {
#pragma omp taskyield
      ADD(done);
    }
    if (i % 10 == 0) {
#pragma omp taskyield
    }
  }
  CHECK(done == 50);
}

// Barriers of other constructs, with and without a way to cancel.
static void other_barriers(void) {
  int done = 0;
#pragma omp parallel
  {
#pragma omp task shared(done)
    ADD(done);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) {
#pragma omp task shared(done)
      ADD(done);
    }
    CHECK(done == 10 + omp_get_num_threads());
#pragma omp barrier
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp task shared(done)
        ADD(done);
      }
#pragma omp section
      {
#pragma omp task shared(done)
        ADD(done);
      }
    }
    CHECK(done == 12 + omp_get_num_threads());
#pragma omp barrier
#pragma omp for
    for (int i = 0; i < 10; ++i) {
#pragma omp task shared(done)
      ADD(done);
#pragma omp cancel for if (0)
    }
    CHECK(done == 22 + omp_get_num_threads());
  }
}

int main(void) {
  for (int r = 0; r < rounds; ++r) {
    many();
    at_the_end();
    arguments();
    at_once();
    waits();
    no_strangers_while_waiting();
    settings();
    dependences();
    loops();
    reductions();
    detached();
    nested();
    yields_and_priorities();
    other_barriers();
  }
  return 0;
}
