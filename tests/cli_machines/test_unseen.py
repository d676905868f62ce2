"""What a simulated program does in libraries that the machine cannot see: said, perhaps charged."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from modeled import build

# Half a second of processor time within the C library, or in the program's own code.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <ctime>
volatile double sum;
int main(int count, char**) {
  char text[2000];
  for (int i = 0; i < 5000; ++i) {
    if (count > 1) for (int j = 0; j < 5000; ++j) sum = sum + 1;
    else for (int j = 0; j < 10; ++j) std::snprintf(text, sizeof text, "%.1500f", 1e300 / (i + 3));
    sum = sum + 1;
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("unseen"), "unseen", PROGRAM)


def run(program: Path, *arguments: str, **variables: str) -> tuple[float, str]:
    """The simulated time in seconds, and the lines behind it."""
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", **variables}
    done = subprocess.run(
        [str(program), *arguments], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, *more = done.stderr.splitlines()
    return float(re.search(r"simulated time: ([\d.]+) s", first)[1]), "\n".join(more)


def test_much_that_was_not_seen_is_said(program):
    seconds, said = run(program)
    assert re.search(r"\d+ % of the program's own processor time, \d+ ms, passed in code", said)
    assert "libc.so" in said
    assert seconds < 0.01


def test_charged_as_measured(program):
    seconds, said = run(program, SYNCOPATE_CHARGE_NATIVE="1")
    charged = float(re.search(r"([\d.]+) ms were native code of libraries, charged", said)[1])
    assert charged > 20
    assert seconds > charged / 1000


def test_a_program_that_was_seen_is_left_alone(program):
    assert run(program, "seen")[1] == ""
