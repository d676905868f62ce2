"""bench/whatif_exact.py: what-if answers against changed programs on the same simulated machine."""

import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import whatif_exact  # noqa: E402

from syncopate.machines import machinefiles  # noqa: E402


@pytest.mark.long
def test_ranges_hold_what_changes_bring() -> None:
    rows = whatif_exact.results(machinefiles.find("sapphire-rapids-2s"))
    assert len(rows) == len(whatif_exact.PROGRAMS) * len(whatif_exact.CHANGES)
    assert statistics.median(whatif_exact.errors(rows)) < 0.05
    assert sum(each["held"] for each in rows) >= 0.95 * len(rows)
    assert len(whatif_exact.wrong_way(rows)) <= 1  # equal lengths: see model-measured.md


@pytest.mark.long
def test_a_holder_that_sleeps_takes_no_processor() -> None:
    """Threads beyond the processors: locks for each part let sleeping sections go on together,
    computing ones not."""
    rows = whatif_exact.results(
        machinefiles.find("small-2c"), programs=whatif_exact.ON_FEW_PROCESSORS
    )
    assert len(rows) == len(whatif_exact.ON_FEW_PROCESSORS) * len(whatif_exact.CHANGES)
    assert rows[4]["what"] == "shard=8"
    assert rows[4]["measured"] > 4  # of two processors, none of which it takes
    assert max(whatif_exact.errors(rows)) < 0.1
    assert not whatif_exact.wrong_way(rows)
