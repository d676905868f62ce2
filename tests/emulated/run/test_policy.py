"""Policies for single locks, on the emulated machine, where sections do commit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SYNCOPATE_BUILD_DIR", ROOT / "build/release"))
SUBJECT = BUILD / "tests/emulated/run/emulated_policy_subject"


def syncopate(*arguments, environ=None):
    return subprocess.run(
        [sys.executable, "-m", "syncopate", *map(str, arguments)],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )


def elided(tmp_path, *options, policy=None, how=()):
    """Runs the subject; returns by lock what became of its sections, and standard error."""
    record = tmp_path / "subject.rec"
    record.unlink(missing_ok=True)
    if policy is not None:
        path = tmp_path / "policy.toml"
        path.write_text('schema = "syncopate-policy"\nversion = 1\n' + policy)
        options = [*options, "--policy", path]
    done = syncopate("run", *options, SUBJECT, *how, environ={"SYNCOPATE_RECORD": str(record)})
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    report = syncopate("report", "--json", record)
    assert report.returncode == 0, report.stderr
    (found,) = json.loads(report.stdout)["records"]
    return {lock["name"]: lock["elision"] for lock in found["locks"]}, done.stderr


def named(locks, part):
    (found,) = [elision for name, elision in locks.items() if part in name]
    return found


def commits(locks, part):
    elision = named(locks, part)
    return elision["committed"] if elision else 0


LOCKS = ("make_table", "make_other", "named_lock", "named_rwlock")


def test_all_elide_without_a_policy(tmp_path):
    locks, _ = elided(tmp_path, "--elide", "always")
    for lock in LOCKS:
        assert commits(locks, lock) > 0, lock
        counts = named(locks, lock)
        sections = 8000 if lock == "named_rwlock" else 4000
        assert counts["committed"] + counts["fell_back"] <= sections
        assert counts["attempts"] == counts["committed"] + sum(counts["aborts"].values())


def test_auto_elides_only_what_was_contended(tmp_path):
    mutexes = ("make_table", "make_other", "named_lock")
    locks, _ = elided(tmp_path, "--elide", "auto", how=["alone"])
    assert [commits(locks, lock) for lock in mutexes] == [0, 0, 0]
    locks, _ = elided(tmp_path, "--elide", "auto", how=["contended"])
    assert [commits(locks, lock) > 0 for lock in mutexes] == [False, False, True]
    locks, _ = elided(tmp_path, "--elide", "always", how=["alone"])
    assert all(commits(locks, lock) > 0 for lock in mutexes)


def test_none_elide_when_off(tmp_path):
    locks, _ = elided(tmp_path, "--elide", "off")
    assert [commits(locks, lock) for lock in LOCKS] == [0, 0, 0, 0]


POLICY = """
[[lock]]
created = "make_table"
elide = "off"
reason = "as a test"
[[lock]]
variable = "named_rwlock"
elide = "off"
[[lock]]
variable = "named_lock"
elide = "always"
[[lock]]
variable = "no_such_lock"
elide = "always"
"""


def test_policy_chooses_by_creator_and_by_variable(tmp_path):
    locks, said = elided(tmp_path, "--elide", "always", policy=POLICY)
    assert commits(locks, "make_table") == 0
    assert commits(locks, "named_rwlock") == 0
    assert commits(locks, "make_other") > 0
    assert commits(locks, "named_lock") > 0
    assert "has no variable no_such_lock" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("options", [(), ("--elide", "auto")])
def test_policy_elides_what_was_never_contended(tmp_path, options):
    """Also where few processors leave elision to those who ask."""
    locks, _ = elided(tmp_path, *options, policy=POLICY, how=["alone"])
    assert commits(locks, "named_lock") > 0
    assert [commits(locks, lock) for lock in ("make_table", "make_other")] == [0, 0]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("[[lock]]\nelide = 'off'\n", "lock 1: give either variable or created"),
        ("[[lock]]\nvariable = 'a'\n", "lock 1: says nothing"),
        ("[[lock]]\nvariable = 'a'\nelide = 'never'\n", "there are always, off"),
        ("[[lock]]\nvarible = 'a'\nelide = 'off'\n", "did you mean variable"),
        ("[[locks]]\n", "unknown key locks (did you mean lock?)"),
        ("[[lock]\n", "policy.toml: "),
    ],
)
def test_bad_policies_are_one_line(tmp_path, policy, said):
    path = tmp_path / "policy.toml"
    path.write_text('schema = "syncopate-policy"\nversion = 1\n' + policy)
    done = syncopate("run", "--policy", path, SUBJECT)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_policy_is_one_line(tmp_path):
    done = syncopate("run", "--policy", tmp_path / "none.toml", SUBJECT)
    assert done.returncode == 2
    assert "No such file" in done.stderr
