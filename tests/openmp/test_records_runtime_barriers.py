"""`record --omp --omp-barrier runtime`: who comes last at the runtime's own barriers, and at the
ends of regions, and where that is not told."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

THREADS, ROUNDS, MS = 3, 6, 1_000_000
# The slow thread comes when the others sleep at the barrier, so that it is the last however threads
# are scheduled.
SOURCE = """\
#include <dirent.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
enum { THREADS = 3, ROUNDS = 6 };
static volatile int never;
static int sleeping(void) {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (struct dirent* each; (each = readdir(tasks)) != NULL;) {
    char path[300], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", each->d_name);
    FILE* const file = fopen(path, "r");
    if (file == NULL) continue;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state == 'S') ++count;
    fclose(file);
  }
  closedir(tasks);
  return count;
}
static void work(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  const long long until = used.tv_sec * 1000000000LL + used.tv_nsec + 15000000;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  while (used.tv_sec * 1000000000LL + used.tv_nsec < until);
}
__attribute__((noinline)) static void come(int who, int slow) {
  if (who != slow) return;
  while (sleeping() < THREADS - 1) usleep(100);
  work();
}
static void meet(const char* where, int r, int slow) {
  const int me = omp_get_thread_num();
  if (strcmp(where, "barrier") == 0) {
    come(me, slow);
#pragma omp barrier
  } else if (strcmp(where, "loop") == 0) {
#pragma omp for schedule(static)
    for (int i = 0; i < THREADS; ++i) come(i, slow);
  } else if (strcmp(where, "dynamic") == 0) {
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < THREADS; ++i) come(i, slow);
  } else if (strcmp(where, "copy") == 0) {
    int copied = 0;
    come(me, slow);
#pragma omp barrier
#pragma omp single copyprivate(copied)
    copied = r + 1;
    if (copied != r + 1) never = 1;
  } else if (strcmp(where, "tasks") == 0) {
    if (me == 0) {
#pragma omp task
      usleep(100);
    }
    if (me == slow) work();  // libomp's others may poll for tasks
#pragma omp barrier
  }
}
static void cancellable(int slow, int cancels) {
#pragma omp parallel num_threads(THREADS)
  for (int r = 0; r < ROUNDS; ++r) {
    if (omp_get_thread_num() == slow) work();
#pragma omp barrier
    if (r == ROUNDS / 2 && omp_get_thread_num() == cancels) {
#pragma omp cancel parallel
    }
  }
}
int main(int count, char** arguments) {
  const char *how = arguments[1], *where = arguments[2];
  const int rotates = strcmp(how, "rotates") == 0;
  if (strcmp(where, "cancellable") == 0) return cancellable(2, rotates ? 0 : -1), 0;
  if (strcmp(where, "region") == 0) {
    for (int r = 0; r < ROUNDS; ++r)
#pragma omp parallel num_threads(THREADS)
      come(omp_get_thread_num(), rotates ? r % THREADS : 2);
    return 0;
  }
#pragma omp parallel num_threads(THREADS)
  for (int r = 0; r < ROUNDS; ++r) meet(where, r, rotates ? r % THREADS : 2);
  return never;
}
"""
RUNTIME = ("--omp-barrier", "runtime")


@pytest.fixture(scope="module", params=[("gcc", "-O0"), ("gcc", "-O3"), ("clang", "-O3")])
def program(request, tmp_path_factory):
    compiler, optimize = request.param
    folder = tmp_path_factory.mktemp("barriers")
    path = source(folder, "barriers.c", SOURCE)
    return compiler, compiled(folder / "barriers", optimize, path, compiler=compiler)


def report(folder, program, *arguments, **variables):
    record = folder / f"{arguments[0]}.rec"
    command = ["record", "--omp", *RUNTIME, "-q", "-o", record, "--", program, *arguments]
    done = run_cli(*command, OMP_WAIT_POLICY="passive", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    return results


def lasts(results, what):
    """By place, how often each thread that ever was came last there; most often first."""
    each = (sorted((t["last"] for t in lock[what]), reverse=True) for lock in results["locks"])
    return [[n for n in found if n] for found in each if any(found)]


@pytest.mark.sampled(4)
@pytest.mark.crossed("where", "how")
@pytest.mark.parametrize("how", ["one", "rotates"])
@pytest.mark.parametrize("where", ["barrier", "loop", "region"])
def test_who_is_planted_to_come_last_is_told(tmp_path, program, how, where):
    results = report(tmp_path, program[1], how, where)
    expected = [ROUNDS] if how == "one" else [ROUNDS // THREADS] * THREADS
    what = "region_ends" if where == "region" else "arrivals"
    assert expected in lasts(results, what)
    (place,) = (
        lock for lock in results["locks"] if any(t["last"] == expected[0] for t in lock[what])
    )
    for thread in place["work"]:
        # For each of its rounds two threads have waited, as long as it was at work.
        most = 2 * thread["at_work_ns"] if thread["last"] else 0
        assert 2 * 12 * MS * thread["last"] <= thread["uneven_ns"] <= most, place["work"]
    found = [each for each in results["findings"] if each["causes"] == ["imbalance"]]
    told = f"comes last, {ROUNDS} of {ROUNDS} times" if how == "one" else "now this thread"
    assert all(told in each["why"][0] for each in found)


@pytest.mark.sampled(3)
def test_of_a_dynamic_loop_each_end_has_one_who_is_last(tmp_path, program):
    results = report(tmp_path, program[1], "one", "dynamic")
    assert any(sum(each) == ROUNDS for each in lasts(results, "arrivals"))


@pytest.mark.sampled(3)
def test_where_a_call_does_not_tell_whether_it_is_a_barrier_nobody_is_said_to_be_last(
    tmp_path, program
):
    """libgomp's for `copyprivate`: what comes before is told, and nothing behind it."""
    compiler, path = program
    results = report(tmp_path, path, "one", "copy")
    counts = lasts(results, "arrivals")
    assert [1] in counts if compiler == "gcc" else [ROUNDS] in counts, counts
    assert all(sum(each) in (1, ROUNDS, 2 * ROUNDS) for each in counts), counts


@pytest.mark.sampled(3)
def test_where_one_need_not_come_nobody_is_said_to_be_last(tmp_path, program):
    """libomp's threads all come to each barrier before one that cancels has. What it does when one
    has, it mostly hangs in by itself, so that is libgomp's here."""
    compiler, path = program
    for how in ("one", "rotates")[: 1 if compiler == "clang" else 2]:
        results = report(tmp_path, path, how, "cancellable", OMP_CANCELLATION="true")
        counts = lasts(results, "arrivals")
        expected = [ROUNDS] if compiler == "clang" else []
        assert [sum(each) for each in counts] == expected, counts


@pytest.mark.sampled(3)
def test_a_phase_with_tasks_is_not_said_to_be_uneven(tmp_path, program):
    results = report(tmp_path, program[1], "one", "tasks")
    assert any(sum(each) == ROUNDS for each in lasts(results, "arrivals"))
    assert [each for each in results["findings"] if each["causes"] == ["imbalance"]] == []
