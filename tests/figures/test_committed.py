"""Points of each committed simulated result are run again, and have the committed numbers: whoever
changes a program, a lock or the model learns which results are of the code as it was.

One build gives the same numbers on every run (tests/simulated_engine). Another one places data
elsewhere, which moves most points by less than one percent, so a number may differ by LAYOUT beyond
the committed ones of its seeds.
"""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import originals
import pytest
import tsx_hpc_fig2_original
from common import shipped, slim
from conftest import ROOT
from differences import changed_machine
from sweep import Point, Setting, run_point

from syncopate.base import compactjson

LAYOUT = 0.05
NAMES = sorted(path.stem for path in (ROOT / "papers/results/simulated").glob("*_*[0-9]*.json"))
ORIGINALS = "its programs are STAMP's: build them with `syncopate bench originals --sources DIR"
ORIGINALS += " --program stamp --machine simulated`"
LUA = "its programs are Lua's: build them with `make lua`"
# What the daily test leaves to the long one, and why.
LONG_ALONE = {"always_abort_fig14": "a point takes seven seconds, most of them for its matrix"}
LONG_ALONE |= {name: ORIGINALS for name in NAMES if name.endswith("_original")}
LONG_ALONE |= {
    name: LUA for name in NAMES if name.startswith("ruby_gil") and name != "ruby_gil_fig6_writes"
}
DAILY = [name for name in NAMES if name not in LONG_ALONE]
FEW = 4  # threads: with fewer, locks hardly matter

needs_optimized = pytest.mark.skipif(
    "SYNCOPATE_OPTIMIZED" not in os.environ,
    reason="the committed results are of an optimized build for the simulated machine",
)


def need_built(name: str) -> None:
    """Fails, with what to build, where the figure is of programs of others that are not there."""
    lua = Path(os.environ.get("LUA_MT_PROGRAM", ROOT / "build/lua/bin/lua-mt.simulated"))
    there = {
        ORIGINALS: lambda: originals.are_built(tsx_hpc_fig2_original.FIGURE.points(False)),
        LUA: lua.is_file,
    }
    why = LONG_ALONE.get(name)
    if why in there and not there[why]():
        pytest.fail(f"{name}: {why}", pytrace=False)


# ---- which points ----


def committed(name: str) -> tuple[dict, list[tuple[Point, dict]]]:
    """The document, and each point of its figure with the run that it has there."""
    figure = importlib.import_module(name).FIGURE
    document = compactjson.read(shipped(figure).read_text())
    points = figure.points(False)
    places = [(*point.place().values(), point.options.get("seed", 1)) for point in points]
    runs = {(r["panel"], r["series"], r["x"], r.get("seed", 1)): r for r in document["runs"]}
    again = f"{name}.json is not of the figure's points: run papers/figures/{name}.py"
    assert sorted(places) == sorted(runs), again
    return document, [(point, runs[place]) for point, place in zip(points, places, strict=True)]


def cost(pair: tuple[Point, dict]) -> float:
    """What grows with the time that the simulation takes."""
    point, run = pair
    return run.get("machine_seconds", run.get("seconds", 0)) * point.options.get("threads", 1)


def cheapest(pairs: list[tuple[Point, dict]]) -> Iterator[tuple[Point, dict]]:
    """Of each panel's series the cheapest point whose threads are not few; cheap ones first."""
    pairs = [pair for pair in pairs if pair[0].options.get("seed", 1) == 1]
    many = [pair for pair in pairs if pair[0].options.get("threads", 1) >= FEW]
    seen = set()
    for point, run in sorted(many or pairs, key=cost):
        if (point.panel, point.series) not in seen:
            seen.add((point.panel, point.series))
            yield point, run


def daily(name: str) -> list[tuple[Point, dict]]:
    """A point of one of the figure's cheaper lines, of another line in each figure."""
    pairs = list(cheapest(committed(name)[1]))
    cheap = pairs[: (len(pairs) + 1) // 2]
    return [cheap[DAILY.index(name) % len(cheap)]]


# ---- what they have to have ----


def numbers(run: dict) -> dict[str, float]:
    """What figures show of a run, or make it of."""
    seconds = run["seconds"] if "seconds" in run else run["microseconds"] * 1e-6  # Lua's
    what = "seconds of an operation" if "operations" in run else "seconds"
    found = {what: seconds / run.get("operations", 1)}
    if "watts" in run:
        found["watts"] = run["watts"]
    counts = run.get("transactions", {"begins": 0})
    if counts["begins"]:
        found["begins that commit, of all"] = counts["commits"] / counts["begins"]
    return found


def moved(point: Point, seeds: list[dict], now: dict) -> list[str]:
    """A line for each number that is not as committed; seeds: the committed runs of the point."""
    if "error" in now:
        return [now["error"]]
    lines, ranges = [], [numbers(run) for run in seeds]
    for what, new in numbers(now).items():
        old = [each[what] for each in ranges if what in each]
        if not old:
            continue  # the document does not keep it
        low, high = min(old), max(old)
        if not low * (1 - LAYOUT) <= new <= high * (1 + LAYOUT):
            said = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
            lines.append(f"{point.text()}: {what}: committed {said}, now {new:.6g}")
    return lines


def check(name: str, pairs: list[tuple[Point, dict]], machine: str = "") -> None:
    """Throws AssertionError, with the file, the points, both values and the command."""
    figure = importlib.import_module(name).FIGURE
    document, every = committed(name)
    programs = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads"
    setting = Setting(machine or document["machine"], programs)
    lines = []
    for point, _ in pairs:
        seeds = [run for other, run in every if other.place() == point.place()]
        lines += moved(point, seeds, slim(figure, run_point(point, setting)))
    path = shipped(figure).relative_to(ROOT)
    again = f"where that is meant, make it again: papers/figures/{name}.py"
    assert not lines, "\n".join([f"{path} is not what this code gives:", *lines, again])


@pytest.mark.sampled(6)
@needs_optimized
@pytest.mark.parametrize("name", DAILY)
def test_committed_points_are_what_this_code_gives(name):
    check(name, daily(name))


@needs_optimized
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_each_line_is_what_this_code_gives(name):
    """One point of each line; of fig14, of a matrix."""
    need_built(name)
    pairs = list(cheapest(committed(name)[1]))
    if name == "always_abort_fig14":
        pairs = pairs[:2]
    check(name, pairs)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("ruby_gil_fig7", "make lua"),
        ("tsx_hpc_fig2_original", "syncopate bench originals --sources DIR --program stamp"),
    ],
)
def test_a_figure_of_programs_that_are_not_built_fails_and_says_what_to_build(
    monkeypatch, name, command
):
    monkeypatch.setenv("LUA_MT_PROGRAM", "/there/is/none")
    monkeypatch.setattr(originals, "are_built", lambda points: False)
    with pytest.raises(pytest.fail.Exception, match=f"{name}: .* build them with `{command}"):
        need_built(name)
    need_built("always_abort_fig14")  # its own programs are a part of the build


def test_every_simulated_result_has_daily_points_or_a_reason():
    assert set(DAILY) | set(LONG_ALONE) == set(NAMES)
    found = {name: daily(name) for name in DAILY}
    assert all(found.values())
    lines = {point.series for pairs in found.values() for point, _ in pairs}
    assert len(lines) >= len(DAILY) / 2, "one point each, but of many lines"


def made_up(seconds: float) -> dict:
    return {"seconds": seconds, "operations": 10, "watts": 7.0}


@pytest.mark.parametrize(
    ("seeds", "now", "line"),
    [
        ([1.0], 1.04, ""),
        ([1.0], 1.06, "a 8: seconds of an operation: committed 0.1, now 0.106"),
        ([1.0, 1.2], 1.1, ""),
        ([1.0, 1.2], 0.9, "a 8: seconds of an operation: committed 0.1 to 0.12, now 0.09"),
    ],
)
def test_what_moved_is_told(seeds, now, line):
    point = Point("", "a", 8, "made_up", {})
    found = moved(point, [made_up(seconds) for seconds in seeds], made_up(now))
    assert found == ([line] if line else [])
    assert moved(point, [made_up(1)], {"error": "it failed"}) == ["it failed"]


@needs_optimized
def test_another_machine_is_noticed(tmp_path):
    name = "monitor_mwait_fig2"
    slower = changed_machine("opteron-6272", {"coherence.transfer_node": 150}, tmp_path)
    pairs = [pair for pair in committed(name)[1] if pair[0].x == 8][:1]
    told = rf"(?s)results/simulated/{name}.json is not.*committed .*, now .*figures/{name}.py"
    with pytest.raises(AssertionError, match=told):
        check(name, pairs, str(slower))
