#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 1: time and energy of lock/unlock pairs, 1 to 64 cores."""

import sys

from common import Claim, Figure, Point, Results, main, times

STANDARD = {"pthread-like": "futex", "OpenMP-like": "tatas:spin_then_park", "ticket": "ticket:spin"}
MONITOR = {"MCS, monitor": "mcs:monitor", "1spinner, monitor": "one_spinner:monitor"}
PLAIN = {"MCS, polling": "mcs:spin", "1spinner, polling": "one_spinner:spin"}
WORK = 100  # nanoseconds inside and outside; the paper does not say


def points(quick: bool) -> list[Point]:
    cores = (1, 4, 16, 64) if quick else (1, 2, 4, 8, 16, 24, 32, 48, 64)
    pairs = 300 if quick else 2000
    return [
        Point("", name, n, "lock_pingpong",
              {"lock": lock, "threads": n, "pairs": pairs, "work": WORK, "pin": "compact"})
        for name, lock in (STANDARD | MONITOR | PLAIN).items()
        for n in cores
    ]  # fmt: skip


def nanoseconds(run: dict) -> float:
    """Per pair, all threads together: what one passing of the lock costs."""
    return run["seconds"] / run["operations"] * 1e9


def microjoules(run: dict) -> float:
    return run["watts"] * run["seconds"] / run["operations"] * 1e6


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
                    note=NOTES[what],
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

FIGURE = Figure(
    name="monitor_mwait_fig1",
    title="Lock and unlock: time and energy (monitor-mwait, figure 1)",
    paper="H. Akkan, M. Lang, L. Ionkov, LA-UR-13-26575, figure 1",
    machine="opteron-6272",
    x_label="cores",
    y_label="ns per lock/unlock pair",
    points=points,
    value=nanoseconds,
    more={"microjoules per pair, whole machine": microjoules},
    claims=claims,
    notes=f"Each thread is pinned to a core of its own; {WORK} ns of work inside the lock and as"
    " much outside. OpenMP-like: polls with back-off, then sleeps, as libgomp's lock does.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
