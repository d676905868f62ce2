#!/usr/bin/env python3
"""Elided interpreter lock, figure 6 (b): BT of a larger class on the 4-core Xeon."""

import sys

from claims import claim
from common import Claim, Figure, Point, Results, main
from ruby_gil import (
    DYNAMIC,
    HASWELL,
    NOTES,
    PAPER,
    THREADS,
    WHY_SHORT,
    aborted,
    balance_near_best,
    more_threads,
    points,
    prepare,
    throughput,
)
from rules import no_loss


def figure_points(quick: bool) -> list[Point]:
    return points(HASWELL, {"bt": 8 if quick else 14}, (1, 8) if quick else THREADS[HASWELL])


def claims(results: Results) -> list[Claim]:
    return [
        claim(
            "with a larger class, HTM-dynamic is equal to or better than HTM-16",
            no_loss(),
            results.ratios(DYNAMIC, "HTM-16", ["bt"], more_threads(results)),
            WHY_SHORT,
            what="HTM-dynamic over HTM-16",
        ),
        balance_near_best(results, ["bt"]),
    ]


FIGURE = Figure(
    name="ruby_gil_fig6",
    title="BT of a larger class with the elided interpreter lock (figure 6 b)",
    paper=f"{PAPER}, figure 6 (b)",
    machine=HASWELL,
    x_label="threads",
    y_label="throughput, GIL with one thread = 1",
    points=figure_points,
    value=throughput,
    more={"aborted transactions, percent": aborted},
    claims=claims,
    prepare=prepare,
    notes=NOTES + " Figure 6 (a): [the Xeon's own learning](ruby_gil_fig6_writes.md).",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
