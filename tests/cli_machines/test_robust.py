"""Mutexes of threads and processes that end while they hold them do on the simulated machine what
they do natively, by every way of locking; and a process's owners are not taken for another's."""

import errno
import os
import subprocess
from pathlib import Path

import pytest
from modeled import build

PROGRAM = r"""
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct common {
  pthread_mutex_t lock;
  sem_t taken, done;
};
static common* all;
static int (*take)(pthread_mutex_t*);

static void show(std::initializer_list<long> results) {  // evaluated from the left
  for (const long each : results) printf(" %ld", each);
}
static int timed(pthread_mutex_t* m) {
  timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 30;
  return pthread_mutex_timedlock(m, &at);
}
static int by_condition(pthread_mutex_t* m) {  // as a wait that ends takes it again
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  timespec past{1, 0};
  if (const int error = pthread_mutex_lock(m); error != 0) return error;
  return pthread_cond_timedwait(&never, m, &past) == ETIMEDOUT ? 0 : 99;
}
static void make(int type, int robust) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  pthread_mutexattr_setrobust(&a, robust);
  pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  memset(&all->lock, 0, sizeof all->lock);
  pthread_mutex_init(&all->lock, &a);
}
static void* take_and_end(void*) {
  const int error = take(&all->lock);
  if (error == EOWNERDEAD) pthread_mutex_consistent(&all->lock);
  return reinterpret_cast<void*>(static_cast<long>(error));
}
static long in_thread() {
  pthread_t thread;
  void* result;
  pthread_create(&thread, nullptr, take_and_end, nullptr);
  pthread_join(thread, &result);
  return reinterpret_cast<long>(result);
}
static void* wait_for_it(void* result) {
  *static_cast<int*>(result) = take(&all->lock);
  return nullptr;
}
static void* hold_a_while(void*) {
  take(&all->lock);
  sem_post(&all->taken);
  usleep(3000);
  return nullptr;
}
static void try_all(const char* way, int type) {
  make(type, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t* const m = &all->lock;
  printf("%s, type %d:", way, type);
  show({in_thread(), in_thread(), take(m)});
  show({pthread_mutex_consistent(m), pthread_mutex_consistent(m)});
  show({pthread_mutex_unlock(m), pthread_mutex_unlock(m)});
  if (type == PTHREAD_MUTEX_RECURSIVE)
    show({take(m), take(m), pthread_mutex_unlock(m), pthread_mutex_unlock(m)});
  int told = -1;  // who waits already
  pthread_t holder, waiter;
  sem_init(&all->taken, 0, 0);
  pthread_create(&holder, nullptr, hold_a_while, nullptr);
  sem_wait(&all->taken);
  if (take != pthread_mutex_trylock) pthread_create(&waiter, nullptr, wait_for_it, &told);
  pthread_join(holder, nullptr);
  if (take != pthread_mutex_trylock) pthread_join(waiter, nullptr);
  printf("\n  waited: %d\n", told);
}
static void end_processes(int type) {
  pthread_mutex_t* const m = &all->lock;
  for (const int quick : {0, 1}) {
    make(type, PTHREAD_MUTEX_ROBUST);
    fflush(stdout);
    if (fork() == 0) {
      pthread_mutex_lock(m);
      quick ? _exit(0) : exit(0);
    }
    wait(nullptr);
    printf("  of a child:");
    show({take(m), pthread_mutex_unlock(m)});  // not consistent: lost
    show({pthread_mutex_lock(m), pthread_mutex_consistent(m)});
    printf("\n");
  }
}
static void robust(const char* way) {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    try_all(way, type);
    end_processes(type);
  }
}
// What its parent holds is not a child's, nor the other way round.
static void owners() {
  for (const int type : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK})
    for (const int child_holds : {0, 1}) {
      make(type, PTHREAD_MUTEX_STALLED);
      sem_init(&all->taken, 1, 0);
      sem_init(&all->done, 1, 0);
      if (!child_holds) pthread_mutex_lock(&all->lock);
      fflush(stdout);
      if (fork() == 0) {
        if (child_holds) pthread_mutex_lock(&all->lock);
        sem_post(&all->taken);
        const int tried = pthread_mutex_trylock(&all->lock);
        const int left = child_holds ? 0 : pthread_mutex_unlock(&all->lock);
        sem_wait(&all->done);
        _exit(tried * 2 + left);
      }
      sem_wait(&all->taken);
      const int tried = pthread_mutex_trylock(&all->lock);
      const int left = child_holds ? pthread_mutex_unlock(&all->lock) : 0;
      sem_post(&all->done);
      int status;
      wait(&status);
      printf("type %d: %d %d %d\n", type, tried, left, WEXITSTATUS(status));
    }
}
int main() {
  all = static_cast<common*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  take = pthread_mutex_lock;
  robust("lock");
  take = pthread_mutex_trylock;
  robust("trylock");
  take = timed;
  robust("timedlock");
  take = by_condition;
  robust("condition");
  owners();
}
"""


def run(program: Path, **given: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1", **given}
    return subprocess.run([program], env=environ, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> tuple[Path, Path]:
    """Compiled as always, and for the machine."""
    folder = tmp_path_factory.mktemp("robust")
    simulated = build(folder, "robust", PROGRAM)
    native = folder / "native"
    command = ["c++", "-O1", "-pthread", "robust.cpp", "-o", native]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return native, simulated


@pytest.mark.parametrize("lock", ["futex", "auto"])
def test_who_ends_leaves_its_robust_mutexes_behind_as_natively(programs, lock):
    native, simulated = programs
    expected = run(native)
    assert expected.returncode == 0
    assert expected.stdout.count(f" {errno.EOWNERDEAD}") > 12
    done = run(simulated, SYNCOPATE_LOCK=lock)
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
