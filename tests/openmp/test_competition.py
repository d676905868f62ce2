"""libomp's threads beside processes that compete for every processor: they wait as without us."""

import os

import pytest
from openmp_runs import compiled, run, source

PROGRAM = """\
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
enum { regions = 60, most = 256 };
int main(int count, char** words) {
  int n = count > 1 ? atoi(words[1]) : 0, passed = 0;
  if (n > most) n = most;
  pid_t busy[most];
  for (int i = 0; i < n; ++i)
    if ((busy[i] = fork()) == 0) {
      alarm(60);
      for (volatile unsigned j = 0;; ++j) {
      }
    }
  for (int i = 0; i < regions; ++i) {
#pragma omp parallel num_threads(2) reduction(+ : passed)
    ++passed;
    const double until = omp_get_wtime() + 0.01;
    while (omp_get_wtime() < until) {
    }
  }
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  for (int i = 0; i < n; ++i) {
    kill(busy[i], SIGKILL);
    waitpid(busy[i], NULL, 0);
  }
  printf("%ld\\n", used.ru_nvcsw);
  return passed != 2 * regions;
}
"""
REGIONS = 60


@pytest.mark.long
def test_who_waits_for_the_next_region_does_not_nap_again_and_again(tmp_path):
    """Each nap is a sleep, which the kernel counts; a yield is none. Without us there are 2."""
    program = compiled(
        tmp_path / "beside", source(tmp_path, "beside.c", PROGRAM), "-latomic", compiler="clang"
    )
    busy = 2 * len(os.sched_getaffinity(0))
    sleeps = [int(run([program, busy]).stdout) for _ in range(3)]
    assert sorted(sleeps)[1] < REGIONS // 2, sleeps
