"""The suites of our libraries beside those they stand in for: what one operation costs."""

from syncopate.bench.suiteparts import OPENMP, OUR_TM, PRELOADED, preloaded, presets
from syncopate.bench.suites import Metric, Program, Suite, Variant

TM_SHAPES = (
    "empty",
    "write_1",
    "increment",
    "cancelable",
    "read_10",
    "write_10",
    "read_100",
    "two_disjoint",
    "two_same",
)
CONSTRUCTS = ("PARALLEL", "FOR", "BARRIER", "SINGLE", "CRITICAL", "LOCK", "REDUCTION")

LIBRARIES = {
    "epcc": Suite(
        "overheads of OpenMP constructs",
        {name.lower(): Program("papers/workloads/epcc/epcc_gcc", (name,)) for name in CONSTRUCTS},
        {
            "libgomp": Variant(),
            "libgomp-passive": Variant(variables={"OMP_WAIT_POLICY": "passive"}),
            "ours-gcc": Variant(variables=OPENMP),
            "libomp": Variant(program="papers/workloads/epcc/epcc_clang"),
            "ours-clang": Variant((), OPENMP, "papers/workloads/epcc/epcc_clang"),
        },
        (
            Metric("overhead", "us", False, "overhead_us"),
            Metric("processors busy", "", False, "cpus"),
        ),
        sizes=presets("small", "paper", "large"),
        variables={"OMP_NUM_THREADS": "{threads}"},
        papers=("mwait",),
    ),
    "tm": Suite(
        "nanoseconds of a transaction, GCC's libitm and ours",
        {"shapes": Program("bench/tm_bench", ("40",))},
        {
            "stock": Variant(),
            "stock:ml_wt": Variant(variables={"ITM_DEFAULT_METHOD": "ml_wt"}),
            "auto": Variant(variables={**OUR_TM, "SYNCOPATE_TM": "auto"}),
        },
        tuple(Metric(shape, "ns", False, shape) for shape in TM_SHAPES),
        families={"tm:": Variant(variables={**OUR_TM, "SYNCOPATE_TM": "{rest}"})},
        threaded=False,
        reader="pairs",
        papers=("gcc-tm",),
    ),
    "pthread": Suite(
        "mutexes of an unmodified program",
        {
            "contended": Program(
                "bench/pthread_load", ("contended", "--threads", "{threads}", "--waits")
            ),
        },
        PRELOADED,
        (
            Metric("throughput", "operations/s", True, "throughput"),
            Metric("least over most favored thread", "", True, "share"),
            Metric("99th percentile of waits", "us", False, "p99_wait_us"),
        ),
        families={"lock:": preloaded("{rest}")},
        papers=("always-abort",),
    ),
    "mutex": Suite(
        "one thread, no contention; memory by mutex",
        {
            "nothing": Program("bench/pthread_load", ("uncontended", "--null")),
            "uncontended": Program("bench/pthread_load", ("uncontended",)),
            "cold": Program("bench/pthread_load", ("uncontended", "--mutexes", "20000")),
            "memory": Program("bench/pthread_load", ("memory",)),
        },
        PRELOADED,
        (
            Metric("lock and unlock", "cycles", False, "cycles"),
            Metric("memory", "bytes/mutex", False, "bytes_per_mutex"),
        ),
        families={"lock:": preloaded("{rest}")},
        threaded=False,
    ),
}
