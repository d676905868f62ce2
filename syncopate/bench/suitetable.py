"""The suites. A new program is a row here; nothing else lists them."""

from syncopate.bench.realprograms import real_programs
from syncopate.bench.suites import Metric, Program, Suite, Variant

RATE = Metric("throughput", "operations/s", True, "operations", per="seconds")
SECONDS = Metric("time", "s", False, "seconds")
JOULES = Metric("energy", "J", False, "joules")
THREADS = ("--threads", "{threads}")
PRELOAD = {"LD_PRELOAD": "{products}/lib/libsyncopate-pthread.so.0"}
OPENMP = {"LD_PRELOAD": "{products}/lib/libsyncopate-openmp.so.0"}
OUR_TM = {"LD_LIBRARY_PATH": "{products}/lib/tm"}


def chosen(option: str, *names: str) -> dict[str, Variant]:
    """Variants that one option of the program chooses."""
    return {name: Variant((option, name)) for name in names}


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
MICROSECONDS = {
    "tiny": ("--microseconds", "1000"),
    "small": ("--microseconds", "50000"),
    "paper": ("--microseconds", "1000000"),
    "large": ("--microseconds", "5000000"),
}


def loops(option: str, tiny: int) -> dict[str, tuple[str, ...]]:
    """Sizes of a program whose length is one number."""
    factors = {"tiny": 1, "small": 50, "paper": 1000, "large": 5000}
    return {size: (option, str(tiny * factor)) for size, factor in factors.items()}


def under_locks(summary: str, programs: dict[str, Program], paper: str) -> Suite:
    return Suite(
        summary,
        programs,
        PAPER_LOCKS,
        (RATE, JOULES),
        families=ANY_LOCK,
        sizes=MICROSECONDS,
        simulated_size="tiny",
        words=THREADS,
        seeded=True,
        papers=(paper,),
    )


ARRAY = {
    f"{contention}-{size}": Program(
        "workloads/array_bench", ("--footprint", footprint, "--contended", contended)
    )
    for contention, contended in (("low", "0"), ("high", "1"))
    for size, footprint in (("small", "10"), ("large", "100"))
}
MAP = {
    f"{name}-{changes}": Program("workloads/map_bench", ("--keys", keys, "--changes", changes))
    for name, keys in (("10k", "10000"), ("10m", "10000000"))
    for changes in ("20", "100")
}
CLOMP = {
    f"scatters-{count}": Program("workloads/clomp_tm", ("--scatters", str(count)))
    for count in (1, 2, 3, 4, 8, 16)
}
HISTOGRAM = {
    f"bins-{bins}": Program("workloads/histogram", ("--bins", bins)) for bins in ("256", "4096")
}
PHYSICS = {
    f"hubs-{hubs}": Program("workloads/physics_solver", ("--hubs", hubs)) for hubs in ("4", "16")
}
STAMP = {
    "bayes": ("bayes", ""),
    "genome": ("genome", ""),
    "intruder": ("intruder", ""),
    "kmeans-high": ("kmeans", "high-"),
    "kmeans-low": ("kmeans", "low-"),
    "labyrinth": ("labyrinth", ""),
    "ssca2": ("ssca2", ""),
    "vacation-high": ("vacation", "high-"),
    "vacation-low": ("vacation", "low-"),
    "yada": ("yada", ""),
}
RMSTM = {
    "apriori": "apriori",
    "scalparc": "scalparc",
    "utilitymine": "utility_mine",
    "fluidanimate": "fluidanimate",
    "hmmcalibrate": "hmmcalibrate",
    "hmmsearch": "hmmsearch",
    "hmmpfam": "hmmpfam",
}
NAS = ("is", "cg", "ep", "ft", "mg", "bt", "lu", "sp")
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
TM_BUILD = "{program}.tm"


def preloaded(lock: str) -> Variant:
    return Variant(variables={**PRELOAD, "SYNCOPATE_LOCK": lock})


PRELOADED = {
    "glibc": Variant(),
    "pass": preloaded("glibc"),
    "auto": preloaded("auto"),
    "tatas": preloaded("tatas"),
}

SUITES = {
    "array": under_locks("ArrayBench: random writes into one array", ARRAY, "always-abort"),
    "map": under_locks("MapBench: finds and changes in a std::map", MAP, "always-abort"),
    "cache": under_locks(
        "a cache of keys and values with one lock, as memcached 1.4.5",
        {
            f"sets-{sets}": Program("workloads/coarse_cache", ("--sets", sets))
            for sets in ("10", "50")
        },
        "always-abort",
    ),
    "tree": under_locks(
        "a B+ tree with one lock, as Kyoto Cabinet's",
        {
            name: Program("workloads/tree_database", ("--keys", keys))
            for name, keys in (("200k", "200000"), ("1m", "1000000"))
        },
        "always-abort",
    ),
    "adversarial": under_locks(
        "speculation against itself: a few lines written again and again",
        {"lines-10": Program("workloads/adversarial")},
        "always-abort",
    ),
    "clomp": Suite(
        "CLOMP-TM: scatters into the zones of a mesh",
        CLOMP,
        chosen("--mode", "small_atomic", "small_critical", "large_critical", "small_tm", "large_tm")
        | {"serial": Variant(("--mode", "serial"), threads=1)},
        (RATE, SECONDS, JOULES),
        sizes=loops("--passes", 10),
        simulated_size="tiny",
        words=THREADS,
        seeded=True,
        papers=("tsx-hpc",),
    ),
    "histogram": Suite(
        "counts the values of an image",
        HISTOGRAM,
        chosen("--variant", "atomic", "mutex", "privatize", "elided", "coarsened", "adaptive"),
        (RATE, SECONDS, JOULES),
        sizes=loops("--pixels", 20_000),
        simulated_size="tiny",
        words=THREADS,
        seeded=True,
        papers=("tsx-hpc",),
    ),
    "physics": Suite(
        "forces between pairs of objects, two locks at a time",
        PHYSICS,
        chosen("--variant", "mutex", "try", "barrier", "elided", "lockset", "try_lockset")
        | chosen("--variant", "coarsened", "adaptive"),
        (RATE, SECONDS, JOULES),
        sizes=loops("--steps", 4),
        simulated_size="tiny",
        words=THREADS,
        seeded=True,
        papers=("tsx-hpc",),
    ),
    "locks": Suite(
        "lock and unlock one lock",
        {f"work-{ns}": Program("workloads/lock_pingpong", ("--work", ns)) for ns in ("0", "100")},
        chosen("--lock", "pthread", "auto", "futex", "ticket", "mcs", "one_spinner", "combined"),
        (RATE, JOULES),
        families=ANY_LOCK,
        sizes=loops("--pairs", 1000),
        simulated_size="tiny",
        words=THREADS,
        seeded=True,
        papers=("mwait",),
    ),
    "barriers": Suite(
        "threads meet at a barrier",
        {
            f"work-{ns}": Program("workloads/barrier_rounds", ("--work", ns))
            for ns in ("1000", "250000")
        },
        chosen("--barrier", "futex", "poll_then_futex", "central", "two_level"),
        (RATE, JOULES),
        families={"barrier:": Variant(("--barrier", "{rest}"))},
        sizes=loops("--rounds", 100),
        simulated_size="tiny",
        words=THREADS,
        seeded=True,
        papers=("mwait",),
    ),
    "solver": Suite(
        "BackwardSolver: a sparse triangular solve, a barrier after each level",
        {
            name: Program("workloads/backward_solver/backward_solver", ("--matrix", name))
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
        },
        (Metric("throughput", "GB/s", True, "gigabytes_per_second"), SECONDS, JOULES),
        families={"barrier:": Variant(("--barrier", "{rest}"))},
        sizes={
            "tiny": ("--levels", "100", "--solves", "1"),
            "small": ("--solves", "10"),
            "paper": ("--solves", "1000"),
        },
        simulated_size="tiny",
        words=THREADS,
        papers=("always-abort",),
    ),
    "server": Suite(
        "a server of keys and values that knows nothing of elision",
        {
            name: Program("workloads/request_server/request_server", ("--transport", name))
            for name in ("unix", "tcp")
        },
        PRELOADED,
        (Metric("throughput", "requests/s", True, "requests", per="seconds"), SECONDS),
        families={"lock:": preloaded("{rest}")},
        sizes={
            "small": ("--requests", "5000"),
            "paper": ("--requests", "50000"),
            "large": ("--requests", "500000"),
        },
        words=("--workers", "{threads}"),
        papers=("tsx-hpc",),
    ),
    "netstack": Suite(
        "clients and servers over a user-level TCP/IP stack",
        {
            name: Program(f"workloads/netstack/{name}")
            for name in ("netdedup", "netferret", "netstreamcluster")
        },
        chosen("--locking", "mutex", "tsx.abort", "tsx.cond", "mutex.busywait", "tsx.busywait"),
        (Metric("bandwidth", "MB/s", True, "bytes_per_second", scale=1e-6), SECONDS),
        sizes={size: ("--size", size) for size in ("tiny", "sim", "small", "paper", "large")},
        simulated_size="sim",
        words=THREADS,
        seeded=True,
        papers=("tsx-hpc",),
    ),
    "txcache": Suite(
        "a cache whose locks become transactions, stage by stage (docs/workloads.md)",
        {"self-load": Program("workloads/txcache/txcache")},
        {
            "locks": Variant(),
            "semaphores": Variant(program="{program}.semaphores"),
        }
        | {
            f"{branch}-{stage}": Variant((), OUR_TM, f"{{program}}.{branch}-{stage}")
            for branch in ("ip", "it")
            for stage in ("relaxed", "callable", "max", "lib", "on-commit")
        },
        (RATE, SECONDS),
        sizes={
            size: ("--self-load", f"1,{operations},{{threads}}")
            for size, operations in (("small", 20_000), ("paper", 625_000), ("large", 2_000_000))
        },
        papers=("gcc-tm",),
    ),
    "stamp": Suite(
        "the STAMP-like programs",
        {
            name: Program(f"workloads/stamp/{program}", ("--preset", f"{prefix}{{size}}"))
            for name, (program, prefix) in STAMP.items()
        },
        {
            "sequential": Variant(("--variant", "sequential"), threads=1),
            "lock": Variant(("--variant", "lock")),
            "elided": Variant(("--variant", "elided")),
            "tm:stock": Variant(program=TM_BUILD, simulated=False),
            "tm:auto": Variant((), {**OUR_TM, "SYNCOPATE_TM": "auto"}, TM_BUILD, simulated=False),
        },
        (SECONDS, JOULES),
        families={
            "lock:": Variant(("--variant", "lock", "--lock", "{rest}")),
            "elided:": Variant(("--variant", "elided", "--lock", "{rest}")),
            "tm:stock:": Variant((), {"ITM_DEFAULT_METHOD": "{rest}"}, TM_BUILD, simulated=False),
            "tm:": Variant((), {**OUR_TM, "SYNCOPATE_TM": "{rest}"}, TM_BUILD, simulated=False),
        },
        sizes={size: () for size in ("tiny", "small", "sim", "paper", "large")},
        simulated_size="tiny",
        words=(*THREADS, "--json"),
        seeded=True,
        papers=("tsx-hpc", "always-abort"),
    ),
    "rmstm": Suite(
        "the RMS-TM-like programs",
        {name: Program(f"workloads/rmstm/{program}") for name, program in RMSTM.items()},
        chosen("--variant", "fgl", "sgl", "tsx")
        | {"tsx-apart": Variant(("--variant", "tsx", "--memory", "0", "--files", "0"))},
        (SECONDS, JOULES),
        sizes={size: ("--preset", size) for size in ("small", "paper", "large")},
        words=THREADS,
        seeded=True,
        papers=("tsx-hpc",),
    ),
    "nas": Suite(
        "the NAS-like kernels in C, of which suite lua has some in Lua",
        {name: Program(f"workloads/nas/{name}") for name in NAS},
        {"libgomp": Variant(), "ours": Variant(variables=OPENMP)},
        (SECONDS,),
        sizes={size: ("--preset", size) for size in ("lua", "small", "paper", "large")},
        words=THREADS,
        papers=("ruby-gil",),
    ),
    "epcc": Suite(
        "overheads of OpenMP constructs",
        {
            name.lower(): Program("workloads/epcc/epcc_gcc", ("--samples", "10", name))
            for name in CONSTRUCTS
        },
        {
            "libgomp": Variant(),
            "libgomp-passive": Variant(variables={"OMP_WAIT_POLICY": "passive"}),
            "ours-gcc": Variant(variables=OPENMP),
            "libomp": Variant(program="workloads/epcc/epcc_clang"),
            "ours-clang": Variant((), OPENMP, "workloads/epcc/epcc_clang"),
        },
        (
            Metric("overhead", "us", False, "overhead_us"),
            Metric("processors busy", "", False, "cpus"),
        ),
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
    "lua": Suite(
        "Lua with an elided interpreter lock (`make lua` builds it)",
        {
            name: Program("lua/bin/lua-mt", (f"{name}.lua", "{threads}"))
            for name in ("while", "iterator", "is", "cg", "ft", "strings")
        },
        {
            name: Variant(variables={"SYNCOPATE_GIL": name})
            for name in ("gil", "htm:16", "paper:1", "balance", "dynamic")
        },
        (Metric("time", "us", False, "microseconds"),),
        families={"htm:": Variant(variables={"SYNCOPATE_GIL": "htm:{rest}"})},
        simulated_size="small",
        folder="workloads/lua",
        reader="lua",
        papers=("ruby-gil",),
    ),
    "programs": Suite(
        "real programs from Debian packages, unmodified",
        real_programs(),
        {name: PRELOADED[name] for name in ("glibc", "auto", "pass")},
        (Metric("speed", "operations/s", True, "speed"),),
        families={"lock:": preloaded("{rest}")},
        sizes={"small": ("quick",), "large": ()},
        threaded=False,
        reader="real",
        papers=("always-abort",),
    ),
}
