"""tests/deadline: what runs the other tests gives their status, and ends and explains the hung."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEADLINE = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "tests/deadline/deadline"


def run(seconds, *command):
    return subprocess.run(
        [DEADLINE, str(seconds), *command], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("status", [0, 1, 77, 124])
def test_the_status_is_the_commands(status):
    done = run(20, "sh", "-c", f"echo said; exit {status}")
    assert (done.returncode, done.stdout, done.stderr) == (status, "said\n", "")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_signal_that_ends_the_command_ends_it(number):
    assert run(20, "sh", "-c", f"kill -{int(number)} $$").returncode == -number


def test_the_hung_are_ended_and_told_with_their_children():
    # The child sleeps in a pipe, its parent in wait: both are told.
    begun = time.monotonic()
    script = "import os; r, w = os.pipe(); os.fork() or os.read(r, 1); os.wait()"
    done = run(2, sys.executable, "-c", script)
    assert done.returncode == 124
    assert time.monotonic() - begun < 50
    assert "has not ended after 2 s" in done.stderr
    assert done.stderr.count("--- process ") == 2
    assert "pipe_read" in done.stderr or "anon_pipe_read" in done.stderr
    assert "read" in done.stderr and "wait" in done.stderr
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert children == []


POLLING = """
#include <pthread.h>
static void* poll(void* unused) { for (volatile int i = 0;; ++i) continue; return unused; }
int main(void) {
  pthread_t threads[32];
  for (int i = 0; i < 32; ++i) pthread_create(threads + i, 0, poll, 0);
  return pthread_join(threads[0], 0);
}
"""


def test_threads_that_keep_each_other_from_the_processors_are_not_starved(tmp_path):
    compiled = ["gcc", "-x", "c", "-", "-pthread", "-o", tmp_path / "polling"]
    subprocess.run(compiled, input=POLLING, text=True, check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run(1, tmp_path / "polling").returncode == 124
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Others may run beside it: what counts is the processor time that it could have.
    used = after.ru_utime - before.ru_utime
    assert 0 < used < 4 * len(os.sched_getaffinity(0))


def test_bad_use_is_one_line():
    for arguments in ([], ["5"], ["x", "true"], ["0", "true"]):
        done = subprocess.run([DEADLINE, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == "usage: deadline SECONDS COMMAND [ARGUMENT...]\n"


def test_an_unknown_command_is_told():
    done = run(20, "/no/such/command")
    assert done.returncode == 127
    assert "/no/such/command" in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {"LD_PRELOAD": "/no/such/library.so"},
        {"LD_PRELOAD": "libm.so.6:/no/such/library.so"},
        {"LD_PRELOAD": "libsyncopate-pthread.so.0", "LD_LIBRARY_PATH": "/no:/such"},
        {"LD_PRELOAD": "{folder}/with space/library.so"},  # is there, but the loader splits it
    ],
    ids=str,
)
def test_a_test_does_not_run_without_its_library(variables, tmp_path):
    (tmp_path / "with space").mkdir()
    (tmp_path / "with space" / "library.so").touch()
    variables = {name: text.format(folder=tmp_path) for name, text in variables.items()}
    done = subprocess.run(
        [DEADLINE, "20", "echo", "ran"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("deadline: LD_PRELOAD names ") and done.stderr.count("\n") == 1


def test_the_libraries_of_a_test_are_found_by_path_and_by_folder(tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "libsyncopate-none.so.0").touch()
    by_folder = {"LD_PRELOAD": "libsyncopate-none.so.0", "LD_LIBRARY_PATH": str(folder)}
    for variables in ({"LD_PRELOAD": "libm.so.6"}, by_folder):
        done = subprocess.run(
            [DEADLINE, "20", "true"], env={**os.environ, **variables}, check=False
        )
        assert done.returncode == 0
