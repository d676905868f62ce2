"""`record --omp`: where threads wait for tasks, and have none to run, for how long they do."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

from syncopate.records import teamwaits

# One task sleeps for long, and the others have nothing to run meanwhile. The program tells for how
# long its threads had nothing to do (each from its entry into the region, or before, to the
# region's end, but for what it ran), and how long of that they had no processor.
SOURCE = """\
#define _GNU_SOURCE
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
enum { MS = 300 };
static atomic_int begun;
static double busy, entered;
static void add(double* to, double seconds) {
  long before, after;
  double now;
  memcpy(&before, to, sizeof before);
  do {
    memcpy(&now, &before, sizeof now);
    now += seconds;
    memcpy(&after, &now, sizeof after);
  } while (!__atomic_compare_exchange_n((long*)to, &before, after, 0, 5, 5));
}
static int tasks[2];
static double delay(int task) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", task);
  FILE* const stats = fopen(path, "r");
  unsigned long ran = 0, waited = 0;
  if (fscanf(stats, "%lu %lu", &ran, &waited) != 2) return 0;
  fclose(stats);
  return waited * 1e-9;
}
static void rest(int ms) {
  const double from = omp_get_wtime();
  usleep(ms * 1000);
  add(&busy, omp_get_wtime() - from);
}
static void last(void) { atomic_store(&begun, 1); rest(MS); }
// Until another thread runs the long task: this one is to wait for it.
static void until_begun(void) {
  const double from = omp_get_wtime();
  while (!atomic_load(&begun)) usleep(100);
  add(&busy, omp_get_wtime() - from);
  rest(MS / 3);
}
__attribute__((noinline)) static void waits(void) {
#pragma omp task
  last();
  until_begun();
#pragma omp taskwait
  __asm__ volatile("");
}
__attribute__((noinline)) static void groups(void) {
#pragma omp taskgroup
  {
#pragma omp task
    last();
    until_begun();
  }
  __asm__ volatile("");
}
__attribute__((noinline)) static void depends(void) {
  int at = 0;
#pragma omp task depend(out : at)
  last();
  until_begun();
#pragma omp task depend(in : at) if (0)
  rest(MS / 10);
#pragma omp taskwait
}
__attribute__((noinline)) static void loops(void) {
#pragma omp taskloop grainsize(1)
  for (int i = 0; i < 2; ++i)
    if (i == 0 && omp_get_thread_num() != 0) last();
    else {
      if (i == 0) atomic_store(&begun, 1), rest(MS);
      else until_begun();
    }
  __asm__ volatile("");
}
__attribute__((noinline)) static void meets(void) {
#pragma omp task
  last();
  until_begun();
}
int main(int count, char** arguments) {
  const char* how = arguments[count - 1];
  const double start = omp_get_wtime();
#pragma omp parallel num_threads(2)
  {
    const int me = omp_get_thread_num();
    add(&entered, me == 0 ? start : omp_get_wtime());
    tasks[me] = gettid();
    if (me == 0) {
      if (strcmp(how, "waits") == 0) waits();
      if (strcmp(how, "groups") == 0) groups();
      if (strcmp(how, "depends") == 0) depends();
      if (strcmp(how, "loops") == 0) loops();
      if (strcmp(how, "meets") == 0 || strcmp(how, "ends") == 0) meets();
    }
    if (strcmp(how, "ends") != 0) {
#pragma omp barrier
      __asm__ volatile("");
    }
  }
  printf("%f %f\\n", 2 * omp_get_wtime() - entered - busy, delay(tasks[0]) + delay(tasks[1]));
  return 0;
}
"""
MS = 1_000_000
SECOND = 1000 * MS
HOW = [("gcc", []), ("gcc", ["--omp-tasks", "ours"]), ("gcc", ["--omp-barrier", "runtime"]),
       ("clang", []), ("clang", ["--omp-barrier", "runtime"])]  # fmt: skip


@pytest.fixture(scope="module", params=["-O0", "-O3"])
def programs(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    path = source(folder, "tasks.c", SOURCE)
    return {
        compiler: compiled(folder / compiler, request.param, path, compiler=compiler)
        for compiler in ("gcc", "clang")
    }


def recorded(folder, program, options, *arguments):
    record = folder / "tasks.rec"
    done = run_cli("record", "--omp", *options, "-q", "-o", record, "--", program, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    idle, delayed = (float(each) * SECOND for each in done.stdout.split())
    return results, run_cli("report", record).stdout, idle, delayed


@pytest.mark.sampled(6)
@pytest.mark.crossed("programs", "compiler", "how")
@pytest.mark.parametrize(("compiler", "options"), HOW)
@pytest.mark.parametrize("how", ["waits", "groups", "depends", "loops", "meets", "ends"])
def test_what_threads_wait_for_tasks_is_what_they_run_none(
    tmp_path, programs, compiler, options, how
):
    """Thread 0 makes a task, which the other runs, and waits for the rest of it."""
    results, shown, idle, delayed = recorded(tmp_path, programs[compiler], options, how)
    within = results["account"]["parts"]["barrier"]
    assert 0.95 * idle - delayed - 2 * MS < within < 1.05 * idle + 2 * MS, (idle, delayed, within)
    if "runtime" in options and how in ("meets", "ends"):
        return  # which barriers have tasks is the runtime's to know
    rows = [lock for lock in results["locks"] if lock["object"] == "tasks"]
    for_tasks = 0.5 * (idle - delayed)  # the rest may be at a barrier, before there were some
    assert sum(lock["waited_ns"] for lock in rows) > for_tasks, results["locks"]
    assert all(lock["name"].startswith("tasks in ") for lock in rows)
    assert all("tasks.c:" in lock["name"] for lock in rows), rows
    assert "\nWaits for tasks, where threads had none to run (not lost to locks)\n" in shown
    found = next(each for each in results["findings"] if each["causes"] == ["tasks"])
    assert found["lost_ns"] > 0.5 * for_tasks and "tasks" in found["do"][0]


SMALL = """\
static long fib(int n) {
  long a, b;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}
int main(void) {
  long found;
#pragma omp parallel num_threads(2)
#pragma omp single
  found = fib(21);
  return found == 10946 ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_many_tasks_that_are_small_are_not_said_to_be_too_few(tmp_path, compiler):
    path = source(tmp_path, "small.c", SMALL)
    program = compiled(tmp_path / "small", "-O2", path, compiler=compiler)
    record = tmp_path / "small.rec"
    assert run_cli("record", "--omp", "-q", "-o", record, "--", program).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    (row,) = (lock for lock in results["locks"] if lock["name"].startswith("tasks in fib at "))
    assert row["waits"]["barrier"]["count"] > 10_000
    for mean_ns, causes in ((5_000, ["small_tasks"]), (50_000, ["tasks"])):
        waited = mean_ns * row["waits"]["barrier"]["count"]
        process = {**results["process"], "duration_ns": waited}
        told = {**results, "process": process, "thread_time_ns": 2 * waited}
        told["locks"] = [{**row, "waited_ns": waited}]
        assert [each["causes"] for each in teamwaits.of(told, spare=4.0)] == [causes]
