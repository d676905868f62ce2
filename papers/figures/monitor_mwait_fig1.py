#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 1: time and energy of lock/unlock pairs, 1 to 64 cores."""

import sys

from claims import claim
from common import Claim, Figure, Point, Results, main
from monitor_mwait import (
    FIELDS,
    LIBGOMP,
    MONITOR,
    OPTERON,
    PLAIN,
    Cores,
    figure_on,
    microjoules,
    nanoseconds,
    per_operation,
)
from rules import Value, middle, more, number
from sweep import seeded

STANDARD = {"pthread-like": "futex", LIBGOMP: "libgomp", "ticket": "ticket:spin"}
WORK = 100  # nanoseconds inside and outside; the paper does not say


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        pairs = 300 if quick else 2000
        found = [
            Point("", name, n, "lock_pingpong",
                  {"lock": lock, "threads": n, "pairs": pairs, "work": WORK, "pin": "compact"})
            for name, lock in (STANDARD | MONITOR | PLAIN).items()
            for n in cores.used(quick)
        ]  # fmt: skip
        return seeded(found, lambda p: p.x == cores.all[-1] and cores.rests_on_seeds(quick))

    return points


def overhead(run: dict) -> float:
    """What a pair takes a thread beside its work inside and outside, in nanoseconds."""
    return per_operation(run) * run["threads"] * 1e9 - 2 * WORK


def claims(results: Results) -> list[Claim]:
    x, program = results.xs("")[-1], results.program("")

    def over(value) -> dict[str, Value]:
        return {
            f"{program}: {name} over {ours}": results.spread("", name, ours, x, value)
            for ours in MONITOR
            for name in STANDARD
        }

    rows = []
    for what, value, saved, said, of in (
        ("time", nanoseconds, "overhead", 4.0, overhead),
        ("energy", microjoules, "energy", 3.5, microjoules),
    ):
        ratios = over(value)
        rows.append(
            claim(
                f"as much as {said:g} times less {saved} than the standard locks",
                number(said),
                {program: max(over(of).values(), key=middle)},
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
    polling = {
        program: results.spread("", "1spinner, polling", "1spinner, monitor", x, microjoules)
    }
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
    "time": "overhead: what a pair takes a thread beside its work; the paper gives neither the work"
    " nor what its factor is taken against",
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
        fields=FIELDS,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
