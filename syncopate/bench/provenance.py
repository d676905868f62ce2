"""How a measurement was obtained."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def provenance():
    """Returns how a measurement was obtained: processor, kernel, date and commit."""
    models = (
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    )
    return {
        "processor": next(models, platform.machine()),
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
    }


def commit() -> str:
    """Returns the source tree's commit, `-dirty` where files differ from it; else `unknown`.

    SYNCOPATE_COMMIT says it for a tree that was copied to another machine without its history.
    """
    if said := os.environ.get("SYNCOPATE_COMMIT"):
        return said
    # An installed package may lie in the tree of another project, whose commit is none of ours.
    if os.path.realpath(_git("rev-parse", "--show-toplevel")) != os.path.realpath(ROOT):
        return "unknown"
    return _git("describe", "--always", "--dirty") or "unknown"


def _git(*words: str) -> str:
    """What git says of the tree; "" where it says nothing, or is not there."""
    try:
        done = subprocess.run(
            # Without locks: a measurement must not leave one in the repository when it is killed.
            ["git", "--no-optional-locks", "-C", str(ROOT), *words],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # no git
        return ""
    return done.stdout.removesuffix("\n")
