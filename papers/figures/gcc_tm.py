"""What the figures of gcc_tm share beyond their runs: what is shown, the paper's tables, ratios."""

import math
import re
import statistics

from claims import claim
from common import Claim, Figure, Results
from gcc_tm_runs import ALONE, COUNTS, MEMSLAP, ROUNDS, measure, points_of
from rules import Interval, Rule, Value, number

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
CORES, QUIET = 12, 2  # the paper's cores; processes beside which times still mean something


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
[papers/workloads/txcache](../../../docs/internals/workloads.md#a-cache-from-locks-to-transactions)
in the place of memcached 1.4.15, on GCC 12's libitm; `@` names an algorithm and a contention
manager of our library instead. The paper had 12 cores; here every number of threads beyond two
shares two processors with its clients: rows about times are ours, and no evidence for the paper's.
Error bars: a standard deviation each way, as in the paper. A ratio of times has the interval of its
rounds.\
"""


# ---- ratios ----


def spread(results: Results, panel: str, above: str, below: str, x: int) -> Value:
    """The ratio of times, round by round."""
    pairs = [results.run(panel, series, x) for series in (above, below)]
    if not all(pairs):
        return math.nan
    found = [a / b for a, b in zip(*(run["seconds"] for run in pairs), strict=False)]
    if len(found) < 2:
        return found[0]
    return Interval(min(found), statistics.median(found), max(found))


def not_the_papers(machine: str) -> str:
    """Why times on this machine say nothing about the paper's; nothing where they may."""
    processors = re.search(r"(\d+) processors", machine)
    busy = re.search(r"([\d.]+) processes running", machine)
    why = []
    if processors and int(processors[1]) < CORES:
        why.append(f"on {processors[1]} processors, where the paper has {CORES} cores")
    if busy and float(busy[1]) > QUIET:
        why.append(f"with {busy[1]} processes running when it began")
    return ", ".join(why)


def compared(
    results: Results, paper: str, above: str, below: str, rule: Rule, why: str, *,
    at_most: bool = False, headline: str = "",
) -> list[Claim]:  # fmt: skip
    """The time of one series over another's: for all numbers of threads, or the most; a row for
    each panel, of which one has a network and the other is ours alone."""
    rows, others = [], not_the_papers(results.figure.machine)
    for panel in (MEMSLAP, ALONE):
        xs = results.xs(panel)[-1:] if at_most else results.xs(panel)
        beyond = [OWN_PANEL] if panel == ALONE else []
        rows.append(
            claim(
                paper,
                rule,
                {f"{panel}: {x} threads": spread(results, panel, above, below, x) for x in xs},
                f"{NETWORK}; {why}" if panel == MEMSLAP and why != NETWORK else why,
                what=f"time of {above} over {below}",
                beyond="; ".join([*beyond, *([others] if others else [])]),
                headline=headline if panel == MEMSLAP else "",
            )
        )
    return rows


OWN_PANEL = "without a network: ours"


# ---- the tables ----


def counts(results: Results, series: str) -> tuple[int, ...]:
    """Under memslap, at four threads."""
    run = results.run(MEMSLAP, series, TABLE_THREADS)
    return tuple(round(run[name]) for name in COUNTS) if run else (0, 0, 0, 0)


def share(all_counts: tuple[int, ...], index: int) -> float:
    return all_counts[index] / max(all_counts[0], 1)


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


def alone(results: Results, series: str) -> float:
    """Percent of the transactions that begin alone, or go so on their way."""
    found = counts(results, series)
    return 100 * (share(found, 1) + share(found, 2))


def table_rows(results: Results, number_of: int, *stages: str, original: str = "") -> list[Claim]:
    """The shares of one of the paper's tables, for both branches, but for the one that a figure of
    the original program has. What serializes for a call that
    is unsafe follows from the code and its compiler; how many abort so often that they run alone,
    from how many transactions meet, so from the machine, too."""
    what, said = " and ".join(stages), f"table {number_of}: how many transactions run alone"
    return [
        table_row(results, {1: "in flight", 2: "at start"}, stages, original,
                  f"table {number_of}: {what}, how many transactions run alone for a call",
                  f"{said}, {what}"),
        table_row(results, {3: "after aborts"}, stages, "",
                  f"table {number_of}: {what}, how many transactions run alone after aborts",
                  f"{said}, {what}", not_the_papers(results.figure.machine)),
    ]  # fmt: skip


def table_row(results: Results, columns: dict[int, str], stages: tuple[str, ...], original: str,
              paper: str, headline: str, beyond: str = "") -> Claim:  # fmt: skip
    series_of = [each for each in branches(*stages) if each != original]
    places = [(series, i) for series in series_of for i in columns]
    return claim(
        paper,
        number(
            {f"{series}: {columns[i]}": round(100 * share(STATED[series], i), 1)
             for series, i in places},
            neutral=None,
            printed=0.1,
        ),
        {f"{series}: {columns[i]}": 100 * share(counts(results, series), i)
         for series, i in places},
        "; ".join(WHY_COUNTS[stage] for stage in stages),
        unit=" %",
        what=series_of[0].partition("-")[0].upper() if len(series_of) == 1 else "",
        headline=headline,
        beyond=beyond,
    )  # fmt: skip
