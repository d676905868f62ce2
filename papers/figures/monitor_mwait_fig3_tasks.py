#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figures 3 and 4: how the two factors depend on the number of tasks."""

import sys

from claims import claim
from common import Claim, Figure, Point, Results, main
from monitor_mwait import LIBGOMP, MONITOR, ONE_SPINNER, OPTERON, PAPER, microjoules
from monitor_mwait_fig3 import overhead
from monitor_mwait_tasks import WORK, task_point
from rules import number

CORES, TASKS = OPTERON.all[-1], OPTERON.tasks
COUNTS = (50, 100, 200, 400, 800, 1600, 3200, 10_000, TASKS)
QUICK = (50, 400, 3200, TASKS)


def points(quick: bool) -> list[Point]:
    return [
        task_point(name, tasks, CORES, tasks, WORK)
        for name in (LIBGOMP, *MONITOR)
        for tasks in (QUICK if quick else COUNTS)
    ]


def prepare(runs: list[dict]) -> None:
    """Adds what the original takes over what the run takes, with as many tasks."""
    done = [run for run in runs if "error" not in run]
    base = {run["x"]: run for run in done if run["series"] == LIBGOMP}
    for run in done:
        other = base.get(run["x"])
        for name, of in (("time", overhead), ("energy", microjoules)):
            run[name] = of(other) / of(run) if other else float("nan")


def time_factor(run: dict) -> float:
    return run["time"]


def energy_factor(run: dict) -> float:
    return run["energy"]


def claims(results: Results) -> list[Claim]:
    counts = results.xs("")

    def factors(of) -> dict[str, float]:
        return {f"parallel_tasks: {x} tasks": results.value("", ONE_SPINNER, x, of) for x in counts}

    return [
        claim(said, number(stated), factors(of), WHY, beyond=BEYOND)
        for said, stated, of in (
            ("1spinner is 23 times faster with 64 cores, however many tasks", 23, time_factor),
            ("1spinner uses 6 times less energy, however many tasks", 6, energy_factor),
        )
    ]


BEYOND = f"the paper has one number of tasks of 0.1 us, {TASKS:,}"
WHY = (
    "up to 800 tasks a thread the factors grow with their number; from 1,600 on most of a thread's"
    " tasks find the queue full (64 unfinished ones a thread), and run at once, without the lock,"
    " whichever it is"
)

FIGURE = Figure(
    name="monitor_mwait_fig3_tasks",
    title="Taskbench: the number of tasks (monitor-mwait, figures 3 and 4)",
    paper=f"{PAPER}, figures 3 and 4",
    machine=OPTERON.machine,
    x_label="tasks of a thread",
    y_label="times less overhead than the original",
    points=points,
    prepare=prepare,
    value=time_factor,
    more={"times less energy than the original": energy_factor},
    claims=claims,
    notes=f"{CORES} cores, tasks of {WORK / 1000:g} us. Figures 3 and 4 take the last number.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
