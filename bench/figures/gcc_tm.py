"""What the figures of gcc_tm share beyond their runs: what is shown, the paper's tables, ratios."""

import math
import statistics

from common import Claim, Figure, Results, times
from gcc_tm_runs import ALONE, COUNTS, MEMSLAP, ROUNDS, measure, points_of

PAPER = 'Ruan, Vyas, Liu & Spear, "Transactionalizing Legacy Code", ASPLOS 2014, '
TABLE_THREADS = 4
# Transactions, in-flight switch, start serial, abort serial; four threads, 2.5 million operations.
STATED = {
    "ip-relaxed": (11201538, 625000, 625000, 10),
    "it-relaxed": (3462735, 625000, 1250000, 0),
    "ip-callable": (10511717, 625000, 625000, 10),
    "it-callable": (3467927, 625000, 1250000, 0),
    "ip-max": (24085893, 1162000, 0, 87000),
    "it-max": (6370739, 559000, 1250000, 66000),
    "ip-lib": (25658618, 625000, 0, 15000),
    "it-lib": (8211858, 0, 625000, 10000),
    "ip-on-commit": (40305505, 0, 0, 48000),
    "it-on-commit": (8130896, 0, 0, 8000),
}
WHY_COUNTS = {
    "relaxed": "GCC 12 takes functions of other files for unsafe, so most sections begin alone",
    "callable": "GCC 12 heeds the attribute within one file only; there, all begin and then switch",
    "max": "ip compares keys outside of transactions, it inside of them, by memcmp",
    "lib": "our sections wake and log only when there is something to do, memcached's each time",
    "on-commit": "nothing is left that cannot be rolled back",
}
NETWORK = "on two processors the network, memslap and the system take most of the time"
# Where little can run side by side, this weighs more than what is serialized.
CHEAP_ALONE = "what runs alone is not instrumented, and two processors run little else meanwhile"
SAME, MORE = 1.10, 1.05  # "the same": within 10 %; "slower": by more than 5 %


def branches(*stages: str) -> list[str]:
    return [f"{branch}-{stage}" for branch in ("ip", "it") for stage in stages]


def figure(name: str, what: str, series: list[str], claims, table=None) -> Figure:
    """A figure of the paper; `table`: its number and the stages of the table that belongs to it."""
    key = name.removeprefix("fig")
    tables = (lambda results: table_lines(*table, results)) if table else (lambda results: [])
    return Figure(
        name=f"gcc_tm_{name}",
        title=f"Transactional memcached: {what} (figure {key})",
        paper=PAPER + f"figure {key}" + (f" and table {table[0]}" if table else ""),
        machine="",
        x_label="threads of server and client",
        y_label=f"seconds, median of up to {ROUNDS} rounds",
        points=lambda quick: points_of(series, quick),
        value=lambda run: statistics.median(run["seconds"]),
        error=lambda run: statistics.stdev(run["seconds"]) if len(run["seconds"]) > 1 else 0.0,
        claims=claims,
        notes=NOTES,
        measure=measure,
        tables=tables,
    )


NOTES = """\
Measured and not simulated: with `-fgnu-tm`, GCC tells a modeled machine each access of a
transaction as a plain one, beside the call of libitm that makes it; and servers wait in the kernel.
[workloads/txcache](../../workloads.md#a-cache-from-locks-to-transactions) in the place of
memcached 1.4.15, on GCC 12's libitm; `@` names an algorithm and a contention manager of our library
instead. The paper had 12 cores; here every number of threads beyond two shares two processors with
its clients. Error bars: a standard deviation each way, as in the paper. "The same" is within 10 %,
"slower" and "faster" by more than 5 %, in the geometric mean over all numbers of threads unless one
is named.\
"""


# ---- ratios ----


def mean_ratio(results: Results, panel: str, above: str, below: str) -> float:
    """The geometric mean over the numbers of threads; nan where one is missing."""
    ratios = [results.ratio(panel, above, below, x) for x in results.xs(panel)]
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else float("nan")


def at_most_threads(results: Results, panel: str, above: str, below: str) -> float:
    return results.ratio(panel, above, below, max(results.xs(panel)))


def is_same(ratio: float) -> bool:
    return 1 / SAME <= ratio <= SAME


def is_slower(ratio: float) -> bool:
    return ratio > MORE


def is_faster(ratio: float) -> bool:
    return ratio < 1 / MORE


def compared(results: Results, paper: str, above: str, below: str, holds, why: str,
             ratio=mean_ratio) -> list[Claim]:  # fmt: skip
    """The claim for each panel: the time of one series over another's."""
    claims = []
    for panel in (MEMSLAP, ALONE):
        value = ratio(results, panel, above, below)
        threads = f" at {max(results.xs(panel))} threads" if ratio is at_most_threads else ""
        ours = f"{panel}: {above} takes {times(value)} the time of {below}{threads}"
        reason = f"{NETWORK}; {why}" if panel == MEMSLAP and why != NETWORK else why
        claims.append(Claim(paper, ours, holds(value), reason))
    return claims


# ---- the tables ----


def counts(results: Results, series: str) -> tuple[int, ...]:
    """Under memslap, at four threads."""
    run = results.run(MEMSLAP, series, TABLE_THREADS)
    return tuple(round(run[name]) for name in COUNTS) if run else (0, 0, 0, 0)


def share(all_counts: tuple[int, ...], index: int) -> float:
    return all_counts[index] / max(all_counts[0], 1)


def shares(all_counts: tuple[int, ...]) -> str:
    names = ("in flight", "at start", "after aborts")
    return ", ".join(f"{share(all_counts, i):.1%} {name}" for i, name in enumerate(names, 1))


def table_lines(number: int, stages: tuple[str, ...], results: Results) -> list[str]:
    what = f"transactions that ran alone, and why; {TABLE_THREADS} threads under memslap"
    lines = ["", f"**Table {number}**: {what} (paper: 2.5 million operations)", ""]
    lines.append("| branch | | transactions | in-flight switch | start serial | abort serial |")
    lines.append("|---|---|--:|--:|--:|--:|")
    for series in branches(*stages):
        for who, all_counts in (("paper", STATED[series]), ("we", counts(results, series))):
            cells = [f"{n:,}" + (f" ({share(all_counts, i):.1%})" if i else "")
                     for i, n in enumerate(all_counts)]  # fmt: skip
            lines.append(f"| {series} | {who} | " + " | ".join(cells) + " |")
    return [*lines, "", *(f"- {stage}: {WHY_COUNTS[stage]}" for stage in stages)]


def counted(results: Results, paper: str, series: str, holds) -> Claim:
    """A claim on how many transactions of a series ran alone; holds: its counts -> bool."""
    found = counts(results, series)
    stage = series.partition("-")[2]
    ours = f"{series}: {shares(found)}, of {found[0]:,} transactions"
    return Claim(paper, ours, holds(found), WHY_COUNTS[stage])
