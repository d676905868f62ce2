"""What each of the five papers is known for, in numbers, and how far ours are from them.

Each headline belongs to a figure, whose results it reads; docs/papers.md shows them all.
"""

from collections.abc import Callable
from dataclasses import dataclass

import always_abort_fig7
import always_abort_fig9
import always_abort_fig14
import gcc_tm_fig10
import monitor_mwait_fig4
import ruby_gil_kernels
import tsx_hpc_fig1
import tsx_hpc_fig4
import tsx_hpc_fig6
from common import Results, best
from gcc_tm import STATED, WHY_COUNTS, branches, counts, mean_ratio
from gcc_tm_runs import ALONE, MEMSLAP
from monitor_mwait import LIBGOMP, ONE_SPINNER

Span = tuple[float, float]


@dataclass(frozen=True)
class Headline:
    """paper: what it states, from ... to. ours: Results -> the same, or the one number twice."""

    paper: str  # as in docs/papers.toml
    figure: str
    states: str
    stated: Span
    ours: Callable[[Results], Span]
    unit: str  # after a number
    why: str  # shown where ours is not inside of what is stated


def factor(stated: Span, ours: Span) -> float:
    """How far our numbers are from what is stated, as a ratio of 1 or more.

    One number of ours is held against the nearest that is stated; two, end by end.
    """
    nearest = min(max(ours[0], stated[0]), stated[1])
    theirs = (nearest, nearest) if ours[0] == ours[1] else stated
    return max(_apart(a, b) for a, b in zip(theirs, ours, strict=True))


def _apart(a: float, b: float) -> float:
    if a == b:
        return 1.0
    if a != a or b != b or min(a, b) <= 0:
        return float("inf")
    return max(a / b, b / a)


def _once(value: float | None) -> Span:
    found = float("nan") if value is None else value
    return found, found


def _average(results: Results) -> Span:
    most = results.xs("ua")[-1]
    ratios = tsx_hpc_fig4.over_baseline(results, tsx_hpc_fig4.COARSEN, most)
    return _once(tsx_hpc_fig4.average(ratios))


def _array_wins(results: Results) -> Span:
    """In how many of the four configurations a lock that runs ahead is the best by a tenth."""
    figure = always_abort_fig7
    locks = [*figure.PLAIN, *figure.HTM]
    ahead = [*figure.AHEAD, *figure.OPTIMIZED]
    most = results.xs(figure.LOW_SMALL)[-1]
    wins = [
        best(results, panel, ahead, most)[1] >= 1.1 * best(results, panel, locks, most)[1]
        for panel in figure.PANELS
    ]
    return _once(sum(wins))


def _cache(results: Results) -> Span:
    figure = always_abort_fig9
    panel = figure.WRITES
    most = results.xs(panel)[-1]
    ahead = best(results, panel, list(figure.AHEAD), most)[1]
    return _once(ahead / (results.value(panel, figure.DEFAULT, most) or float("nan")))


def _solver(results: Results) -> Span:
    figure = always_abort_fig14
    lines = (results.line(matrix, figure.AHEAD, figure.speed_up) for matrix in figure.TABLE)
    return _once(max(value for line in lines for _, value in line))


def _kernels(results: Results) -> Span:
    found = ruby_gil_kernels.values(results, ruby_gil_kernels.OURS)
    return min(found), max(found)


def _tasks(results: Results) -> Span:
    """The original's cost over that of the one-spinner lock, with all cores."""
    most = results.xs("")[-1]
    return _once(results.ratio("", LIBGOMP, ONE_SPINNER, most))


def _serialized(every: list[tuple[int, ...]]) -> float:
    """Transactions that began alone, or went so on their way; in percent of all."""
    return 100 * sum(each[1] + each[2] for each in every) / max(1, sum(each[0] for each in every))


def _table(number: int, figure: str, stage: str) -> Headline:
    """One of gcc-tm's tables of serialized transactions: both branches at one stage."""
    both = branches(stage)
    stated = _serialized([STATED[each] for each in both])
    return Headline(
        "gcc-tm",
        f"gcc_tm_{figure}",
        f"table {number}, {stage}: {stated:.3g} % of the transactions begin alone, or go so on"
        " their way (fewer counts as the same)",
        (0, stated),
        lambda results: _once(_serialized([counts(results, each) for each in both])),
        " %",
        WHY_COUNTS[stage],
    )


def _over_locks(panel: str) -> Callable[[Results], Span]:
    series = f"ip-on-commit{gcc_tm_fig10.NO_LOCK}"
    return lambda results: _once(mean_ratio(results, panel, series, "locks"))


WHY_CACHE = f"ticket-aahtm is our best such lock; {always_abort_fig9.WHY_DEFAULT}"
WHY_TASKS = (
    "libgomp's mutex loses by the exchanges of all its waiters, and so by how long each keeps the"
    " home of the line busy: an estimate, and between it and twice of it lies the paper's factor;"
    " what calls of the kernel take matters little (docs/differences.md)"
)
WHY_ALONE = "every access of a section is a call of the library, and no network hides it"

HEADLINES = [
    Headline("tsx-hpc", "tsx_hpc_fig4", "the HPC set with 8 threads: 1.41x the baseline on average",
             (1.41, 1.41), _average, "x", tsx_hpc_fig4.WHY_AVERAGE),
    Headline("tsx-hpc", "tsx_hpc_fig1", "transactions pass atomics from 3 to 4 updates on",
             (3, 4), lambda results: _once(tsx_hpc_fig1.crossing(results)), " updates",
             tsx_hpc_fig1.CROSSING_WHY),
    Headline("tsx-hpc", "tsx_hpc_fig6", "TCP stack, busy-waiting: 1.31x the bandwidth on average",
             (1.31, 1.31), lambda results: _once(tsx_hpc_fig6.average(results, "tsx.busywait")),
             "x", tsx_hpc_fig6.SPINNERS),
    Headline("always-abort", "always_abort_fig7", "wins in 3 of ArrayBench's 4 configurations",
             (3, 3), _array_wins, " of 4", always_abort_fig7.WHY["ticket"]),
    Headline("always-abort", "always_abort_fig9", "up to 2.5x the default on a cache server",
             (2.5, 2.5), _cache, "x", WHY_CACHE),
    Headline("always-abort", "always_abort_fig14", "BackwardSolver: up to 15 % faster",
             (15, 15), _solver, " %", always_abort_fig14.WHY_GAIN),
    Headline("ruby-gil", "ruby_gil_fig5", "1.9 to 4.4 times the lock with 12 threads",
             (1.9, 4.4), _kernels, "x", ruby_gil_kernels.WHY_SMALL),
    Headline("mwait", "monitor_mwait_fig3", "tasks: up to 23 times faster with 64 cores",
             (23, 23), _tasks, "x", WHY_TASKS),
    Headline("mwait", "monitor_mwait_fig4", "tasks: 6 times less energy with 64 cores",
             (6, 6), _tasks, "x", monitor_mwait_fig4.WHY),
    _table(1, "fig4", "relaxed"),
    _table(2, "fig6", "max"),
    _table(3, "fig8", "lib"),
    _table(4, "fig9", "on-commit"),
    Headline("gcc-tm", "gcc_tm_fig10", "within 30 % of locks: at most 1.3x their time, under"
             " memslap", (1, 1.3), _over_locks(MEMSLAP), "x", ""),
    Headline("gcc-tm", "gcc_tm_fig10", "the same, without a network (ours alone)",
             (1, 1.3), _over_locks(ALONE), "x", WHY_ALONE),
]  # fmt: skip
