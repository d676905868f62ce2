"""Each workload, natively and with tiny parameters: its line of JSON, and what must hold in it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "workloads"
LOCKS = ("pthread", "mcs:monitor", "one_spinner", "speculative_tatas", "speculative_ticket",
         "priority", "htm_1", "htm_10")  # fmt: skip
BARRIERS = ("futex", "poll_then_futex", "central", "dissemination", "two_level")
MODES = ("small_atomic", "small_critical", "large_critical", "small_tm", "large_tm")


def run(program: str, **parameters) -> subprocess.CompletedProcess:
    words = [word for name, value in parameters.items() for word in (f"--{name}", str(value))]
    return subprocess.run(
        [BUILD / program, *words], capture_output=True, text=True, timeout=120, check=False
    )


def measure(program: str, **parameters) -> dict:
    """The program's line of JSON, checked for what every workload promises."""
    done = run(program, **parameters)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert result["workload"] == program
    assert result["consistent"] is True
    assert result["threads"] == parameters.get("threads", 2) == len(result["per_thread"])
    assert result["operations"] == sum(result["per_thread"])
    assert result["seconds"] > 0
    return result


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pingpong(lock):
    result = measure("lock_pingpong", lock=lock, threads=3, pairs=50, work=100)
    assert result["per_thread"] == [50, 50, 50]
    assert result["lock"] == lock


@pytest.mark.parametrize("barrier", BARRIERS)
def test_barrier_rounds(barrier):
    result = measure("barrier_rounds", barrier=barrier, threads=2, rounds=40, work=500)
    assert result["per_thread"] == [40, 40]
    assert result["seconds"] > 40 * 450e-9  # the work alone; the clock's rate is measured


@pytest.mark.parametrize("lock", LOCKS)
def test_array_bench(lock):
    for contended in (0, 1):
        measure("array_bench", lock=lock, contended=contended, elements=1000, microseconds=300)
    measure("array_bench", lock=lock, contended=1, optimized=1, footprint=100, microseconds=300)


@pytest.mark.parametrize("protect", [0, 1])
def test_adversarial(protect):
    measure("adversarial", lock="speculative_tatas", protect=protect, microseconds=300)


@pytest.mark.parametrize("lock", LOCKS)
def test_map_bench(lock):
    measure("map_bench", lock=lock, keys=200, changes=100, microseconds=300)


def test_map_bench_only_finds():
    result = measure("map_bench", keys=200, changes=0, microseconds=300)
    assert 0 < result["found"] < result["operations"]


@pytest.mark.parametrize("mode", MODES)
def test_clomp_tm(mode):
    for scatters in (1, 5):
        result = measure("clomp_tm", mode=mode, scatters=scatters, threads=3, passes=2)
        assert result["operations"] == 2 * 16 * 64 * scatters
        assert result["per_thread"] == [n * 2 * 64 * scatters for n in (5, 5, 6)]


def test_an_inconsistent_run_is_told():
    """Without a lock updates are lost, sooner or later; the program has to say so."""
    for _ in range(50):
        done = run("array_bench", lock="null", elements=1, threads=4, microseconds=20000)
        if done.returncode == 1:
            assert json.loads(done.stdout)["consistent"] is False
            return
    pytest.fail("no update was ever lost under the null lock")


@pytest.mark.parametrize(
    ("program", "parameters", "message"),
    [
        ("lock_pingpong", {"lock": "nosuch"}, "no lock is called 'nosuch'"),
        ("barrier_rounds", {"barrier": "nosuch"}, "no barrier is called 'nosuch'"),
        ("clomp_tm", {"mode": "nosuch"}, "no mode is called 'nosuch'"),
        ("clomp_tm", {"mode": "serial", "threads": 2}, "serial needs --threads 1"),
        ("map_bench", {"threads": "0"}, "--threads needs a whole number of at least 1"),
        ("map_bench", {"threads": "two"}, "--threads needs a whole number of at least 1"),
        ("map_bench", {"thread": 2}, "there is no option '--thread'"),
    ],
)
def test_bad_use(program, parameters, message):
    done = run(program, **parameters)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_names_every_option():
    done = run("map_bench", help="")
    assert done.returncode == 0
    for option in ("lock", "threads", "keys", "changes", "seed"):
        assert f"--{option} " in done.stdout
