"""The web server's sweep (the Ruby paper's figure 7), which the machines' scripts share."""

import math

from claims import claim
from common import Claim, Figure, Point, Results
from ruby_gil import (
    DYNAMIC,
    FIXED,
    GIL,
    HASWELL,
    NOTES,
    PAPER,
    WHY_SHORT,
    ZEC12,
    aborted,
    balance_near_best,
    not_the_papers,
    points,
    prepare,
    throughput,
)
from rules import best, no_gain, number

PANEL = "http"
CLIENTS = (1, 2, 3, 4, 5, 6)
# At their best, over the lock with one client, and over the lock at its best (section 5.5).
LOCK = {ZEC12: 1.17, HASWELL: 1.26}
ELIDED = {ZEC12: 1.33, HASWELL: 1.97}
OVER = {ZEC12: 1.14, HASWELL: 1.57}


def figure_points(machine: str, quick: bool) -> list[Point]:
    return points(machine, {PANEL: 10 if quick else 30}, (1, 6) if quick else CLIENTS)


def peak(results: Results, series: str) -> float:
    return max((y for _, y in results.line(PANEL, series)), default=math.nan)


def claims(machine: str, results: Results) -> list[Claim]:
    stated = machine if machine in LOCK else HASWELL
    lock = peak(results, GIL)
    ways = {f"{PANEL}: {name}": peak(results, name) for name in ("HTM-1", DYNAMIC)}
    others = max(peak(results, name) for name in FIXED if name != "HTM-1")
    fixed = max(peak(results, name) for name in FIXED)
    return [
        claim(
            f"the lock gains {LOCK[stated]:.2f} times, as it is released during I/O",
            number(LOCK[stated]),
            {PANEL: lock},
            WHY_LOCK,
            "how long I/O takes is our choice",
        ),
        claim(
            f"HTM-1 and HTM-dynamic: {ELIDED[stated]:.2f} times the lock with one client",
            number(ELIDED[stated]),
            ways,
            WHY_ELIDED,
        ),
        claim(
            f"HTM-1 and HTM-dynamic: {OVER[stated]:.2f} times the lock at its best",
            number(OVER[stated]),
            {name: value / lock for name, value in ways.items()},
            WHY_ELIDED,
        ),
        claim(
            "HTM-1 is the best or one of the best fixed lengths",
            best(near=True),
            {PANEL: ways[f"{PANEL}: HTM-1"] / others},
            WHY_ELIDED,
            what="over the best of the others",
        ),
        claim(
            "HTM-dynamic chooses the best lengths, too",
            best(near=True),
            {PANEL: ways[f"{PANEL}: {DYNAMIC}"] / fixed},
            WHY_SHORT,
            what="over the best fixed length",
        ),
        *only_zec12(machine, results),
        balance_near_best(results, [PANEL]),
    ]


def only_zec12(machine: str, results: Results) -> list[Claim]:
    if machine != ZEC12:
        return []
    longer = [name for name in FIXED if name != "HTM-1"]
    return [
        claim(
            "HTM-1 and HTM-dynamic do not show better throughput than HTM-16 and HTM-256, because"
            " of conflicts in malloc()",
            no_gain(),
            {
                f"{PANEL}: {name} over {other}": peak(results, name) / peak(results, other)
                for name in ("HTM-1", DYNAMIC)
                for other in longer
            },
            WHY_MALLOC,
        )
    ]


WHY_MALLOC = "Lua's threads allocate from heaps of their own, and do not meet there"
WHY_LOCK = "I/O is a sleep here, and takes a larger part of a request than the paper's"
WHY_ELIDED = (
    "requests are channels between threads here, so waking the other side takes the lock, and there"
    " are no pages of the system in between"
)

SERVER = (
    " A thread serves a connection; clients are threads of the same program. Ruby on Rails, the"
    " figure's third part, needs the elided lock in Ruby itself"
    " ([integrations/ruby](../../../integrations/ruby/README.md))."
)


def figure(name: str, machine: str, title: str) -> Figure:
    return Figure(
        name=name,
        title=title,
        paper=f"{PAPER}, figure 7 (WEBrick)",
        machine=machine,
        x_label="clients",
        y_label="throughput, GIL with one client = 1",
        points=lambda quick: figure_points(machine, quick),
        value=throughput,
        more={"aborted transactions, percent": aborted},
        claims=lambda results: claims(machine, results),
        prepare=prepare,
        notes=NOTES + SERVER,
        beyond=not_the_papers(machine),
    )
