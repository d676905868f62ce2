"""The microbenchmarks' sweep (the Ruby paper's figure 4), which the machines' scripts share."""

import math

from claims import claim
from common import Claim, Figure, Point, Results, best
from ruby_gil import (
    DYNAMIC,
    FIXED,
    GIL,
    NOTES,
    PAPER,
    THREADS,
    WHY_SHORT,
    aborted,
    balance_near_best,
    most_threads,
    not_the_papers,
    points,
    prepare,
    throughput,
)
from rules import no_gain, number

SIZES = {"while": 20000, "iterator": 20000}


AT = 12  # threads: the paper's number


def figure_points(machine: str, quick: bool) -> list[Point]:
    return points(machine, SIZES, (1, 4, AT) if quick else THREADS[machine])


STATED = {"while": 11, "iterator": 10}


def claims(results: Results) -> list[Claim]:
    panels = list(STATED)
    x = AT if AT in results.xs("while") else most_threads(results, "while")
    fastest = {panel: best(results, panel, [*FIXED, DYNAMIC], x) for panel in panels}
    lock = {panel: results.value(panel, GIL, x) or math.nan for panel in panels}
    return [
        claim(
            "the best HTM gives an 11- and a 10-fold speedup over the lock with 12 threads",
            number(STATED),
            {panel: value for panel, (_, value) in fastest.items()},
            "the interpreter and the machine's costs are others",
            f"with {x} threads; " + ", ".join(f"{p}: {name}" for p, (name, _) in fastest.items()),
        ),
        claim("the lock does not scale at all", no_gain(), lock, WHY_SHORT),
        balance_near_best(results, panels),
    ]


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
        notes=NOTES,
        beyond=not_the_papers(machine),
    )
