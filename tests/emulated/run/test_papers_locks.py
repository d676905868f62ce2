"""The locks of always-abort-htm.txt under an unmodified program, on the emulated machine, where
transactions commit and abort: its results are right, and the record says what the locks did."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SYNCOPATE_BUILD_DIR", ROOT / "build/release"))
SUBJECT = BUILD / "tests/emulated/run/emulated_papers_locks"
AHEAD = ("speculative_tatas", "speculative_ticket", "priority", "tatas:speculate")
AHEAD = (*AHEAD, "ticket:speculate")
ELIDING = ("htm_1", "htm_10", "htm_10_fb_aahtm")
# Those of the paper wait in transactions for a holder, which needs a processor itself.
FEW = ("60", "3")


def syncopate(*arguments, environ=None):
    return subprocess.run(
        [sys.executable, "-m", "syncopate", *map(str, arguments)],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=170,
    )


def record(tmp_path, *options, how=(), environ=None):
    """Runs the subject; returns its locks in the report, and the report as text."""
    path = tmp_path / "subject.rec"
    path.unlink(missing_ok=True)
    environ = {"SYNCOPATE_RECORD": str(path), **(environ or {})}
    done = syncopate("run", *options, SUBJECT, *how, environ=environ)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr
    report = syncopate("report", "--json", path)
    assert report.returncode == 0, report.stderr
    (found,) = json.loads(report.stdout)["records"]
    text = syncopate("report", path, environ={"COLUMNS": "200"}).stdout
    return {lock["name"]: lock for lock in found["locks"]}, text


def total(locks, part, *names):
    counts = [lock[part] for lock in locks.values() if lock[part]]
    for name in names[:-1]:
        counts = [each[name] for each in counts]
    return sum(each[names[-1]] for each in counts)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("lock", AHEAD)
def test_waiters_run_ahead(tmp_path, lock):
    locks, text = record(tmp_path, "--lock", lock)
    for name, least in {"runs": 100, "whole": 50, "lines": 500, "trials": 6}.items():
        assert total(locks, "speculation", name) >= least, (name, text)
    runs = total(locks, "speculation", "runs")
    aborted = sum(total(locks, "speculation", "aborts", cause) for cause in CAUSES)
    assert runs == total(locks, "speculation", "whole") + aborted
    assert aborted > 0
    for name in ("plain", "outer", "queue_lock", "shared"):
        assert locks[name]["speculation"]["runs"] > 0, (name, text)
    assert not any(lock["elision"] for lock in locks.values())
    assert "Runs ahead of locks" in text


CAUSES = ("conflict", "capacity", "other")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lock", ELIDING)
def test_sections_are_elided(tmp_path, lock):
    locks, text = record(tmp_path, "--lock", lock, how=FEW)
    for name in ("plain", "outer", "timed", "tried", "again", "queue_lock", "shared"):
        counts = locks[name]["elision"]
        assert counts["committed"] > 0, (name, text)
        assert counts["fell_back"] > 0, (name, text)
        assert sum(counts["aborts"].values()) > 0, (name, text)
    fallen = total(locks, "elision", "fell_back")
    aborts = sum(total(locks, "elision", "aborts", cause) for cause in (*CAUSES, "explicit"))
    # One attempt is one abort; of ten, some causes of which others would heed, many.
    assert (aborts <= fallen) if lock == "htm_1" else (aborts > 3 * fallen), text
    ahead = total(locks, "speculation", "runs")
    assert (ahead > 0) if lock == "htm_10_fb_aahtm" else (ahead == 0), text


POLICY = """
[default]
lock = "auto"
[[lock]]
variable = "plain"
lock = "speculative_tatas"
[[lock]]
variable = "outer"
lock = "htm_1"
"""


def test_a_policy_names_them_for_single_locks(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = "syncopate-policy"\nversion = 1\n' + POLICY)
    environ = {"SYNCOPATE_ELIDE": "auto"}
    locks, text = record(tmp_path, "--policy", policy, how=("300", "4"), environ=environ)
    assert locks["plain"]["speculation"]["runs"] > 0, text
    assert locks["outer"]["elision"]["committed"] > 0, text
    assert not [name for name, lock in locks.items() if lock["speculation"] and name != "plain"]


@pytest.mark.long
def test_what_does_not_pay_is_left_out(tmp_path):
    """Under some lock some trial was lost, or else none was: what was left out says which."""
    locks, text = record(tmp_path, "--lock", "speculative_tatas", how=("3000",))
    assert total(locks, "speculation", "left_out") > 0, text
    for lock in locks.values():
        if lock["speculation"] and lock["speculation"]["trials"]:
            assert lock["speculation"]["gain"] is not None


@pytest.mark.parametrize("lock", ["speculative_tatas", "htm_10"])
def test_a_machine_without_transactions(tmp_path, lock):
    environ = {"SYNCOPATE_EMULATED": "htm=0", "SYNCOPATE_VERBOSE": "1"}
    path = tmp_path / "subject.rec"
    done = syncopate(
        "run", "--lock", lock, SUBJECT, "100", environ={**environ, "SYNCOPATE_RECORD": str(path)}
    )
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert f"{lock}: no transaction begins on this machine" in done.stderr
    report = syncopate("report", "--json", path)
    (found,) = json.loads(report.stdout)["records"]
    assert not any(each["speculation"] or each["elision"] for each in found["locks"])


def test_the_guard_sees_every_lock():
    """And so it has nothing to watch where transactions run ahead."""
    done = syncopate("run", "--guard", "--lock", "speculative_tatas", SUBJECT, "100")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the guard has to see every lock" in done.stderr
