// last_calls.h -- each entry point as the last call of its function, everywhere a program may make
// it. The compiler turns such a call into a jump, and then its return address says nothing of who
// called. Included once by each module; its last_calls() runs all of its cases.
#pragma once

#include <dlfcn.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "headway.h"

enum { threads = 4, tasks = 20, seconds = 60 };

// A function whose last call that is. It stays one as it is written: with as many parameters,
// since a call with arguments on the stack can only be a jump where the function was given as many.
#ifdef __clang__
#define ONE_AS_WRITTEN __attribute__((noinline, visibility("hidden")))
#else
#define ONE_AS_WRITTEN __attribute__((noipa)) static
#endif
#define LAST(result, name, parameters, arguments) \
  ONE_AS_WRITTEN result last_##name parameters { return name arguments; }

// What a case adds to `sum` for each thread that runs it, and for each team.
struct last_call {
  const char* name;
  void (*body)(void);
  int by_thread, by_team;
  enum { anywhere, in_teams, of_all, outside } where;  // of_all: and all have added when it returns
};

static volatile long sum;
static void add(long n) { __atomic_fetch_add(&sum, n, __ATOMIC_RELAXED); }
static void add_alone(void) { sum = sum + 1; }  // in a critical section
__attribute__((unused)) static void add_one(void* unused) {
  (void)unused;
  add(1);
}

static const char* volatile doing_what, * volatile doing_where;

static void say(const char* text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) abort();
}

static struct headway doing_since;

static void it_hangs(int signal_number) {
  (void)signal_number;
  const unsigned left = headway_left(&doing_since, seconds);
  if (left != 0) {
    alarm(left);
    return;
  }
  say("hangs: waited for the end of ");
  say(doing_what);
  say(", ");
  say(doing_where);
  say("\n");
  _exit(99);
}

static void begin(const struct last_call* c, const char* where) {
  doing_what = c->name;
  doing_where = where;
  sum = 0;
  doing_since = headway_begin();
  alarm(seconds);
}

static void end(const struct last_call* c, long in_threads, long in_teams) {
  alarm(0);
  const long expected = in_threads * c->by_thread + in_teams * c->by_team;
  if (sum == expected) return;
  fprintf(stderr, "%s, %s: %ld where %ld was expected\n", c->name, doing_where, sum, expected);
  exit(98);
}

static void all_have_added(const struct last_call* c, long n) {
  if (c->where != of_all || sum >= n * c->by_thread + c->by_team) return;
  say("left the barrier before all came: ");
  say(c->name);
  say("\n");
  _exit(97);
}

static volatile int never = 0;
static void (*by_other)(void (*)(void));

// Its last call, too.
static void call(void (*body)(void)) {
  if (by_other != NULL) by_other(body);
  else body();
}

static void in_regions(const struct last_call* c) {
  void (*const body)(void) = c->body;
  begin(c, "in a region");
#pragma omp parallel num_threads(threads)
  {
    call(body);
    all_have_added(c, omp_get_num_threads());
    call(body);  // its last call is the region's
  }
  end(c, 2 * threads, 2);
  begin(c, "in a region of one thread");
#pragma omp parallel num_threads(1)
  call(body);
  end(c, 1, 1);
  begin(c, "in a serialized region");
#pragma omp parallel num_threads(threads) if (never)
  call(body);
  end(c, 1, 1);
  begin(c, "nested");
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  call(body);
  end(c, 4, 2);
  begin(c, "serialized in a region");
#pragma omp parallel num_threads(threads)
#pragma omp parallel num_threads(1)
  call(body);
  end(c, threads, threads);
}

static void in_tasks(const struct last_call* c) {
  void (*const body)(void) = c->body;
  begin(c, "in a task");
#pragma omp parallel num_threads(threads)
#pragma omp single
  for (int i = 0; i < tasks; ++i) {
#pragma omp task
    call(body);
  }
  end(c, tasks, tasks);
  begin(c, "in a task of each thread, none deferred");
#pragma omp parallel num_threads(threads)
#pragma omp task if (never)
  call(body);
  end(c, threads, threads);
}

static void run(const struct last_call* cases, void (*through)(void (*)(void))) {
  struct sigaction hang = {.sa_handler = it_hangs};
  sigaction(SIGALRM, &hang, NULL);
  omp_set_max_active_levels(2);
  omp_set_dynamic(0);
  by_other = through;
  for (const struct last_call* c = cases; c->name != NULL; ++c) {
    begin(c, "outside of regions");
    call(c->body);
    end(c, 1, 1);
    if (c->where == outside) continue;
    for (int round = 0; round < 3; ++round) in_regions(c);
    if (c->where == anywhere) in_tasks(c);
    begin(c, "outside of regions again");
    call(c->body);
    end(c, 1, 1);
  }
}
