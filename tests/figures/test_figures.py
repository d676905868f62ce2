"""Pages and plots: of made-up data, the committed ones, and a tiny real sweep."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import common
import pytest
from common import Claim, Results, markdown

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path
    for kind in ("fig", "table")
    for path in (ROOT / "bench" / "figures").glob(f"*_{kind}[0-9]*.py")
)
COMMITTED = sorted(
    path
    for kind in ("simulated", "measured")
    for path in (ROOT / "docs" / "figures" / kind).glob("*_*[0-9]*.json")
)

RUNS = [
    {"panel": "", "series": "fast", "x": 1, "operations": 300},
    {"panel": "", "series": "fast", "x": 2, "operations": 500},
    {"panel": "", "series": "slow", "x": 1, "operations": 200},
    {"panel": "", "series": "slow", "x": 2, "error": "not done after 600 s"},
]
DOCUMENT = {"figure": "made_up_fig1", "machine": "test-4c", "quick": True, "runs": RUNS}


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
    assert "| paper says | we get | agrees | why they differ, or what it rests on |" in page
    assert "| fast is faster | 1.50x | yes |  |" in page
    assert "| fast | 300 | 500 |" in page
    assert "| slow | 200 | - |" in page
    assert "- slow, 2: not done after 600 s" in page.replace("-  slow", "- slow")


@pytest.mark.parametrize(
    ("claim", "row"),
    [
        (Claim("p", "w", True, "why", "note"), "| p | w | yes | note |"),
        (Claim("p", "w", False, "why", "note"), "| p | w | **no** | note; why |"),
        (Claim("p", "w", False, "why"), "| p | w | **no** | why |"),
        (Claim("p", "w", False), "| p | w | **no** | not known |"),
    ],
)
def test_a_reason_is_given_where_they_differ(claim, row):
    assert claim.row() == row


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
        workload = ROOT / "workloads" / point.program
        parts = [workload / "launch.py", workload / "CMakeLists.txt"]
        assert any(path.exists() for path in (workload.with_suffix(".cpp"), *parts))
    places = [tuple(point.place().values()) for point in full]
    assert len(set(places)) == len(places)


def test_each_figure_is_committed():
    assert sorted(path.stem for path in COMMITTED) == sorted(path.stem for path in SCRIPTS)


@pytest.mark.parametrize("data", COMMITTED, ids=lambda path: path.stem)
def test_committed_figures_are_whole(data):
    document = json.loads(data.read_text())
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
    runs = [dict(run) for run in document["runs"]]
    figure.prepare(runs)
    rows = [claim.row() for claim in figure.claims(Results(figure, runs))]
    assert rows
    for row in rows:
        assert row in page, "the page is not of this data: run with --redraw"
        assert "| **no** | not known |" not in row


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
    programs = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "workloads"
    command = [sys.executable, "-c", code, str(ROOT / "bench" / "figures"), "--quick"]
    command += ["--programs", str(programs), "--out", str(tmp_path / "out")]
    command += ["--checkpoints", str(tmp_path / "kept")]
    data = tmp_path / "out" / "monitor_mwait_fig5.json"
    first = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert first.returncode == 0, first.stderr
    document = json.loads(data.read_text())
    assert document["machine"] == "opteron-6272"
    assert [run["x"] for run in document["runs"]] == [4] * 6
    for run in document["runs"]:
        assert run["machine"] == "opteron-6272"
        assert run["operations"] == 4 * 250
        assert run["seconds"] > 0 and run["watts"] > 0
    before = data.read_bytes()
    again = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert "6 of 6 points are kept" in again.stderr
    assert "[1/6]" not in again.stderr
    assert data.read_bytes() == before
