"""The web server's sweep (the Ruby paper's figure 7), which the machines' scripts share."""

from common import Claim, Figure, Point, Results, best, times
from ruby_gil import (
    DYNAMIC,
    FIXED,
    GIL,
    NOTES,
    OURS,
    PAPER,
    ZEC12,
    aborted,
    most,
    near_best,
    not_the_papers,
    points,
    prepare,
    throughput,
)

PANEL = "http"
CLIENTS = (1, 2, 3, 4, 5, 6)
# At their best, over the lock with one client (section 5.5).
LOCK = {ZEC12: 1.17}
ELIDED = {ZEC12: 1.33}


def figure_points(machine: str, quick: bool) -> list[Point]:
    return points(machine, {PANEL: 10 if quick else 30}, (1, 6) if quick else CLIENTS)


def claims(machine: str, results: Results) -> list[Claim]:
    x = most(results, PANEL)
    name, value = best(results, PANEL, [*FIXED, DYNAMIC, OURS], x)
    lock = results.value(PANEL, GIL, x) or float("nan")
    paper = LOCK.get(machine, 1.26), ELIDED.get(machine, 1.97)
    return [
        Claim(
            f"the lock gains {paper[0]:.2f} times, as it is released during I/O",
            f"{x} clients: {times(lock)}",
            lock > 1.05,
            WHY_LOCK,
            "any gain counts as agreement: how long I/O takes is our choice",
        ),
        Claim(
            f"elided, {paper[1]:.2f} times the lock with one client",
            f"{x} clients: {name}, {times(value)}",
            value >= 0.9 * paper[1],
            WHY_ELIDED,
        ),
        Claim(
            "HTM-1 is the best or one of the best fixed lengths",
            f"{times(results.ratio(PANEL, 'HTM-1', best(results, PANEL, list(FIXED), x)[0], x))}"
            " the best of them",
            best(results, PANEL, list(FIXED), x)[0] == "HTM-1",
            WHY_ELIDED,
        ),
        near_best(results, PANEL, OURS),
    ]


WHY_LOCK = "with as many sleeps as the lock is passed on, passing it costs what the waiting saves"
WHY_ELIDED = (
    "requests are channels between threads here, so waking the other side takes the lock, and there"
    " are no pages of the system in between"
)

SERVER = (
    " A thread serves a connection; clients are threads of the same program. Ruby on Rails, the"
    " figure's third part, needs the elided lock in Ruby itself ([ruby.md](../../ruby.md))."
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
        notes=NOTES + SERVER + not_the_papers(machine),
    )
