"""Calls that would block all threads of a simulated program: never a hang, and said in one line."""

import os
import subprocess
from pathlib import Path

import pytest
from modeled import build

PROGRAM = r"""
#include <pthread.h>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>
int ends[2];
const char* what;
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
int main(int, char** words) {
  what = words[1];
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


def run(program: Path, what: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1"}
    return subprocess.run(
        [str(program), what], env=environ, capture_output=True, text=True, timeout=60
    )


def test_what_is_not_supported_ends_with_a_line(program):
    done = run(program, "stream")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("syncopate: fgets() wants more of a stream than has come")


def test_a_signal_is_waited_for_beside_other_threads(program):
    done = run(program, "sigwait")
    assert (done.returncode, done.stdout, done.stderr) == (0, "signal 10\n", "")
