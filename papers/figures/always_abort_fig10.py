#!/usr/bin/env python3
"""Always-abort HTM, figure 10: a B+ tree database with one lock, as Kyoto Cabinet's GrassDB."""

import sys

from always_abort import BACK_OFF, HTM, LOCKS, MACHINE, OURS, PAPER, aborted, between, per_second
from claims import claim
from common import Claim, Figure, Point, Results, add_speedup, main
from results import interval
from rules import Value, gained, less, more, most, no_gain, number, spans
from sweep import seeded

DEFAULT = "default"  # a readers-writer lock
ALL = {DEFAULT: "rwlock"} | {
    name: lock for name, lock in (LOCKS | OURS).items() if name != "tatas-pri-aahtm"
}
SMALL, LARGE = "small database", "five times as large"
PANELS = {SMALL: 200_000, LARGE: 1_000_000}  # keys


def points(quick: bool) -> list[Point]:
    found = [
        Point(panel, name, n, "tree_database",
              {"lock": lock, "keys": keys, "threads": n,
               "microseconds": 500, "between": between("tree"), "pin": "compact"})
        for panel, keys in PANELS.items()
        for name, lock in ALL.items()
        for n in ((1, 8, 18) if quick else (1, 2, 4, 8, 18))
    ]  # fmt: skip
    return found if quick else seeded(found, lambda p: p.x >= 4)


def larger_by(results: Results, ahead: str, plain: str, x: int) -> Value:
    """How much larger the large database's factor is, of each seed's four runs."""

    def factors(panel: str) -> list[float]:
        pairs = zip(results.seeds(panel, ahead, x), results.seeds(panel, plain, x), strict=True)
        return [per_second(a) / per_second(b) for a, b in pairs]

    return interval([a - b for a, b in zip(factors(LARGE), factors(SMALL), strict=True)])


def by_conflict(run: dict) -> float:
    """Share of the aborts, in percent."""
    aborts = run["transactions"]["aborts"]
    return 100 * aborts.get("conflict", 0) / max(1, sum(aborts.values()))


def tries(run: dict) -> float:
    """Begins of transactions for each that commits."""
    return run["transactions"]["begins"] / max(1, run["transactions"]["commits"])


def of_htm(results: Results, x: int) -> list[Claim]:
    """The paper's numbers with 20 threads."""
    note = f"with {x} threads, the paper's with 20"

    def each(of) -> dict[str, Value]:
        return {panel: results.interval(panel, "htm-10", x, of) for panel in PANELS}

    return [
        claim("htm-10: each commit requires 4.3 tries on average", number(4.3, neutral=None),
              each(tries), WHY_HTM, note, unit=""),
        claim("htm-10: 91 % of all aborts are caused by conflicts", number(91, neutral=None),
              each(by_conflict), note=f"{note}; 25 % more would be beyond 100 %, so that the rule"
              " bounds it from below alone", unit=" %"),
    ]  # fmt: skip


def claims(results: Results) -> list[Claim]:
    x, counts = results.xs(SMALL)[-1], [n for n in results.xs(SMALL) if n > 1]
    many = [n for n in counts if n >= 4]
    shares = [
        f"{panel}: {name} {results.value(panel, name, x, aborted) or 0:.0f} %"
        for panel in PANELS
        for name in HTM
    ]

    def gains(ahead: str, plain: str) -> dict:
        ratios = results.ratios(ahead, plain, PANELS, many)
        return {name: gained(ratio) for name, ratio in ratios.items()}

    larger = {
        f"{LARGE}: {ahead}, {n} threads": larger_by(results, ahead, plain, n)
        for ahead, plain in PAIRS.items()
        for n in many
    }
    return [
        claim(
            "the default readers-writer lock is significantly slower than tatas in all cases",
            less(clearly=True),
            results.ratios(DEFAULT, "tatas", PANELS, counts),
            WHY_DEFAULT,
            what="over tatas",
        ),
        claim(
            "htm-1 and htm-10 fail to deliver speed-up, due to excessive conflicts",
            no_gain(),
            {f"{panel}: {name}, {n} threads": results.interval(panel, name, n)
             for panel in PANELS for name in HTM for n in counts},
            WHY_HTM,
            f"aborted with {x}: {', '.join(shares)}",
            what="the paper's axis: over one thread with a readers-writer lock",
        ),
        *of_htm(results, x),
        claim(
            "with 4 threads and more, 15 to 27 % gain of ticket-aahtm over ticket",
            spans(15, 27, neutral=0),
            gains("ticket-aahtm", "ticket"),
            WHY_MORE,
            unit=" %",
            headline=HEADLINE,
        ),
        claim(
            "and 4 to 25 % of tatas-aahtm over tatas",
            spans(4, 25, neutral=0),
            gains("tatas-aahtm", "tatas"),
            WHY_MORE,
            unit=" %",
            headline=HEADLINE,
        ),
        claim(
            "in general, the larger database benefits more",
            most(more(neutral=0)),
            larger,
            WHY,
            what="how much larger its factor is",
            unit="",
        ),
        claim(
            "FIFO ticket-aahtm outperforms the unfair tatas",
            more(),
            results.ratios("ticket-aahtm", "tatas", PANELS, many),
            WHY,
            what="ticket-aahtm over tatas",
        ),
    ]  # fmt: skip


PAIRS = {"ticket-aahtm": "ticket", "tatas-aahtm": "tatas"}
HEADLINE = "Kyoto Cabinet: 15 to 27 % with the ticket lock, 4 to 25 % with TATAS"
WHY_DEFAULT = "alike with two and four threads; why has not been tried"
WHY_HTM = (
    "rests on the back-off, whose lengths the paper does not name: where it begins with one PAUSE,"
    " not four, each lock that is taken makes others take it (docs/internals/differences.md)"
)
WHY_MORE = "running ahead gains more here; why has not been tried"
WHY = (
    "rests on who gets the lock next: where threads compute nothing between two operations, the one"
    " that has released tatas takes it again, and what waiters have fetched is not used"
)

FIGURE = Figure(
    name="always_abort_fig10",
    title="A B+ tree database with one lock (always-abort, figure 10)",
    paper=f"{PAPER}, figure 10, section IV-A.3",
    machine=MACHINE,
    x_label="threads",
    y_label="speed-up over one thread with a readers-writer lock",
    points=points,
    prepare=lambda runs: add_speedup(runs, DEFAULT, per_second),
    value=lambda run: run["speedup"],
    claims=claims,
    fields=("operations", "seconds", "transactions"),
    notes="`papers/workloads/tree_database.cpp` stands in the place of Kyoto Cabinet's GrassDB and"
    " its test. The paper's databases come from 1M and 5M random operations; here half of 200,000"
    " and of 1M keys are there at first, outside of the caches, and a run has few operations."
    " Under all locks but the default one, gets are exclusive, too. The count of records and the"
    " leaves' lists of use, both Kyoto's, were added after a first sweep, in which transactions"
    " were further ahead of tatas than here."
    f" Threads compute for {between('tree')} ns between two operations: Kyoto's test prints its"
    " keys, in as many cycles (bench/section_gaps.cpp), and on the model instructions that touch no"
    " memory take no time." + BACK_OFF,
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
