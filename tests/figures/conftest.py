"""Lets the tests import papers/figures, and gives them a made-up figure."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "papers/figures"))

from claims import claim  # noqa: E402
from common import Figure  # noqa: E402
from rules import more  # noqa: E402
from sweep import Point, Setting  # noqa: E402


def made_up_points(quick: bool) -> list[Point]:
    return [
        Point("", series, x, "made_up", {"lock": series, "threads": x})
        for series in ("fast", "slow")
        for x in ((1,) if quick else (1, 2))
    ]


@pytest.fixture
def figure():
    return Figure(
        name="made_up_fig1",
        title="Made up",
        paper="A. Author, A Paper, figure 1",
        machine="test-4c",
        x_label="threads",
        y_label="operations",
        points=made_up_points,
        value=lambda run: run["operations"],
        claims=lambda results: [
            claim("fast is faster", more(), results.ratios("fast", "slow", [""], [1]), "unseen"),
        ],
    )


@pytest.fixture
def setting(tmp_path):
    """A program that is no program, and a machine file of its own: only their bytes matter."""
    (tmp_path / "made_up.simulated").write_text("first")
    (tmp_path / "machine.toml").write_text("[machine]")
    return Setting(str(tmp_path / "machine.toml"), tmp_path)


@pytest.fixture(autouse=True)
def forget_files():
    """What is remembered of files' contents, between tests that change them."""
    import sweep

    sweep.digest.cache_clear()
    sweep.library_of.cache_clear()
