"""`record --omp`: who comes early where there are tasks, runs these, and is not said to wait."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

SOURCE = """\
#include <omp.h>
static void work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}
static void make(int tasks) {
  if (omp_get_thread_num() != 0) return;
  for (int i = 0; i < tasks; ++i) {
#pragma omp task
    work(1000000);
  }
  work(5000000);
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
