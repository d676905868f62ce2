"""`record --omp`: who comes early where there are tasks, runs these, and is not said to wait."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

SOURCE = """\
#include <omp.h>
static void work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}
static int came;  // of the others, ever
static void make(int tasks) {
  static int rounds;
  if (omp_get_thread_num() != 0) {
    __atomic_add_fetch(&came, 1, __ATOMIC_RELEASE);
    return;
  }
  for (int i = 0; i < tasks; ++i) {
#pragma omp task
    work(1000000);
  }
  ++rounds;
  if (tasks == 0)  // however late the others come, they wait
    while (__atomic_load_n(&came, __ATOMIC_ACQUIRE) < 2 * rounds) {}
  work(tasks != 0 ? 5000000 : 50000000);
}
__attribute__((noinline)) static void met(int tasks) {
  make(tasks);
#pragma omp barrier
  __asm__ volatile("");
}
int main(int count, char** arguments) {
  (void)arguments;
#pragma omp parallel num_threads(3)
  {
    for (int r = 0; r < 5; ++r) met(count > 1 ? 10 : 0);
    make(count > 1 ? 10 : 0);
  }
  return 0;
}
"""


@pytest.mark.sampled(2)
@pytest.mark.crossed("compiler", "regions")
@pytest.mark.parametrize("regions", ["runtime", "kept"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_who_runs_tasks_at_a_barrier_or_end_is_not_said_to_wait(tmp_path, compiler, regions):
    program = compiled(tmp_path / "tasks", source(tmp_path, "tasks.c", SOURCE), compiler=compiler)
    how = ["--omp-regions", regions] if compiler == "gcc" else []
    for arguments in ["with"], []:
        record = tmp_path / f"{len(arguments)}.rec"
        command = ["record", "--omp", *how, "-q", "-o", record, "--", program, *arguments]
        assert run_cli(*command).returncode == 0
        (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
        (met,) = (lock for lock in results["locks"] if lock["arrivals"])
        (end,) = (lock for lock in results["locks"] if lock["region_ends"])
        assert sum(each["last"] for each in met["arrivals"]) == 5
        assert [sum(x["times"] for x in lock["work"]) for lock in (met, end)] == [15, 3]
        waited = sum(each["others_waited_ns"] for each in end["region_ends"])
        uneven = [sum(each["uneven_ns"] for each in lock["work"]) for lock in (met, end)]
        if arguments:
            assert (waited, uneven) == (0, [0, 0])
        else:
            assert waited > 0 and sum(uneven) > 0


AFTER = """\
static void work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}
int main(void) {
#pragma omp parallel num_threads(2)
  for (int r = 0; r < 5; ++r) {
#pragma omp single
    for (int i = 0; i < 8; ++i) {
#pragma omp task
      work(2000000);
    }
    __asm__ volatile("");
#pragma omp barrier  // line 13
    __asm__ volatile("");
  }
  return 0;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("compiler", "tasks"), [("gcc", "runtime"), ("gcc", "ours"), ("clang", "runtime")]
)
def test_tasks_that_are_run_at_a_barrier_are_no_work_before_the_next(tmp_path, compiler, tasks):
    program = compiled(tmp_path / "after", source(tmp_path, "a.c", AFTER), compiler=compiler)
    how = ["--omp-tasks", tasks] if compiler == "gcc" else []
    record = tmp_path / "after.rec"
    command = ["record", "--omp", *how, "-q", "-o", record, "--", program]
    assert run_cli(*command).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    (next_one,) = (lock for lock in results["locks"] if lock["name"].endswith("a.c:13"))
    assert [each["times"] for each in next_one["work"]] == [5, 5]
    # Between the two there is nothing: the tasks are nearly all that the program computes.
    computed = results["account"]["parts"]["running"]
    assert sum(each["at_work_ns"] for each in next_one["work"]) < computed / 4
