#!/usr/bin/env python3
"""Elided interpreter lock, figure 6 (a): how the 4-core Xeon learns which transactions overflow."""

import itertools
import math
import sys

from claims import Part, claim
from common import Claim, Figure, Point, Results, main
from ruby_gil import HASWELL, PAPER
from rules import inside, more, number

PANEL = "write sets"
EACH = 500  # transactions that make one point of the figure
STEADY = 0.95  # of the last points' mean


def figure_points(quick: bool) -> list[Point]:
    return [Point(PANEL, "all", 0, "shrinking_writes", {"hundreds": 50 if quick else 100})]


def prepare(runs: list[dict]) -> None:
    """The program's one run counts what commits, of each hundred, in each size: one run a point."""
    for run in [run for run in runs if "committed" in run]:
        runs.remove(run)
        for size, counts in run["committed"].items():
            for first in range(0, len(counts), EACH // 100):
                some = counts[first : first + EACH // 100]
                place = {"panel": PANEL, "series": f"{size} KB", "x": 100 * (first + len(some))}
                runs.append(place | {"percent": sum(some) / len(some)})


def percent(run: dict) -> float:
    return run["percent"]


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def transactions_until_steady(line: list[tuple[int, float]]) -> int:
    """After how many the success ratio is near that of the last fifth; 0: from the start."""
    last = mean([y for _, y in line[-max(1, len(line) // 5) :]])
    return max((x for x, y in line if y < STEADY * last), default=0)


def claims(results: Results) -> list[Claim]:
    after_20, after_16 = results.line(PANEL, "16 KB"), results.line(PANEL, "12 KB")
    first, last = (after_20[0][1], after_20[-1][1]) if after_20 else (math.nan, math.nan)
    steps = [later - earlier for earlier, later in itertools.pairwise(y for _, y in after_20)]
    largest = max(steps, default=math.nan) / ((last - first) or math.nan)
    first_12, last_12 = (after_16[0][1], after_16[-1][1]) if after_16 else (math.nan, math.nan)
    return [
        Claim(
            "from 20 KB to 16 KB the success ratio does not jump but increases gradually",
            [
                Part(more(clearly=True), {PANEL: last / (first or math.nan)},
                     what=f"the last {EACH} over the first"),
                Part(inside(0, 50), {PANEL: 100 * largest}, " %",
                     "the largest step, of the whole rise"),
            ],
            note="gradually: no step is half of the rise",
            beyond=FITTED,
        ),
        claim(
            "it takes about 5,000 transactions to reach a steady state",
            number(5000, neutral=None),
            {PANEL: transactions_until_steady(after_20)},
            note=f"until {STEADY:.0%} of it",
            unit="",
            beyond=FITTED,
        ),
        claim(
            "from 16 KB to 12 KB it increases gradually once more",
            more(clearly=True),
            {PANEL: last_12 / (first_12 or math.nan)},
            "16 KB, 256 lines, always fit into the model's 304, so nothing is left to unlearn;"
            " on the processor some seem to have overflowed",
            what=f"the last {EACH} over the first",
        ),
    ]  # fmt: skip


FITTED = "the model's score was fitted to the curve that the paper describes"

FIGURE = Figure(
    name="ruby_gil_fig6_writes",
    title="Transactions that write ever less, on the 4-core Xeon (figure 6 a)",
    paper=f"{PAPER}, figure 6 (a)",
    machine=HASWELL,
    x_label="transactions of that size",
    y_label="transactions that commit, percent",
    points=figure_points,
    value=percent,
    claims=claims,
    prepare=prepare,
    notes=(
        "One thread writes 24 KB in each of many transactions, then 20, 16 and 12 KB"
        " (papers/workloads/shrinking_writes.cpp); the machine has an abort predictor that is"
        " ours, as Intel's mechanism is not known (src/model/simulated/htm/transactions.h)."
    ),
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
