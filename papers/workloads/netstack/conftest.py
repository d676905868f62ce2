"""Where the programs are, and how the tests run them."""

import json
import os
import subprocess
from pathlib import Path

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "netstack"
PROGRAMS = ("netdedup", "netferret", "netstreamcluster")
LOCKINGS = ("mutex", "tsx.abort", "tsx.cond", "mutex.busywait", "tsx.busywait")


def run(program: str, *words: object, **settings: str) -> subprocess.CompletedProcess:
    command = [str(BUILD / program), *map(str, words)]
    environment = os.environ | {f"SYNCOPATE_{key}": value for key, value in settings.items()}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, env=environment
    )


def result(done: subprocess.CompletedProcess) -> dict:
    """The line of JSON of a run that has checked its data."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[0])
    assert found["consistent"] is True
    assert found["operations"] > 0 and found["bytes_per_second"] > 0
    return found
