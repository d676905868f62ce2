#!/usr/bin/env python3
"""Always-abort HTM, figure 9: a cache with one lock, as memcached 1.4.5."""

import math
import sys

from always_abort import HTM, LOCKS, MACHINE, PAPER, aborted, per_second
from claims import claim
from common import Claim, Figure, Point, Results, add_speedup, best, best_over, main
from rules import best as best_rule
from rules import equal, more, number
from sweep import seeded

DEFAULT = "default"  # pthread's mutex
READS, WRITES = "10 % sets", "50 % sets"
PANELS = {READS: 10, WRITES: 50}
ALL = {DEFAULT: "pthread"} | {
    name: lock for name, lock in LOCKS.items() if name not in ("htm-1", "tatas-pri-aahtm")
}
KEYS = 260_000  # of 192 bytes: more than the last-level cache
WORK = 5000  # nanoseconds: reading a request from a socket and sending the answer, an estimate


def points(quick: bool) -> list[Point]:
    found = [
        Point(panel, name, n, "coarse_cache",
              {"lock": lock, "sets": sets, "keys": KEYS, "threads": n,
               "work": WORK, "microseconds": 2000, "pin": "compact"})
        for panel, sets in PANELS.items()
        for name, lock in ALL.items()
        for n in ((1, 8, 18) if quick else (1, 4, 8, 18))
    ]  # fmt: skip
    return found if quick else seeded(found, lambda p: p.x == 18)


def claims(results: Results) -> list[Claim]:
    x = results.xs(READS)[-1]
    locks = [name for name in ALL if name not in HTM]
    spinning = [name for name in locks if name != DEFAULT]
    share = results.value(READS, "htm-10", x, aborted) or 0
    reads = best_over(results, READS, ["htm-10"], locks, x)

    def over(above: str, below: str) -> dict:
        return results.ratios(above, below, [WRITES], [x])

    others = [name for name in locks if name != "tatas-aahtm"]
    name = best(results, WRITES, others, x)[0]
    writes = results.spread(WRITES, "tatas-aahtm", name, x)
    return [
        claim(
            "90 % reads: HTM outperforms all lock-based solutions at high thread counts",
            best_rule(),
            {READS: reads},
            note=f"{share:.0f} % of htm-10's transactions abort",
            what=f"htm-10 over the best lock with {x}",
        ),
        claim(
            "90 % reads: HTM is about twice as fast as the default",
            number(2),
            results.ratios("htm-10", DEFAULT, [READS], [x]),
            why_htm(results),
            what=f"htm-10 over pthread's mutex with {x}",
        ),
        claim(
            "50 % writes: locks are more performant than HTM",
            more(),
            {f"{WRITES}: {lock}": results.spread(WRITES, lock, "htm-10", x) for lock in spinning},
            why_htm(results),
            what=f"over htm-10 with {x}",
        ),
        claim(
            "50 % writes: the AAHTM TATAS lock is the best lock solution",
            best_rule(),
            {WRITES: writes},
            why_default(results),
            what=f"over {name} with {x}",
        ),
        claim(
            "50 % writes: the AAHTM TATAS lock is about 2.5 times as fast as the default",
            number(2.5),
            over("tatas-aahtm", DEFAULT),
            why_default(results),
            what=f"over pthread's mutex with {x}",
            headline="memcached: up to 2.5 times the default, with the AAHTM TATAS lock",
        ),
        claim(
            "50 % writes: the AAHTM ticket lock gives on-par performance with it",
            equal(),
            over("ticket-aahtm", "tatas-aahtm"),
            WHY_PAR,
            what=f"ticket-aahtm over tatas-aahtm with {x}",
        ),
        claim(
            "the same with our best such lock, ticket-aahtm",
            number(2.5),
            over("ticket-aahtm", DEFAULT),
            why_default(results),
            what=f"over pthread's mutex with {x}",
            beyond="the paper's factor is of its TATAS lock",
        ),
    ]


def held(results: Results, name: str) -> float:
    """Nanoseconds for which a thread that had to wait then holds the lock, in the mean, where half
    of the requests are sets."""
    run = results.run(WRITES, name, results.xs(WRITES)[-1])
    return run.get("most_waited", {}).get("held_ns", math.nan) if run else math.nan


def why_htm(results: Results) -> str:
    return (
        "a request takes the lock two or three times, and holds it for about"
        f" {held(results, 'ticket'):.0f} ns each (ticket), beside {WORK / 1000:g} us of its own:"
        " sections of a few lines of code, which meet less often as transactions than memcached's,"
        " whose own share the paper does not tell"
    )


def why_default(results: Results) -> str:
    return (
        f"with {results.xs(WRITES)[-1]} threads, those who had to wait for the ticket lock then"
        f" hold it for {held(results, 'ticket'):.0f} ns in the mean, and for"
        f" {held(results, 'ticket-aahtm'):.0f} where they have run ahead; how long tatas is held"
        " the machine does not tell. What is left is mostly lines that the last holder has written"
        " (counts, heads of lists, the locks themselves): what nobody can fetch ahead. Slower"
        " memory, cheaper transfers and a dearer futex each bring us nearer"
        " (docs/internals/differences.md)"
    )


WHY_PAR = "running ahead gains more with the ticket lock, as the row of the best lock says"

FIGURE = Figure(
    name="always_abort_fig9",
    title="A cache with one lock (always-abort, figure 9)",
    paper=f"{PAPER}, figure 9, section IV-A.2",
    machine=MACHINE,
    x_label="threads",
    y_label="speed-up over one thread with pthread's mutex",
    points=points,
    prepare=lambda runs: add_speedup(runs, DEFAULT, per_second),
    value=lambda run: run["speedup"],
    claims=claims,
    fields=("operations", "seconds", "transactions", "most_waited"),
    notes="`papers/workloads/coarse_cache.cpp` in the place of memcached 1.4.5, which is not to be"
    " had any more: the same lock around table and list of use, with those of the free items and"
    " of the statistics inside, keys of 8 bytes, values of 128, and 5 us of computation a request"
    " for what memcached does outside of its lock (sockets, above all). The table is larger than"
    " the last-level cache and begins outside of it. The paper's second, finer-grained memcached"
    " (1.4.36) is left out. The number of keys, the 5 us and what a section does were chosen after"
    " first sweeps.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
