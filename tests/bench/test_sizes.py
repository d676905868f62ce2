"""docs/internals/sizes.md is what its inputs say, and scripts/sizes.py tells of what failed."""

import importlib.util
import json
import subprocess
import sys

from conftest import ROOT

SCRIPT = ROOT / "scripts" / "sizes.py"


def module():
    spec = importlib.util.spec_from_file_location("sizes", SCRIPT)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def run_of(variant, seconds, used, error=""):
    return {
        "suite": "hpc",
        "program": "ua",
        "variant": variant,
        "seconds": seconds,
        "processor_seconds": used,
        "error": error,
    }


def test_the_page_is_what_its_inputs_say():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_cells_and_summaries():
    sizes = module()
    runs = [run_of("original", 2.04, 4.08), run_of("elided", 75, 80)]
    assert sizes.cell("small", runs) == "1 min 15 s"
    assert sizes.cell("paper", runs[:1]) == "4.1 s"
    assert sizes.cell("large", []) == "-"
    failed = [*runs, run_of("adaptive", 1, 1, "its result is wrong")]
    assert sizes.cell("small", failed) == "**adaptive: its result is wrong**"
    by = {"date": "2026-01-02", "processor": "one", "processors": 2, "commit": "abc"}
    assert sizes.summary("small", {"runs": failed, "measured": by}) == (
        "- `small`: 3 runs, 1 failed; the longest, hpc/ua elided, 1 min 15 s"
        " (2026-01-02, one, 2 processors, abc)"
    )


def test_runs_of_several_machines_are_told_apart():
    first = {"date": "2026-01-02", "processor": "one", "processors": 2, "commit": "abc"}
    other = {"date": "2026-01-03", "processor": "two", "processors": 16, "commit": "def"}
    runs = [run_of("original", 2, 4), run_of("elided", 1, 1) | {"measured": 0}]
    document = {"measured": first, "others": [other], "runs": runs}
    assert module().measured(document) == (
        "1 of them 2026-01-02, one, 2 processors, abc;"
        " 1 of them 2026-01-03, two, 16 processors, def"
    )
    document["runs"] = runs[1:]
    assert module().measured(document) == "2026-01-03, two, 16 processors, def"


def test_what_a_build_with_sanitizers_leaves_out():
    def run(suite, variant):
        return {"suite": suite, "program": "one", "variant": variant}

    sizes = module()
    small = [run("stamp", "lock"), run("stamp", "tm:auto"), run("txcache", "it-lib")]
    assert sizes.left_out(small, small) == "  Of the 3 runs of `small`, 0 are not among them."
    why = "GCC has no `-fgnu-tm` with AddressSanitizer"
    assert sizes.left_out(small, small[:1]) == (
        "  Of the 3 runs of `small`, 2 are not among them;"
        f" 2 since {why} (stamp tm:auto; txcache it-lib)."
    )
    assert sizes.left_out(small, small[1:2]) == (
        "  Of the 3 runs of `small`, 2 are not among them;"
        f" 1 since {why} (txcache it-lib); 1 were not run."
    )


def test_what_a_figure_takes_on_two_processors():
    took = module().on_two_processors
    assert took({"kind": "measured", "cost_seconds": 60}) == (60, True)
    made = {"kind": "simulated", "cost_seconds": 60}
    assert took(made) == (30, False)
    assert took(made | {"jobs": 2, "clock_seconds": 33}) == (33, True)
    assert took(made | {"jobs": 16, "clock_seconds": 5}) == (30, False)


def test_another_page_is_out_of_date(tmp_path, monkeypatch, capsys):
    sizes = module()
    (tmp_path / "sizes.md").write_text("other")
    document = {"runs": [run_of("original", 2, 4)], "measured": {"date": "", "commit": ""}}
    document["measured"] |= {"processor": "one", "processors": 2}
    (tmp_path / "every_program.json").write_text(json.dumps(document))
    monkeypatch.setattr(sizes, "PAGE", tmp_path / "sizes.md")
    monkeypatch.setattr(sizes, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["sizes.py", "--check"])
    assert sizes.main() == 1
    assert "out of date: run scripts/sizes.py" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["sizes.py"])
    assert sizes.main() == 0
    assert "| hpc/ua | 2 s |" in (tmp_path / "sizes.md").read_text()
