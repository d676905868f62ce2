"""The client/server programs over the user-level TCP/IP stack: every locking on every machine, both
links, bad networks, bad use."""

import json
from pathlib import Path

import pytest
from conftest import BUILD, LOCKINGS, PROGRAMS, result, run

TINY = ("--preset", "tiny")
# The same for all variants, since they depend on the input alone.
EXPECTED = {
    "netdedup": ("operations", "chunks", "kept", "packed_bytes"),
    "netferret": ("operations", "queries", "entries"),
    "netstreamcluster": ("operations", "points", "centers"),
}


def needs(machine: str) -> pytest.MarkDecorator:
    there = (BUILD / f"netdedup.{machine}").exists()
    return pytest.mark.skipif(not there, reason=f"the {machine} machine is not built")


needs_simulated, needs_emulated = needs("simulated"), needs("emulated")


@pytest.fixture(scope="module")
def expected() -> dict:
    """What each program computes."""
    return {name: summary(name, result(run(name, *TINY))) for name in PROGRAMS}


def summary(name: str, found: dict) -> dict:
    return {key: found[key] for key in EXPECTED[name]}


@pytest.mark.parametrize("locking", LOCKINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_locking(name, locking, expected):
    found = result(run(name, *TINY, "--locking", locking))
    assert summary(name, found) == expected[name]
    assert found["locking"] == locking


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_processes(name, expected):
    found = result(run(name, *TINY, "--link", "unix"))
    assert summary(name, found) == expected[name]


BAD = ("--lost", 5, "--doubled", 10, "--reordered", 10, "--time-out", 20, "--mss", 400)


@pytest.mark.parametrize("link", ["memory", "unix"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bad_network(name, link, expected):
    assert summary(name, result(run(name, *TINY, "--link", link, *BAD))) == expected[name]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("name", PROGRAMS)
def test_bad_networks(name, seed):
    result(run(name, *TINY, "--seed", seed, *BAD))


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_connections(name):
    result(run(name, *TINY, "--threads", 20))


def on_a_machine(name: str, machine: str, locking: str, expected: dict, stats: Path) -> None:
    settings = {"MACHINE": "haswell-4c8t", "STATS": str(stats)}
    if not locking.startswith("tsx"):
        settings["ELIDE"] = "off"  # the emulated machine elides std::mutex, too
    found = result(run(f"{name}.{machine}", *TINY, "--locking", locking, **settings))
    assert summary(name, found) == expected[name]
    transactions = json.loads(stats.read_text())["transactions"]
    committed = sum(site["commits"] for site in transactions)
    assert (committed > 30) == locking.startswith("tsx")


@pytest.mark.sampled(6)
@needs_simulated
@pytest.mark.parametrize("locking", LOCKINGS)
def test_simulated(locking, expected, tmp_path):
    on_a_machine("netferret", "simulated", locking, expected, tmp_path / "stats.json")


@pytest.mark.sampled(4)
@needs_emulated
@pytest.mark.parametrize("locking", ["mutex", "tsx.abort", "tsx.cond"])
def test_emulated(locking, expected, tmp_path):
    on_a_machine("netferret", "emulated", locking, expected, tmp_path / "stats.json")


@pytest.mark.long
@needs_simulated
@needs_emulated
@pytest.mark.parametrize("machine", ["simulated", "emulated"])
@pytest.mark.parametrize("locking", LOCKINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_modeled_machines(name, locking, machine, expected, tmp_path):
    on_a_machine(name, machine, locking, expected, tmp_path / "stats.json")


@needs_simulated
def test_simulated_runs_are_all_the_same():
    words = (*TINY, "--locking", "tsx.cond")
    first, second = (run("netferret.simulated", *words, MACHINE="haswell-4c8t") for _ in "12")
    assert first.returncode == 0
    assert first.stdout == second.stdout


@needs_simulated
def test_the_simulated_machine_has_one_link():
    done = run("netdedup.simulated", *TINY, "--link", "unix")
    assert done.returncode == 2
    assert "only --link memory" in done.stderr


@pytest.mark.parametrize(
    "words, says",
    [
        (("--locking", "spin"), "no locking is called 'spin'"),
        (("--link", "wire"), "--link is memory or unix, not 'wire'"),
        (("--preset", "huge"), "no preset is called 'huge'; there are tiny, sim, small, paper and"),
        (("--lost", "99"), "--lost is at most 50"),
        (("--mss", "3"), "at least 64"),
        (("--mss", "9000"), "--mss is at most 1460"),
        (("--threads", "0"), "at least 1"),
    ],
)
def test_bad_use(words, says):
    check_refused(run("netdedup", *words), says)


@pytest.mark.parametrize(
    "program, words, says",
    [
        ("netdedup", ("--bytes", str(2**60)), "--bytes is at most 17179869184"),
        ("netferret", ("--entries", "9"), "--entries needs at least 10"),
        ("netstreamcluster", ("--points", "127", *TINY), "--points is at least --block"),
        ("netstreamcluster", ("--candidates", "0"), "--candidates needs a whole number"),
    ],
)
def test_sizes_that_cannot_be(program, words, says):
    check_refused(run(program, *words), says)


def check_refused(done, says):
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", [*PROGRAMS, "netserve"])
def test_help(name):
    done = run(name, "--help")
    assert done.returncode == 0
    for word in ("--locking", *LOCKINGS):
        assert word in done.stdout
