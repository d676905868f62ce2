#!/usr/bin/env python3
"""Elided interpreter lock, figure 6 (b): BT of a larger class on the 4-core Xeon."""

import sys

from common import Figure, Point, main
from ruby_gil import (
    DYNAMIC,
    HASWELL,
    NOTES,
    OURS,
    PAPER,
    THREADS,
    aborted,
    near_best,
    points,
    prepare,
    throughput,
)


def figure_points(quick: bool) -> list[Point]:
    return points(HASWELL, {"bt": 8 if quick else 14}, (1, 8) if quick else THREADS[HASWELL])


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
    claims=lambda results: [near_best(results, "bt", way) for way in (DYNAMIC, OURS)],
    prepare=prepare,
    notes=NOTES + " Figure 6 (a): [the Xeon's own learning](ruby_gil_fig6_writes.md).",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
