"""What a call that waits passes on its way to the kernel, as docs/architecture.md draws it: seen
in the stack of a thread that waits, calls that the compiler has put inline included (eu-stack)."""

import json
import re
import subprocess
import time
from itertools import groupby
from pathlib import Path

import pytest
from conftest import compile_c, run_cli

from syncopate.base import paths

# Who is first has the object until its standard input ends; the other waits for it.
WAITING = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, recursive, errorcheck;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t b;
static sem_t s;
static mtx_t x;
static cnd_t xc;
static int over;
static struct timespec later(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += 60;
  return t;
}
#define WAY(name, call, end) if (strcmp(what, #name) == 0) { call; end; }
#define LOCKED(mutex, call) pthread_mutex_lock(mutex); while (!over) call
static void* wait(void* what) {
  const struct timespec real = later(CLOCK_REALTIME), mono = later(CLOCK_MONOTONIC);
  WAY(mutex, pthread_mutex_lock(&m), pthread_mutex_unlock(&m))
  WAY(mutex_timed, pthread_mutex_timedlock(&m, &real), pthread_mutex_unlock(&m))
  WAY(mutex_clock, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &mono), pthread_mutex_unlock(&m))
  WAY(recursive, pthread_mutex_lock(&recursive), pthread_mutex_unlock(&recursive))
  WAY(errorcheck, pthread_mutex_lock(&errorcheck), pthread_mutex_unlock(&errorcheck))
  WAY(reader, pthread_rwlock_rdlock(&l), pthread_rwlock_unlock(&l))
  WAY(writer, pthread_rwlock_wrlock(&l), pthread_rwlock_unlock(&l))
  WAY(reader_timed, pthread_rwlock_timedrdlock(&l, &real), pthread_rwlock_unlock(&l))
  WAY(reader_clock, pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &mono),
      pthread_rwlock_unlock(&l))
  WAY(writer_timed, pthread_rwlock_timedwrlock(&l, &real), pthread_rwlock_unlock(&l))
  WAY(condition, LOCKED(&m, pthread_cond_wait(&c, &m)), pthread_mutex_unlock(&m))
  WAY(condition_timed, LOCKED(&m, pthread_cond_timedwait(&c, &m, &real)), pthread_mutex_unlock(&m))
  WAY(condition_clock, LOCKED(&m, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &mono)),
      pthread_mutex_unlock(&m))
  WAY(barrier, pthread_barrier_wait(&b), )
  WAY(semaphore, sem_wait(&s), )
  WAY(semaphore_timed, sem_timedwait(&s, &real), )
  WAY(c11_mutex, mtx_lock(&x), mtx_unlock(&x))
  WAY(c11_condition, mtx_lock(&x); while (!over) cnd_wait(&xc, &x), mtx_unlock(&x))
  return 0;
}
static void make(pthread_mutex_t* of, int kind) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, kind);
  pthread_mutex_init(of, &a);
  pthread_mutex_lock(of);
}
int main(int count, char** arguments) {
  pthread_t waiter;
  const int signals = strstr(arguments[1], "condition") != 0;
  make(&recursive, PTHREAD_MUTEX_RECURSIVE);
  make(&errorcheck, PTHREAD_MUTEX_ERRORCHECK);
  pthread_barrier_init(&b, 0, 2);
  sem_init(&s, 0, 0);
  mtx_init(&x, mtx_plain);
  cnd_init(&xc);
  if (!signals) pthread_mutex_lock(&m), mtx_lock(&x);
  pthread_rwlock_wrlock(&l);
  pthread_create(&waiter, 0, wait, arguments[1]);
  printf("%d\n", (int)getpid());
  fflush(stdout);
  getchar();
  if (signals) pthread_mutex_lock(&m), mtx_lock(&x);
  over = 1;
  pthread_cond_signal(&c);
  cnd_signal(&xc);
  pthread_mutex_unlock(&m);
  mtx_unlock(&x);
  pthread_mutex_unlock(&recursive);
  pthread_mutex_unlock(&errorcheck);
  pthread_rwlock_unlock(&l);
  sem_post(&s);
  if (strcmp(arguments[1], "barrier") == 0) pthread_barrier_wait(&b);
  return pthread_join(waiter, 0);
}
"""
WAYS = re.findall(r"^  WAY\((\w+)", WAITING, re.M)
MOST_STAYS, MOST_RETURNS = 10, 2
MACHINE = "include/syncopate/machine"
OURS = re.compile(r"\b((?:include/syncopate|src|products)/\S+?):\d+")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        shown = subprocess.run(
            ["eu-stack", "-p", str(sleeping.pid)], capture_output=True, text=True, check=False
        )
        sleeping.kill()
    if "#0" not in shown.stdout:
        pytest.skip(f"no stack of another process can be read here: {shown.stderr.strip()}")
    return compile_c(WAITING, tmp_path_factory.mktemp("way") / "waiting", "-pthread")


def files_of(process: int) -> list[str]:
    """The files of ours that the waiting thread is in, those of the machine as one, from the entry
    point on; one name for each stay."""
    shown = subprocess.run(
        ["eu-stack", "-i", "-s", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    waiting = [thread for thread in shown.split("TID ") if "products/" in thread]
    if not waiting:
        return []
    files = [
        re.sub(rf"({MACHINE})\b.*", r"\1", file) for file in reversed(OURS.findall(waiting[0]))
    ]
    # Behind the instruction that enters the kernel stands another file's line already.
    thread = waiting[0].split(":")[0]
    number = Path(f"/proc/{process}/task/{thread}/syscall").read_text(encoding="ascii").split()[0]
    if number != "running":
        files.append(MACHINE)
    return [file for file, _ in groupby(files)]


def way(program, what: str, *command: str) -> list[str]:
    """The files on the way to the machine: where the thread sleeps, or where it is meanwhile."""
    with subprocess.Popen(
        [*command, program, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        process = int(running.stdout.readline())
        found = []
        end = time.monotonic() + 20
        while found[-1:] != [MACHINE] and time.monotonic() < end:
            found = files_of(process)
        running.communicate("\n", timeout=20)
    assert running.returncode == 0
    assert found[-1:] == [MACHINE], found
    return found


def hold(files: list[str]) -> None:
    assert len(files) <= MOST_STAYS, files
    assert len(files) - len(set(files)) <= MOST_RETURNS, files
    assert files[0].startswith("products/preload/"), files


COMMAND = paths.require("bin/syncopate")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("options", "what"),
    [
        (options, what)
        for options in (["run"], ["run", "--guard"], ["record", "--output", "way.rec"])
        for what in WAYS
        # Unless a record is made semaphores are the C library's: no file of ours is on that way.
        if options[0] == "record" or not what.startswith("semaphore")
    ],
)
def test_from_the_call_to_the_kernel(program, tmp_path, monkeypatch, options, what):
    monkeypatch.chdir(tmp_path)
    hold(way(program, what, COMMAND, *options, "--"))


@pytest.mark.long
def test_under_every_lock(program):
    locks = json.loads(run_cli("list", "--json").stdout)
    names = [
        name
        for lock in locks
        if lock["preload"] and lock["name"] != "glibc"
        for name in [lock["name"], *(f"{lock['name']}:{wait}" for wait in lock["preload_waits"])]
    ]
    assert "mcs:spin" in names
    for name in names:
        hold(way(program, "mutex", COMMAND, "run", "--lock", name, "--"))
