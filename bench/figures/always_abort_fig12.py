#!/usr/bin/env python3
"""Always-abort HTM, figure 12: elision with a speculating fall-back lock, STAMP-like programs."""

import sys

from always_abort import stamp_figure
from common import Claim, Point, Results, main
from stamp import each, point, ratios

COLLAPSES = ("genome", "intruder", "vacation")
PANELS = (*COLLAPSES, "ssca2")
PLAIN, AHEAD = "htm-10", "htm-10-fb-aahtm"
LINES = {"tatas": "tatas:spin", PLAIN: "htm_10", AHEAD: "htm_10_fb_aahtm"}
THREADS = (1, 4, 8, 16)


def points(quick: bool) -> list[Point]:
    return [
        point(panel, name, n, {"variant": "lock", "lock": lock})
        for panel in PANELS
        for name, lock in LINES.items()
        for n in ((1, 4, 16) if quick else THREADS)
    ]


def peak(results: Results, panel: str, series: str) -> int:
    return max(results.line(panel, series), key=lambda pair: pair[1])[0]


def claims(results: Results) -> list[Claim]:
    most = results.xs("genome")[-1]
    gained = ratios(results, AHEAD, PLAIN, most, COLLAPSES)
    peaks = {panel: (peak(results, panel, PLAIN), peak(results, panel, AHEAD)) for panel in PANELS}
    ssca2 = {x: results.ratio("ssca2", AHEAD, PLAIN, x) for x in results.xs("ssca2")}
    return [
        Claim(
            "the fall-back lock with AAHTM brings drastic improvements where HTM had collapsed",
            f"{AHEAD} over {PLAIN} with {most}: {each(gained)}",
            min(gained.values()) > 1.1,
            WHY,
        ),
        Claim(
            "it extends scalability out to sixteen threads",
            "best with so many threads, without and with it: "
            + ", ".join(f"{panel} {a} and {b}" for panel, (a, b) in peaks.items()),
            all(b >= a for a, b in peaks.values()) and any(b > a for a, b in peaks.values()),
            WHY,
        ),
        Claim(
            "ssca2 does not collapse, and is unaffected",
            ", ".join(f"{x} threads {ratio:.2f}x" for x, ratio in ssca2.items()),
            all(0.9 <= ratio <= 1.1 for ratio in ssca2.values()),
            WHY,
        ),
    ]


WHY = (
    "in the paper, three programs collapse; with these small inputs vacation does not, and intruder"
    " has from 4 threads on. In ssca2 our lock with the speculating fall-back costs 12 to 14 % with"
    " one thread already, where nobody speculates: its path is longer"
)

FIGURE = stamp_figure(12, "a speculating fall-back lock", "IV-A.5", points, claims)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
