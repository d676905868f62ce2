"""What the figures of the always-abort paper share: its locks, by their names there."""

from collections.abc import Callable

from common import Claim, Figure, Point, Results, add_speedup, per_time
from stamp import SMALL_INPUTS

PAPER = "J. Izraelevitz, L. Xiang, M. L. Scott, Performance Improvement via Always-Abort HTM"
MACHINE = "broadwell-2x18"

PLAIN = {"tatas": "tatas:spin", "ticket": "ticket:spin"}
HTM = {"htm-1": "htm_1", "htm-10": "htm_10"}
AHEAD = {
    "tatas-aahtm": "speculative_tatas",
    "tatas-pri-aahtm": "priority",
    "ticket-aahtm": "speculative_ticket",
}
LOCKS = PLAIN | HTM | AHEAD


def threads(quick: bool) -> tuple[int, ...]:
    """The paper's runs stay on one socket of 18 cores."""
    return (1, 4, 8, 18) if quick else (1, 2, 4, 6, 8, 10, 12, 14, 16, 18)


def per_second(run: dict) -> float:
    """Critical sections per second, in millions."""
    return run["operations"] / run["seconds"] * 1e-6


def aborted(run: dict) -> float:
    """Share of the transactions that did not commit, in percent."""
    begins = run["transactions"]["begins"]
    return 0.0 if begins == 0 else 100 - 100 * run["transactions"]["commits"] / begins


def stamp_figure(
    number: int,
    what: str,
    section: str,
    points: Callable[[bool], list[Point]],
    claims: Callable[[Results], list[Claim]],
) -> Figure:
    """A figure of the STAMP-like programs, with a speed-up over one thread of tatas."""
    return Figure(
        name=f"always_abort_fig{number}",
        title=f"STAMP-like programs with {what} (always-abort, figure {number})",
        paper=f"{PAPER}, figure {number}, section {section}",
        machine=MACHINE,
        x_label="threads",
        y_label="speed-up over one thread of tatas",
        points=points,
        prepare=lambda runs: add_speedup(runs, "tatas", per_time),
        value=lambda run: run["speedup"],
        claims=claims,
        notes=SMALL_INPUTS + " 32 threads, two on a core, are left out. vacation is the paper's"
        " vacationhi.",
    )
