"""Threaded filters: their standard output must be right to the byte under every lock."""

import random

import pytest
from preloaded import LIBRARY, installed, lock_choices, run, under_every_lock


@pytest.fixture(scope="module")
def text():
    """Two megabytes of lines, the same in every run, compressible but not trivially so."""
    draw = random.Random(11)
    vocabulary = [f"{draw.randrange(1 << 32):x}" for _ in range(3000)]
    lines = (" ".join(draw.choices(vocabulary, k=5)) for _ in range(45000))
    return ("\n".join(lines) + "\n").encode()


def check_round_trip(lock, program, package, compress, decompress, text):
    """Compresses and decompresses with threads; nothing else may reach standard output."""
    path = installed(program, package)
    packed = run(lock, [path, *compress], stdin=text)
    assert run(lock, [path, *decompress], stdin=packed) == text
    assert packed == run(None, [path, *compress], stdin=text), "differs from a run without us"


@pytest.mark.sampled(6)
@under_every_lock(quick=True)
def test_xz(lock, text):
    compress = ["-T2", "-1", "--block-size=128KiB", "-c"]
    check_round_trip(lock, "xz", "xz-utils", compress, ["-T2", "-d", "-c"], text)


@under_every_lock()
def test_pigz(lock, text):
    check_round_trip(lock, "pigz", "pigz", ["-p", 4, "-n", "-c"], ["-d", "-c"], text)


@under_every_lock()
def test_zstd(lock, text):
    check_round_trip(lock, "zstd", "zstd", ["-T2", "-3", "-q", "-c"], ["-d", "-q", "-c"], text)


@under_every_lock()
def test_sort(lock, text):
    path = installed("sort", "coreutils")
    lines = run(lock, ["env", "LC_ALL=C", path, "--parallel=4"], stdin=text).splitlines()
    assert lines == sorted(text.splitlines())


@pytest.mark.parametrize("lock", lock_choices())
def test_the_library_is_really_loaded(lock):
    maps = run(lock, ["cat", "/proc/self/maps"]).decode()
    assert str(LIBRARY.resolve()) in maps
    assert str(LIBRARY.resolve()) not in run(None, ["cat", "/proc/self/maps"]).decode()
