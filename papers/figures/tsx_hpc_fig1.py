#!/usr/bin/env python3
"""TSX for HPC, figure 1: CLOMP-TM with 4 threads; atomics, locks and transactions."""

import math
import sys

from claims import Part, claim
from common import Claim, Figure, Point, Results, main
from rules import inside, less, more
from sweep import seeded

MODES = {
    "Small Atomic": "small_atomic",
    "Small Critical": "small_critical",
    "Large Critical": "large_critical",
    "Small TM": "small_tm",
    "Large TM": "large_tm",
}
SERIAL = "serial"
LOCK = "tatas:spin_then_park"


def points(quick: bool) -> list[Point]:
    scatters = (1, 2, 3, 4, 6, 10) if quick else tuple(range(1, 17))
    passes = 4 if quick else 10
    result = []
    for n in scatters:
        common = {"scatters": n, "passes": passes, "lock": LOCK, "pin": "compact"}
        for name, mode in ({SERIAL: SERIAL} | MODES).items():
            threads = 1 if mode == SERIAL else 4
            options = common | {"mode": mode, "threads": threads}
            result.append(Point("", name, n, "clomp_tm", options))
    return seeded(result, lambda p: not quick)


def prepare(runs: list[dict]) -> None:
    """The speedup is over the serial version at the same scatter count."""
    serial = {
        (r["x"], r["seed"]): r["seconds"]
        for r in runs
        if r["series"] == SERIAL and "error" not in r
    }
    for run in runs:
        if "error" not in run:
            own = serial.get((run["x"], run["seed"]), float("nan"))
            run["speedup"] = own / run["seconds"]


def crossing(results: Results) -> int | None:
    """From how many updates on transactions are faster than atomics; None: never."""
    xs = results.xs("")

    def passes(x: int) -> bool:
        return results.ratio("", "Large TM", "Small Atomic", x) > 1

    return next((x for x in xs if all(passes(later) for later in xs if later >= x)), None)


def nearer(results: Results) -> dict[str, float]:
    """By how much Small TM's factor over Small Critical is above Small Atomic's over it."""
    return {
        results.case("", x): results.ratio("", "Small TM", "Small Critical", x)
        / results.ratio("", "Small Atomic", "Small TM", x)
        for x in results.xs("")
    }


def claims(results: Results) -> list[Claim]:
    xs, first = results.xs(""), crossing(results)

    def over(above: str, below: str) -> dict:
        return results.ratios(above, below, [""], xs)

    return [
        claim(
            "Large TM outperforms Small Atomic once 3 to 4 updates are batched",
            inside(3, 4),
            {results.program(""): math.nan if first is None else first},
            CROSSING_WHY,
            CROSSING_NOTE,
            unit=" updates",
            what="from",
            headline="transactions pass atomics from 3 to 4 updates on",
        ),
        claim(
            "update by update, Small Atomic is the fastest: faster than Small TM",
            less(),
            over("Small TM", "Small Atomic"),
            what="Small TM over Small Atomic",
            note="and Small TM than Small Critical, by the next row",
        ),
        Claim(
            "Small TM is not too much worse, while Small Critical performs a lot worse",
            [
                Part(more(), nearer(results), what="the latter's factor over the former's"),
                Part(
                    less(clearly=True),
                    over("Small Critical", "Small TM"),
                    what="Small Critical over Small TM",
                ),
            ],
            note="not too much: behind Small Atomic by a smaller factor than ahead of Small"
            " Critical",
        ),
        Claim(
            "Large Critical suffers from lock contention and remains slow, where Large TM does not",
            [
                Part(
                    less(clearly=True),
                    over("Large Critical", name),
                    what=f"Large Critical over {name}",
                )
                for name in ("Large TM", "Small Atomic")
            ],
        ),
    ]


CROSSING_WHY = (
    "the model charges for accesses, not for instructions: the code around a transaction is nearly"
    " free"
)
CROSSING_NOTE = (
    "by the machine file, begin and commit take 45 cycles together, as much as 2.5 atomic additions"
    " on a line held, all estimates"
)

FIGURE = Figure(
    name="tsx_hpc_fig1",
    title="CLOMP-TM with 4 threads (TSX for HPC, figure 1)",
    paper="R. M. Yoo, C. J. Hughes, K. Lai, R. Rajwar, SC 2013, figure 1",
    machine="haswell-4c8t",
    x_label="scatters per zone",
    y_label="speedup over serial",
    points=points,
    prepare=prepare,
    value=lambda run: run["speedup"],
    claims=claims,
    fields=("seconds",),
    notes="Four threads on four cores, none of which share zones. Transactions retry up to five"
    " times, as the paper's.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
