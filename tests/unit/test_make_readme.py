"""README.md: that it is what its inputs say, and how the script treats good and bad inputs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build") / "share/syncopate/locks.json"
MEASURED = {
    "processor": "Some CPU",
    "processors": 2,
    "kernel": "6.1",
    "date": "2026-01-02",
    "commit": "abc",
}
NO_PROGRAMS = {"measured": MEASURED, "workloads": []}
TEMPLATE = """\
before
%% section demo
## Demo
%% insert demo
%% end
%% insert locks
%% section programs
## Programs
%% insert programs
%% insert summary
%% end
[a link](docs)
"""
DEMO = """\
$ syncopate report it
Lost to locks: 9 %

Mutexes
lock  lost
a     1 s

Condition variables (waiting for something to do: not lost to locks)
c     9 s

Who waited, and who held it meanwhile

first
  waited

second_lock
  waited

Who blocks whom
one  two

kccachetest wicked
threads  auto / glibc
"""


def run(root: Path, locks: Path, *options: str) -> subprocess.CompletedProcess:
    script = ROOT / "scripts" / "make_readme.py"
    return subprocess.run(
        [sys.executable, script, *options, locks, root], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "papers/results").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md.in").write_text(TEMPLATE)
    (tmp_path / "papers/results/measured.md.in").write_text("all\n%% insert figures\n")
    (tmp_path / "include").symlink_to(ROOT / "include")  # where the table of locks links to
    return tmp_path


def made(root: Path) -> str:
    result = run(root, LOCKS)
    assert result.returncode == 0, result.stderr
    return (root / "README.md").read_text()


def test_readme_is_what_its_inputs_say() -> None:
    result = run(ROOT, LOCKS, "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_missing_inputs_are_left_out_and_named(root: Path) -> None:
    text = made(root)
    assert "Demo" not in text and "Programs" not in text
    assert "[`auto`](include/syncopate/locks/auto_lock.h)" in text
    said = run(root, LOCKS, "--check").stderr
    assert "section 'demo': left out" in said and "no programs.json" in said


def test_demo_is_taken_over_and_shortened(root: Path) -> None:
    (root / "new.txt").write_text(DEMO)
    assert run(root, LOCKS, "--demo", str(root / "new.txt")).returncode == 0
    assert (root / "docs/demo.txt").read_text() == DEMO
    text = (root / "README.md").read_text()
    for kept in ("Lost to locks: 9 %", "Mutexes", "first", "Who blocks whom", "auto / glibc"):
        assert kept in text
    for left_out in ("Condition variables", "second_lock"):
        assert left_out not in text


def test_the_papers_statements_are_counted(root: Path) -> None:
    (root / "README.md.in").write_text("%% insert statements\n")
    assert made(root) == ""
    found = ("reproduced", "reproduced", "direction only", "not reproduced")
    rows = [{"verdict": verdict} for verdict in found]
    rows.append({"verdict": "reproduced", "beyond": "ours"})
    (root / "docs" / "verdicts.json").write_text(json.dumps(rows))
    counted = "2 are reproduced, 1 in direction only, and 1 are not."
    assert made(root) == f"Of 4 statements in the papers' figures {counted}\n"


def test_check_writes_nothing_and_sees_a_difference(root: Path) -> None:
    made(root)
    with open(root / "README.md", "a") as file:
        file.write("typed by hand\n")
    result = run(root, LOCKS, "--check", "--demo", str(root / "README.md"))
    assert result.returncode == 1 and "make readme" in result.stdout
    assert not (root / "docs/demo.txt").exists()
    assert "typed by hand" in (root / "README.md").read_text()


def test_figures_of_programs(root: Path) -> None:
    row = {
        "workload": "memcached, one key",
        "unit": "op/s",
        "at_least": 1.4,
        "speeds": {"glibc": [100, 110, 120], "auto": [200, 220, 240]},
        "ratios": {"auto": {"value": 2.0, "low": 1.9, "high": 2.1}},
    }
    report = {"measured": {**MEASURED, "rounds": 3}, "workloads": [row]}
    (root / "papers/results/programs.json").write_text(json.dumps(report))
    text = made(root)
    assert "Measured 2026-01-02 at commit abc on 2 x Some CPU" in text
    assert (
        "| memcached, one key, op/s | 110.0 (100.0 .. 120.0) | `auto` | 220.0 (200.0 .. 240.0)"
        " | 2.000 [1.900, 2.100] | 1.4 |"
    ) in text


def test_figures_of_comparisons(root: Path) -> None:
    rounds = {
        "glibc": [{"wall": 1.0, "cycles": 40.0}] * 3,
        "auto": [{"wall": 1.0, "cycles": 30.0}] * 3,
    }
    comparison = {"arguments": ["uncontended"], "rounds": rounds}
    report = {"measured": MEASURED, "program": None, "comparisons": [comparison]}
    (root / "papers/results/locks.json").write_text(json.dumps(report))
    (root / "papers/results/programs.json").write_text(json.dumps(NO_PROGRAMS))
    readme, page = made(root), (root / "papers/results/measured.md").read_text()
    assert "`pthread_load uncontended`, 3 rounds" in page
    assert "| `auto` | 30.00 | 0.750 [0.750, 0.750] |" in page
    row = "| `uncontended`, cycles per lock and unlock | 40.00 | 30.00 | 0.750 [0.750, 0.750] |"
    assert row in readme and row not in page


def test_figures_of_hardware_transactions(root: Path) -> None:
    row = {
        "suite": "map", "program": "10k-20", "threads": 2, "base": "tatas", "way": "htm-10",
        "metric": "throughput", "base_values": [100, 100, 100], "values": [150, 150, 150],
    }  # fmt: skip
    timed = {**row, "program": "timed", "threads": 1, "metric": "time"}
    later = {"map": {**MEASURED, "commit": "def"}}
    report = {"measured": MEASURED, "later": later, "hardware_transactions": [row, timed]}
    (root / "papers/results/hardware_transactions.json").write_text(json.dumps(report))
    made(root)
    page = (root / "papers/results/measured.md").read_text()
    assert "| map/10k-20 | `tatas` | `htm-10` | - | 1.500 [1.500, 1.500] |" in page
    assert "map/ was measured" in page and "at commit def." in page
    assert "| map/timed | `tatas` | `htm-10` | 0.667 [0.667, 0.667] | - |" in page


def test_other_figures_are_in_the_page_alone(root: Path) -> None:
    comparison = {"arguments": ["run"], "rounds": {"glibc": [{"wall": 2.0}], "x": [{"wall": 1.0}]}}
    report = {"measured": MEASURED, "program": "some/tool", "comparisons": [comparison]}
    (root / "papers/results/of-another.json").write_text(json.dumps(report))
    assert "Of another" not in made(root)
    page = (root / "papers/results/measured.md").read_text()
    assert "### Of another" in page and "`tool run`, 1 rounds" in page


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("papers/results/locks.json", "{}", "not written by our benchmarks"),
        ("README.md.in", "%% insert nothing\n", "what is '%% insert nothing'?"),
        ("README.md.in", "[gone](docs/gone.md)\n", "docs/gone.md"),
    ],
)
def test_bad_inputs_are_one_line(root: Path, path: str, content: str, said: str) -> None:
    (root / path).write_text(content)
    result = run(root, LOCKS)
    assert result.returncode == 1
    assert said in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"```.*?```|`[^`\n]*\]\([^`\n]*`", "", page.read_text("utf-8"), flags=re.S)
        for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_files_that_the_pages_name_exist() -> None:
    named = re.compile(
        r"(?<![\w/<.])((?:tests|scripts|bench|products|papers|src|include)/[\w./*-]*\w)"
    )
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for path in named.findall(page.read_text("utf-8")):
            assert list(ROOT.glob(path)), f"{page.name}: {path}"


def test_example_of_the_readme_compiles_and_runs(tmp_path: Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("c++")
    assert compiler, "no C++ compiler"
    (example,) = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    (tmp_path / "example.cpp").write_text(example)
    command = [compiler, "-std=c++20", "-pthread", "-I", ROOT / "include", "example.cpp"]
    subprocess.run([*command, "-o", "example"], cwd=tmp_path, check=True, timeout=120)
    subprocess.run(["./example"], cwd=tmp_path, check=True, timeout=60)
