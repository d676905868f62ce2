"""A lock that was not told how to wait does not keep the processors from who holds it."""

import os
import subprocess
from pathlib import Path

import pytest
from openmp_runs import DEADLINE, compiled, environment, source

# Returns when all who wait for the lock are seen asleep, again and again.
PROGRAM = """
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
enum { waiters = 8, looks = 20 };
static omp_lock_t lock;
static int arrived;
static void *wait_for_it(void *unused) {
  __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
  omp_set_lock(&lock);
  omp_unset_lock(&lock);
  return unused;
}
static int sleeping(void) {
  DIR *const tasks = opendir("/proc/self/task");
  int found = 0;
  for (struct dirent *each; (each = readdir(tasks)) != NULL;) {
    char path[300], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", each->d_name);
    FILE *const file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(text, sizeof text, file) != NULL) found += strstr(text, ") S ") != NULL;
    fclose(file);
  }
  closedir(tasks);
  return found;
}
int main(void) {
  pthread_t threads[waiters];
  omp_init_lock(&lock);
  omp_set_lock(&lock);
  for (int i = 0; i < waiters; ++i) pthread_create(&threads[i], NULL, wait_for_it, NULL);
  for (int seen = 0; seen < looks; usleep(10000))
    seen = __atomic_load_n(&arrived, __ATOMIC_SEQ_CST) == waiters && sleeping() == waiters
               ? seen + 1 : 0;
  omp_unset_lock(&lock);
  for (int i = 0; i < waiters; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""
LOCKS = ("asymmetric", "auto", "futex", "tatas", "ticket", "mcs", "clh", "one_spinner", "combined")
# Before the program: ends it when it has had so many seconds of each processor.
AT_MOST = ["prlimit", f"--cpu={4 * len(os.sched_getaffinity(0))}"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("waiting_locks")
    code = source(folder, "waits.c", PROGRAM)
    return compiled(folder / "waits", code, "-pthread")


@pytest.mark.parametrize("lock", LOCKS)
def test_who_waits_for_long_sleeps(program, lock):
    # Where the processor has a monitor, it sleeps on that unless told: then as it does elsewhere.
    flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
    if lock == "one_spinner" and ("waitpkg" in flags or "monitorx" in flags):
        lock = "one_spinner:adaptive"
    command = [*DEADLINE, *AT_MOST, program]
    variables = environment(True, SYNCOPATE_OMP_LOCK=lock)
    assert subprocess.run(command, env=variables, check=False).returncode == 0
