#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 1: time and energy of lock/unlock pairs, 1 to 64 cores."""

import sys

from common import Claim, Figure, Point, Results, main, times
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
    most = results.xs("")[-1]
    rows = []
    for what, value, said in (("time", nanoseconds, 4.0), ("energy", microjoules, 3.5)):
        for ours in MONITOR:
            ratios = {name: results.ratio("", name, ours, most, value) for name in STANDARD}
            text = ", ".join(f"{times(ratio)} less than {name}" for name, ratio in ratios.items())
            largest = max(ratios.values())
            rows.append(
                Claim(
                    f"{ours}: as much as {said:g} times less {what} than standard locks",
                    f"at {most} cores: {text}",
                    said / 2 <= largest <= said * 2,
                    WHY,
                    NOTES[what],
                )
            )
    ratio = results.ratio("", "1spinner, polling", "1spinner, monitor", most, microjoules)
    rows.append(
        Claim(
            "MWAIT in place of polling saves energy (the paper's motivation)",
            f"1spinner: polling takes {times(ratio)} the energy of the monitor",
            ratio > 1,
        )
    )
    return rows


NOTES = {
    "time": "within a factor of 2, against the slowest, counts as agreement: the paper gives"
    " neither the work nor what its factor is taken against. In our pthread-like lock running"
    " threads overtake sleepers, which is fast and unfair",
    "energy": "within a factor of 2, against the slowest, counts as agreement. The watts are"
    " estimates",
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
        " outside. OpenMP: a model of libgomp's mutex (workloads/libgomp_lock.h).",
        y_label="ns per lock/unlock pair",
        points=points_on(cores),
        value=nanoseconds,
        more={"microjoules per pair, whole machine": microjoules},
        claims=claims,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
