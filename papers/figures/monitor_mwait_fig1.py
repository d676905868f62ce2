#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 1: time and energy of lock/unlock pairs, 1 to 64 cores."""

import sys

from claims import claim
from common import Claim, Figure, Point, Results, main
from monitor_mwait import (
    LIBGOMP,
    MONITOR,
    OPTERON,
    PLAIN,
    Cores,
    figure_on,
    microjoules,
    nanoseconds,
)
from rules import more, number

STANDARD = {"pthread-like": "futex", LIBGOMP: "libgomp", "ticket": "ticket:spin"}
WORK = 100  # nanoseconds inside and outside; the paper does not say


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        pairs = 300 if quick else 2000
        return [
            Point("", name, n, "lock_pingpong",
                  {"lock": lock, "threads": n, "pairs": pairs, "work": WORK, "pin": "compact"})
            for name, lock in (STANDARD | MONITOR | PLAIN).items()
            for n in cores.used(quick)
        ]  # fmt: skip

    return points


def claims(results: Results) -> list[Claim]:
    x, program = results.xs("")[-1], results.program("")
    rows = []
    for what, value, said in (("time", nanoseconds, 4.0), ("energy", microjoules, 3.5)):
        ratios = {
            f"{program}: {name} over {ours}": results.ratio("", name, ours, x, value)
            for ours in MONITOR
            for name in STANDARD
        }
        rows.append(
            claim(
                f"as much as {said:g} times less {what} than the standard locks",
                number(said),
                {program: max(ratios.values())},
                WHY,
                NOTES[what],
                what=f"the largest factor at {x} cores",
            )
        )
        rows.append(
            claim(
                f"our implementations scale much better than all standard ones ({what})",
                more(clearly=True),
                ratios,
                WHY_ALL,
                what=f"at {x} cores",
            )
        )
    polling = {program: results.ratio("", "1spinner, polling", "1spinner, monitor", x, microjoules)}
    rows.append(
        claim(
            "MWAIT in place of polling saves energy",
            more(),
            polling,
            what=f"energy of 1spinner polling over 1spinner with the monitor at {x} cores",
            beyond="the paper's motivation; it measures no lock that polls",
        )
    )
    return rows


WHY_ALL = "in our pthread-like lock running threads overtake sleepers, which is fast and unfair"
NOTES = {
    "time": "the paper gives neither the work nor what its factor is taken against",
    "energy": "the watts are estimates",
}

WHY = (
    "against libgomp's mutex we gain more than the paper, whose factors may be taken against"
    " another lock; each of its waiters writes the word again and again, which costs every other"
    " waiter a miss"
)


def figure(cores: Cores) -> Figure:
    return figure_on(
        cores,
        "fig1",
        "1",
        "Lock and unlock: time and energy",
        f"Each thread is pinned to a core of its own; {WORK} ns of work inside the lock and as much"
        " outside. OpenMP: a model of libgomp's mutex (papers/workloads/libgomp_lock.h).",
        y_label="ns per lock/unlock pair",
        points=points_on(cores),
        value=nanoseconds,
        more={"microjoules per pair, whole machine": microjoules},
        claims=claims,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
