"""The microbenchmarks' sweep (the Ruby paper's figure 4), which the machines' scripts share."""

from common import Claim, Figure, Point, Results, best, times
from ruby_gil import (
    DYNAMIC,
    FIXED,
    GIL,
    NOTES,
    OURS,
    PAPER,
    THREADS,
    WHY_SHORT,
    aborted,
    most,
    near_best,
    not_the_papers,
    points,
    prepare,
    throughput,
)

SIZES = {"while": 20000, "iterator": 20000}


AT = 12  # threads: the paper's number


def figure_points(machine: str, quick: bool) -> list[Point]:
    return points(machine, SIZES, (1, 4, AT) if quick else THREADS[machine])


def claims(results: Results) -> list[Claim]:
    rows = []
    for panel, paper in (("while", 11), ("iterator", 10)):
        x = AT if AT in results.xs(panel) else most(results, panel)
        name, value = best(results, panel, [*FIXED, DYNAMIC, OURS], x)
        rows.append(
            Claim(
                f"the best gives a {paper}-fold speedup over the lock with 12 threads",
                f"{panel}, {x} threads: {name} gives {times(value)}",
                0.8 * paper <= value <= 1.2 * paper,
                "the interpreter and the machine's costs are others",
                "within a fifth counts as agreement",
            )
        )
        gil = results.value(panel, GIL, x)
        rows.append(
            Claim(
                "the lock does not scale at all",
                f"{panel}: {times(gil if gil is not None else float('nan'))}",
                gil is not None and gil <= 1.1,
                WHY_SHORT,
            )
        )
        rows.append(near_best(results, panel, OURS))
    return rows


def figure(name: str, machine: str, title: str) -> Figure:
    return Figure(
        name=name,
        title=title,
        paper=f"{PAPER}, figure 4 and section 5.3",
        machine=machine,
        x_label="threads",
        y_label="throughput, GIL with one thread = 1",
        points=lambda quick: figure_points(machine, quick),
        value=throughput,
        more={"aborted transactions, percent": aborted},
        claims=claims,
        prepare=prepare,
        notes=NOTES + not_the_papers(machine),
    )
