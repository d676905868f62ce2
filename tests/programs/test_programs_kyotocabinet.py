"""Kyoto Cabinet's own crash tests and benchmarks: its rwlocks, spin locks and mutexes at work."""

import re

import pytest
from preloaded import installed, run, under_every_lock


def check(program, lock, test, *options):
    """Runs one of Kyoto Cabinet's tests, which check themselves; returns its output."""
    path = installed(program, "kyotocabinet-utils")
    output = run(lock, [path, test, *options]).decode()
    assert output.rstrip().endswith("ok"), output[-2000:]
    assert "error" not in output.lower(), output[-2000:]
    return output


@under_every_lock(quick=True)
def test_kccachetest_order(lock):
    output = check("kccachetest", lock, "order", "-th", 4, "-bnum", 50000, 10000)
    counts = [int(count) for count in re.findall(r"^count: (\d+)", output, re.M)]
    assert counts == [0, 40000, 40000, 0]  # opened, after setting, getting and removing


@under_every_lock(quick=True)
def test_kccachetest_wicked(lock):
    check("kccachetest", lock, "wicked", "-th", 4, "-bnum", 50000, 10000)


@under_every_lock()
@pytest.mark.parametrize("test", ["queue", "tran"])
def test_kccachetest_others(lock, test):
    check("kccachetest", lock, test, "-th", 4, "-it", 2, "-bnum", 50000, 5000)


@under_every_lock(elided=True)
@pytest.mark.parametrize("test", ["order", "wicked", "queue", "tran"])
def test_kcgrasstest(lock, test):
    repeat = [] if test == "order" else ["-it", 2]
    check("kcgrasstest", lock, test, "-th", 4, *repeat, 5000)


@under_every_lock()
def test_kcgrasstest_random_order_with_extra_operations(lock):
    check("kcgrasstest", lock, "order", "-th", 4, "-rnd", "-etc", "-tran", 2000)
