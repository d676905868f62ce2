"""What `make demo` prints of two locks: the numbers, and what they may be compared with."""

from pathlib import Path

import demo
import pytest

ROOT = Path(__file__).resolve().parents[2]
LAST_RUN = "glibc's locks, and `syncopate run --lock auto`"


def compared(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, list[float]]) -> list[str]:
    """The lines of a comparison; seconds: how long each run of a lock takes, one after another."""
    rounds = {name: iter(3 * times) for name, times in seconds.items()}

    def run(command: list, timeout: float, environment: dict) -> str:
        name = "auto" if environment.get("SYNCOPATE_LOCK") == "auto" else "glibc"
        return f"time: {next(rounds[name])}\nok\n"

    monkeypatch.setattr(demo, "run", run)
    out = demo.Transcript()
    demo.compare_locks(out, len(seconds["auto"]))
    return "\n".join(out.kept).splitlines()


def test_intervals_are_said_to_be_of_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = compared(monkeypatch, {"glibc": [2.0, 2.0, 2.0], "auto": [1.0, 1.0, 1.0]})
    rows = [line for line in lines if line[:1].isdigit()]
    assert len(rows) == len(demo.THREAD_COUNTS)
    assert all("2.000 [2.000, 2.000]" in row for row in rows)
    assert lines[-2:] == list(demo.OF_THIS_RUN)
    assert lines[-3].startswith(("Other programs had ", "What other programs used "))


@pytest.mark.parametrize("page", ["docs/demo.txt", "README.md"])
def test_pages_say_so_beside_the_numbers(page: str) -> None:
    blocks = (ROOT / page).read_text("utf-8").split("\n\n")
    (block,) = (each for each in blocks if LAST_RUN in each)
    assert "[95 %]" in block
    assert block.splitlines()[-2:] == list(demo.OF_THIS_RUN)
