"""What a thread that is blocked in a system call waits for, as the kernel's view has it."""

import json
from collections import Counter

import pytest
from conftest import HERE, compile_c, run_cli
from kernel_support import needs_kernel, recorded

pytestmark = needs_kernel
MS = 10**6

PARENT = """
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
static void* sleeps(void* none) { usleep(100000); return none; }
static void flocked(void) {
  int file = open("lock", O_RDWR | O_CREAT, 0600);
  flock(file, LOCK_EX);
  usleep(100000);
}
static void locked(void) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  fcntl(open("lock", O_RDWR | O_CREAT, 0600), F_SETLKW, &all);
  usleep(100000);
}
static int set;
static void semaphores(void) {
  struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
  semop(set, &down, 1);
  usleep(100000);
  semop(set, &up, 1);
}
static void alone(void) { usleep(100000); }
static void detached(void) {
  pthread_t thread;
  pthread_create(&thread, 0, sleeps, 0);
  pthread_detach(thread);
  usleep(300000);
}
int main(void) {
  struct sembuf up = {0, 1, 0};
  set = semget(IPC_PRIVATE, 1, 0600);
  semop(set, &up, 1);
  for (int i = 0; i < 2; ++i)
    if (fork() == 0) {
      DOES();
      _exit(0);
    }
  while (wait(0) > 0) {
  }
  semctl(set, 0, IPC_RMID);
  return 0;
}
"""


def test_each_call_counts_where_it_belongs(tmp_path, monkeypatch):
    """The program knows how long it was in each."""
    program = tmp_path / "blocked_calls"
    compile_c((HERE / "blocked_calls.c").read_text(encoding="utf-8"), program, "-O2")
    monkeypatch.chdir(tmp_path)
    found, said = recorded([program], tmp_path / "r")
    took = Counter()
    for line in said.splitlines():
        state, *_, milliseconds = line.split()
        took[state] += float(milliseconds) * MS
    parts = found["account"]["parts"]
    assert set(took) <= set(parts), parts
    for state, ns in took.items():  # which holds the way there and back as well
        assert 0.5 * ns < parts[state] <= ns + MS, (state, parts, took)
    libc = {"memory", "faults"}  # its stacks: who reads the process's map meanwhile delays both
    assert set(parts) <= {*took, *libc, "running", "runnable", "unexplained"}, parts


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("does", "state"),
    [("flocked", "file_locks"), ("locked", "file_locks"), ("semaphores", "system_v"),
     ("detached", "sleeping"), ("alone", None)],
)  # fmt: skip
def test_a_process_that_waits_for_another_has_a_record(tmp_path, monkeypatch, does, state):
    """In whatever call; one that does nothing of the kind has none."""
    program = compile_c(PARENT, tmp_path / "parent", "-O2", "-pthread", f"-DDOES={does}")
    monkeypatch.chdir(tmp_path)
    found, _ = recorded([program], tmp_path / "r")
    assert found["account"]["parts"]["child"] > 90 * MS
    children = [path for path in tmp_path.iterdir() if path.name.startswith("r.")]
    parts = Counter()
    for each in children:
        (record,) = json.loads(run_cli("report", "--json", each).stdout)["records"]
        parts.update(record["account"]["parts"])
    if state is None:
        assert not children
    elif state == "sleeping":
        assert len(children) == 2 and parts[state] > 790 * MS, parts
    else:
        assert parts[state] > 20 * MS, parts  # the second one waits while the first one sleeps
