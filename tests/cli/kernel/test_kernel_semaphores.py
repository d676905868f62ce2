"""The kernel's view of semaphores: which are locks, and which tell others that there is work."""

import json
import subprocess

from conftest import HERE, PYTHONS_LOCK, run_cli
from kernel_support import needs_kernel, recorded


@needs_kernel
def test_a_semaphore_of_several_processes_is_a_lock_where_takers_post_it(tmp_path):
    program = tmp_path / "every_wait"
    subprocess.run(["gcc", "-pthread", "-w", HERE / "every_wait.c", "-o", program], check=True)
    command = [program, "shared_semaphore_lock"]
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    records = sorted(tmp_path.glob("r*"))
    assert len(records) == 2
    found = json.loads(run_cli("report", "--json", *records).stdout)
    assert found["processes"]["lost_ns"] >= 20_000_000


@needs_kernel
def test_all_waits_for_a_semaphore_that_is_a_lock_are_lost(tmp_path):
    """Also the first ones, which a thread ended that had not waited for it yet."""
    found, _ = recorded(["/usr/bin/python3", "-c", PYTHONS_LOCK], tmp_path / "r")
    locks = [lock["waits"].keys() for lock in found["locks"] if "semaphore_lock" in lock["waits"]]
    assert locks and all(kinds == {"semaphore_lock"} for kinds in locks)


WORKERS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>
static sem_t tasks;
static int pending = 1, rounds = 300;
static void* work(void* unused) {
  while (sem_wait(&tasks) == 0 && rounds > 0) {
    sched_yield();
    if (__atomic_sub_fetch(&pending, 1, __ATOMIC_ACQ_REL) != 0) continue;
    pending = --rounds > 0 ? 3 : 4;  // who was the last has something to do for others
    for (int i = 0, all = pending; i < all; ++i) sem_post(&tasks);
  }
  return unused;
}
int main(void) {
  cpu_set_t one;
  pthread_t threads[4];
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof one, &one);
  for (int i = 0, found = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &one) && found++) CPU_CLR(i, &one);
  sched_setaffinity(0, sizeof one, &one);  // who posts is not done before others run
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, work, 0);
  usleep(200000);  // or it may have ended before the recorder looks at what is mapped
  sem_post(&tasks);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  usleep(200000);
  return 0;
}
"""


@needs_kernel
def test_a_semaphore_of_tasks_that_workers_make_for_each_other_is_no_lock(tmp_path):
    (tmp_path / "workers.c").write_text(WORKERS)
    command = ["gcc", "-pthread", "-O1", tmp_path / "workers.c", "-o", tmp_path / "workers"]
    subprocess.run(command, check=True)
    found, _ = recorded([tmp_path / "workers"], tmp_path / "r")
    (waits,) = [lock["waits"] for lock in found["locks"] if lock["object"] == "semaphore"]
    assert waits.keys() == {"semaphore"} and waits["semaphore"]["count"] > 20
