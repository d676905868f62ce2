"""OpenMP programs on the simulated machine: GCC's own runtime, compiled for it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from modeled import BUILD, ROOT

# A loop that adds up, one that is shared out dynamically, tasks, `single`, `critical`, `ordered`, a
# named lock and barriers; each result is known.
PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  const int threads = atoi(words[count - 1]);
  long sum = 0, tasks = 0, once = 0, shared = 0, last = -1, in_order = 1, locked = 0;
  int hits[64] = {0};
  omp_lock_t lock;
  omp_init_lock(&lock);
  omp_set_num_threads(threads);
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 7)
      for (int i = 0; i < 300; ++i) {
#pragma omp atomic
        shared += i;
      }
#pragma omp single
      {
        ++once;
        for (int i = 0; i < 50; ++i) {
#pragma omp task
          {
#pragma omp critical
            ++tasks;
          }
        }
      }
      omp_set_lock(&lock);
      ++locked;
      omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp for ordered
      for (int i = 0; i < 64; ++i) {
#pragma omp ordered
        {
          in_order &= last + 1 == i;
          last = i == 63 ? -1 : i;
        }
      }
      ++hits[omp_get_thread_num()];
    }
  }
  int all = 0;
  for (int i = 0; i < threads; ++i) all += hits[i];
  printf("%ld %ld %ld %ld %ld %ld %d\n", sum, shared, once, tasks, in_order, locked / threads,
         all / threads);
  return all % threads;
}
"""
RESULTS = "1498500 134550 3 150 1 3 3\n"


def run(program: Path, threads: int, report: Path, **variables: str) -> str:
    environ = {
        **os.environ,
        "SYNCOPATE_MACHINES": str(ROOT / "machines"),
        "SYNCOPATE_MACHINE": "sapphire-rapids-2s",
        "SYNCOPATE_STATS": str(report),
        **variables,
    }
    return subprocess.run(
        [str(program), str(threads)],
        env=environ,
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    ).stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("libgomp")
    subprocess.run(
        [ROOT / "integrations/libgomp/build.sh", folder / "made", BUILD], check=True, timeout=1500
    )
    (folder / "program.c").write_text(PROGRAM, encoding="utf-8")
    command = [f"{BUILD}/bin/syncopate", "cc", "--machine=simulated"]
    command += [f"--libgomp={folder}/made", "-fopenmp", "-O2", "program.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return folder / "program"


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2, 16, 64])
def test_results_are_right_and_runs_equal(program, tmp_path, threads):
    reports = [tmp_path / "one.json", tmp_path / "other.json"]
    assert run(program, threads, reports[0]) == RESULTS
    assert run(program, threads, reports[1], HOME="/" + 777 * "x") == RESULTS
    assert reports[0].read_bytes() == reports[1].read_bytes()
    made = re.findall(r'"name": "gomp_thread_start', reports[0].read_text(encoding="utf-8"))
    assert len(made) >= threads - 1
