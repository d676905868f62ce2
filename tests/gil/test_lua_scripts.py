"""What starts lua-mt for the figures, the tables and the measurement of its cost."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ROOT / "papers/workloads" / "lua" / "launch.py"
REMOVALS = ROOT / "integrations" / "lua" / "removals.py"
COST = ROOT / "bench" / "lua_cost.py"


def run(script: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        env=os.environ | more,
        text=True,
        check=False,
        timeout=60,
    )


def module_of(script: Path):
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_missing_interpreter_is_told(tmp_path):
    missing = str(tmp_path / "lua-mt")
    done = run(LAUNCH, "--script", "while", "--size", "10", LUA_MT_PROGRAM=missing)
    assert done.returncode == 1
    assert done.stderr == f"there is no {missing}: build it with `make lua`\n"
    done = run(REMOVALS, str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("removals.py: there is no ")


def fake_interpreter(path: Path, statistics: str) -> str:
    path.write_text(
        '#!/bin/sh\n[ "$1" = bad.lua ] && { echo "no such program" >&2; exit 1; }\n'
        f"echo '{statistics}' > \"$SYNCOPATE_GIL_STATS\"\n"
        'echo "12.5 $SYNCOPATE_GIL-$2-$3-$LUA_MT_LINE"\n'
    )
    path.chmod(0o755)
    return str(path)


def test_a_program_becomes_one_line_of_json(tmp_path):
    counts = (
        '{"transactions": 9, "aborts": 2, "fallbacks": 1, "cycles": {"useful": 5}, "points": []}'
    )
    lua = fake_interpreter(tmp_path / "lua-mt", counts)
    arguments = ["--threads", "3", "--size", "10", "--gil", "htm:1", "--line", "256"]
    done = run(LAUNCH, "--script", "while", *arguments, LUA_MT_PROGRAM=lua)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        '{"microseconds": 12.5, "result": "htm:1-3-10-256", "gil": {"transactions": 9, "aborts": 2,'
        ' "fallbacks": 1, "cycles": {"useful": 5}}}\n'
    )
    done = run(LAUNCH, "--script", "bad", *arguments, LUA_MT_PROGRAM=lua)
    assert (done.returncode, done.stderr, done.stdout) == (1, "no such program\n", "")


def test_each_removal_is_in_the_table_alone_and_left_out():
    removals = module_of(REMOVALS)
    source = (REMOVALS.parent / "removals.c").read_text()
    for name in removals.REMOVALS:
        assert f'{{"{name}", &lua_mt_removed.{name}}}' in source
    rows = removals.rows()
    assert len(rows) == 2 + 2 * len(removals.REMOVALS)
    assert rows["lines alone"] == "lines"
    assert "debt" not in rows["all but debt"].split(",")
    counts = {"transactions": 8, "aborts": 3, "fallbacks": 1}
    assert removals.abort_ratio(counts) == 30.0
    assert removals.abort_ratio({"transactions": 0, "aborts": 0, "fallbacks": 0}) == 0.0


def test_the_cost_is_that_of_all_layouts_together(tmp_path):
    done = run(COST, str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"lua_cost.py: {tmp_path} has no layouts; make them: ")
    folder = tmp_path / "layouts"
    folder.mkdir()
    for name in ("lua-plain.0", "lua-plain.1", "lua-mt.0", "lua-mt.1"):
        path = folder / name
        path.write_text("#!/bin/sh\ni=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done\n")
        path.chmod(0o755)
    out = tmp_path / "cost.json"
    done = run(COST, str(tmp_path), "--only", "while,bt", "--rounds", "1", "--json", str(out))
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["rows"]
    assert [row["program"] for row in rows] == ["while", "bt"]
    for row in rows:
        plain, ours = (row["values"][name] for name in ("lua-plain", "lua-mt"))
        assert len(plain) == len(ours) == 2
        assert row["ratio"] == pytest.approx(sum(ours) / sum(plain))
    done = run(COST, str(tmp_path), "--only", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lua_cost.py: programs are: additions, ")


def test_ways_are_held_against_the_best_fixed_length():
    ways = module_of(ROOT / "bench" / "gil_ways.py")
    speeds = {"gil": 1, "htm:1": 2, "htm:16": 4, "htm:256": 3, "balance": 5, "dynamic": 3}
    runs = [
        {"panel": "bt", "series": way, "x": 12, "result": "7", "microseconds": 12 / speed}
        for way, speed in speeds.items()
    ]
    runs.append({"panel": "bt", "series": "gil", "x": 1, "result": "7", "microseconds": 12})
    runs.append({"panel": "bt", "series": "paper:1", "x": 12, "result": "8", "microseconds": 1})
    (*_, last) = ways.table("zec12-12c", runs)
    assert last == (
        "| bt | 12 | 1.00 | 2.00 | 4.00 | 3.00 | - | - | 5.00 | 3.00 | 1.25 | **0.75** |"
    )
    others = [
        [r | {"microseconds": r["microseconds"] / (faster if r["series"] == "balance" else 1)}
         for r in runs]
        for faster in (0.6, 0.8)
    ]  # fmt: skip
    (*_, last) = ways.table("zec12-12c", runs, *others)
    assert last.endswith(" 4.00 | 3.00 | 1.00 [0.75, 1.25] | **0.75** [0.75, 0.75] |")


def test_sizes_around_a_programs_own_are_ones_that_it_takes():
    ways = module_of(ROOT / "bench" / "gil_ways.py")
    sizes = [
        {p.panel: p.options["size"] for p in ways.points("zec12-12c", False, n, ("cg", "ft"))}
        for n in range(5)
    ]
    assert [size["cg"] for size in sizes] == [600, 601, 602, 603, 604]
    assert [size["ft"] for size in sizes] == [32, 64, 16, 128, 8]
