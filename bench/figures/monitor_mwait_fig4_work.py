#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 4 b: the gain on all cores against the work of a task."""

import sys

from common import Claim, Figure, Point, Results, main
from monitor_mwait import LIBGOMP, MONITOR, OPTERON, Cores, figure_on
from monitor_mwait_tasks import LOCKS, NOTES, microseconds, task_point

WORKS = (100, 1_000, 10_000, 100_000, 1_000_000, 4_000_000)  # nanoseconds
QUICK = (100, 10_000, 4_000_000)
TEST = 10_000_000  # nanoseconds of tasks that each thread makes, in the paper
MOST = 100  # tasks of a thread: short tasks are all alike


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        most = cores.all[-1]
        return [
            task_point(name, work, most, min(MOST, -(-TEST // work)), work)
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
    lines = {name: dict(results.line("", name, gain)) for name in MONITOR}
    works = results.xs("")
    text = "; ".join(
        f"{name}: " + ", ".join(f"{line[work]:.2f}x" for work in works if work in line)
        for name, line in lines.items()
    )
    values = [list(line.values()) for line in lines.values()]
    return [
        Claim(
            "the improvement drops with the amount of work",
            f"tasks of {works[0] / 1000:g} to {works[-1] / 1000:g} us: {text}",
            all(line[0] == max(line) and line[-1] < 0.5 * line[0] for line in values),
        ),
        Claim(
            "but our implementations still outperform the original lock",
            f"least: {min(map(min, values)):.3f}x",
            all(least >= 0.995 for least in map(min, values)),
            WHY,
            "not slower by 0.5 % counts as agreement",
        ),
    ]


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
        f"{cores.all[-1]} cores. {NOTES} The paper's threads make tasks of 10 ms together; here at"
        f" most {MOST}.",
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
