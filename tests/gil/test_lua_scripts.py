"""What starts lua-mt for the figures and the table of removals."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ROOT / "workloads" / "lua" / "launch.py"
REMOVALS = ROOT / "integrations" / "lua" / "removals.py"


def run(script: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        env=os.environ | more,
        text=True,
        check=False,
        timeout=60,
    )


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
    spec = importlib.util.spec_from_file_location("removals", REMOVALS)
    removals = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(removals)
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
