"""The kernels' sweep (the Ruby paper's figures 5, 8 and 9), which the machines' scripts share."""

from collections.abc import Callable

from common import Claim, Figure, Point, Results, times
from ruby_gil import (
    DYNAMIC,
    FIXED,
    GIL,
    HASWELL,
    NOTES,
    OURS,
    PAPER,
    THREADS,
    WHY_SHORT,
    aborted,
    most,
    near_best,
    not_the_papers,
    points,
    prepare,
    share,
    throughput,
)

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


def values(results: Results, series: str, of=None) -> list[float]:
    """Of every program, at all threads."""
    found = [results.value(p, series, most(results, p), of) for p in results.panels()]
    return [value for value in found if value is not None]


def span(found: list[float]) -> str:
    return f"{min(found):.2f} to {max(found):.2f}" if found else "no result"


def claims(results: Results) -> list[Claim]:
    ours, dynamic = values(results, OURS), values(results, DYNAMIC)
    long, gil = values(results, FIXED[-1]), values(results, GIL)
    aborts = values(results, DYNAMIC, aborted)
    waiting, wasted = (values(results, DYNAMIC, share(part)) for part in ("waiting", "aborted"))
    longer = sum(w > a for w, a in zip(waiting, wasted, strict=True))
    middle = sorted(aborts)[len(aborts) // 2] if aborts else float("nan")
    rows = [
        *(
            Claim(
                "figure 5: HTM-dynamic is 1.9 to 4.4 times the lock (zEC12, 12 threads)",
                f"{name}: {span(found)} times",
                bool(found) and min(found) >= 1.7 and max(found) >= 3.5,
                why,
                "from 1.7 or more up to 3.5 or more counts as agreement",
            )
            for name, found, why in ((DYNAMIC, dynamic, WHY_SHORT), (OURS, ours, WHY_SMALL))
        ),
        Claim(
            "figure 5: HTM-256 shows almost no scalability",
            f"{span(long)} times",
            bool(long) and sorted(long)[len(long) // 2] <= 1.5,
            WHY_LONG,
            "half of the programs at 1.5 times or less counts as agreement",
        ),
        Claim(
            "the lock does not scale", f"{span(gil)} times", bool(gil) and max(gil) <= 1.1, WHY_LOCK
        ),
        Claim(
            "figure 8: abort ratios are mostly below 2 % (zEC12) and 7 % (Xeon)",
            f"{span(aborts)} %",
            middle <= 7,
            WHY_LEARNING,
            "the middle one of the programs at 7 % or less counts as agreement",
        ),
        Claim(
            "figure 8: waiting for the lock takes longer than what is aborted",
            f"in {longer} of {len(waiting)} programs",
            2 * longer > len(waiting),
            WHY_WAIT,
        ),
        figure_9(results),
    ]
    return rows + [near_best(results, panel, OURS) for panel in results.panels()]


def figure_9(results: Results) -> Claim:
    """What is left of the comparison with two other systems: how programs differ."""
    own = []
    for panel in results.panels():
        first, last = (results.value(panel, OURS, x) for x in (1, most(results, panel)))
        if first and last:
            own.append(last / first)
    mean = sum(own) / len(own) if own else float("nan")
    return Claim(
        "figure 9: 3.6-fold on average over HTM-dynamic itself with one thread, as JRuby's 3.5",
        f"balance: {times(mean)} on average, {span(own)}",
        2.5 <= mean <= 5,
        WHY_SMALL,
        "there is neither JRuby nor Java here: only our own scalability is compared",
    )


WHY_SMALL = (
    "classes are far smaller here: starting and joining threads for each parallel loop, and the"
    " parts by one thread, take much of the time"
)
WHY_LONG = "with the conflict removals these programs have few conflicts left in 256 yield points"
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
        claims=claims,
        prepare=prepare_all,
        notes=NOTES + SMT * (machine == HASWELL) + WHOLE + not_the_papers(machine),
    )


PARTS = ("useful", "aborted", "waiting", "overhead")
SMT = " Beyond four threads, two share a core and its cache."
WHOLE = (
    " The cycle breakdown (figure 8) is that of all threads from their first to their last"
    " transaction, so time in which they sleep is in no part."
)
