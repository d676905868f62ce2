#!/usr/bin/env python3
"""TSX for HPC, figure 6: a user-level TCP/IP stack; five ways to lock and to wait."""

import math
import sys

from common import Claim, Figure, Point, Results, main, times

PROGRAMS = ("netdedup", "netferret", "netstreamcluster")
LOCKINGS = ("mutex", "tsx.abort", "tsx.cond", "mutex.busywait", "tsx.busywait")
BASELINE = "mutex"


def points(quick: bool) -> list[Point]:
    connections = (1,) if quick else (1, 2)
    return [
        Point(
            program,
            locking,
            n,
            f"netstack/{program}",
            {"preset": "tiny" if quick else "sim", "locking": locking, "threads": n},
        )
        for program in PROGRAMS
        for locking in LOCKINGS
        for n in connections
    ]


def prepare(runs: list[dict]) -> None:
    """Bandwidths are over those of `mutex`."""
    base = {
        (r["panel"], r["x"]): r["bytes_per_second"]
        for r in runs
        if r["series"] == BASELINE and "error" not in r
    }
    for run in runs:
        if "error" not in run:
            own = base.get((run["panel"], run["x"]), float("nan"))
            run["normalized"] = run["bytes_per_second"] / own


def all_connections(results: Results) -> int:
    return max(x for panel in results.panels() for x in results.xs(panel))


def average(results: Results, locking: str) -> float:
    """The programs' geometric mean of bandwidths over the baseline's."""
    most = all_connections(results)
    values = [results.ratio(panel, locking, BASELINE, most) for panel in results.panels()]
    return math.prod(values) ** (1 / len(values))


def claims(results: Results) -> list[Claim]:
    most = all_connections(results)

    def at(panel: str, locking: str) -> float:
        return results.ratio(panel, locking, BASELINE, most)

    def arrived(*lockings: str) -> str:
        """How many packets the server got: TCP joins what has to wait for the window."""
        counts = [
            (name, results.value("netferret", name, most, lambda run: run["segments_received"]))
            for name in lockings
        ]
        return "segments that arrived: " + ", ".join(f"{name} {count}" for name, count in counts)

    busy = [at(panel, "tsx.busywait") for panel in results.panels()]
    gain, cond = average(results, "tsx.busywait"), average(results, "tsx.cond")
    ferret = {locking: at("netferret", locking) for locking in LOCKINGS}
    return [
        Claim(
            "tsx.abort: the performance drops drastically on netferret",
            f"{times(ferret['tsx.abort'])} of mutex",
            ferret["tsx.abort"] < 0.7,
            JOINED,
            arrived("mutex", "tsx.abort"),
        ),
        Claim(
            "tsx.cond is much better on netferret than tsx.abort, and has some benefit over mutex",
            f"{times(ferret['tsx.cond'])} of mutex",
            ferret["tsx.cond"] > max(1, 1.2 * ferret["tsx.abort"]),
            JOINED,
            arrived("mutex", "tsx.cond"),
        ),
        Claim(
            "tsx.cond is on average very similar to mutex",
            times(cond),
            0.8 < cond < 1.25,
            "netferret alone raises it: " + JOINED,
        ),
        Claim(
            "tsx.busywait improves all of the programs significantly",
            f"{times(min(busy))} to {times(max(busy))}",
            min(busy) > 1.1,
            SPINNERS,
        ),
        Claim(
            "tsx.busywait: 1.31x bandwidth on average",
            times(gain),
            1.31 / 1.5 <= gain <= 1.31 * 1.5,
            note="agrees means within a factor of 1.5",
        ),
    ]


JOINED = "a faster sender fills the window, and TCP then joins small queries into fewer segments"
SPINNERS = (
    "six threads spin at two connections (two clients, two servers, two receivers) on four cores"
    " with two threads each; on eight cores nothing is lost (docs/differences.md)"
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
