#!/usr/bin/env python3
"""Always-abort HTM, figure 7: ArrayBench, four configurations, every lock of section IV-A."""

import sys

from always_abort import AHEAD, HTM, LOCKS, MACHINE, PAPER, PLAIN, per_second, threads
from common import Claim, Figure, Point, Results, best, main, times

# Panel -> (elements written, element 0 written first), in the paper's order.
PANELS = {
    "low contention, small": (10, 0),
    "high contention, small": (10, 1),
    "low contention, large": (100, 0),
    "high contention, large": (100, 1),
}
LOW_SMALL = "low contention, small"
OPTIMIZED = {f"{name}-opt": lock for name, lock in AHEAD.items()}


def points(quick: bool) -> list[Point]:
    result = []
    for panel, (footprint, contended) in PANELS.items():
        series = {name: (lock, 0) for name, lock in LOCKS.items()}
        if contended:
            series |= {name: (lock, 1) for name, lock in OPTIMIZED.items()}
        for name, (lock, optimized) in series.items():
            options = {
                "lock": lock,
                "footprint": footprint,
                "contended": contended,
                "optimized": optimized,
                "microseconds": 1000 if quick else 4000,
                "pin": "compact",
            }
            for n in threads(quick):
                result.append(Point(panel, name, n, "array_bench", options | {"threads": n}))
    return result


def claims(results: Results) -> list[Claim]:
    most = results.xs(LOW_SMALL)[-1]
    rows = []
    ahead = [*AHEAD, *OPTIMIZED]
    for panel in PANELS:
        winner, value = best(results, panel, list(LOCKS | OPTIMIZED), most)
        other, second = best(results, panel, [*PLAIN, *HTM], most)
        text = f"at {most} threads {winner} is best: {value:.3g} M/s"
        if winner in ahead:
            text += f", {100 * (value / second - 1):.0f} % over {other}"
        if panel == LOW_SMALL:
            rows.append(Claim(f"{panel}: htm-10 is the best", text, winner == "htm-10", WHY[panel]))
        else:
            rows.append(
                Claim(
                    f"{panel}: an AAHTM lock is the best, 10 to 200 % over the nearest other",
                    text,
                    winner in ahead and value / second >= 1.1,
                    WHY[panel],
                )
            )
    for panel, why in (("low contention, large", ""), ("high contention, large", WHY["ticket"])):
        ratio = results.ratio(panel, "ticket-aahtm", "ticket", most)
        rows.append(
            Claim(
                f"{panel}: ticket-aahtm is 2 to 3 times ticket",
                f"{times(ratio)} at {most} threads",
                1.6 <= ratio <= 3.75,
                why,
            )
        )
    for panel in ("low contention, small", "high contention, small"):
        ratio = results.ratio(panel, "tatas", "ticket", most)
        rows.append(
            Claim(
                f"{panel}: unfair tatas is ahead of the fair ticket lock",
                f"tatas is {times(ratio)} ticket at {most} threads",
                ratio > 1,
                WHY["unfair"],
            )
        )
    ratio = results.ratio(LOW_SMALL, "htm-1", "tatas", most)
    rows.append(
        Claim(
            f"{LOW_SMALL}: htm-1 is outperformed by the locks, because of spurious aborts",
            f"htm-1 is {times(ratio)} tatas at {most} threads",
            ratio < 1,
            WHY["htm-1"],
        )
    )
    return rows


WHY = {
    **dict.fromkeys(PANELS, ""),
    "ticket": "runs ahead begin by writing element 0, as the holder does; the `opt` variant, which"
    " leaves it alone, reaches the paper's factor",
    "unfair": "a thread draws its next addresses after each section, which in the model takes about"
    " as long as a hand-off, so that it seldom takes the lock twice in a row",
    "htm-1": "",
}

FIGURE = Figure(
    name="always_abort_fig7",
    title="ArrayBench (always-abort, figure 7; figure 2 is its subset)",
    paper=f"{PAPER}, figure 7",
    machine=MACHINE,
    x_label="threads",
    y_label="million critical sections per second",
    points=points,
    value=per_second,
    claims=claims,
    notes="One array of a million integers under one lock; small: 10 writes in a section, large:"
    " 100; high contention: each section begins by writing element 0. `opt`: what runs ahead"
    " leaves element 0 alone. Simulated for milliseconds, where the paper runs for seconds.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
