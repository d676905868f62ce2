"""scripts/tidy.py, with a clang-tidy that finds the word `bad` and notes what it was asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "tidy.py"
CLANG_TIDY = """#!/bin/sh
echo "$*" >> calls
! grep -n bad "$2" header.h
"""


@pytest.fixture
def tidy(tmp_path):
    """tidy(FILE...): the script on them; tidy.read(): the files that clang-tidy was given since."""
    (tmp_path / "clang-tidy").write_text(CLANG_TIDY, encoding="utf-8")
    (tmp_path / "clang-tidy").chmod(0o755)
    (tmp_path / ".clang-tidy").write_text("Checks: a\n", encoding="utf-8")
    (tmp_path / "header.h").write_text("int good;\n", encoding="utf-8")
    (tmp_path / "one.cpp").write_text('#include "header.h"\n', encoding="utf-8")
    (tmp_path / "two.cpp").write_text("int other;\n", encoding="utf-8")
    command = "c++ -DFIRST -o x.o -c {}"
    entries = [
        {"file": str(tmp_path / name), "command": command.format(tmp_path / name)}
        for name in ("one.cpp", "two.cpp")
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(*files):
        return subprocess.run(
            [sys.executable, SCRIPT, "--build", ".", *files],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def read():
        calls = tmp_path / "calls"
        lines = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return sorted(line.split()[1] for line in lines)

    run.read, run.folder = read, tmp_path
    return run


def test_what_passed_is_not_read_again_until_it_changes(tidy):
    assert tidy("one.cpp", "two.cpp").returncode == 0
    assert tidy.read() == ["one.cpp", "two.cpp"]
    assert tidy("one.cpp", "two.cpp").returncode == 0
    assert tidy.read() == []
    (tidy.folder / "header.h").write_text("int better;\n", encoding="utf-8")
    assert tidy("one.cpp", "two.cpp").returncode == 0
    assert tidy.read() == ["one.cpp"]
    (tidy.folder / ".clang-tidy").write_text("Checks: b\n", encoding="utf-8")
    assert tidy("one.cpp", "two.cpp").returncode == 0
    assert tidy.read() == ["one.cpp", "two.cpp"]


def test_findings_are_printed_every_time(tidy):
    (tidy.folder / "header.h").write_text("int bad;\n", encoding="utf-8")
    for _ in range(2):
        done = tidy("one.cpp")
        assert done.returncode == 1
        assert "header.h:1:int bad;" in done.stdout
        assert tidy.read() == ["one.cpp"]


def test_an_unconfigured_build_is_one_line(tidy):
    (tidy.folder / "compile_commands.json").unlink()
    done = tidy("one.cpp")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("configure the build first")
