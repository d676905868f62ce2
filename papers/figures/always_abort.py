"""What the figures of the always-abort paper share: its locks, by their names there."""

import json
import tomllib
from collections.abc import Callable

from common import PLACES, Claim, Figure, Point, Results, add_speedup, per_time
from stamp import SMALL_INPUTS
from sweep import ROOT

PAPER = "J. Izraelevitz, L. Xiang, M. L. Scott, Performance Improvement via Always-Abort HTM"
MACHINE = "broadwell-2x18"

PLAIN = {"tatas": "tatas:spin", "ticket": "ticket:spin"}
HTM = {"htm-1": "published:htm-1", "htm-10": "published:htm-10:4"}
OURS = {"htm-10, ours": "htm_10"}
AHEAD = {
    "tatas-aahtm": "speculative_tatas",
    "tatas-pri-aahtm": "priority",
    "ticket-aahtm": "speculative_ticket",
}
LOCKS = PLAIN | HTM | AHEAD
BACK_OFF = (
    " htm-1 and htm-10 are as the paper has them (papers/workloads/published_lock.h): a held lock"
    " is waited for inside of the transaction, and that uses up one of the attempts. Its text"
    " names no lengths of back-off; here it begins with 4 PAUSEs, which was fitted to figure 8,"
    " whose rows are not counted for that reason. With 1, genome collapses with 16 threads, and"
    " figure 10 comes nearer to the paper; with 8, genome does not"
    " (docs/internals/differences.md). In *htm-10, ours* (locks/htm_lock.h) a wait uses up none."
)
FITTED = "the back-off was fitted to this figure"
GAPS = PLACES / "measured" / "section_gaps.json"


def between(program: str) -> int:
    """Nanoseconds: as many of the machine's cycles as the program computes between two sections
    here (bench/section_gaps.cpp)."""
    file = ROOT / "machines" / f"{MACHINE}.toml"
    hertz = tomllib.loads(file.read_text(encoding="utf-8"))["topology"]["frequency_hz"]
    cycles = json.loads(GAPS.read_text(encoding="utf-8"))[program]["cycles"]
    return round(cycles / hertz * 1e9)


def gap(panel: str) -> dict:
    """The option of a STAMP-like program: vacation is the one that computes between sections."""
    return {"between": between(panel)} if panel == "vacation" else {}


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
        fields=("seconds",),
        notes=SMALL_INPUTS + " 32 threads, two on a core, are left out. vacation is the paper's"
        f" vacationhi. Its threads compute for {between('vacation')} ns between two sections: the"
        " suite draws a task's 12 random numbers in as many cycles (bench/section_gaps.cpp), and on"
        " the model instructions that touch no memory take no time." + BACK_OFF,
    )
