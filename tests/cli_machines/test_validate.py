"""bench/validate.py: what the model misses of published figures stands in docs/limits.md."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import validate  # noqa: E402


def test_misses_stand_in_the_limits() -> None:
    rows = validate.points(Path(os.environ["SYNCOPATE_BUILD_DIR"]))
    missed = {
        row["what"]: (round(row["published"]), round(row["model"]), round(100 * row["error"]))
        for row in rows
        if abs(row["error"]) > validate.MISS
    }
    text = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
    listed = {
        what.strip(): (int(published), int(model), int(error))
        for what, published, model, error in re.findall(
            r"^ *\| ([a-z]+, [a-z]+, [a-z ]+) \| (\d+) \| (\d+) \| ([-+]?\d+) % \|$", text, re.M
        )
    }
    assert listed == missed


def test_few_threads_add_as_they_compare_and_exchange() -> None:
    """The factor grows with the threads, which serve a line first come, first served."""
    few, _, many = validate.loops(Path(os.environ["SYNCOPATE_BUILD_DIR"]))
    assert 1 <= few["times"] < many["times"]
