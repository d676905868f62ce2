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
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int over;
static void* wait(void* what) {
  switch (*(char*)what) {
    case 'm': pthread_mutex_lock(&m); break;
    case 'r': pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); return 0;
    case 'w': pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); return 0;
    case 'c': pthread_mutex_lock(&m); while (!over) pthread_cond_wait(&c, &m); break;
  }
  pthread_mutex_unlock(&m);
  return 0;
}
int main(int count, char** arguments) {
  pthread_t waiter;
  if (*arguments[1] != 'c') pthread_mutex_lock(&m);
  pthread_rwlock_wrlock(&l);
  pthread_create(&waiter, 0, wait, arguments[1]);
  printf("%d\n", (int)getpid());
  fflush(stdout);
  getchar();
  pthread_rwlock_unlock(&l);
  if (*arguments[1] == 'c') pthread_mutex_lock(&m);
  over = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return pthread_join(waiter, 0);
}
"""
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


@pytest.mark.parametrize("what", ["mutex", "reader", "writer", "condition"])
@pytest.mark.parametrize(
    "options", [["run"], ["run", "--guard"], ["record", "--output", "way.rec"]]
)
def test_from_the_call_to_the_kernel(program, tmp_path, monkeypatch, options, what):
    monkeypatch.chdir(tmp_path)
    hold(way(program, what[0], COMMAND, *options, "--"))


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
        hold(way(program, "m", COMMAND, "run", "--lock", name, "--"))
