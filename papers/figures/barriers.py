"""What figures 5 and 6 of the monitor-mwait paper share: barriers, 8 to 64 cores."""

from claims import claim
from common import Claim, Figure, Point, Results
from monitor_mwait import Cores, figure_on
from rules import less, no_loss, number

STOCK = {"GNU OpenMP-like (1000 polls, futex)": "poll_then_futex", "pthread-like (futex)": "futex"}
OURS = {"two-level, monitor": "two_level:monitor"}
OTHER = {
    "two-level, polling": "two_level:spin",
    "central, polling": "central:spin",
    "central, monitor": "central:monitor",
}


def points_with(work: int, rounds: int, cores: Cores):
    def points(quick: bool) -> list[Point]:
        options = {"rounds": rounds // 4 if quick else rounds, "work": work, "pin": "compact"}
        return [
            Point("", name, n, "barrier_rounds", {"barrier": barrier, "threads": n} | options)
            for name, barrier in (STOCK | OURS | OTHER).items()
            for n in cores.used(quick)
            if n >= 4
        ]

    return points


def rounds_of(run: dict) -> int:
    return run["operations"] // run["threads"]


def microseconds(run: dict) -> float:
    return run["seconds"] / rounds_of(run) * 1e6


def overhead(run: dict) -> float:
    """What a round takes beside its work, in microseconds."""
    return microseconds(run) - run["work_ns"] * 1e-3


def millijoules(run: dict) -> float:
    return run["watts"] * run["seconds"] / rounds_of(run) * 1e3


def claims_with(short: bool):
    def claims(results: Results) -> list[Claim]:
        (openmp, *_), (ours,) = STOCK, OURS
        x, program = results.xs("")[-1], results.program("")

        def over(above: str, below: str, of=None) -> dict[str, float]:
            return {program: results.ratio("", above, below, x, of)}

        at_most = f"over GNU OpenMP's at {x} cores"
        if short:
            first = claim(
                "the overhead of the 2-level barriers is almost the half of the stock barriers in"
                " GNU OpenMP",
                number(0.5),
                over(ours, openmp, overhead),
                WHY_SHORT,
                NOTE_SHORT,
                what=f"overhead {at_most}",
            )
        else:
            first = claim(
                "the overhead of the barrier becomes obscured by the work, but the 2-level barrier"
                " still outperforms the stock barriers",
                less(),
                {f"{program}: {name}": results.ratio("", ours, name, x) for name in STOCK},
                what=f"time of a round at {x} cores over",
            )
        return [
            first,
            claim(
                "lower energy, from the earlier completion",
                less(),
                over(ours, openmp, millijoules),
                what=f"energy of a round {at_most}",
            ),
            claim(
                "without MWAIT two levels are not beneficial",
                no_loss(),
                over("two-level, polling", "central, polling", overhead),
                WHY_POLLING,
                "judged as: two levels that poll have no less overhead than one that polls",
                what=f"overhead at {x} cores",
            ),
        ]

    return claims


NOTE_SHORT = (
    "the gain here is the counter per node; GNU OpenMP's threads hardly get to sleep after so"
    " little work"
)
WHY_SHORT = "two levels save more here than in the paper; the cost of its futex calls is not told"
WHY_POLLING = (
    "the paper argues this and shows no measurement of it. On the model a thread that polls keeps"
    " its copy of the line until it is written: polling costs energy, not traffic, and the counter"
    " per node helps those who poll as much. The gain goes where a line that all threads want again"
    " comes to them so slowly that the release takes as long as the counter: 200 cycles for each"
    " read and each copy that is invalidated, where we estimate 30 and 12"
    " (docs/internals/differences.md)"
)


def barrier_figure(number: int, work: int, rounds: int, cores: Cores) -> Figure:
    return figure_on(
        cores,
        f"fig{number}",
        f"{number}",
        f"Barriers after {work / 1000:g} us of work",
        "The paper times 100,000 rounds; rounds are all alike here, so fewer are simulated."
        " Each thread is pinned to a core of its own.",
        y_label="microseconds per round",
        points=points_with(work, rounds, cores),
        value=microseconds,
        more={
            "overhead, microseconds per round": overhead,
            "millijoules per round, whole machine": millijoules,
        },
        claims=claims_with(short=work < 10_000),
    )
