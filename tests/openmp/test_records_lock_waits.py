"""`record --omp`: waits for locks and critical sections are as long as the program finds them, also
where these stay the runtime's."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

# Adds up how long each thread waits, by a clock of its own.
SOURCE = """\
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static omp_lock_t plain;
static omp_nest_lock_t nest;
static double waited[4][3];
static void got(int what, double since) {
  waited[what][omp_get_thread_num()] += omp_get_wtime() - since;
  usleep(what == 0 ? 4000 : 500);
}
static double all(int what) { return waited[what][0] + waited[what][1] + waited[what][2]; }
int main(void) {
  omp_init_lock(&plain);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(3)
  for (int i = 0; i < 10; ++i) {
    double since = omp_get_wtime();
#pragma omp critical
    got(0, since);
    since = omp_get_wtime();
#pragma omp critical(named)
    got(1, since);
    since = omp_get_wtime();
    omp_set_lock(&plain);
    got(2, since);
    omp_unset_lock(&plain);
    since = omp_get_wtime();
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    got(3, since);
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
  printf("%f\\n", all(0) + all(1) + all(2) + all(3));
  return 0;
}
"""


@pytest.mark.sampled(2)
@pytest.mark.crossed("compiler", "flag", "lock")
@pytest.mark.parametrize("lock", ["asymmetric", "ticket", "runtime"])
@pytest.mark.parametrize("flag", ["-O0", "-O3"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_who_waits_for_a_lock_is_said_to_wait_for_as_long(tmp_path, compiler, flag, lock):
    path = source(tmp_path, "locks.c", SOURCE)
    program = compiled(tmp_path / "locks", flag, path, compiler=compiler)
    record = tmp_path / "locks.rec"
    done = run_cli("record", "--omp", "--omp-lock", lock, "-q", "-o", record, "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    waited = float(done.stdout) * 1e9
    assert waited > 50_000_000
    assert abs(results["lost_ns"] - waited) < 0.05 * waited + 1_000_000
    worst = max(results["locks"], key=lambda each: each["lost_ns"])
    assert worst["acquisitions"] == 30
    # Nobody takes a lock twice for the program's once; a nest lock is taken twice.
    for each in results["locks"]:
        if each["object"] == "mutex":
            assert each["acquisitions"] <= (60 if each["name"] == "nest" else 30), each["name"]
    assert results["findings"]
    assert "No thread waited" not in run_cli("report", record).stdout
