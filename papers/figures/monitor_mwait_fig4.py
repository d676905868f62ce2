#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 4 a: energy of the taskbench."""

import sys

from claims import claim
from common import Claim, Figure, Results, main
from monitor_mwait import (
    FIELDS,
    LIBGOMP,
    ONE_SPINNER,
    OPTERON,
    Cores,
    figure_on,
    microjoules,
)
from monitor_mwait_tasks import notes, points_on, why
from rules import more, number


def claims(results: Results) -> list[Claim]:
    x, program = results.xs("")[-1], results.program("")
    return [
        claim(
            "1spinner uses 6 times less energy than the original",
            number(6),
            {program: results.spread("", LIBGOMP, ONE_SPINNER, x)},
            why(results, WHY),
            what=f"the original's energy over 1spinner's at {x} cores",
            headline="tasks: 6 times less energy with 64 cores",
        ),
        claim(
            "MWAIT in place of polling saves energy",
            more(),
            {program: results.spread("", "1spinner, polling", ONE_SPINNER, x)},
            what=f"energy of 1spinner polling over 1spinner with the monitor at {x} cores",
            beyond="the paper's motivation; it measures no lock that polls",
        ),
    ]


WHY = (
    "rests on the number of tasks a thread, as figure 3 (monitor_mwait_fig3_tasks). The paper's"
    " energy is that of the taskbench as a whole, as its text has it, of which PARALLEL TASK is one"
    " test among several; ours is of that test alone. And the watts are estimates"
)


def figure(cores: Cores) -> Figure:
    return figure_on(
        cores,
        "fig4",
        "4 a",
        "Taskbench, energy",
        notes(cores),
        y_label="microjoules per task, whole machine",
        points=points_on(cores),
        value=microjoules,
        kept=f"monitor_mwait_fig3{cores.suffix}",
        claims=claims,
        fields=FIELDS,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
