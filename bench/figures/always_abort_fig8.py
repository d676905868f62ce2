#!/usr/bin/env python3
"""Always-abort HTM, figure 8: MapBench, one std::map under one lock."""

import sys

from always_abort import (
    AHEAD,
    BACK_OFF,
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
from common import Claim, Figure, Point, Results, best, main, times

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
    most = results.xs(HARDEST)[-1]
    rows = []
    for panel in PANELS:
        if panel == HARDEST:
            continue
        texts, winners = [], []
        for x in (8, most):
            winner, value = best(results, panel, list(LOCKS), x)
            _, other = best(results, panel, [*PLAIN, *AHEAD] if winner in HTM else list(HTM), x)
            kind = "lock" if winner in HTM else "HTM"
            share = results.value(panel, "htm-10", x, aborted)
            texts.append(
                f"at {x} threads {winner} is best, {times(value / other)} the best {kind}"
                f" ({share:.0f} % of htm-10's transactions abort)"
            )
            winners.append(winner)
        where_htm = [x for x in results.xs(panel) if best(results, panel, list(LOCKS), x)[0] in HTM]
        texts.append(f"HTM is best up to {max(where_htm, default=0)} threads")
        holds = all(winner in HTM for winner in winners)
        rows.append(
            Claim(f"{panel}: traditional HTM works well", "; ".join(texts), holds, LEMMINGS)
        )
    plain = results.ratio(HARDEST, "ticket-aahtm", "ticket", most)
    htm = results.ratio(HARDEST, "ticket-aahtm", "htm-10", most)
    rows.append(
        Claim(
            "10M keys, 50 % writes: the AAHTM ticket lock dominates",
            f"at {most} threads: ticket-aahtm is {times(plain)} ticket, {times(htm)} htm-10",
            plain > 1 and htm > 1,
            "the ticket locks are in the paper's order; how htm-10 does rests on its back-off",
        )
    )
    return rows


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
    notes="The standard library's own std::map, half full at first. The paper's large map has 10M"
    " keys and does not fit the last-level cache; here it has 1M (100,000 with --quick), larger"
    " than the L2, since filling it is simulated, too. It is filled in the order of keys."
    + BACK_OFF,
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
