"""tests/deadline: what runs the other tests gives their status, and ends and explains the hung."""

import os
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


def test_bad_use_is_one_line():
    for arguments in ([], ["5"], ["x", "true"], ["0", "true"]):
        done = subprocess.run([DEADLINE, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == "usage: deadline SECONDS COMMAND [ARGUMENT...]\n"


def test_an_unknown_command_is_told():
    done = run(20, "/no/such/command")
    assert done.returncode == 127
    assert "/no/such/command" in done.stderr
