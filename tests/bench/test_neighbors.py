"""What other programs had of the processors while something was measured."""

import os
from pathlib import Path

import pytest
from interleaved import foreign_load

from syncopate.bench import neighbors

FIRST = "cpu  100 0 100 1800 0 0 0 0 0 0\ncpu0 1 1\n"


@pytest.fixture
def stat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's table, in a file that a test writes."""
    path = tmp_path / "stat"
    path.write_text(FIRST, "ascii")
    monkeypatch.setattr(neighbors, "STAT", path)
    monkeypatch.setattr(neighbors, "_own_seconds", lambda: 0.0)
    return path


@pytest.mark.parametrize(
    ("row", "others", "host", "alone"),
    [
        ("cpu  102 0 102 2796 0 0 0 0 0 0", 0.004, 0.0, True),
        ("cpu  300 0 200 2500 0 0 0 0 0 0", 0.3, 0.0, False),
        ("cpu  100 0 100 2700 0 0 0 100 0 0", 0.0, 0.1, False),
        ("cpu  100 0 100 1800 1000 0 0 0 0 0", 0.0, 0.0, True),
        ("cpu  140 0 100 2740 0 0 0 20 0 0", 0.04, 0.02, False),
    ],
)
def test_shares_are_of_all_processors(
    stat: Path, row: str, others: float, host: float, alone: bool
) -> None:
    watch = neighbors.Neighbors()
    stat.write_text(row + "\n", "ascii")
    shares = watch.shares()
    assert shares is not None
    assert (shares.others, shares.host) == pytest.approx((others, host))
    assert ("repeat it alone" not in watch.line()) == alone


def test_what_was_measured_is_no_neighbor(stat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = neighbors.Neighbors()
    stat.write_text("cpu  600 0 100 2300 0 0 0 0 0 0\n", "ascii")
    second = os.sysconf("SC_CLK_TCK")
    monkeypatch.setattr(neighbors, "_own_seconds", lambda: 480 / second)
    shares = watch.shares()
    assert shares is not None
    assert shares.others == pytest.approx(0.02)


@pytest.mark.parametrize(
    "text", ["", "cpu 1 2\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu a b c\n", FIRST]
)
def test_a_kernel_that_does_not_tell(stat: Path, text: str) -> None:
    watch = neighbors.Neighbors()
    stat.write_text(text, "ascii")
    assert watch.shares() is None
    assert "unknown" in watch.line()


def test_a_busy_program_is_seen() -> None:
    def seconds() -> float:
        used = Path(f"/proc/{busy[0].pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")

    with foreign_load(1) as busy:
        begin, watch, used = neighbors._now(), neighbors.Neighbors(), seconds()
        while (had := seconds() - used) < 0.5:
            pass
        shares, end = watch.shares(), neighbors._now()
    assert begin is not None and end is not None and shares is not None
    assert shares.others * (end.all - begin.all) >= 0.9 * had
