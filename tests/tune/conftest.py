"""Starts the command line with the real library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.base import paths

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # for one command; a loaded machine is slow
COMMAND = [sys.executable, "-m", "syncopate"]


def syncopate(*arguments, environ=None, **others) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        **others,
    )


def compile_program(source: str, target: Path, *options: str) -> Path:
    """Compiles C, or C++ for g++ among the options."""
    compiler, language = ("g++", "c++") if "g++" in options else ("gcc", "c")
    flags = [option for option in options if option != "g++"]
    subprocess.run(
        [compiler, "-x", language, "-", "-o", target, "-pthread", *flags],
        input=source,
        text=True,
        check=True,
    )
    return target


def policy_of(text: str) -> str:
    return f'schema = "syncopate-policy"\nversion = 1\n{text}'


@pytest.fixture(scope="session", autouse=True)
def real_parts():
    """These tests are about the real library: without it they fail."""
    assert paths.find(paths.PRELOAD), "the preload library is not built: run `make`"
    assert paths.find(paths.LOCKS), "the table of locks is not built: run `make`"
