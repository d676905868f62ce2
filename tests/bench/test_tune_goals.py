"""What bench/tune_goals.py makes of rounds that were measured, on made-up ones."""

import json
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import tune_goals
from interleaved import Ratio
from tune_goals import GLIBC, TUNED, Measured, geometric_mean, verdict_of
from tune_programs import Case

SAID = "better than what you have: 1.5x\n  tatas\nwrote it; to use it: ..."


def measured(folder, costs: dict[str, float], has_policy: bool = True) -> Measured:
    """Every choice by hand costs 10 in the screening, unless it is named here."""
    case = Case("some program", ("true",))
    screening = {name: costs.get(name, 10.0) for name in case.by_hand()}
    names = sorted(screening, key=screening.get)[: tune_goals.FINALISTS]
    final = {name: screening[name] for name in names} | {GLIBC: costs[GLIBC]}
    if has_policy:
        (folder / "some-program.toml").write_text("")
        final[TUNED] = costs[TUNED]
    known = {"said": SAID, "screening": [screening] * tune_goals.SCREENING,
             "final": [final] * tune_goals.FINAL}  # fmt: skip
    (folder / "some-program.json").write_text(json.dumps(known))
    return Measured(case, folder)


def test_tune_against_glibc_and_the_best_by_hand(tmp_path):
    one = measured(tmp_path, {GLIBC: 6.0, TUNED: 4.0, "auto": 3.0})
    assert one.is_complete()
    row = verdict_of(one)
    assert (row["choice"], row["best_by_hand"]) == ("tatas", "auto")
    assert row["tune_to_glibc"]["value"] == pytest.approx(1.5)
    assert row["best_to_glibc"]["value"] == pytest.approx(2.0)
    assert row["tune_to_best"]["value"] == pytest.approx(0.75)
    assert not tune_goals.tell([row])


def test_no_change_advised_is_the_program_as_it_is(tmp_path):
    row = verdict_of(measured(tmp_path, {GLIBC: 6.0, "auto": 7.0}, has_policy=False))
    assert (row["choice"], row["best_by_hand"]) == ("as it is", "as it is")
    assert row["tune_to_glibc"] == row["tune_to_best"] == vars(Ratio(1.0, 1.0, 1.0))


def test_what_failed_once_is_no_finalist(tmp_path):
    one = measured(tmp_path, {GLIBC: 6.0, TUNED: 4.0, "auto": 3.0})
    one.screening = [{**each} for each in one.screening]
    del one.screening[1]["auto"]
    assert "auto" not in one.finalists()


def test_geometric_mean():
    mean = geometric_mean([Ratio(2.0, 1.0, 4.0), Ratio(0.5, 0.5, 0.5)])
    assert mean.value == pytest.approx(1.0)
    assert (mean.low, mean.high) == (pytest.approx(0.5**0.5), pytest.approx(2**0.5))


def test_goals_reached_are_told(tmp_path, capsys):
    row = verdict_of(measured(tmp_path, {GLIBC: 6.0, TUNED: 4.0, "auto": 4.1}))
    assert tune_goals.tell([row])
    assert "below glibc: none" in capsys.readouterr().out
