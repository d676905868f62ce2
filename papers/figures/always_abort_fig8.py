#!/usr/bin/env python3
"""Always-abort HTM, figure 8: MapBench, one std::map under one lock."""

import math
import sys

from always_abort import (
    AHEAD,
    BACK_OFF,
    FITTED,
    HTM,
    LOCKS,
    MACHINE,
    OURS,
    PAPER,
    PLAIN,
    aborted,
    per_second,
    threads,
)
from claims import claim
from common import Claim, Figure, Point, Results, best, main
from rules import best as best_rule

SMALL_KEYS, LARGE_KEYS, QUICK_LARGE_KEYS = 10_000, 1_000_000, 100_000
# Panel -> (keys, percent of operations that insert or erase), in the paper's order.
PANELS = {
    "10K keys, 10 % writes": (SMALL_KEYS, 20),
    "10K keys, 50 % writes": (SMALL_KEYS, 100),
    "large map, 10 % writes": (LARGE_KEYS, 20),
    "large map, 50 % writes": (LARGE_KEYS, 100),
}
HARDEST = "large map, 50 % writes"


def points(quick: bool) -> list[Point]:
    return [
        Point(panel, name, n, "map_bench",
              {"lock": lock, "keys": QUICK_LARGE_KEYS if quick and keys == LARGE_KEYS else keys,
               "changes": changes, "threads": n, "shuffled": 0,
               "microseconds": 500 if quick else 2000,
               "pin": "compact"})
        for panel, (keys, changes) in PANELS.items()
        for name, lock in (LOCKS | OURS).items()
        for n in ((1, 8, 18) if quick else threads(quick))
    ]  # fmt: skip


def claims(results: Results) -> list[Claim]:
    x = results.xs(HARDEST)[-1]
    locks = [*PLAIN, *AHEAD]
    htm = {}
    for panel in PANELS:
        for n in (8, x):
            value = best(results, panel, list(HTM), n)[1] / best(results, panel, locks, n)[1]
            htm[results.case(panel, n)] = value
    hard = [results.case(HARDEST, n) for n in (8, x)]
    aborts = {p: results.value(p, "htm-10", x, aborted) for p in PANELS}
    others = [name for name in LOCKS if name != "ticket-aahtm"]
    dominates = (results.value(HARDEST, "ticket-aahtm", x) or math.nan) / best(
        results, HARDEST, others, x
    )[1]
    return [
        claim(
            "traditional HTM works well in most cases: all but the large map with 50 % writes",
            best_rule(),
            {name: value for name, value in htm.items() if name not in hard},
            LEMMINGS,
            "of htm-10's transactions abort, with all threads: "
            + ", ".join(f"{p} {share:.0f} %" for p, share in aborts.items() if share is not None),
            what="the best of htm-1 and htm-10 over the best lock",
            beyond=FITTED,
        ),
        claim(
            "10M keys, 50 % writes: the AAHTM ticket lock dominates",
            best_rule(),
            {HARDEST: dominates},
            "the ticket locks are in the paper's order; how htm-10 does rests on its back-off",
            what="over the best other lock or HTM",
            beyond=FITTED,
        ),
    ]


LEMMINGS = (
    "first aborts are conflicts: each change of the map writes its size, beside the root that every"
    " operation reads. Ten of them in a row make a thread take the lock, which aborts all others"
    " (the lemming effect, which the paper meets in STAMP). It rests on how long the locks back"
    " off, which the paper does not say"
)

FIGURE = Figure(
    name="always_abort_fig8",
    title="MapBench (always-abort, figure 8)",
    paper=f"{PAPER}, figure 8",
    machine=MACHINE,
    x_label="threads",
    y_label="million operations per second",
    points=points,
    value=per_second,
    claims=claims,
    fields=("operations", "seconds", "transactions"),
    notes="The standard library's own std::map, half full at first. The paper's large map has 10M"
    " keys and does not fit the last-level cache; here it has 1M (100,000 with --quick), larger"
    " than the L2, since filling it is simulated, too. It is filled in the order of keys."
    + BACK_OFF,
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
