"""Sweeps: what is read from a run, what is kept of a stopped one, and what a user is told."""

import contextlib
import dataclasses
import json
import stat
import threading
import time
from dataclasses import replace

import pytest
from conftest import made_up_points
from sweep import (
    Checkpoint,
    Point,
    Refusal,
    Setting,
    duration,
    identity,
    run_point,
    seeded,
    side_by_side,
    sweep,
)

from syncopate.bench.onerun import RunError, of_report, run

POINTS = made_up_points(quick=False)

REPORT = {
    "machine": "test-4c",
    "hertz": 2e9,
    "seconds": 0.5,
    "energy": {"joules": 3.0, "average_watts": 6.0},
    "transactions": [
        {"begins": 10, "commits": 4, "aborts": {"conflict": 5, "explicit": 1, "interrupt": 0}},
        {"begins": 1, "commits": 0, "aborts": {"conflict": 1}},
    ],
}


class Runner:
    """In place of run_point: counts, and stops after `most` runs."""

    def __init__(self, most=100, failing=()):
        self.most, self.failing, self.ran = most, failing, []

    def __call__(self, point, setting):
        if len(self.ran) == self.most:
            raise KeyboardInterrupt
        self.ran.append(point)
        if point.series in self.failing:
            return point.place() | {"error": "it failed"}
        return point.place() | {"operations": 100 * point.x}


def program(folder, text):
    """A program that stands in for a workload: a shell script."""
    path = folder / "made_up.simulated"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_points_with_seeds():
    points = made_up_points(False)
    found = seeded(points, lambda point: point.x == 2)
    assert [p.options["seed"] for p in found if p.x == 1] == [1, 1]
    assert [p.options["seed"] for p in found if p.x == 2] == [1, 2, 3, 4, 5] * 2


def test_of_report_adds_transactions_up():
    result = of_report(REPORT)
    assert result["transactions"] == {
        "begins": 11,
        "commits": 4,
        "aborts": {"conflict": 6, "explicit": 1},
    }
    assert (result["joules"], result["watts"]) == (3.0, 6.0)
    assert (result["machine"], result["machine_seconds"]) == ("test-4c", 0.5)


def test_of_report_without_transactions():
    report = {key: value for key, value in REPORT.items() if key != "transactions"}
    assert of_report(report)["transactions"] == {"begins": 0, "commits": 0, "aborts": {}}


def test_of_report_has_the_word_most_waited_for():
    assert of_report(REPORT)["most_waited"] == {}
    never = {"held": {"count": 0, "sum": 0}}
    assert of_report(REPORT | {"waits": [never]})["most_waited"] == {}
    waits = [never, {"held": {"count": 4, "sum": 1600}}, {"held": {"count": 1, "sum": 1}}]
    assert of_report(REPORT | {"waits": waits})["most_waited"] == {"held": 4, "held_ns": 200.0}


def test_a_run_is_the_last_line_and_the_report(setting, tmp_path, monkeypatch):
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    program(
        tmp_path,
        f'cp {tmp_path}/report.json "$SYNCOPATE_STATS"\n'
        'echo "something else"\n'
        'echo "{\\"operations\\": 7, \\"per_thread\\": [7], \\"options\\": \\"$*\\",'
        ' \\"seed\\": \\"$SYNCOPATE_SEED\\", \\"on\\": \\"$SYNCOPATE_MACHINE\\"}"\n',
    )
    monkeypatch.setenv("SYNCOPATE_SEED", "99")
    result = run_point(Point("p", "s", 3, "made_up", {"lock": "tatas", "threads": 3}), setting)
    assert result["operations"] == 7
    assert (result["panel"], result["series"], result["x"]) == ("p", "s", 3)
    assert result["options"] == "--lock tatas --threads 3"
    assert result["seed"] == "", "the user's own settings would change the numbers"
    assert result["on"] == str(tmp_path / "machine.toml")
    assert result["watts"] == 6.0
    assert "per_thread" not in result


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("echo first >&2; echo no such lock >&2; exit 2", "no such lock"),
        ("exit 3", "status 3"),
        ("echo not JSON", "made_up.simulated: "),
        ("exit 0", "made_up.simulated: "),
        ("exec sleep 60", "not done after 0.3 s"),
    ],
)
def test_a_failed_run_says_why(setting, tmp_path, text, error):
    program(tmp_path, text)
    result = run_point(POINTS[0], dataclasses.replace(setting, limit=0.3))
    assert result["error"].startswith(error)
    assert result["series"] == "fast"


def test_a_stopped_sweep_goes_on(setting, tmp_path, capsys):
    kept = tmp_path / "kept.jsonl"
    with pytest.raises(KeyboardInterrupt):
        sweep(POINTS, setting, Checkpoint(kept), Runner(most=3))
    kept.write_text(kept.read_text() + '\n{"identity": "cut o')  # killed in the middle of a line
    rest = Runner()
    runs = sweep(POINTS, setting, Checkpoint(kept), rest)
    assert rest.ran == POINTS[3:]
    assert runs == [p.place() | {"operations": 100 * p.x} for p in POINTS]
    assert f"3 of 4 points are kept in {kept}" in capsys.readouterr().err
    again = Runner()
    assert sweep(POINTS, setting, Checkpoint(kept), again) == runs
    assert again.ran == []


@pytest.mark.parametrize("changed", ["made_up.simulated", "machine.toml"])
def test_another_program_or_machine_starts_over(setting, tmp_path, changed, forget_files):
    import sweep as module

    kept = tmp_path / "kept.jsonl"
    sweep(POINTS, setting, Checkpoint(kept), Runner())
    (tmp_path / changed).write_text("another")
    module.digest.cache_clear()
    runner = Runner()
    sweep(POINTS, setting, Checkpoint(kept), runner)
    assert runner.ran == POINTS
    assert len(Checkpoint(kept).runs) == len(POINTS), "the old results are dropped"


def test_points_that_are_run_elsewhere(setting, tmp_path, capsys):
    """In any order; what fails there is told, not kept, and not run here."""
    kept = tmp_path / "kept.jsonl"
    sweep(POINTS[:1], setting, Checkpoint(kept), Runner())
    asked = []

    def many(function, runs):
        assert function.__module__ == "syncopate.bench.onerun", "workers can import it"
        asked.extend(runs)
        for number, (key, (command, machine, limit)) in enumerate(reversed(runs.items())):
            assert command[0].endswith("made_up.simulated") and limit == setting.limit
            assert machine == str(setting.machine_file())
            yield key, "its worker died" if number == 0 else {"operations": int(command[-1])}

    here = Runner()
    runs = sweep(POINTS, setting, Checkpoint(kept), here, many)
    assert here.ran == []
    assert len(asked) == 3
    assert [run.get("operations") for run in runs] == [100, 2, 1, None]
    assert runs[3] == POINTS[3].place() | {"error": "its worker died"}
    assert len(Checkpoint(kept).runs) == 3
    assert "[1/3] slow 2: its worker died" in capsys.readouterr().err


def test_points_side_by_side():
    """Two at a time: each needs the other one to end."""
    meet = threading.Barrier(2, timeout=60)
    runs = dict(side_by_side(lambda number: meet.wait() * 0 + number, {"a": 1, "b": 2}, 2))
    assert runs == {"a": 1, "b": 2}


def test_an_interrupted_sweep_ends_its_programs(tmp_path):
    def program(seconds):
        if seconds:
            (tmp_path / "began").touch()
        with contextlib.suppress(RunError):
            run(["sleep", seconds], {}, 600)
        if seconds:
            (tmp_path / "ended").touch()

    began = time.monotonic()
    # The last ones never begin: both places are taken.
    tasks = {"long": 500, "short": 0, "second": 500, "third": 500, "fourth": 500}
    for _ in side_by_side(program, tasks, 2):
        while not (tmp_path / "began").exists():
            time.sleep(0.01)
        break  # as an exception would
    assert (tmp_path / "ended").exists()
    assert time.monotonic() - began < 400


def test_another_library_starts_over(setting, tmp_path, monkeypatch):
    import sweep as module

    library = tmp_path / "libsyncopate-simulated.so"
    monkeypatch.setattr(module, "library_of", lambda _: library)
    library.write_text("first")
    sweep(POINTS, setting, Checkpoint(tmp_path / "kept.jsonl"), Runner())
    library.write_text("second")
    module.digest.cache_clear()
    runner = Runner()
    sweep(POINTS, setting, Checkpoint(tmp_path / "kept.jsonl"), runner)
    assert runner.ran == POINTS
    monkeypatch.undo()  # forget_files uses the real one


def test_other_options_are_another_point(setting, tmp_path):
    kept = tmp_path / "kept.jsonl"
    sweep(POINTS, setting, Checkpoint(kept), Runner())
    longer = [dataclasses.replace(p, options=p.options | {"microseconds": 9}) for p in POINTS]
    runner = Runner()
    sweep(longer, setting, Checkpoint(kept), runner)
    assert runner.ran == longer


def test_a_failed_point_is_tried_again(setting, tmp_path):
    kept = tmp_path / "kept.jsonl"
    runs = sweep(POINTS, setting, Checkpoint(kept), Runner(failing=("slow",)))
    assert [run.get("error") for run in runs] == [None, None, "it failed", "it failed"]
    runner = Runner()
    sweep(POINTS, setting, Checkpoint(kept), runner)
    assert [point.series for point in runner.ran] == ["slow", "slow"]


def test_progress_says_what_is_left(setting, tmp_path, capsys):
    sweep(POINTS, setting, Checkpoint(tmp_path / "kept.jsonl"), Runner())
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("[1/4] fast 1: 0.0 s; 3 left, about ")
    assert lines[-1] == "[4/4] slow 2: 0.0 s"


def test_duration():
    assert [duration(s) for s in (0.2, 59, 61, 3600)] == [
        "0 s",
        "59 s",
        "1 min 01 s",
        "60 min 00 s",
    ]


def test_what_is_missing_is_told_at_once(setting, tmp_path):
    setting.check(POINTS)
    (tmp_path / "made_up.simulated").unlink()
    with pytest.raises(Refusal, match=r"made_up\.simulated; build with `make`"):
        setting.check(POINTS)
    with pytest.raises(Refusal, match=r"there is no machine file .*nosuch"):
        Setting("nosuch", tmp_path).check([])


ORIGINAL = Point("", "a", 2, "made/up", {"seed": 3}, ("-n9", "{inputs}/x", "-t2"), "is right")
SAYS = """#!/bin/sh
echo '{"machine": "m", "seconds": 1, "energy": {"joules": 1, "average_watts": 1}}' \
  > "$SYNCOPATE_STATS"
echo "its result is right"
echo '{"words": "'"$*"'", "seed": "'"$SYNCOPATE_SEED"'", "seconds": 2}'
"""


@pytest.fixture
def original(setting, tmp_path):
    """A setting in which the made-up original program is built."""
    program = tmp_path / "originals" / "made" / "up.simulated"
    program.parent.mkdir(parents=True)
    program.write_text(SAYS)
    program.chmod(0o755)
    return replace(setting, originals=tmp_path / "originals")


def test_an_original_program(original):
    run = run_point(ORIGINAL, original)
    folder = original.originals / "made" / "inputs"
    assert run["words"] == f"-n9 {folder}/x -t2"
    assert (run["seed"], run["seconds"]) == ("3", 2)
    other = replace(ORIGINAL, words=("-n8",))
    assert identity(other, original) != identity(ORIGINAL, original)


def test_an_original_that_does_not_find_its_result_right(original):
    run = run_point(replace(ORIGINAL, says="is perfect"), original)
    assert run["error"] == "up.simulated does not say 'is perfect': its result is wrong"


def test_an_original_that_is_not_built_is_told(original):
    original.check([ORIGINAL])
    original.program(ORIGINAL).unlink()
    with pytest.raises(Refusal, match=r"up\.simulated; build with `syncopate bench originals`"):
        original.check([ORIGINAL])
