#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 3: PARALLEL TASK of the EPCC taskbench."""

import sys

from common import Claim, Figure, Results, main
from monitor_mwait import LIBGOMP, ONE_SPINNER, OPTERON, Cores, figure_on, gain_text, gains
from monitor_mwait_tasks import NOTES, WORK, microseconds, points_on


def overhead(run: dict) -> float:
    return microseconds(run) - WORK * 1e-3


def claims(results: Results) -> list[Claim]:
    cores = results.xs("")
    few, most = cores[1], cores[-1]
    at_few = gains(results, LIBGOMP, few, overhead)
    at_most = gains(results, LIBGOMP, most, overhead)
    return [
        Claim(
            "comparable performance for low core count",
            f"at {few} cores: {gain_text(at_few)}",
            all(0.5 <= ratio <= 2 for ratio in at_few.values()),
            WHY_FEW,
            "within a factor of 2 counts as agreement",
        ),
        Claim(
            "both strongly outperform the original as the number of cores increases",
            f"at {most} cores: {gain_text(at_most)}",
            all(ratio >= 2 for ratio in at_most.values()),
            note="twice as fast counts as strongly",
        ),
        Claim(
            "up to 23 times for 64 cores",
            f"at {most} cores: {at_most[ONE_SPINNER]:.1f} times",
            11 <= at_most[ONE_SPINNER] <= 46,
            WHY_FACTOR,
            "within a factor of 2 counts as agreement",
        ),
    ]


WHY_FEW = (
    "falling asleep on a monitor and waking up takes longer, by the machine file's estimates, than"
    " passing the lock between two cores of a module; without MWAIT they are comparable"
)
WHY_FACTOR = (
    "as in figure 2; each task also calls the kernel once in vain, with every lock, which narrows"
    " the difference"
)


def figure(cores: Cores) -> Figure:
    return figure_on(
        cores,
        "fig3",
        "3",
        "Taskbench, PARALLEL TASK",
        NOTES,
        y_label="overhead, microseconds per task of a thread",
        points=points_on(cores),
        value=overhead,
        claims=claims,
    )


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
