"""The suites of one lock, one barrier or one loop: the papers' microbenchmarks."""

from functools import partial

from syncopate.bench.suiteparts import JOULES, OPENMP, RATE, SECONDS, THREADS, chosen, presets
from syncopate.bench.suites import Metric, Program, Suite, Variant

SIZES = presets("tiny", "small", "paper", "large")
micro = partial(Suite, sizes=SIZES, simulated_size="tiny", words=THREADS, seeded=True)


def locks(**names: str) -> dict[str, Variant]:
    return {name.replace("_", "-"): Variant(("--lock", lock)) for name, lock in names.items()}


ANY_LOCK = {"lock:": Variant(("--lock", "{rest}"))}
PAPER_LOCKS = locks(
    tatas="tatas:spin",
    ticket="ticket:spin",
    htm_1="htm_1",
    htm_10="htm_10",
    tatas_aahtm="speculative_tatas",
    tatas_pri_aahtm="priority",
    ticket_aahtm="speculative_ticket",
    auto="auto",
)


def under_locks(summary: str, programs: dict[str, Program], paper: str) -> Suite:
    return micro(summary, programs, PAPER_LOCKS, (RATE, JOULES), families=ANY_LOCK, papers=(paper,))


ARRAY = {
    f"{contention}-{size}": Program(
        "papers/workloads/array_bench", ("--footprint", footprint, "--contended", contended)
    )
    for contention, contended in (("low", "0"), ("high", "1"))
    for size, footprint in (("small", "10"), ("large", "100"))
}
MAP = {
    f"{name}-{changes}": Program(
        "papers/workloads/map_bench", ("--keys", keys, "--changes", changes)
    )
    for name, keys in (("10k", "10000"), ("10m", "10000000"))
    for changes in ("20", "100")
}
CLOMP = {
    f"scatters-{count}": Program("papers/workloads/clomp_tm", ("--scatters", str(count)))
    for count in (1, 2, 3, 4, 8, 16)
}
TASK_LENGTHS = ("100", "10000")
HISTOGRAM = {
    f"bins-{bins}": Program("papers/workloads/histogram", ("--bins", bins))
    for bins in ("256", "4096")
}
PHYSICS = {
    f"hubs-{hubs}": Program("papers/workloads/physics_solver", ("--hubs", hubs))
    for hubs in ("4", "16")
}

MICRO = {
    "array": under_locks("ArrayBench: random writes into one array", ARRAY, "always-abort"),
    "map": under_locks("MapBench: finds and changes in a std::map", MAP, "always-abort"),
    "cache": under_locks(
        "a cache of keys and values with one lock, as memcached 1.4.5",
        {
            f"sets-{sets}": Program("papers/workloads/coarse_cache", ("--sets", sets))
            for sets in ("10", "50")
        },
        "always-abort",
    ),
    "tree": under_locks(
        "a B+ tree with one lock, as Kyoto Cabinet's",
        {
            name: Program("papers/workloads/tree_database", ("--keys", keys))
            for name, keys in (("200k", "200000"), ("1m", "1000000"))
        },
        "always-abort",
    ),
    "adversarial": under_locks(
        "speculation against itself: a few lines written again and again",
        {"lines-10": Program("papers/workloads/adversarial")},
        "always-abort",
    ),
    "clomp": micro(
        "CLOMP-TM: scatters into the zones of a mesh",
        CLOMP,
        chosen("--mode", "small_atomic", "small_critical", "large_critical", "small_tm", "large_tm")
        | {"serial": Variant(("--mode", "serial"), threads=1)},
        (RATE, SECONDS, JOULES),
        papers=("tsx-hpc",),
    ),
    "histogram": micro(
        "counts the values of an image",
        HISTOGRAM,
        chosen("--variant", "atomic", "mutex", "privatize", "elided", "coarsened", "adaptive"),
        (RATE, SECONDS, JOULES),
        papers=("tsx-hpc",),
    ),
    "physics": micro(
        "forces between pairs of objects, two locks at a time",
        PHYSICS,
        chosen("--variant", "mutex", "try", "barrier", "elided", "lockset", "try_lockset")
        | chosen("--variant", "coarsened", "adaptive", "whole"),
        (RATE, SECONDS, JOULES),
        papers=("tsx-hpc",),
    ),
    "locks": micro(
        "lock and unlock one lock",
        {
            f"work-{ns}": Program("papers/workloads/lock_pingpong", ("--work", ns))
            for ns in ("0", "100")
        },
        chosen("--lock", "pthread", "auto", "futex", "ticket", "mcs", "one_spinner", "combined"),
        (RATE, JOULES),
        families=ANY_LOCK,
        papers=("mwait",),
    ),
    "tasks": micro(
        "OpenMP-like tasks: one queue, one lock",
        {
            f"work-{ns}": Program("papers/workloads/parallel_tasks", ("--work", ns))
            for ns in TASK_LENGTHS
        },
        chosen("--lock", "libgomp", "auto", "mcs", "one_spinner"),
        (RATE, JOULES),
        families=ANY_LOCK,
        papers=("mwait",),
    ),
    "barriers": micro(
        "threads meet at a barrier",
        {
            f"work-{ns}": Program("papers/workloads/barrier_rounds", ("--work", ns))
            for ns in ("1000", "250000")
        },
        chosen("--barrier", "futex", "poll_then_futex", "central", "two_level"),
        (RATE, JOULES),
        families={"barrier:": Variant(("--barrier", "{rest}"))},
        papers=("mwait",),
    ),
    "solver": Suite(
        "BackwardSolver: a sparse triangular solve, a barrier after each level",
        {
            name: Program("papers/workloads/backward_solver/backward_solver", ("--matrix", name))
            for name in ("offshore", "inline_1", "thermal2")
        },
        {
            name: Variant(("--barrier", barrier))
            for name, barrier in (
                ("central", "central:spin"),
                ("speculating", "speculating:spin"),
                ("auto", "auto"),
                ("two_level", "two_level:spin"),
            )
        }
        | {
            "libgomp": Variant(program="{program}.openmp", simulated=False),
            "ours": Variant((), OPENMP, "{program}.openmp", simulated=False),
        },
        (Metric("throughput", "GB/s", True, "gigabytes_per_second"), SECONDS, JOULES),
        families={"barrier:": Variant(("--barrier", "{rest}"))},
        sizes=SIZES,
        simulated_size="tiny",
        words=THREADS,
        papers=("always-abort",),
    ),
}
