"""Elision on the simulated machine, where transactions commit: what the programs check themselves,
and what the machine counted."""

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

PROGRAMS = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "tests" / "elide" / "simulated"
MACHINES = Path(__file__).resolve().parents[2] / "machines"

# Aborts by cause, or by the code of explicit ones (section.h).
LOCK_HELD, NESTED_TRY, NEEDS_LOCK, INNER_HELD, SWITCHED_OFF = 0xFF, 0xFD, 0xFC, 0xFA, 0xF9
SECTIONS = 100


def scenarios(program: str) -> list[str]:
    done = subprocess.run(
        [PROGRAMS / program],
        capture_output=True,
        env={**os.environ, "SYNCOPATE_QUIET": "1"},
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


class Run:
    """One scenario's run: begins, commits and aborts as counted, and the numbers it told."""

    def __init__(self, program: str, scenario: str, **variables: str):
        environment = {
            **os.environ,
            "SYNCOPATE_MACHINES": str(MACHINES),
            "SYNCOPATE_MACHINE": "haswell-4c8t",
            "SYNCOPATE_STATS": "json",
            "SYNCOPATE_QUIET": "1",
            **variables,
        }
        done = subprocess.run(
            [PROGRAMS / program, scenario],
            capture_output=True,
            env=environment,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stderr[done.stderr.index("{") :])
        self.messages = done.stderr[: done.stderr.index("{")]
        self.begins = sum(each["begins"] for each in report["transactions"])
        self.commits = sum(each["commits"] for each in report["transactions"])
        self.places = [each["begun_at"] for each in report["transactions"]]
        self.aborts: Counter = Counter()
        for each in report["aborts"]:
            explicit = each["cause"] == "explicit"
            self.aborts[each["code"] if explicit else each["cause"]] += each["count"]
        self.told = {k: int(v) for k, v in re.findall(r"^(\w+)=(\d+)$", done.stdout, re.M)}


# Scenarios of `paths`: how many transactions commit, and every abort that there is.
EXACT = {
    "commits": (SECTIONS, {}),
    "unfriendly": (0, {"unfriendly": SECTIONS}),
    "unfriendly_htm_10": (0, {"unfriendly": 10 * SECTIONS}),
    "user_abort": (0, {7: SECTIONS}),
    "needs_lock": (0, {NEEDS_LOCK: SECTIONS}),
    "held_wait_outside": (2, {LOCK_HELD: 2}),
    "held_wait_inside": (2, {"conflict": 2}),
    "nested": (SECTIONS, {}),
    "nested_deeply": (SECTIONS, {}),
    "try_lock": (SECTIONS + 1, {}),
    "try_lock_again": (0, {NESTED_TRY: SECTIONS}),
    "lock_again": (0, {NESTED_TRY: 1}),
    "timed": (SECTIONS, {}),
    "recursive": (SECTIONS, {}),
    "unlock_free": (SECTIONS, {}),
}


@pytest.mark.parametrize("scenario", EXACT)
def test_each_abort_takes_its_path(scenario):
    run = Run("paths", scenario)
    commits, aborts = EXACT[scenario]
    assert (run.commits, dict(run.aborts)) == (commits, aborts)


def test_what_does_not_fit_is_tried_once():
    run = Run("paths", "capacity")
    assert run.commits == 0
    assert run.aborts["write_capacity"] > SECTIONS / 2
    assert run.aborts.total() == SECTIONS  # the others: aborted by the predictor, or an interrupt


def test_conflicts_are_retried():
    run = Run("paths", "conflicts")
    assert run.aborts["conflict"] > 10
    assert run.commits == 2 * SECTIONS - run.told["fell_back"]
    assert run.told["fell_back"] < SECTIONS / 10


def test_a_lock_taken_meanwhile_aborts():
    run = Run("paths", "taken_meanwhile")
    assert run.aborts["conflict"] >= 1
    assert run.commits <= 1


def test_an_inner_lock_that_is_held():
    run = Run("paths", "inner_held")
    assert run.aborts[INNER_HELD] >= 1


@pytest.mark.parametrize("scenario", ["rwlock_modes", "condition"])
def test_semantics_are_kept(scenario):
    assert Run("paths", scenario).commits >= 2


def test_the_switch_ends_sections():
    run = Run("paths", "control")
    assert run.commits == SECTIONS
    assert run.aborts["conflict"] + run.aborts[SWITCHED_OFF] >= 1


def test_the_environment_decides():
    learned = Run("paths", "by_environment")
    assert learned.told["learned"] != 0
    assert learned.told["elided"] == 0 and learned.begins < 10
    always = Run("paths", "by_environment", SYNCOPATE_ELIDE="always")
    assert always.told["elided"] == SECTIONS and always.begins == 1000 + SECTIONS
    off = Run("paths", "by_environment", SYNCOPATE_ELIDE="off")
    assert off.told == {"learned": 0, "elided": 0} and off.begins == 0
    wrong = Run("paths", "by_environment", SYNCOPATE_ELIDE="sometimes")
    assert wrong.told == learned.told
    assert "SYNCOPATE_ELIDE=sometimes: no such mode; auto, always and off are\n" in wrong.messages


def test_always_where_nothing_commits_is_told():
    run = Run("paths", "none_here", SYNCOPATE_ELIDE="always", SYNCOPATE_MACHINE="opteron-6272")
    assert run.begins == 0
    assert "transactions never commit on this machine; locks are taken" in run.messages
    assert len(run.messages.splitlines()) == 1


def test_protection_against_the_lemming_effect():
    """One thread always falls back; the others resume eliding, or follow it."""
    run = Run("paths", "lemming")
    assert run.told["unprotected"] > 4 * run.told["protected"]
    assert run.told["protected"] < 0.01 * 3 * 4 * SECTIONS


def test_learning_turns_elision_off_and_on_again():
    run = Run("paths", "learning")
    assert run.aborts["unfriendly"] < 20  # of 10,000 sections
    assert run.commits > 1000


def test_sections_are_reported_where_the_program_begins_them():
    assert all("run_sections" in place for place in Run("paths", "unfriendly").places)


@pytest.mark.parametrize("scenario", [s for s in scenarios("invariants") if s.startswith("bank")])
def test_a_bank_under_an_elided_lock(scenario):
    run = Run("invariants", scenario)
    assert run.commits > 0.98 * 4 * 400


@pytest.mark.parametrize("scenario", ["one_counter", "list", "tree", "rwlock"])
def test_data_under_an_elided_lock(scenario):
    run = Run("invariants", scenario)
    assert run.commits > 00
    assert run.aborts["conflict"] > 0


def test_sections_on_different_lines_run_at_the_same_time():
    run = Run("invariants", "own_counters")
    assert run.aborts == {}
    assert run.told["plain"] > 2 * run.told["elided"]


def test_every_scenario_is_run():
    here = Path(__file__).read_text()
    for program in ("paths", "invariants"):
        for scenario in scenarios(program):
            assert f'"{scenario}"' in here or scenario.startswith("bank"), scenario
