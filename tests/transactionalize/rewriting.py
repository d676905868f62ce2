"""Runs `syncopate transactionalize`, and what it has written."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
NATIVE = Path(os.environ.get("SYNCOPATE_NATIVE", ROOT / "build"))
SECONDS = 100


def transactionalize(*arguments, environ=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "syncopate", "transactionalize", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})},
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip


def run(
    folder: Path, sources: list[str], program: Path, *flags: str, arguments=None
) -> str | tuple[str, int]:
    """Compiles, runs, and returns what the program prints; with arguments, also its status."""
    files = [folder / source for source in sources]
    subprocess.run(
        ["gcc", "-O1", "-w", "-I", PROGRAMS, *files, "-o", program, "-pthread", *flags], check=True
    )
    done = subprocess.run(
        [program, *(arguments or [])], capture_output=True, text=True, timeout=SECONDS,
        check=arguments is None,
    )  # fmt: skip
    return done.stdout if arguments is None else (done.stdout, done.returncode)


def run_rewritten(folder: Path, sources: list[str], program: Path, arguments=None):
    return run(
        folder, sources, program, "-fgnu-tm", "-I", str(ROOT / "include"),
        "-L", str(NATIVE / "lib"), "-lsyncopate-tm", "-litm", arguments=arguments,
    )  # fmt: skip


def rewrite(tmp_path: Path, names: list[str], *kind: str, status: int = 0) -> dict:
    """Rewrites programs to tmp_path/out; returns the JSON of what was done."""
    done = transactionalize(
        *kind, "-o", tmp_path / "out", "--json", tmp_path / "done.json",
        *(PROGRAMS / name for name in names),
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert not trailing_blanks(tmp_path / "out")
    return json.loads((tmp_path / "done.json").read_text())


def trailing_blanks(folder: Path) -> dict[str, int]:
    """Lines of rewritten sources that end in blanks, which those that were given do not: there are
    programs whose own tests refuse such lines."""
    return {
        f"{path}:{number}": len(line)
        for path in folder.rglob("*.[ch]")
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if line != line.rstrip()
    }


def one_line(done: subprocess.CompletedProcess) -> str:
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr
