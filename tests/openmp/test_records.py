"""`syncopate record --omp`: time lost per source line, and who came last."""

import json

import pytest
from openmp_runs import compiled, run_cli

SOURCE = """\
#include <omp.h>
#include <unistd.h>
static long shared_sum;
int main(void) {
#pragma omp parallel num_threads(3)
  for (int r = 0; r < 30; ++r) {
    if (omp_get_thread_num() == 2) usleep(5000);
#pragma omp barrier  // line 8
#pragma omp critical(totals)
    { ++shared_sum; usleep(100); }
#pragma omp barrier  // line 11
  }
  return 0;
}
"""
LATE, OTHER = "slow.c:8", "slow.c:11"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    (folder / "slow.c").write_text(SOURCE)
    program = compiled(folder / "slow", folder / "slow.c")
    record = folder / "slow.rec"
    done = run_cli("record", "--omp", "-q", "-o", record, "--", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run_cli("report", "--json", record)
    assert done.returncode == 0, done.stderr
    shown = run_cli("report", record).stdout
    (results,) = json.loads(done.stdout)["records"]
    return results, shown


def barrier_at(results, place):
    (found,) = [lock for lock in results["locks"] if place in lock["name"]]
    assert found["object"] == "barrier"
    return found


def test_barriers_have_source_lines(report):
    results, _ = report
    assert barrier_at(results, LATE)["waits"]["barrier"]["count"] == 60  # all but the last
    assert barrier_at(results, OTHER)["waits"]["barrier"]["count"] == 60


def test_the_late_thread_is_named(report):
    results, shown = report
    arrivals = barrier_at(results, LATE)["arrivals"]
    assert sum(each["last"] for each in arrivals) == 30
    assert arrivals[0]["last"] >= 20  # the one that sleeps; a busy machine may delay another
    assert arrivals[0]["waited_ns"] < arrivals[1]["waited_ns"]
    assert "Who came last at a barrier" in shown


def test_critical_section_is_a_lock(report):
    results, _ = report
    (critical,) = [lock for lock in results["locks"] if "totals" in lock["name"]]
    assert critical["object"] == "mutex"
    assert critical["contended"] > 0 and critical["lost_ns"] > 0
