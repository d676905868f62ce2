#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 4 b: the gain on all cores against the work of a task."""

import math
import sys

from claims import Part, claim
from common import Claim, Figure, Point, Results, main
from monitor_mwait import LIBGOMP, MONITOR, OPTERON, Cores, figure_on
from monitor_mwait_tasks import LOCKS, WORK, microseconds, notes, task_point
from rules import more, order

WORKS = (100, 1_000, 10_000, 100_000, 1_000_000, 4_000_000)  # nanoseconds
QUICK = (100, 10_000, 4_000_000)


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        most = cores.all[-1]
        return [
            task_point(name, work, most, -(-cores.tasks * WORK // work), work)
            for name in LOCKS
            for work in (QUICK if quick else WORKS)
        ]

    return points


def prepare(runs: list[dict]) -> None:
    """Adds to each run how much faster it is than the original with the same work."""
    done = [run for run in runs if "error" not in run]
    base = {run["x"]: microseconds(run) for run in done if run["series"] == LIBGOMP}
    for run in done:
        run["gain"] = base.get(run["x"], float("nan")) / microseconds(run)


def gain(run: dict) -> float:
    return run["gain"]


def claims(results: Results) -> list[Claim]:
    program, works = results.program(""), results.xs("")

    def line(name: str) -> dict[str, float]:
        values = {x: results.value("", name, x, gain) for x in works}
        return {
            f"{program}: {name}, {x / 1000:g} us": math.nan if y is None else y
            for x, y in values.items()
        }

    lines = [line(name) for name in MONITOR]
    return [
        Claim(
            "the improvement drops with the amount of work",
            [Part(order(), each) for each in lines],
            WHY_DROPS,
        ),
        claim(
            "but our implementations still outperform the original lock",
            more(),
            {name: value for each in lines for name, value in each.items()},
            WHY,
        ),
    ]


WHY_DROPS = (
    "it drops from 10 us on. Of shorter tasks a thread makes more, most of which find a full queue"
    " and run without the lock, and so the factor is smaller there (monitor_mwait_fig3_tasks)"
)
WHY = (
    "where a task is far longer than passing the lock 64 times, the lock is free when it is asked"
    " for, and the original's uncontended pair is the shorter one"
)


def figure(cores: Cores) -> Figure:
    return figure_on(
        cores,
        "fig4_work",
        "4 b",
        "Taskbench, work of a task",
        f"{cores.all[-1]} cores. {notes(cores)} Longer tasks are fewer: the work of a thread"
        " stays the same, 10 ms and 3 tasks of 4 ms at the end in the paper.",
        x_label="nanoseconds of work",
        y_label="times faster than the original",
        points=points_on(cores),
        value=gain,
        more={"microseconds per task of a thread": microseconds},
        claims=claims,
        prepare=prepare,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
