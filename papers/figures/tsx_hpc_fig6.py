#!/usr/bin/env python3
"""TSX for HPC, figure 6: a user-level TCP/IP stack; five ways to lock and to wait."""

import math
import sys

from claims import AVERAGE, Part, claim
from common import Claim, Figure, Point, Results, main
from rules import equal, less, more, number
from sweep import seeded

PROGRAMS = ("netdedup", "netferret", "netstreamcluster")
LOCKINGS = ("mutex", "tsx.abort", "tsx.cond", "mutex.busywait", "tsx.busywait")
BASELINE = "mutex"


def points(quick: bool) -> list[Point]:
    connections = (2,) if quick else (1, 2)
    found = [
        Point(
            program,
            locking,
            n,
            f"netstack/{program}",
            {"preset": "sim", "locking": locking, "threads": n},
        )
        for program in PROGRAMS
        for locking in LOCKINGS
        for n in connections
    ]
    return found if quick else seeded(found, lambda p: p.x == connections[-1])


def prepare(runs: list[dict]) -> None:
    """Bandwidths are over those of `mutex`."""
    base = {
        (r["panel"], r["x"], r.get("seed")): r["bytes_per_second"]
        for r in runs
        if r["series"] == BASELINE and "error" not in r
    }
    for run in runs:
        if "error" not in run:
            own = base.get((run["panel"], run["x"], run.get("seed")), float("nan"))
            run["normalized"] = run["bytes_per_second"] / own


def all_connections(results: Results) -> int:
    return max(x for panel in results.panels() for x in results.xs(panel))


def average(results: Results, locking: str) -> float:
    """The programs' geometric mean of bandwidths over the baseline's."""
    most = all_connections(results)
    values = [results.ratio(panel, locking, BASELINE, most) for panel in results.panels()]
    return math.prod(values) ** (1 / len(values))


def claims(results: Results) -> list[Claim]:
    most_connections = all_connections(results)

    def over_mutex(locking: str, *panels: str) -> dict:
        return results.ratios(locking, BASELINE, panels or PROGRAMS, [most_connections])

    def arrived(*lockings: str) -> str:
        """How many packets the server got: TCP joins what has to wait for the window."""
        counts = [
            (name, results.value("netferret", name, most_connections, segments))
            for name in lockings
        ]
        return "segments that arrived: " + ", ".join(f"{name} {count}" for name, count in counts)

    aborting = results.ratios("tsx.cond", "tsx.abort", ["netferret"], [most_connections])
    others = [name for name in PROGRAMS if name != "netferret"]
    return [
        claim(
            "tsx.abort: the performance drops drastically on netferret",
            less(clearly=True),
            over_mutex("tsx.abort", "netferret"),
            JOINED,
            arrived("mutex", "tsx.abort"),
            what="over mutex",
        ),
        Claim(
            "tsx.cond is much better on netferret than tsx.abort, and has some benefit over mutex",
            [
                Part(more(clearly=True), aborting, what="over tsx.abort"),
                Part(more(), over_mutex("tsx.cond", "netferret"), what="over mutex"),
            ],
            JOINED,
            arrived("mutex", "tsx.cond"),
        ),
        Claim(
            "tsx.cond: but for netferret, workloads observe little benefit, and the average is very"
            " similar to mutex",
            [
                Part(equal(), {AVERAGE: average(results, "tsx.cond")}),
                Part(equal(), over_mutex("tsx.cond", *others), what="over mutex"),
                Part(more(), over_mutex("tsx.cond", "netferret"), what="over mutex"),
            ],
            "netferret alone raises the average: " + JOINED,
        ),
        claim(
            "tsx.busywait improves all of the programs significantly",
            more(clearly=True),
            over_mutex("tsx.busywait"),
            SPINNERS,
            what="over mutex",
        ),
        Claim(
            "tsx.busywait: 1.31x bandwidth on average, and all of the programs gain",
            [
                Part(number(1.31), {AVERAGE: average(results, "tsx.busywait")}),
                Part(more(), over_mutex("tsx.busywait"), what="each"),
            ],
            SPINNERS,
            headline="TCP stack, busy-waiting: 1.31x the bandwidth on average, all programs gain",
        ),
    ]


def segments(run: dict) -> int:
    return run["segments_received"]


JOINED = "a faster sender fills the window, and TCP then joins small queries into fewer segments"
SPINNERS = (
    "six threads spin at two connections (two clients, two servers, two receivers) on four cores"
    " with two threads each; on eight cores netstreamcluster gains, and netdedup was not tried"
    " (docs/internals/differences.md)"
)

FIGURE = Figure(
    name="tsx_hpc_fig6",
    title="A user-level TCP/IP stack (TSX for HPC, figure 6)",
    paper="R. M. Yoo, C. J. Hughes, K. Lai, R. Rajwar, SC 2013, figure 6",
    machine="haswell-4c8t",
    x_label="connections",
    y_label="server-side read bandwidth over mutex",
    points=points,
    prepare=prepare,
    value=lambda run: run["normalized"],
    claims=claims,
    notes="Client and server are one process with a stack each, joined by queues in memory: the"
    " simulated machine has no processes and no kernel's network. The stack and the programs are"
    " our own, after the paper's description; averages are geometric, over the programs.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
