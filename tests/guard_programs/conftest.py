"""Compiles programs with one mistake each, and runs them under the guard."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.base import paths

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # a loaded machine is slow
OURS = "syncopate: guard: "


def syncopate(*arguments, environ=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "syncopate", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def lines(done: subprocess.CompletedProcess) -> list[str]:
    """What the guard has said, without its prefix."""
    return [text[len(OURS) :] for text in done.stderr.splitlines() if text.startswith(OURS)]


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """A function from C++ source, and how much to optimize it, to a program."""
    folder = tmp_path_factory.mktemp("programs")

    def compiled(name: str, source: str, optimized: str = "-O1") -> Path:
        target = folder / name
        if not target.exists():
            subprocess.run(
                ["g++", "-x", "c++", "-std=c++20", optimized, "-g", "-", "-o", target, "-pthread"],
                input=source,
                text=True,
                check=True,
            )
        return target

    return compiled


@pytest.fixture(scope="session", autouse=True)
def real_parts():
    """These tests are about the real library: without it they fail."""
    assert paths.find(paths.PRELOAD), "the preload library is not built: run `make`"
    assert paths.find(paths.LOCKS), "the table of locks is not built: run `make`"
