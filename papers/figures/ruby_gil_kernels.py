"""The kernels' sweep (the Ruby paper's figures 5, 8 and 9), which the machines' scripts share."""

import math
from collections.abc import Callable

import ruby_gil
from claims import AVERAGE, Part, claim
from common import Claim, Figure, Point, Results
from common import best as best_series
from ruby_gil import (
    BEYOND_OURS,
    DYNAMIC,
    FIXED,
    GIL,
    HASWELL,
    NOTES,
    OURS,
    PAPER,
    THREADS,
    aborted,
    balance_near_best,
    more_threads,
    most_threads,
    not_the_papers,
    of_best_fixed,
    points,
    prepare,
    share,
    throughput,
)
from rules import almost_all, best, inside, less, more, most, no_gain, number, spans

SIZES = {"bt": 10, "cg": 600, "ft": 32, "is": 12000, "lu": 48, "mg": 8, "sp": 10}
LARGE = {"bt": 20, "cg": 4800, "ft": 64, "is": 96000, "lu": 136, "mg": 16, "sp": 20}


def figure_points(machine: str) -> Callable[[bool], list[Point]]:
    all_threads = THREADS[machine]
    ends = (all_threads[0], all_threads[-1])
    return lambda quick: points(machine, SIZES, ends if quick else all_threads)


def prepare_all(runs: list[dict]) -> None:
    """Adds what figure 9 shows: each way of choosing lengths over itself with one thread."""
    prepare(runs)
    good = [run for run in runs if "error" not in run]
    one = {(r["panel"], r["series"]): r["throughput"] for r in good if r["x"] == 1}
    for run in good:
        first = one.get((run["panel"], run["series"]), float("nan"))
        run["own_speedup"] = run["throughput"] / first


def own_speedup(run: dict) -> float:
    return run["own_speedup"]


def values(results: Results, series: str, of=None) -> dict[str, float]:
    """Of every program, with all threads."""
    found = {p: results.value(p, series, most_threads(results, p), of) for p in results.panels()}
    return {panel: math.nan if value is None else value for panel, value in found.items()}


def peak(results: Results, panel: str, series: str) -> float:
    return max((y for _, y in results.line(panel, series)), default=math.nan)


def overhead(results: Results) -> dict[str, float]:
    """What HTM-dynamic takes more than the lock with one thread, in percent."""
    one = {panel: results.value(panel, DYNAMIC, 1) or math.nan for panel in results.panels()}
    return {panel: 100 * (1 / value - 1) for panel, value in one.items()}


def claims(machine: str, results: Results) -> list[Claim]:
    rows = on_xeon(results) if machine == HASWELL else on_zec12(results)
    below = 7 if machine == HASWELL else 2
    return [
        *rows,
        claim(
            f"figure 8: HTM-dynamic's abort ratios are mostly below {below} %",
            most(inside(0, below)),
            values(results, DYNAMIC, aborted),
            WHY_LEARNING,
            unit=" %",
        ),
        claim(
            "section 5.6: with one thread, HTM-dynamic takes 18 to 35 % more than the lock",
            spans(18, 35, neutral=0),
            overhead(results),
            WHY_ALONE,
            "the paper's range is of both machines, and of figure 7, too",
            unit=" %",
        ),
        *of_balance(results),
    ]


def on_zec12(results: Results) -> list[Claim]:
    dynamic, long = values(results, DYNAMIC), values(results, FIXED[-1])
    all_threads = most_threads(results, "ft")
    parts = [values(results, DYNAMIC, share(part)) for part in ("waiting", "aborted")]
    waiting = {
        name: parts[0][name] / (parts[1][name] or math.nan) for name in parts[0] if name != "is"
    }
    own = values(results, DYNAMIC, own_speedup)
    others = {panel: [n for n in FIXED if n != "HTM-16"] for panel in results.panels()}
    middle = {
        panel: (results.value(panel, "HTM-16", all_threads) or math.nan)
        / best_series(results, panel, names, all_threads)[1]
        for panel, names in others.items()
    }
    return [
        claim(
            "figure 5: HTM-dynamic with 12 threads is 1.9 to 4.4 times the lock with one",
            spans(1.9, 4.4),
            dynamic,
            WHY_SHORT,
            headline="HTM-dynamic with 12 threads: 1.9 to 4.4 times the lock with one",
        ),
        claim(
            "figure 5: 4.4-fold in FT, 1.9-fold in CG, IS and LU",
            number(STATED),
            {panel: dynamic[panel] for panel in STATED},
            WHY_SHORT,
        ),
        claim(
            "figure 5: HTM-dynamic is almost always the best or close to the best",
            almost_all(best(near=True)),
            of_best_fixed(results, DYNAMIC, results.panels(), more_threads(results)),
            WHY_SHORT,
            what="of the best fixed length",
        ),
        claim(
            "figure 5: HTM-dynamic is 18 % faster than HTM-16 in FT with 12 threads",
            number(18, neutral=0),
            {"ft": 100 * (results.ratio("ft", DYNAMIC, "HTM-16", all_threads) - 1)},
            WHY_SHORT,
            unit=" %",
        ),
        claim(
            "figure 5: HTM-16 is the best of the fixed lengths",
            best(),
            middle,
            WHY_SHORTEST,
            what="over the best of the other two",
        ),
        claim(
            "figure 5: HTM-1 is worse than HTM-dynamic",
            less(),
            results.ratios("HTM-1", DYNAMIC, results.panels(), [all_threads]),
            WHY_SHORT,
            what="HTM-1 over HTM-dynamic",
        ),
        claim("figure 5: HTM-256 shows almost no scalability", no_gain(), long, WHY_LONG),
        claim(
            "figure 5: HTM-256's abort ratios are above 90 %",
            inside(90, 100),
            values(results, FIXED[-1], aborted),
            WHY_LONG,
            unit=" %",
        ),
        claim(
            "figure 8: waiting for the lock takes longer than what is aborted",
            more(),
            waiting,
            WHY_WAIT,
            "all but IS, whose breakdown the paper discounts",
            what="cycles waiting over cycles aborted",
        ),
        Claim(
            "figure 9: 3.6-fold on average over HTM-dynamic itself with one thread",
            [
                Part(number(3.6), {AVERAGE: sum(own.values()) / len(own)}),
                Part(more(), own, what="each"),
            ],
            WHY_SHORT,
            "there is neither JRuby nor Java here: only our own scalability is compared",
        ),
    ]


def on_xeon(results: Results) -> list[Claim]:
    x = most_threads(results, "ft")
    smt = {
        panel: (results.value(panel, "HTM-16", x) or math.nan)
        / (results.value(panel, "HTM-16", 4) or math.nan)
        for panel in results.panels()
    }
    others = [name for name in (*FIXED, DYNAMIC) if name != "HTM-16"]
    middle = {
        panel: (results.value(panel, "HTM-16", x) or math.nan)
        / best_series(results, panel, others, x)[1]
        for panel in results.panels()
    }
    peaks = {
        panel: peak(results, panel, "HTM-16") / max(peak(results, panel, n) for n in others)
        for panel in results.panels()
    }
    rows = [
        Claim(
            "figure 5: HTM-16 shows the best throughput",
            [
                Part(best(), middle, what=f"with {x} threads over the best of the others"),
                Part(best(), peaks, what="its highest throughput over theirs"),
            ],
            WHY_SHORTEST,
        ),
        claim(
            "figure 5: HTM-dynamic does not scale better than HTM-16",
            no_gain(),
            results.ratios(DYNAMIC, "HTM-16", results.panels(), more_threads(results)),
            WHY_SHORT,
            what="HTM-dynamic over HTM-16",
        ),
    ]
    if 4 in results.xs("ft"):
        rows.append(
            claim(
                "figure 5: beyond 4 threads, HTM-16 does not scale using SMT",
                no_gain(),
                smt,
                WHY_SMT,
                what=f"HTM-16 with {x} threads over 4",
            )
        )
    return rows


def of_balance(results: Results) -> list[Claim]:
    """The paper's statements about HTM-dynamic, for our algorithm."""
    own = values(results, OURS, own_speedup)
    return [
        claim(
            "our balance is 1.9 to 4.4 times as fast as the lock",
            spans(1.9, 4.4),
            values(results, OURS),
            WHY_SMALL,
            beyond=BEYOND_OURS,
        ),
        claim(
            "our balance: 3.6-fold on average over itself with one thread",
            number(3.6),
            {AVERAGE: sum(own.values()) / len(own)},
            WHY_SMALL,
            beyond=BEYOND_OURS,
        ),
        balance_near_best(results, results.panels()),
        claim(
            "the lock does not scale",
            no_gain(),
            values(results, GIL),
            WHY_LOCK,
            beyond="the paper's text says so of the microbenchmarks alone",
        ),
    ]


WHY_SHORT = (
    ruby_gil.WHY_SHORT + ". On zEC12, in a larger FT most of the difference is gone"
    " (docs/internals/differences.md); the other programs were not tried longer"
)
WHY_SHORTEST = "where it is not, HTM-1 is; why has not been tried"
STATED = {"ft": 4.4, "cg": 1.9, "is": 1.9, "lu": 1.9}
WHY_ALONE = "Lua's interpreter is another one; where its share goes has not been measured"
WHY_SMT = (
    "16 yield points of Lua touch less than Ruby's: whether they fit into half of a cache was not"
    " tried"
)
WHY_SMALL = (
    "classes are far smaller here: starting and joining threads for each parallel loop, and the"
    " parts by one thread, take much of the time"
)
WHY_LONG = "in some programs more of the long transactions commit than of Ruby's; why was not tried"
WHY_LOCK = (
    "threads sleep while others hold the lock, and a program with one thread has no such time"
)
WHY_LEARNING = "the programs end before the lengths, which begin at 255, are short enough"
WHY_WAIT = "few transactions fall back here"


def figure(name: str, machine: str, title: str) -> Figure:
    return Figure(
        name=name,
        title=title,
        paper=f"{PAPER}, figures 5, 8 and 9",
        machine=machine,
        x_label="threads",
        y_label="throughput, GIL with one thread = 1",
        points=figure_points(machine),
        value=throughput,
        more={
            "throughput, the same with one thread = 1 (figure 9)": own_speedup,
            "aborted transactions, percent": aborted,
            **{f"cycles {part}, percent": share(part) for part in PARTS},
        },
        claims=lambda results: claims(machine, results),
        prepare=prepare_all,
        notes=NOTES + SMT * (machine == HASWELL) + WHOLE,
        beyond=not_the_papers(machine),
    )


PARTS = ("useful", "aborted", "waiting", "overhead")
SMT = " Beyond four threads, two share a core and its cache."
WHOLE = (
    " The cycle breakdown (figure 8) is that of all threads from their first to their last"
    " transaction, so time in which they sleep is in no part."
)
