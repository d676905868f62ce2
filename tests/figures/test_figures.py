"""Pages and plots: of made-up data, the committed ones, and a tiny real sweep."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import common
import pytest
from claims import AVERAGE, claim
from common import Results, claims_of, markdown, results_of
from rules import KINDS, less, more
from sweep import SEEDS, Point, Setting, run_point, seeded

from syncopate.base import compactjson
from syncopate.bench.originaltable import ORIGINALS

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path
    for kind in ("fig", "table")
    for path in (ROOT / "papers/figures").glob(f"*_{kind}[0-9]*.py")
)
COMMITTED = sorted(
    path
    for kind in ("simulated", "measured")
    for path in (ROOT / "papers/results" / kind).glob("*_*[0-9]*.json")
)

RUNS = [
    {"panel": "", "series": "fast", "x": 1, "operations": 300},
    {"panel": "", "series": "fast", "x": 2, "operations": 500},
    {"panel": "", "series": "slow", "x": 1, "operations": 200},
    {"panel": "", "series": "slow", "x": 2, "error": "not done after 600 s"},
]
DOCUMENT = {
    "figure": "made_up_fig1",
    "kind": "simulated",
    "date": "2026-01-02",
    "machine": "test-4c",
    "quick": True,
    "runs": RUNS,
}


def test_results_by_place(figure):
    results = Results(figure, RUNS)
    assert results.panels() == [""]
    assert results.series("") == ["fast", "slow"]
    assert results.xs("") == [1, 2]
    assert results.ratio("", "fast", "slow", 1) == 1.5
    assert results.value("", "slow", 2) is None
    assert results.line("", "slow") == [(1, 200)]
    missing = results.ratio("", "fast", "slow", 2)
    assert missing != missing
    assert common.times(missing) == "no result"
    assert common.best(results, "", ["fast", "slow"], 1) == ("fast", 300)
    assert common.best(results, "", ["slow"], 2)[0] == "no result"


def test_the_page(figure):
    page = markdown(figure, Results(figure, RUNS), "the command")
    assert "# Made up\n" in page
    assert "*Simulated* on `machines/test-4c.toml`, by `the command`" in page
    assert "![Made up](made_up_fig1.svg)" in page
    assert "| paper says | rule | we get | verdict | why they differ, or what it rests on |" in page
    assert "| fast is faster | sign: above 1 | made_up 1.5x | reproduced |  |" in page
    assert "| fast | 300 | 500 |" in page
    assert "| slow | 200 | - |" in page
    assert "- slow, 2: not done after 600 s" in page.replace("-  slow", "- slow")


SAYS = "| p | sign: above 1 | a 2x |"
SAYS_LESS = "| p | sign: below 1 | a 2x |"


@pytest.mark.parametrize(
    ("made", "row"),
    [
        (claim("p", more(), {"a": 2}, "why", "note"), f"{SAYS} reproduced | note |"),
        (
            claim("p", less(), {"a": 2}, "why", "note"),
            f"{SAYS_LESS} **not reproduced** | note; why |",
        ),
        (claim("p", less(), {"a": 2}), f"{SAYS_LESS} **not reproduced** | not known |"),
        (claim("p", more(), {"a": 2}, "why", beyond="ours"), f"{SAYS} holds | ours |"),
        (
            claim("p", less(), {"a": 2}, "why", beyond="ours"),
            f"{SAYS_LESS} **does not hold** | ours; why |",
        ),
    ],
)
def test_a_reason_is_given_where_they_differ(made, row):
    assert made.row() == row


def test_what_is_ours_stands_apart(figure):
    figure.beyond = "another machine"
    page = markdown(figure, Results(figure, RUNS), "the command")
    assert "None of the paper's statements is tested here." in page
    assert "| fast is faster | sign: above 1 | made_up 1.5x | holds | another machine |" in page


def test_another_machine_is_not_the_papers(figure):
    (row,) = claims_of(figure, DOCUMENT | {"machine": "another"})
    assert row.beyond == "on another, not the paper's machine" and row.machine == "another"
    (row,) = claims_of(figure, DOCUMENT)
    assert not row.beyond and row.machine == "test-4c"


def test_several_seeds_are_an_interval(figure):
    def run(series, seed, operations):
        return {"panel": "", "series": series, "x": 1, "seed": seed, "operations": operations}

    fast = [run("fast", seed, n) for seed, n in ((1, 300), (2, 420), (3, 360))]
    slow = [run("slow", seed, 200) for seed in (1, 2, 3)]
    results = Results(figure, [*fast, *slow])
    assert results.value("", "fast", 1) == 360, "the middle one"
    assert results.line("", "fast") == [(1, 360)]
    page = markdown(figure, results, "the command")
    assert "A value with an interval is of 3 seeds" in page and "simulated once" not in page
    some = markdown(figure, Results(figure, [*fast, slow[0]]), "the command")
    assert "1 of 2 points were simulated once" in some
    once = markdown(figure, Results(figure, RUNS), "the command")
    assert "Each point was simulated once, with the first seed" in once
    assert results.ratios("fast", "slow", [""], [1]) == {"made_up": (1.5, 1.8, 2.1)}


def test_a_document_keeps_what_its_figure_names(figure):
    run = {"panel": "", "series": "a", "x": 1, "seed": 2, "operations": 3, "size": 4}
    assert common.slim(figure, run) == run
    figure.fields = ("operations",)
    assert common.slim(figure, run) == {k: v for k, v in run.items() if k != "size"}
    assert common.slim(figure, {"x": 1, "error": "ended"}) == {"x": 1, "error": "ended"}


def test_drawing_leaves_the_document_alone_and_is_exact(figure, tmp_path):
    def prepare(runs):
        for run in runs:
            run["operations"] = run.get("operations", 0) * 2

    figure.prepare = prepare
    before = json.dumps(DOCUMENT)
    common.draw(figure, DOCUMENT, tmp_path)
    assert json.dumps(DOCUMENT) == before
    plot = (tmp_path / "made_up_fig1.svg").read_bytes()
    assert b"<svg" in plot
    assert "| fast | 600 | 1000 |" in (tmp_path / "made_up_fig1.md").read_text()
    common.draw(figure, DOCUMENT, tmp_path)
    assert (tmp_path / "made_up_fig1.svg").read_bytes() == plot


def test_missing_matplotlib_is_told_before_the_sweep(figure, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # import fails
    monkeypatch.setattr(sys, "argv", ["figure", "--out", str(tmp_path)])
    assert common.main(figure) == 2
    assert "need matplotlib; `make setup` installs it" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_missing_programs_are_told(figure, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["figure", "--programs", str(tmp_path), "--out", "nowhere"])
    assert common.main(figure) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"made_up_fig1: missing: {tmp_path}/made_up.simulated; build with `make`"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_figure_declares_what_it_needs(script):
    figure = importlib.import_module(script.stem).FIGURE
    assert figure.name == script.stem
    if not figure.measure:
        assert (ROOT / "machines" / f"{figure.machine}.toml").exists()
    quick, full = figure.points(True), figure.points(False)
    assert 0 < len(quick) <= len(full)
    assert quick != full
    for point in full:
        if point.words:
            suite, _, program = point.program.partition("/")
            assert suite in figure.original.split()
            assert program.partition(".")[0] in ORIGINALS[suite].programs
            continue
        workload = ROOT / "papers/workloads" / point.program
        parts = [workload / "launch.py", workload / "CMakeLists.txt"]
        assert any(path.exists() for path in (workload.with_suffix(".cpp"), *parts))
    places = [(*point.place().values(), point.options.get("seed")) for point in full]
    assert len(set(places)) == len(places)


def test_each_figure_is_committed():
    assert sorted(path.stem for path in COMMITTED) == sorted(path.stem for path in SCRIPTS)


@pytest.mark.parametrize("data", COMMITTED, ids=lambda path: path.stem)
def test_committed_figures_are_whole(data):
    document = compactjson.read(data.read_text())
    page = data.with_suffix(".md").read_text()
    assert document["figure"] == data.stem
    assert document["kind"] == data.parent.name
    if document["kind"] == "simulated":
        assert f"machines/{document['machine']}.toml" in page
        assert (ROOT / "machines" / f"{document['machine']}.toml").exists()
    else:
        assert f"*Measured* on {document['machine']}" in page
    assert "<svg" in data.with_suffix(".svg").read_text()
    assert f"]({data.stem}.svg)" in page
    figure = importlib.import_module(data.stem).FIGURE
    rows = claims_of(figure, document)
    assert rows
    for row in rows:
        assert row.row() in page, "the page is not of this data: run with --redraw"
        assert "| **not reproduced** | not known |" not in row.row()
    command = f"papers/figures/{data.stem}.py"
    when = common.made(document)
    assert page == common.markdown(figure, results_of(figure, document), command, when), "--redraw"
    stated = data.with_suffix(".stated.svg")
    assert stated.is_file() == (f"]({stated.name})" in page), "run with --redraw"


MACHINES = {  # the papers' own, by the beginning of a figure's name; gcc's is not modeled
    "always": ("broadwell-2x18",),
    "monitor": ("opteron-6272",),
    "ruby": ("zec12-12c", "haswell-4c8t"),
    "tsx": ("haswell-4c8t",),
}


def names_of(figure, document) -> set[str]:
    """What a row's cases may be of: the figure's panels, lines and programs."""
    points = figure.points(document["quick"])
    runs = results_of(figure, document).runs
    found = {name for run in runs for name in (run["panel"], run["series"])}
    for point in points:
        found |= {point.program, point.program.rpartition("/")[2], point.series}
    return found | {AVERAGE}


@pytest.mark.parametrize("data", COMMITTED, ids=lambda path: path.stem)
def test_each_row_names_its_rule_machine_and_programs(data):
    document = compactjson.read(data.read_text())
    figure = importlib.import_module(data.stem).FIGURE
    known = names_of(figure, document)
    for row in claims_of(figure, document):
        assert row.machine == document["machine"] != ""
        assert row.parts
        for part in row.parts:
            assert part.rule.kind in KINDS and part.rule.text.startswith(part.rule.kind)
            assert part.values, row.paper
        assert row.programs and set(row.programs) <= known, row.paper
        if AVERAGE in row.programs and not row.beyond:
            panels = set(results_of(figure, document).panels())
            assert panels <= set(row.programs), "a mean hides no program"
        if row.machine not in MACHINES.get(data.stem.partition("_")[0], ()):
            timed = any(part.what.startswith("time of") for part in row.parts)
            assert row.beyond or (figure.measure and not timed), "not the paper's machine"


def test_no_row_of_a_paper_is_about_our_algorithm():
    rows = json.loads((ROOT / "docs" / "verdicts.json").read_text())
    ours = [row for row in rows if "balance" in row["statement"]]
    assert ours and all(row.get("beyond") for row in ours)


@pytest.mark.skipif("SYNCOPATE_HAS_SIMULATED" not in os.environ, reason="no simulated machine")
def test_runs_without_random_numbers_differ_by_seed():
    """By when each thread starts; the same seed gives the same run."""
    programs = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads"
    options = {"lock": "libgomp", "threads": 4, "tasks": 50, "work": 100, "pin": "compact"}
    points = seeded([Point("", "a", 4, "parallel_tasks", options)], lambda point: True)
    seconds = {}
    for point in [*points, points[1]]:
        run = run_point(point, Setting("opteron-6272", programs))
        seconds.setdefault(run["seed"], set()).add(run["seconds"])
    assert len(seconds) == len(SEEDS)
    assert all(len(found) == 1 for found in seconds.values())
    assert len(set.union(*seconds.values())) == len(SEEDS)


@pytest.mark.skipif("SYNCOPATE_HAS_SIMULATED" not in os.environ, reason="no simulated machine")
def test_a_tiny_sweep(tmp_path):
    """A figure's own script, without most of its points, twice: the second runs nothing."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "import monitor_mwait_fig5 as m\n"
        "points = m.FIGURE.points\n"
        "m.FIGURE.points = lambda quick: [p for p in points(quick) if p.x == 4]\n"
        "sys.exit(m.main(m.FIGURE))\n"
    )
    programs = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads"
    command = [sys.executable, "-c", code, str(ROOT / "papers/figures"), "--quick"]
    command += ["--programs", str(programs), "--out", str(tmp_path / "out")]
    command += ["--checkpoints", str(tmp_path / "kept")]
    data = tmp_path / "out" / "monitor_mwait_fig5.json"
    first = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert first.returncode == 0, first.stderr
    document = compactjson.read(data.read_text())
    assert document["machine"] == "opteron-6272"
    assert [run["x"] for run in document["runs"]] == [4] * 6
    for run in document["runs"]:
        assert run["operations"] == 4 * 250
        assert run["seconds"] > 0 and run["watts"] > 0
    before = data.read_bytes()
    again = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert "6 of 6 points are kept" in again.stderr
    assert "[1/6]" not in again.stderr
    assert data.read_bytes() == before


def test_a_seed_is_compared_with_itself(figure):
    """Another seed is another input: what only one side has shows nothing."""

    def run(series, x, seed, operations):
        place = {"panel": "", "series": series, "x": x, "seed": seed}
        return place | {"operations": operations}

    many = [run("fast", 2, seed, n) for seed, n in ((1, 300), (2, 420), (3, 360))]
    slow = [run("slow", 2, seed, n) for seed, n in ((1, 100), (2, 200))]
    results = Results(figure, [*many, *slow, run("fast", 1, 1, 100)])
    assert results.spread("", "fast", "slow", 2) == (2.1, 2.55, 3.0)
    assert results.scaled("", "fast", 2, 1) == 3.0
    assert results.interval("", "fast", 2) == (300, 360, 420)
    assert results.interval("", "fast", 1) == 100
    missing = results.interval("", "slow", 1)
    assert missing != missing


@pytest.mark.parametrize("failed", [1, 2, 3])
def test_a_seed_that_failed_leaves_the_others_to_themselves(figure, failed):
    def run(series, seed, operations):
        return {"panel": "", "series": series, "x": 1, "seed": seed, "operations": operations}

    runs = [run("slow", seed, 10**seed) for seed in (1, 2, 3)]
    runs += [
        run("fast", seed, 2 * 10**seed) | ({"error": "not done"} if seed == failed else {})
        for seed in (3, 2, 1)
    ]
    assert Results(figure, runs).spread("", "fast", "slow", 1) == (2, 2, 2)
