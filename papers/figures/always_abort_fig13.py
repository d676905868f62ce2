#!/usr/bin/env python3
"""Always-abort HTM, figure 13: the adversarial case, and its mitigation."""

import sys

from always_abort import AHEAD, MACHINE, PAPER, PLAIN, per_second, threads
from claims import claim
from common import Claim, Figure, Point, Results, main
from rules import Value, middle, no_loss, number
from sweep import seeded

BARE, PROTECTED = "without protection", "with the protective test"
PAIRS = {"tatas-aahtm": "tatas", "ticket-aahtm": "ticket"}


def points(quick: bool) -> list[Point]:
    found = [
        Point(panel, name, n, "adversarial",
              {"lock": lock, "threads": n, "protect": int(panel == PROTECTED),
               "microseconds": 4000, "pin": "compact"})
        for panel in (BARE, PROTECTED)
        for name, lock in (PLAIN | AHEAD).items()
        for n in threads(quick)
    ]  # fmt: skip
    return seeded(found, lambda p: not quick)


def worst(results: Results, panel: str, ahead: str) -> tuple[Value, int]:
    """The smallest ratio of a lock that runs ahead to its plain form, and at how many threads."""
    found = [(results.spread(panel, ahead, PAIRS[ahead], x), x) for x in results.xs(panel)]
    return min(found, key=lambda pair: middle(pair[0]))


def claims(results: Results) -> list[Claim]:
    bare = {ahead: worst(results, BARE, ahead) for ahead in PAIRS}
    at = ", ".join(f"{ahead} with {x}" for ahead, (_, x) in bare.items())
    tested = {
        f"{PROTECTED}: {ahead}, {x} threads": results.spread(PROTECTED, ahead, plain, x)
        for ahead, plain in PAIRS.items()
        for x in results.xs(PROTECTED)
    }
    return [
        claim(
            "a tiny array slows locks that run ahead down, on the order of 20 %",
            number(0.8),
            {f"{BARE}: {ahead}": ratio for ahead, (ratio, _) in bare.items()},
            why=WHY_BARE,
            note=f"at worst: {at} threads",
        ),
        claim(
            "with the test, the problem disappears",
            no_loss(),
            tested,
            WHY_PROTECTED,
            what="over the lock that does not run ahead",
        ),
    ]


WHY_BARE = (
    "the paper's case has no limit on how many run ahead; ticket-aahtm lets only those run ahead"
    " whose turn is near"
)
WHY_PROTECTED = (
    "not by what transactions cost, which was tried: where lines pass between cores in 60 cycles"
    " instead of 90, nothing is lost (docs/internals/differences.md). A run ahead that the"
    " test ends has fetched a line that the holder writes"
)

FIGURE = Figure(
    name="always_abort_fig13",
    title="The adversarial case (always-abort, figure 13)",
    paper=f"{PAPER}, figure 13",
    machine=MACHINE,
    x_label="threads",
    y_label="million critical sections per second",
    points=points,
    value=per_second,
    claims=claims,
    fields=("operations", "seconds"),
    notes="ArrayBench on ten cache lines, 100 writes in a section.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
