"""A build folder of made-up programs, and the command."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 500  # generous: no command here takes a tenth of it on a quiet machine

# Notes every call and prints a result that its options decide: `ticket` is slower. While there is a
# file `hold`, calls after the fourth wait (of two at once that may be the fourth, too), and say so.
PROGRAM = """#!/bin/sh
echo "$*" >> {log}
if [ "$(wc -l < {log})" -gt 4 ] && [ -f {folder}/hold ]; then
  echo held >> {log}.held
  while [ -f {folder}/hold ]; do sleep 0.1; done
fi
sleep {seconds}
[ -f {folder}/fail ] && {{ echo "it failed" >&2; exit 1; }}
case "$*" in *ticket*) took=2.0 ;; *) took=1.0 ;; esac
echo '{{"workload": "made_up", "operations": 1000, "seconds": '$took', "consistent": true}}'
"""


@contextlib.contextmanager
def full_disk():
    """No file can have more than 100 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Build:
    """A folder with papers/workloads/array_bench, and the log of its calls."""

    def __init__(self, folder: Path):
        self.folder, self.log = folder, folder / "log"
        self.program = folder / "papers/workloads" / "array_bench"
        self.program.parent.mkdir(parents=True)
        self.write(seconds=0)

    def write(self, seconds: float, text: str = PROGRAM) -> None:
        self.program.write_text(
            text.format(log=self.log, folder=self.folder, seconds=seconds), encoding="utf-8"
        )
        self.program.chmod(0o755)

    def hold(self, on: bool) -> None:
        file = self.folder / "hold"
        file.touch() if on else file.unlink(missing_ok=True)

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def held(self) -> int:
        """How many calls have waited."""
        file = self.log.with_suffix(".held")
        return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture
def build(tmp_path):
    made = Build(tmp_path / "build")
    yield made
    made.hold(False)  # whatever a failed test left waiting ends


def waited(condition, what: str):
    """condition() once it is true."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not in {SECONDS} s: {what}")


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "syncopate", "bench", *map(str, words)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def bench(*words: object, **others) -> subprocess.CompletedProcess:
    """Runs `syncopate bench WORDS`."""
    return subprocess.run(
        command(*words),
        # Under limits Python would leave half a compiled module behind.
        env=environment() | ({"PYTHONDONTWRITEBYTECODE": "1"} if "preexec_fn" in others else {}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
        **others,
    )


def one_line(done: subprocess.CompletedProcess, status: int) -> str:
    """The one line that a failing command says."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("syncopate: ")
    return line


def run_words(build: Build, out: Path, *words: object) -> list[object]:
    return ["run", "array/low-small", "--build", build.folder, "--out", out, *words]


def document(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))
