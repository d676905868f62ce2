"""What a simulated program does in libraries that the machine cannot see: said, perhaps charged."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from modeled import build

# Half a second of processor time within the C library, or in the program's own code.
PROGRAM = r"""
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>
volatile double sum;
// From each place that has random numbers, two.
int draw() {
  std::uint64_t all[12] = {};
  std::random_device device;
  for (int i = 0; i < 2; ++i) {
    if (getrandom(&all[i], 8, 0) != 8 || getentropy(&all[2 + i], 8) != 0) return 1;
    all[4 + i] = device();
    const char* const path = i ? "/dev/urandom" : "/dev/random";
    const int file = open(path, O_RDONLY), other = openat(AT_FDCWD, path, O_RDONLY);
    if (read(file, &all[6 + i], 8) != 8 || read(other, &all[8 + i], 8) != 8) return 1;
    close(file), close(other);
    FILE* const stream = fopen(path, "r");
    if (fread(&all[10 + i], 8, 1, stream) != 1) return 1;
    fclose(stream);
  }
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < i; ++j)
      if (all[i] == all[j]) return 2;
  for (auto each : all) std::printf("%016llx\n", static_cast<unsigned long long>(each));
  return 0;
}
int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "random") == 0) return draw();
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


def test_random_numbers_are_the_same_in_every_run(program):
    def drawn(seed: str) -> bytes:
        environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_SEED": seed}
        return subprocess.run(
            [str(program), "random"], env=environ, capture_output=True, check=True, timeout=60
        ).stdout

    first = drawn("1")
    assert len(first.split()) == 12
    assert drawn("1") == first
    assert drawn("2") != first
