"""The server and its clients, without elision and on the emulated machine, where it elides."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "request_server"
HAS_EMULATED = (BUILD / "request_server.emulated").exists()
emulated_only = pytest.mark.skipif(not HAS_EMULATED, reason="the emulated machine is not built")
SIZE = ("--clients", "4", "--workers", "3", "--requests", "300")
FEW = ("--requests", "60")  # of each client, given after


def run(program: str, *words: str, **settings: str) -> subprocess.CompletedProcess:
    command = [str(BUILD / program), *SIZE, *words]
    environment = os.environ | {f"SYNCOPATE_{key}": value for key, value in settings.items()}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=100, check=False, env=environment
    )


def result(done: subprocess.CompletedProcess) -> dict:
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert found["consistent"] is True
    return found


@pytest.fixture(scope="module")
def checksum() -> str:
    """Of the native program, without any library of ours."""
    return result(run("request_server"))["checksum"]


@pytest.fixture(scope="module")
def checksum_of_few() -> str:
    return result(run("request_server", *FEW))["checksum"]


@pytest.fixture
def measure(tmp_path):
    """A run on the emulated machine: its result, and the sums of the machine's statistics."""

    def run_and_count(*words: str, **settings: str) -> tuple[dict, dict]:
        stats = tmp_path / "stats.json"
        done = run("request_server.emulated", *words, STATS=str(stats), **settings)
        found = result(done)
        report = json.loads(stats.read_text())
        sums = {"commits": 0, "fell_back": 0}
        for site in report["transactions"]:
            for key in ("commits", "fell_back"):
                sums[key] += site[key]
            for cause, count in site["aborts"].items():
                sums[cause] = sums.get(cause, 0) + count
            # Each attempt ends in one of these ways.
            assert site["begins"] == site["commits"] + sum(site["aborts"].values())
        sums["called"] = {a["called"] for a in report["aborts"] if "called" in a}
        return found, sums

    return run_and_count


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_native(transport, checksum):
    found = result(run("request_server", "--transport", transport, "--tick", "500"))
    assert found["checksum"] == checksum
    assert found["requests"] == 4 * 300


def test_another_seed_has_another_result(checksum):
    assert result(run("request_server", "--seed", "2"))["checksum"] != checksum


@emulated_only
def test_without_elision(measure, checksum):
    found, sums = measure(ELIDE="off")
    assert found["checksum"] == checksum
    assert sums == {"commits": 0, "fell_back": 0, "called": set()}


@pytest.mark.sampled(2)
@emulated_only
@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_elision_changes_nothing_but_commits(measure, transport, checksum):
    found, sums = measure("--transport", transport, ELIDE="always")
    assert found["checksum"] == checksum
    # Of the table, each request's section: a few fall back behind a lock that is held.
    assert sums["commits"] > 1200
    # An answer is sent, and the processor's time asked for, under a lock.
    assert sums["library_call"] > 600 and sums["system_call"] > 600
    # Waits and signals of condition variables commit: they end no transaction.
    assert sums["called"] <= {"send"}


@emulated_only
def test_what_fails_always_is_learned(measure, checksum):
    found, sums = measure(ELIDE="auto")
    assert found["checksum"] == checksum
    assert sums["commits"] > 1000
    assert sums.get("system_call", 0) < 300  # none, if other aborts taught it first


CAUSES = {
    "conflict": ((), "yield=20000"),
    "explicit": ((), "yield=20000"),  # the lock was held
    "write_capacity": ((), "sets=1,ways=2"),
    "read_capacity": ((), "read_lines=4"),
    "time_limit": ((), "accesses=60"),
    "injected": ((), "abort_at=3"),
    "spurious": ((), "spurious=30000"),
    "signal": (("--tick", "100"), "yield=2000"),
    "library_call": ((), ""),
    "system_call": ((), ""),
}


@pytest.mark.sampled(12)
@emulated_only
@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_is_counted_and_harmless(measure, cause, checksum_of_few):
    """The other causes (nesting, waiting, fault, always abort) need programs that ask for them:
    tests/emulated/test_aborts.cpp."""
    words, setting = CAUSES[cause]
    for seed in range(1, 11):  # who meets whom, the system decides
        found, sums = measure(*FEW, *words, ELIDE="always", EMULATED=setting + f",seed={seed}")
        assert found["checksum"] == checksum_of_few
        if sums.get(cause, 0) > 0:
            break
    else:
        pytest.fail(f"{cause} did not happen: {sums}")
    assert sums["fell_back"] > 0


@emulated_only
def test_without_transactions(measure, checksum):
    found, sums = measure(ELIDE="always", EMULATED="htm=0")
    assert found["checksum"] == checksum
    assert sums["commits"] == 0


# ---- what `syncopate report` says of it ----


def report(record: Path, *words: str) -> str:
    command = [sys.executable, "-m", "syncopate", "report", *words, str(record)]
    environment = os.environ | {"COLUMNS": "200"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@emulated_only
def test_the_report_of_a_record_tells_of_elision_lock_by_lock(tmp_path):
    record = tmp_path / "record"
    found = result(run("request_server.emulated", RECORD=str(record), ELIDE="always"))
    (process,) = json.loads(report(record, "--json"))["records"]
    elided = {lock["name"]: lock["elision"] for lock in process["locks"] if lock["elision"]}
    of = {part: counts for name, counts in elided.items() for part in NAMED_BY if part in name}
    assert set(of) == set(NAMED_BY)
    for counts in elided.values():
        assert counts["attempts"] == counts["committed"] + sum(counts["aborts"].values())
    # Sending is no work for a transaction; taking a request out of the queue is.
    assert of["answer_requests"]["fell_back"] > 600
    assert of["answer_requests"]["aborts"]["other"] > 600
    assert of["bounded_queue"]["committed"] > found["requests"]
    text = report(record)
    assert "Elided sections (aborted transactions by cause)" in text
    rows = text.split("Elided sections")[1].split("\n\n")[0]
    for part in NAMED_BY:
        assert part in rows


NAMED_BY = ("answer_requests", "bounded_queue", "server::count")  # where they are first taken
