"""A pytest plugin: what the tests of a folder have started has ended when they have. Whatever of it
still runs is told, ended, and fails the folder."""

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

MARK = "PYTEST_SESSION"
SECONDS = 5  # in which what was told to end ends


def pytest_sessionstart():
    os.environ[MARK] = f"{os.getpid()}.{time.time_ns()}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    until = time.monotonic() + SECONDS
    while (left := _left()) and time.monotonic() < until:
        time.sleep(0.1)
    for pid, command in left.items():
        print(f"\nprocess {pid} was left running: {command}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _left() -> dict[int, str]:
    """The command lines of processes whose environment says that they are of this session."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                found[int(folder.name)] = os.fsdecode(b" ".join(words)).strip()
    return found
