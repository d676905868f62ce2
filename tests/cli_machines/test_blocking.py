"""Calls that would block all threads of a simulated program: never a hang, and said in one line."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from modeled import build

PROGRAM = r"""
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>
int ends[2];
const char* what;
struct common {
  sem_t done;
  pthread_mutex_t lock;
  std::atomic<int> flag;
  int count;
};
// Waits for a child by a mutex, a semaphore and a flag in shared memory.
int share() {
  auto* all = static_cast<common*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t m;
  pthread_mutexattr_init(&m);
  pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&all->lock, &m);
  sem_init(&all->done, 1, 0);
  if (!strcmp(what, "condition")) {
    if (fork() == 0) return usleep(300'000);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&all->lock);
    return pthread_cond_wait(&changed, &all->lock);
  }
  if (fork() == 0) {
    for (int i = 0; i < 50; ++i) {
      pthread_mutex_lock(&all->lock);
      ++all->count;
      pthread_mutex_unlock(&all->lock);
    }
    sem_post(&all->done);
    all->flag.store(1);
    _exit(0);
  }
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&all->lock);
    ++all->count;
    pthread_mutex_unlock(&all->lock);
  }
  sem_wait(&all->done);
  while (all->flag.load() == 0) {
  }
  printf("count %d\n", all->count);
  fflush(stdout);
  if (!strcmp(what, "deadlock")) {
    wait(nullptr);
    sem_wait(&all->done);
  }
  return 0;
}
void* run(void*) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  int signal = 0;
  if (!strcmp(what, "sigwait") && sigwait(&usr1, &signal) == 0) printf("signal %d\n", signal);
  char line[32];
  FILE* const stream = fdopen(ends[0], "r");
  if (!strcmp(what, "stream") && fgets(line, sizeof line, stream)) printf("%s", line);
  return nullptr;
}
// Half of the sets of a cache of 48 KB, all of their ways; and a stream's lock now and then.
int lock_streams() {
  alignas(4096) static char all[12][4096];
  for (int round = 0; round < 20; ++round) {
    flockfile(stdout);
    for (auto& page : all)
      for (int i = 0; i < 2048; i += 64) ++page[i];
    funlockfile(stdout);
  }
  return 0;
}
// The C library would have each OS thread answer.
int change_users() {
  const int changed = setuid(getuid()) | setgid(getgid()) | seteuid(geteuid()) |
                      setegid(getegid()) | setreuid(getuid(), geteuid()) |
                      setresgid(getgid(), getegid(), getgid());
  printf("changed %d\n", changed);
  printf("groups %d\n", setgroups(0, nullptr) == 0 || errno == EPERM);
  return 0;
}
int main(int, char** words) {
  what = words[1];
  if (!strcmp(what, "outlived")) {
    if (fork() == 0) {
      while (access(words[2], F_OK) != 0) usleep(1000);
      usleep(1'000'000);
    }
    return 0;
  }
  if (!strcmp(what, "users")) return change_users();
  if (!strcmp(what, "streams")) return lock_streams();
  if (!strcmp(what, "shared") || !strcmp(what, "condition") || !strcmp(what, "deadlock")) {
    const int status = share();
    while (wait(nullptr) > 0) {
    }
    return status;
  }
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  pthread_t thread;
  if (pipe(ends) != 0) return 1;
  pthread_create(&thread, nullptr, run, nullptr);
  usleep(5000);
  if (write(ends[1], "half", 4) != 4) return 1;
  usleep(5000);
  kill(getpid(), SIGUSR1);
  pthread_join(thread, nullptr);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("blocking"), "blocking", PROGRAM)


def run(program: Path, *words: str, **given: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1", **given}
    return subprocess.run(
        [str(program), *words], env=environ, capture_output=True, text=True, timeout=60
    )


def test_what_is_not_supported_ends_with_a_line(program):
    done = run(program, "stream")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("syncopate: fgets() wants more of a stream than has come")


def test_a_signal_is_waited_for_beside_other_threads(program):
    done = run(program, "sigwait")
    assert (done.returncode, done.stdout, done.stderr) == (0, "signal 10\n", "")


def test_another_process_is_waited_for_in_shared_memory(program):
    done = run(program, "shared")
    assert (done.returncode, done.stdout, done.stderr) == (0, "count 100\n", "")


def test_a_wait_for_a_process_that_has_ended_is_a_deadlock(program):
    done = run(program, "deadlock")
    assert (done.returncode, done.stdout) == (1, "count 100\n")
    assert "syncopate: deadlock: no thread of the simulated program can run" in done.stderr


def test_a_condition_that_another_process_could_signal_is_no_plain_deadlock(program):
    done = run(program, "condition")
    assert done.returncode == 1
    assert "no thread of this process can run, and another process wakes none" in done.stderr


def test_results_do_not_depend_on_what_the_runtime_has_looked_for(program):
    said = {
        run(
            program,
            "streams",
            HOME="/" + length * "x",
            SYNCOPATE_MACHINE="sapphire-rapids-2s",
            SYNCOPATE_QUIET="0",
        ).stderr
        for length in range(0, 4000, 400)
    }
    assert len(said) == 1


@pytest.mark.parametrize("name", ["STATS", "TIMELINE"])
def test_a_child_writes_its_report_beside_its_parents(program, tmp_path, name):
    path = tmp_path / "report.json"
    given = {f"SYNCOPATE_{name}": str(path)}
    done = run(program, "outlived", str(path), **given)  # returns when the child has ended, too
    assert (done.returncode, done.stderr) == (0, "")
    (of_child,) = set(tmp_path.iterdir()) - {path}
    assert of_child.name.split(".")[::2] == ["report", "json"]
    assert of_child.name.split(".")[1].isdecimal()
    if name == "STATS":
        assert json.loads(path.read_text())["seconds"] < 1
        assert json.loads(of_child.read_text())["seconds"] >= 1


def test_users_and_groups_can_be_changed(program):
    done = run(program, "users")
    assert (done.returncode, done.stdout, done.stderr) == (0, "changed 0\ngroups 1\n", "")
