"""`bench paper` on a made-up figure, and docs/papers.md."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, bench, full_disk, one_line

from syncopate.base import compactjson
from syncopate.base.errors import Failure
from syncopate.bench import paper
from syncopate.bench.suites import Metric, Program, Suite, Variant
from syncopate.bench.suitetable import SUITES

FIGURE = """
from claims import claim
from common import Figure, Point
from rules import less, more

FIGURE = Figure(
    name="made_up_fig1",
    title="Made up",
    paper="A. Author",
    machine="test-4c",
    x_label="threads",
    y_label="operations",
    points=lambda quick: [Point("", "a", x, "made_up", {"threads": x}) for x in (1, 2)],
    value=lambda run: run["operations"],
    claims=lambda results: [
        claim("more threads do more", more(), {"made_up": results.value("", "a", 2)}, note="noted"),
        claim("it is fast", less(), {"made_up": 2}, "the model is slow"),
        claim("our own is fast", more(), {"made_up": 2}, beyond="ours"),
    ],
)
"""
PROGRAM = """#!/bin/sh
echo x >> {folder}/log
echo '{{"machine": "test-4c", "seconds": 1, "energy": {{"joules": 1, "average_watts": 1}}}}' \
  > "$SYNCOPATE_STATS"
echo '{{"operations": '$2'}}'
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A folder of scripts with one figure, a paper of two, and a program for it."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name in (
        "claims.py",
        "common.py",
        "cost.py",
        "results.py",
        "rules.py",
        "smallsvg.py",
        "statedplot.py",
        "sweep.py",
    ):
        (scripts / name).symlink_to(ROOT / "papers/figures" / name)
    (scripts / "made_up_fig1.py").write_text(FIGURE)
    program = tmp_path / "build" / "papers/workloads" / "made_up.simulated"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    papers = {
        "made-up": {
            "name": "made-up",
            "scripts": "made_up",
            "figures": {"fig1": "first", "table2": "second"},
            "same": {"fig3": "fig1"},
        }
    }
    monkeypatch.delitem(sys.modules, "made_up_fig1", raising=False)  # another test's machine
    monkeypatch.setattr(paper, "SCRIPTS", scripts)
    monkeypatch.setattr(paper, "read_papers", lambda: papers)
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    return tmp_path


def test_a_figure_beside_what_the_paper_says(made_up, capsys):
    words = ["made-up", "--build", str(made_up / "build"), "--out", str(made_up / "out"), "--quick"]
    assert paper.main(words) == 0
    said = capsys.readouterr().out
    assert "== fig1 (1 of 1): Made up" in said
    assert "  paper says more threads do more\n  rule       sign: above 1\n" in said
    assert "  we get     made_up 2x\n  verdict    reproduced\n  why        noted\n" in said
    assert "  verdict    not reproduced\n  why        the model is slow\n" in said
    assert "  ours       our own is fast" in said and "  verdict    holds\n" in said
    assert "  1 of 2 statements reproduced\n" in said, "what is ours is not counted"
    assert "not here yet: table2, second" in said
    files = sorted(path.name for path in (made_up / "out").iterdir())
    assert files == ["made_up_fig1.json", "made_up_fig1.md", "made_up_fig1.svg"]
    assert len((made_up / "log").read_text().split()) == 2
    assert paper.main([*words, "--figure", "3"]) == 0, "a figure that another one holds"
    assert len((made_up / "log").read_text().split()) == 2, "finished points are kept"


def test_a_figure_of_programs_that_are_not_built(made_up, capsys):
    """Of others: it is said, and what it would have run is not."""
    of_others = FIGURE.replace('{"threads": x})', '{"threads": x}, ("-x",))')
    of_others = of_others.replace('machine="test-4c"', 'machine="test-4c", original="stamp"')
    (made_up / "scripts" / "made_up_fig1.py").write_text(of_others)
    words = ["made-up", "--build", str(made_up / "build"), "--out", str(made_up / "out")]
    assert paper.main(words) == 1
    said = capsys.readouterr().out
    assert "not made: made_up_fig1: the original stamp is not built; `syncopate bench orig" in said
    assert not (made_up / "log").exists()


def test_it_says_how_long_it_will_take(made_up, capsys, monkeypatch):
    with paper.imported_scripts() as common:
        monkeypatch.setattr(common, "PLACES", made_up / "shipped")
    words = ["made-up", "--build", str(made_up / "build"), "--out", str(made_up / "out")]
    words += ["--figure", "1", "--jobs", "2"]
    assert paper.main(words) == 0
    assert "made-up: 1 figure; how long it takes is not known here" in capsys.readouterr().out
    shipped = made_up / "shipped" / "simulated" / "made_up_fig1.json"
    shipped.parent.mkdir(parents=True)
    shipped.write_text(json.dumps({"cost_seconds": 240, "runs": [{}, {}]}))
    assert paper.main([*words, "--quick"]) == 0
    said = capsys.readouterr().out
    assert "made-up: 1 figure, about 2 min 00 s with nothing else running" in said
    assert paper.main([*words, "--quick"]) == 0
    assert "1 figure, about 0 s" in capsys.readouterr().out, "finished points are kept"
    made = compactjson.read((made_up / "out" / "made_up_fig1.json").read_text())
    assert made["cost_seconds"] == 240, "nothing ran: as it was"


def test_what_a_figure_costs():
    with paper.imported_scripts():
        import cost
    meter = cost.Meter(simulated=False)
    meter.clock = lambda: meter.began + 10
    assert meter.of_all(ran=4, points=6, known=None) == 15, "for all, from those that ran"
    assert meter.of_all(ran=2, points=6, known=7) == 7, "too few ran"
    meter.clock_began -= 30
    timed = meter.on_clock(ran=6, points=6, jobs=2)
    assert timed["jobs"] == 2 and timed["clock_seconds"] >= 30
    assert meter.on_clock(ran=5, points=6, jobs=2) == {}, "not all of them in one go"


def test_natively_too(made_up, capsys, monkeypatch):
    program = made_up / "build" / "papers/workloads" / "native_one"
    program.write_text('#!/bin/sh\necho \'{"operations": 6, "seconds": 2, "consistent": true}\'\n')
    program.chmod(0o755)
    suite = Suite(
        "made-up programs",
        {
            "one": Program("papers/workloads/native_one"),
            "two": Program("papers/workloads/native_one"),
        },
        {"only": Variant()},
        (Metric("throughput", "op/s", True, "operations", per="seconds"),),
        papers=("made-up",),
    )
    monkeypatch.setitem(SUITES, "made-up-suite", suite)
    words = ["made-up", "--build", str(made_up / "build"), "--out", str(made_up / "out")]
    assert paper.main([*words, "--quick", "--native"]) == 0
    assert "== suite made-up-suite, natively: made-up programs" in capsys.readouterr().out
    runs = json.loads((made_up / "out" / "made-up-suite-native.bench.json").read_text())["runs"]
    assert [run["values"]["throughput"] for run in runs] == [3.0] * 12


def test_a_full_disk_takes_nothing_away(made_up, capsys):
    out = made_up / "out"
    words = ["made-up", "--build", str(made_up / "build"), "--out", str(out), "--jobs", "1"]
    with full_disk():
        assert paper.main(words) == 2
    kept = made_up / "build" / "figures" / "made_up_fig1.jsonl"
    assert f"{kept}: File too large; the points in it are kept" in capsys.readouterr().err
    assert paper.main(words) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(before) == 3
    with full_disk():
        assert paper.main(words) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"cannot write {out / 'made_up_fig1.json'}: File too large" in said
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_figures_that_are_not_here(made_up):
    with pytest.raises(Failure, match=r"table2 of made-up \(second\) is not here yet; here: fig1"):
        paper.main(["made-up", "--figure", "table2"])
    with pytest.raises(Failure, match=r"made-up has no fig9 with data; here: fig1") as refused:
        paper.main(["made-up", "--figure", "9"])
    assert refused.value.status == 2


def test_papers_by_name():
    said = one_line(bench("paper", "ruby"), 2)
    assert "no paper is called 'ruby' (did you mean ruby-gil?)" in said
    assert "there are always-abort, gcc-tm, mwait, ruby-gil, tsx-hpc" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs", "0"], "--jobs needs at least 1"),
        (["--engine", "dask"], "--engine dask and --scheduler ADDRESS belong together"),
        (["--figure", "99"], "mwait has no fig99 with data; here: fig1, "),
        (["--machine", "haswel"], "no machine is called 'haswel' (did you mean haswell-4c8t?)"),
        (["--machine", "native"], "no machine is called 'native'; there are broadwell-2x18, "),
        (["--machine", "./nosuch.toml"], "./nosuch.toml: no such machine file"),
    ],
)
def test_bad_use(words, said):
    assert said in one_line(bench("paper", "mwait", *words), 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--build", "{folder}"],
            "missing: {folder}/papers/workloads/made_up.simulated; build with",
        ),
        (["--out", "{folder}/program"], "File exists"),
    ],
)
def test_what_cannot_be_run_is_one_line(made_up, tmp_path, capsys, words, said):
    (tmp_path / "program").touch()
    filled = [word.replace("{folder}", str(tmp_path)) for word in words]
    before = ["made-up", "--build", str(made_up / "build"), "--out", str(made_up / "out")]
    assert paper.main([*before, *filled]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said.replace("{folder}", str(tmp_path)) in lines[-1]
    assert lines[-1].startswith("syncopate: bench: made_up_fig1: ")
    assert "Traceback" not in "".join(lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "haswell-4c8t"], "leave --machine out"),
        (["--jobs", "1"], "leave --jobs out"),
        (["--engine", "dask", "--scheduler", "127.0.0.1:1"], "leave --engine out"),
        (["--machine", "haswell-4c8t", "--jobs", "2"], "leave --machine and --jobs out"),
    ],
)
def test_measured_figures_refuse_what_simulated_ones_have(tmp_path, words, said):
    done = bench("paper", "gcc-tm", "--figure", "4", "--out", tmp_path, *words)
    line = one_line(done, 2)
    assert "measured on this machine, one run at a time, not simulated" in line
    assert line.endswith(said)
    assert not list(tmp_path.iterdir())


# ---- docs/papers.md ----

SCRIPT = ROOT / "scripts" / "papers.py"


def papers(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False
    )


def test_the_page_is_what_its_inputs_say():
    done = papers("--check")
    assert done.returncode == 0, done.stderr


def test_every_figure_of_the_scripts_belongs_to_a_paper():
    known = set()
    for each in paper.read_papers().values():
        for key in each["figures"]:
            known.update(path.name for path in paper.scripts_of(each, key))
    folder = ROOT / "papers/figures"
    scripts = {path.name for kind in ("fig", "table") for path in folder.glob(f"*_{kind}[0-9]*.py")}
    assert scripts == known


def test_an_edited_page_and_a_missing_file_are_found(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copytree(ROOT / "papers/results", tmp_path / "papers/results")
    for name in ("papers.toml", "papers.md", "checked.json", "verdicts.json"):
        shutil.copy(ROOT / "docs" / name, docs / name)
    done = papers("--check", tmp_path)
    assert done.returncode == 2 and "docs/papers.toml: there is no " in done.stderr
    for name in ("include", "src", "products", "tests", "bench", "machines"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("syncopate", "integrations", "papers/workloads", "papers/figures"):
        (tmp_path / name).symlink_to(ROOT / name)
    for path in (ROOT / "docs").glob("*.md"):
        shutil.copy(path, docs / path.name)
    assert papers("--check", tmp_path).returncode == 0
    (docs / "papers.md").write_text((docs / "papers.md").read_text() + "typed\n")
    done = papers("--check", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "docs/papers.md is out of date: run scripts/papers.py\n"
    shutil.copy(ROOT / "docs" / "papers.md", docs / "papers.md")
    page = tmp_path / "papers/results/mwait.md"
    page.write_text(page.read_text() + "typed\n")
    done = papers("--check", tmp_path)
    assert done.stderr == "papers/results/mwait.md is out of date: run scripts/papers.py\n"
    shutil.copy(ROOT / "papers/results/mwait.md", page)
    (docs / "verdicts.json").write_text("[]")
    done = papers("--check", tmp_path)
    assert done.stderr == "docs/verdicts.json is out of date: run scripts/papers.py\n"


def test_results_of_tests_are_taken_over(tmp_path):
    spec = importlib.util.spec_from_file_location("papers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    junit = tmp_path / "junit.xml"
    junit.write_text(
        '<testsuite timestamp="2026-01-02T03:04:05"><testcase name="posix.a" status="run"/>'
        '<testcase name="posix.b" status="fail"/><testcase name="cli" status="run"/>'
        '<testcase name="tm.c" status="notrun"/></testsuite>'
    )
    module.take_over(junit, tmp_path / "checked.json")
    assert json.loads((tmp_path / "checked.json").read_text()) == {
        "date": "2026-01-02",
        "folders": {"cli": {"passed": 1, "failed": 0}, "posix": {"passed": 1, "failed": 1}},
    }
