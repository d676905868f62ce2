"""What figures 5 and 6 of the monitor-mwait paper share: barriers, 8 to 64 cores."""

from dataclasses import replace

from claims import Part, claim
from common import Claim, Figure, Point, Results
from monitor_mwait import FIELDS, Cores, figure_on
from rules import Value, equal, less, more, no_loss, number
from sweep import seeded

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
        found = [
            Point("", name, n, "barrier_rounds", {"barrier": barrier, "threads": n} | options)
            for name, barrier in (STOCK | OURS | OTHER).items()
            for n in cores.used(quick)
            if n >= 4
        ]
        rows = (*(n for n in cores.all if n <= cores.node), cores.all[-1])
        return seeded(found, lambda p: p.x in rows and cores.rests_on_seeds(quick))

    return points


def rounds_of(run: dict) -> int:
    return run["operations"] // run["threads"]


def microseconds(run: dict) -> float:
    return run["seconds"] / rounds_of(run) * 1e6


def overhead(run: dict) -> float:
    """What a round takes beside its work, in microseconds."""
    return microseconds(run) - run["work_ns"] * 1e-3


def over_work(run: dict) -> float:
    return microseconds(run) / (run["work_ns"] * 1e-3)


def millijoules(run: dict) -> float:
    return run["watts"] * run["seconds"] / rounds_of(run) * 1e3


def over(results: Results, above: str, below: str, x: int, of=None) -> dict[str, Value]:
    return {results.program(""): results.spread("", above, below, x, of)}


def of_short_work(results: Results, node: int) -> list[Claim]:
    """Figure 5, and what the paper says of its barrier beside it."""
    (openmp, *_), (ours,) = STOCK, OURS
    x, program = results.xs("")[-1], results.program("")
    low = [n for n in results.xs("") if n <= node]

    def alike(of) -> dict[str, Value]:
        return {f"{program}: {n} cores": results.spread("", ours, openmp, n, of) for n in low}

    return [
        claim(
            "the 2-level barriers scale much better than the single-level barriers with futex",
            more(clearly=True),
            {f"{program}: {name}": results.spread("", name, ours, x) for name in STOCK},
            what=f"time of a round over ours at {x} cores",
        ),
        claim(
            "the overhead of the 2-level barriers is almost the half of the stock barriers in GNU"
            " OpenMP",
            number(0.5),
            over(results, ours, openmp, x, overhead),
            WHY_SHORT,
            NOTE_SHORT,
            what=f"overhead over GNU OpenMP's at {x} cores",
        ),
        Claim(
            "in low scales, on one NUMA node, both have the identical performance and power",
            [
                Part(equal(), alike(microseconds), what="time of a round over GNU OpenMP's"),
                Part(equal(), alike(millijoules), what="energy"),
            ],
            WHY_LOW,
        ),
        *of_both(results),
    ]


def of_long_work(results: Results, elsewhere: str) -> list[Claim]:
    """Figure 6; elsewhere: why what the paper says beside it is not counted."""
    (openmp, *_), (ours,) = STOCK, OURS
    x, program = results.xs("")[-1], results.program("")
    first = Claim(
        "the overhead of the barrier becomes obscured by the work, but the 2-level barrier still"
        " outperforms the stock barriers",
        [
            Part(
                equal(),
                {program: results.interval("", openmp, x, over_work)},
                what=f"time of a round over its work, with GNU OpenMP's barrier at {x} cores",
            ),
            Part(
                less(),
                {f"{program}: {name}": results.spread("", ours, name, x) for name in STOCK},
                what="time of a round with ours over",
            ),
        ],
    )
    return [first, *(replace(each, beyond=elsewhere) for each in of_both(results))]


def of_both(results: Results) -> list[Claim]:
    (openmp, *_), (ours,) = STOCK, OURS
    x = results.xs("")[-1]
    return [
        Claim(
            "lower energy, from the earlier completion",
            [
                Part(less(), over(results, ours, openmp, x, millijoules), what="energy"),
                Part(less(), over(results, ours, openmp, x), what="time"),
            ],
            note=f"of a round over GNU OpenMP's at {x} cores",
        ),
        claim(
            "without MWAIT two levels are not beneficial",
            no_loss(),
            over(results, "two-level, polling", "central, polling", x, overhead),
            WHY_POLLING,
            "judged as: two levels that poll have no less overhead than one that polls",
            what=f"overhead at {x} cores",
        ),
    ]


ELSEWHERE = "the paper says it of barriers after short work: counted with figure 5"
NOTE_SHORT = (
    "the gain here is the counter per node; GNU OpenMP's threads hardly get to sleep after so"
    " little work"
)
WHY_SHORT = "two levels save more here than in the paper; the cost of its futex calls is not told"
WHY_POLLING = (
    "the paper argues this and shows no measurement of it. On the model a thread that polls keeps"
    " its copy of the line until it is written: polling costs energy, not traffic, and the counter"
    " per node helps those who poll as much. The gain goes where a line that all threads want again"
    " comes to them so slowly that the release takes as long as the counter: 400 cycles for each"
    " read, where we estimate 30 (docs/internals/differences.md)"
)
WHY_LOW = (
    "the paper's barrier has a second level only where its threads are on more than one node; ours"
    " always has it, and waits by MWAIT, which takes longer to wake than polling"
)


def barrier_figure(number: int, work: int, rounds: int, cores: Cores) -> Figure:
    def claims(results: Results) -> list[Claim]:
        if work < 10_000:
            return of_short_work(results, cores.node)
        return of_long_work(results, cores.beyond or ELSEWHERE)

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
        claims=claims,
        fields=(*FIELDS, "work_ns"),
    )
