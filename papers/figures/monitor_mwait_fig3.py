#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 3: PARALLEL TASK of the EPCC taskbench."""

import sys

from claims import claim
from common import Claim, Figure, Results, main
from monitor_mwait import FIELDS, LIBGOMP, LOW, MONITOR, OPTERON, Cores, figure_on, gains
from monitor_mwait_tasks import WORK, microseconds, notes, points_on, why
from rules import equal, middle, more, number


def overhead(run: dict) -> float:
    return microseconds(run) - WORK * 1e-3


def claims(results: Results) -> list[Claim]:
    x = results.xs("")[-1]
    factors = [results.spread("", LIBGOMP, name, x, overhead) for name in MONITOR]
    return [
        claim(
            "comparable performance for low core count",
            equal(),
            gains(results, LIBGOMP, LOW, overhead),
            why(results, WHY_FEW),
            what="the original's overhead over ours",
        ),
        claim(
            "both strongly outperform the original as the number of cores increases",
            more(clearly=True),
            gains(results, LIBGOMP, [x], overhead),
            what="the original's overhead over ours",
        ),
        claim(
            "up to 23 times for 64 cores",
            number(23),
            {results.program(""): max(factors, key=middle)},
            why(results, WHY_FACTOR),
            what=f"the larger factor at {x} cores",
            headline="tasks: up to 23 times faster with 64 cores",
        ),
    ]


WHY_FEW = (
    "with 2 cores they are; with 4, of two modules, ours are ahead by more than a tenth, with MWAIT"
    " and without it; why has not been tried"
)
WHY_FACTOR = (
    "with the paper's number of tasks most find the queue full and run without the lock. With"
    " between 400 and 800 tasks a thread, which no text names, the paper's factor is reached"
    " (monitor_mwait_fig3_tasks); dearer calls of the kernel, and lines that take twice as long to"
    " another node, bring us little nearer (docs/internals/differences.md)"
)


def figure(cores: Cores) -> Figure:
    return figure_on(
        cores,
        "fig3",
        "3",
        "Taskbench, PARALLEL TASK",
        notes(cores),
        y_label="overhead, microseconds per task of a thread",
        points=points_on(cores),
        value=overhead,
        claims=claims,
        fields=FIELDS,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
