"""The tables of internals/openmp-measured.md are what was measured; slower is told from faster."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "scripts"))

import openmp_goals
import openmp_page

MEASURED = {"processor": "Some CPU", "processors": 2, "kernel": "6.1", "date": "2026-01-02",
            "commit": "abc", "scheduling": "nice 0", "rounds": 3, "samples": 4,
            "sample_us": 20000}  # fmt: skip


def part(**overheads: float) -> dict:
    """Every construct takes as long as is said for its configuration, in the median."""
    rows = {}
    for name in openmp_page.STOCK + openmp_page.OURS:
        took = overheads.get(name.replace(", ", "_").replace(" ", "_"), 2.0)
        fields = {"overhead_us": [9.0, took, 0.0], "cpus": [0.01] * 3}
        constructs = (*openmp_goals.CONSTRUCTS, openmp_goals.YARDSTICK, openmp_goals.LATE)
        rows[name] = dict.fromkeys(constructs, fields)
    return {"measured": MEASURED, "configurations": rows}


def test_the_page_is_what_was_measured():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "openmp_page.py", "--check"],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_another_page_is_out_of_date(tmp_path, monkeypatch, capsys):
    page, results = tmp_path / "openmp.md", tmp_path / "results.json"
    page.write_text(f"before\n{openmp_page.BEGIN}old\n{openmp_page.END}after\n")
    results.write_text(json.dumps({"4, 0 busy": part(libomp=0.5, ours_kept=0.4)}))
    monkeypatch.setattr(openmp_page, "PAGE", page)
    monkeypatch.setattr(openmp_page, "RESULTS", results)
    monkeypatch.setattr(sys, "argv", ["openmp_page.py", "--check"])
    assert openmp_page.main() == 1
    assert "out of date" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["openmp_page.py"])
    assert openmp_page.main() == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| BARRIER | 2.0 (0.0) | 2.0 (0.0) | 0.500 (0.0) | **2.0** (0.0) |" in text
    assert " 0.400 (0.0) |" in text and "**0.400**" not in text
    assert "2 threads" not in text  # not measured


def test_one_command_measures_and_writes_the_page(tmp_path, monkeypatch):
    page, results = tmp_path / "openmp.md", tmp_path / "results.json"
    page.write_text(f"before\n{openmp_page.BEGIN}old\n{openmp_page.END}after\n")
    monkeypatch.setattr(openmp_page, "PAGE", page)
    monkeypatch.setattr(openmp_page, "RESULTS", results)

    def measure(command, check):
        assert check and command[1] == ROOT / "bench" / "openmp_goals.py"
        assert command[2:] == ["--rounds", "9", "--json", results]
        results.write_text(json.dumps({"8, 0 busy": part(ours_gcc=0.3)}))

    monkeypatch.setattr(subprocess, "run", measure)
    monkeypatch.setattr(sys, "argv", ["openmp_page.py", "--measure", "--rounds", "9"])
    assert openmp_page.main() == 0
    assert "| 0.300 (0.0) |" in page.read_text()


@pytest.mark.parametrize(
    ("ours", "shown"), [(0.5, "0.25x | 2,000 | 500 |"), (1.0, "**0.50x** | 2,000 | 1,000 |")]
)
def test_goals_at_two_threads(ours, shown):
    text = openmp_page.two_threads(part(ours_gcc=ours))
    assert f"| BARRIER, ours, gcc / libgomp | 0.45x | {shown} 0 .. 9,000 |" in text


def test_any_more_than_the_best_is_slower_where_both_cost_something():
    assert "**" not in openmp_page.crowd("title", part(libgomp=0.0, ours_gcc=0.004,
        ours_patched=-0.001, ours_kept=0.0, ours_clang=0.0, libomp=0.001))  # fmt: skip
    assert "**0.002**" in openmp_page.crowd("title", part(libgomp=0.001, ours_gcc=0.002))


def test_parts_stay_in_the_file(tmp_path):
    class Options:
        rounds, samples, time, more = 1, 2, 3, False

    line = {"overhead_us": 1.0, "test_us": 2.0, "cpus": 3.0, "more": 4}
    file = tmp_path / "goals.json"
    openmp_goals.keep(file, "2", {"libgomp": [{"BARRIER": line}]}, Options)
    openmp_goals.keep(file, "4, 0 busy", {"libomp": [{"FOR": line}, {"FOR": line}]}, Options)
    kept = json.loads(file.read_text())
    assert kept["2"]["configurations"]["libgomp"]["BARRIER"]["overhead_us"] == [1.0]
    found = kept["4, 0 busy"]
    assert found["configurations"]["libomp"]["FOR"] == {
        "overhead_us": [1.0, 1.0], "cpus": [3.0, 3.0]}  # fmt: skip
    assert found["measured"]["samples"] == 2 and found["measured"]["processors"] >= 1


def test_rounds_are_added_to_those_measured_in_the_same_way(tmp_path):
    class Options:
        rounds, samples, time, more, json = 2, 2, 3, True, tmp_path / "goals.json"

    def found(*values):
        return {"libomp": [{"FOR": dict.fromkeys(openmp_goals.FIELDS, v)} for v in values]}

    assert openmp_goals.rounds_before("4, 1 busy", Options) == 0
    openmp_goals.keep(Options.json, "4, 1 busy", found(1, 2), Options)
    assert openmp_goals.rounds_before("4, 1 busy", Options) == 2
    openmp_goals.keep(Options.json, "4, 1 busy", found(3, 4), Options)
    part = json.loads(Options.json.read_text())["4, 1 busy"]
    assert part["measured"]["rounds"] == 4
    assert part["configurations"]["libomp"]["FOR"]["cpus"] == [1, 2, 3, 4]
    Options.time = 4
    with pytest.raises(SystemExit, match="sample_us was 3, is 4"):
        openmp_goals.keep(Options.json, "4, 1 busy", found(5, 6), Options)


@pytest.mark.parametrize("option", ["--rounds", "--samples", "--time"])
@pytest.mark.parametrize("text", ["0", "-1", "two"])
def test_a_number_that_no_run_can_have_is_one_line(option, text, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["openmp_goals", option, text])
    with pytest.raises(SystemExit):
        openmp_goals.main()
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith(f"openmp_goals: error: argument {option}: ")
