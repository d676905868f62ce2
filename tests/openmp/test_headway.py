"""Watchdogs of ours end what hangs, also what starves itself, not what others starve.

They are headway.h, tests/deadline and what tests/external/standard.py has for suites.
"""

import os
import subprocess
import sys

import pytest
from openmp_runs import DEADLINE, HERE, ROOT, source

sys.path.insert(0, str(ROOT / "tests" / "external"))
import standard

PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include "headway.h"
static struct headway since;
static unsigned seconds;
static void it_hangs(int signal_number) {
  const unsigned left = headway_left(&since, seconds);
  if (left == 0) _exit(99);
  alarm(left);
  (void)signal_number;
}
static void *poll_for_ever(void *unused) {
  for (volatile int i = 0;; ++i) continue;
  return unused;
}
static void *work_a_little(void *unused) {
  for (volatile int i = 0; i < 300000; ++i) continue;
  return unused;
}
static int make_threads_anew(void) {
  pthread_t next;
  for (int i = 0; i < 40; ++i) {
    pthread_create(&next, NULL, work_a_little, NULL);
    pthread_join(next, NULL);
  }
  return 0;
}
int main(int argc, char **argv) {
  pthread_t poller;
  seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  since = headway_begin();
  signal(SIGALRM, it_hangs);
  alarm(seconds);
  if (strcmp(argv[1], "renews") == 0) return make_threads_anew();
  int pollers = strcmp(argv[1], "polls") == 0 ? 1 : strcmp(argv[1], "crowds") == 0 ? 32 : 0;
  while (pollers-- > 0) pthread_create(&poller, NULL, poll_for_ever, NULL);
  while (strcmp(argv[1], "works") != 0) pause();
  while (clock() < CLOCKS_PER_SEC / 30) continue;
  return 0;
}
"""
LEAST = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "nice", "-n", "19"]
# Before a command that keeps the processors: the kernel ends it when it has had 4 s of each. Time
# that passes says nothing: others may run beside it.
AT_MOST = ["prlimit", f"--cpu={4 * len(os.sched_getaffinity(0))}"]
LATER = "1000"  # Seconds: not the program's own watchdog.

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("headway")
    code = source(folder, "watched.c", PROGRAM)
    command = ["gcc", "-Wall", "-Werror", "-O1", f"-I{HERE}", code, "-o", folder / "watched"]
    subprocess.run([*command, "-pthread"], check=True)
    return folder / "watched"


@pytest.fixture
def starved():
    """What to put before a command that is to get as good as no processor."""
    busy = [*LEAST[:3], sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(busy) for _ in range(3)]
    yield LEAST
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how", ["sleeps", "polls"])
def test_what_hangs_is_ended(program, how):
    assert subprocess.run([program, how], check=False).returncode == 99


def test_what_starves_itself_is_ended(program):
    assert subprocess.run([*AT_MOST, program, "crowds"], check=False).returncode == 99


def test_what_starves_is_not(program, starved):
    assert subprocess.run([*starved, program, "works"], check=False).returncode == 0


@pytest.mark.parametrize("how", ["sleeps", "polls"])
def test_the_deadline_ends_what_hangs(program, how):
    assert subprocess.run([DEADLINE[0], "1", program, how, LATER], check=False).returncode == 124


def test_the_deadline_waits_for_what_starves(program, starved):
    command = [DEADLINE[0], "1", *starved, program, "works", LATER]
    assert subprocess.run(command, check=False).returncode == 0


def script(folder, *command):
    path = source(folder, "script", "#!/bin/sh\nexec " + " ".join(map(str, command)) + "\n")
    path.chmod(0o755)
    return path


def run(path):
    return standard.run(standard.Test("watched", ()), str(path), dict(os.environ), 1)[0]


@pytest.mark.parametrize("how", ["sleeps", "polls"])
def test_a_suites_test_that_hangs_is_ended(program, tmp_path, how):
    assert run(script(tmp_path, program, how, LATER)) == "hangs"


def test_a_suites_test_that_starves_itself_is_ended(program, tmp_path):
    assert run(script(tmp_path, *AT_MOST, program, "crowds", LATER)) == "hangs"


@pytest.mark.parametrize("how", ["works", "renews"])
def test_a_suites_test_that_starves_is_not(program, tmp_path, starved, monkeypatch, how):
    monkeypatch.setattr(standard, "STARVED", 1000)
    assert run(script(tmp_path, *starved, program, how, LATER)) == 0
