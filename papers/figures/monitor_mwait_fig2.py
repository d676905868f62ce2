#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 2: LOCK/UNLOCK of the EPCC syncbench with each lock in libgomp."""

import sys

from claims import claim
from common import Claim, Figure, Point, Results, main
from monitor_mwait import (
    FIELDS,
    LIBGOMP,
    LOW,
    MONITOR,
    ONE_SPINNER,
    OPTERON,
    PLAIN,
    Cores,
    figure_on,
    gains,
    nanoseconds,
)
from rules import less, more, number
from sweep import seeded

WORK = 100  # nanoseconds inside the lock: "the default for openmpbench 0.1 us"


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        pairs = 200 if quick else 1000
        found = [
            Point("", name, n, "lock_pingpong",
                  {"lock": lock, "threads": n, "pairs": pairs, "work": WORK, "outside": 0,
                   "pin": "compact"})
            for name, lock in ({LIBGOMP: "libgomp"} | MONITOR | PLAIN).items()
            for n in cores.used(quick)
        ]  # fmt: skip
        few_or_all = (*LOW, cores.all[-1])
        return seeded(found, lambda p: p.x in few_or_all and cores.rests_on_seeds(quick))

    return points


def overhead(run: dict) -> float:
    """As the benchmark has it: what a pair takes beside its work, in microseconds."""
    return nanoseconds(run) * 1e-3 - WORK * 1e-3


def claims(results: Results) -> list[Claim]:
    x = results.xs("")[-1]
    spinner = {results.program(""): results.spread("", LIBGOMP, ONE_SPINNER, x, overhead)}
    return [
        claim(
            "for low core counts the original OpenMP implementation performs better",
            less(),
            gains(results, LIBGOMP, LOW, overhead),
            why_few(results),
            what="the original's overhead over ours",
        ),
        claim(
            "as the number of cores increases, both outperform it",
            more(),
            gains(results, LIBGOMP, [x], overhead),
            what="the original's overhead over ours",
        ),
        claim(
            "1spinner is 22 times faster for 64 cores",
            number(22),
            spinner,
            WHY_FACTOR,
            what=f"at {x} cores",
        ),
    ]


def why_few(results: Results) -> str:
    """With where the original does perform better."""

    def ahead(name: str) -> str:
        xs = [x for x in results.xs("") if results.ratio("", LIBGOMP, name, x, overhead) < 1]
        return f"of {name} with " + (" and ".join(map(str, xs)) or "no number of cores")

    return (
        "the paper does not say what is few. Two cores contend at each release, and libgomp's mutex"
        f" then calls the kernel; it is ahead {', '.join(map(ahead, MONITOR))}"
    )


WHY_FACTOR = (
    "the model's mutex loses by the exchanges of all its waiters and one call of the kernel for"
    " each unlock: dearer calls, dearer transfers and a line that is busy longer with each read"
    " bring us nearer, none of them all of the way (docs/internals/differences.md)"
)


def figure(cores: Cores) -> Figure:
    return figure_on(
        cores,
        "fig2",
        "2",
        "Syncbench, LOCK/UNLOCK",
        f"{WORK} ns of work inside the lock, none outside; each thread is pinned to a core of its"
        " own. OpenMP: a model of libgomp's mutex (papers/workloads/libgomp_lock.h). The program"
        " is the benchmark's loop, not the benchmark, which runs natively (papers/workloads/epcc).",
        y_label="overhead, microseconds per lock/unlock",
        points=points_on(cores),
        value=overhead,
        claims=claims,
        fields=FIELDS,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
