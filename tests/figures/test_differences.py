"""differences.py: a changed machine, how much a change explains, and the page."""

import math
from dataclasses import replace

import differences
import pytest
from sweep import Checkpoint, Point, Refusal
from trials import TRIALS, Trial, explained

from syncopate.base import compactjson

ROW = {"figure": "made_up_fig1", "number": "gain", "paper": 4.0, "changed": "`a.b = 1`"}


def test_how_much_a_change_explains():
    for then, percent in ((4, 100), (2, 50), (1, 0), (0.5, -50)):
        assert explained(ROW | {"ours": 1.0, "then": then}) == pytest.approx(percent)
    for ours in (4.0, 4.05, 3.95):
        assert explained(ROW | {"ours": ours, "then": 1.0}) == 0, "there is nothing to explain"


def test_fields_of_a_machine_are_changed_and_no_others(tmp_path):
    original = (differences.ROOT / "machines" / "test-4c.toml").read_text()
    fields = {"cache.l1.latency": 77, "dram.local": 999}
    file = differences.changed_machine("test-4c", fields, tmp_path)
    pairs = zip(original.splitlines(), file.read_text().splitlines(), strict=True)
    changed = {new for old, new in pairs if old != new}
    assert changed == {"latency = 77", "local = 999"}
    with pytest.raises(Refusal, match=r"test-4c.toml has no dram.color"):
        differences.changed_machine("test-4c", {"dram.color": 1}, tmp_path)


def test_every_trial_has_points_and_changes_something():
    for trial in TRIALS:
        assert len(differences.points_of(trial.number)) >= 2, trial.number.name
        assert trial.fields or trial.options or trial.locks, trial.number.name


def test_a_point_without_a_result_is_told():
    number = TRIALS[0].number
    runs = [point.place() | {"error": "ended"} for point in differences.points_of(number)]
    with pytest.raises(Refusal, match=f"{number.figure} .*: ended"):
        differences.value(number, runs)


def test_a_number_without_a_value_is_told():
    """As when the run is missing that speed-ups are taken over."""
    number = replace(TRIALS[0].number, of=lambda _: math.nan)
    with pytest.raises(Refusal, match=f"{number.figure}.*: no value"):
        differences.value(number, [])


def test_a_lock_is_changed_in_its_series_alone():
    trial = Trial(TRIALS[0].number, options={"seed": 2}, locks={"a": "mcs"})
    for series, lock in (("a", "mcs"), ("b", "tatas")):
        point = Point("", series, 4, "program", {"lock": "tatas", "seed": 1})
        changed = differences.changed_point(point, trial)
        assert changed.options == {"lock": lock, "seed": 2}
    assert trial.text() == "`seed = 2`, a is `mcs`"


def test_rows_of_other_figures_are_kept():
    trials = TRIALS[:2]
    before = [
        {"figure": t.number.figure, "number": t.number.name, "changed": t.text(), "then": 1}
        for t in trials
    ]
    now = [before[1] | {"then": 2}]
    assert differences.merged([*before, ROW], now, trials) == [before[0], now[0]]


def test_a_finished_run_is_kept(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(differences, "identity", lambda point, setting: point.series)
    monkeypatch.setattr(
        differences, "run_point", lambda point, _: calls.append(point) or point.place() | {"t": 1}
    )
    point = Point("", "a", 4, "program", {})
    for _ in range(2):  # again from the file
        kept = Checkpoint(tmp_path / "kept.jsonl")
        run = differences.finished(point, None, kept)
        assert run == {"panel": "", "series": "a", "x": 4, "t": 1}
    assert len(calls) == 1


def test_the_page_is_of_the_committed_data():
    document = compactjson.read(differences.DATA.read_text())
    assert differences.PAGE.read_text() == differences.page(document), "run with --redraw"
