#!/usr/bin/env python3
"""Elided interpreter lock, figure 4: the While and Iterator microbenchmarks."""

import sys

from common import Claim, Figure, Point, Results, best, main, times
from ruby_gil import (
    DYNAMIC,
    FIXED,
    GIL,
    NOTES,
    OURS,
    PAPER,
    THREADS,
    WHY_SHORT,
    ZEC12,
    aborted,
    most,
    near_best,
    points,
    prepare,
    throughput,
)

SIZES = {"while": 20000, "iterator": 20000}


def figure_points(quick: bool) -> list[Point]:
    return points(ZEC12, SIZES, (1, 4, 12) if quick else THREADS[ZEC12])


def claims(results: Results) -> list[Claim]:
    rows = []
    for panel, paper in (("while", 11), ("iterator", 10)):
        x = most(results, panel)
        name, value = best(results, panel, [*FIXED, DYNAMIC, OURS], x)
        rows.append(
            Claim(
                f"the best gives a {paper}-fold speedup over the lock with 12 threads",
                f"{panel}, {x} threads: {name} gives {times(value)}",
                0.8 * paper <= value <= 1.2 * paper,
                "the interpreter and the machine's costs are others",
                "within a fifth counts as agreement",
            )
        )
        gil = results.value(panel, GIL, x)
        rows.append(
            Claim(
                "the lock does not scale at all",
                f"{panel}: {times(gil if gil is not None else float('nan'))}",
                gil is not None and gil <= 1.1,
                WHY_SHORT,
            )
        )
        rows.append(near_best(results, panel, OURS))
    return rows


FIGURE = Figure(
    name="ruby_gil_fig4",
    title="While and Iterator without waiting for the interpreter lock (figure 4)",
    paper=f"{PAPER}, figure 4 and section 5.3",
    machine=ZEC12,
    x_label="threads",
    y_label="throughput, GIL with one thread = 1",
    points=figure_points,
    value=throughput,
    more={"aborted transactions, percent": aborted},
    claims=claims,
    prepare=prepare,
    notes=NOTES,
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
