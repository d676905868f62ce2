"""A quick run of a figure has the verdicts of the committed full one: for the figures that take
seconds. Which points a quick run leaves out, and what it shortens, must not turn a verdict."""

import importlib
import os
from pathlib import Path

import pytest
from common import claims_of, shipped
from sweep import Setting, run_point

from syncopate.base import compactjson

SECONDS = ("ruby_gil_fig6_writes", "monitor_mwait_fig2", "monitor_mwait_fig5")
LONGER = (
    "monitor_mwait_fig1",
    "monitor_mwait_fig6",
    "tsx_hpc_fig1",
    "tsx_hpc_fig4",
    "tsx_hpc_fig5",
)

needs_optimized = pytest.mark.skipif(
    "SYNCOPATE_OPTIMIZED" not in os.environ,
    reason="the committed results are of an optimized build for the simulated machine",
)


def check(name: str) -> None:
    figure = importlib.import_module(name).FIGURE
    full = compactjson.read(shipped(figure).read_text())
    assert not full["quick"]
    programs = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads"
    setting = Setting(full["machine"], programs)
    runs = [run_point(point, setting) for point in figure.points(True)]
    assert not [run["error"] for run in runs if "error" in run]
    document = {"machine": full["machine"], "quick": True, "runs": runs}
    expected = {row.paper: row for row in claims_of(figure, full)}
    for row in claims_of(figure, document):
        other = expected[row.paper]
        assert row.verdict is other.verdict, f"{row.paper}\nquick: {row.ours}\nfull: {other.ours}"


@pytest.mark.sampled(3)
@needs_optimized
@pytest.mark.parametrize("name", SECONDS)
def test_quick_and_full_verdicts_agree(name):
    check(name)


@needs_optimized
@pytest.mark.long
@pytest.mark.parametrize("name", LONGER)
def test_quick_and_full_verdicts_agree_long(name):
    check(name)
