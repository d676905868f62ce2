"""The suites of whole programs: those that follow the papers', and real ones."""

from functools import partial

from syncopate.bench.realprograms import real_programs
from syncopate.bench.suiteparts import (
    JOULES,
    OPENMP,
    OUR_TM,
    PRELOADED,
    RATE,
    SECONDS,
    THREADS,
    chosen,
    preloaded,
    presets,
)
from syncopate.bench.suites import Metric, Program, Suite, Variant

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
PRESETS = presets("small", "paper", "large")
tsx_hpc_set = partial(
    Suite,
    sizes=PRESETS,
    simulated_size="small",
    words=THREADS,
    seeded=True,
    papers=("tsx-hpc",),
)
HPC = {
    "graphcluster": Program("papers/workloads/hpc/graph_cluster"),
    "ua": Program("papers/workloads/hpc/ua", without=("lockset",)),  # its mortars have no locks
    "nufft": Program("papers/workloads/hpc/nufft"),
    "canneal": Program("papers/workloads/hpc/canneal"),
}
NAS = ("is", "cg", "ep", "ft", "mg", "bt", "lu", "sp")
MICRO = ("while", "iterator", "strings", "alloc", "collect")
LUA = (*MICRO, *(name for name in NAS if name != "ep"), "http")
TM_BUILD = "{program}.tm"

PROGRAMS = {
    "server": Suite(
        "a server of keys and values that knows nothing of elision",
        {
            name: Program("papers/workloads/request_server/request_server", ("--transport", name))
            for name in ("unix", "tcp")
        },
        PRELOADED,
        (Metric("throughput", "requests/s", True, "requests", per="seconds"), SECONDS),
        families={"lock:": preloaded("{rest}")},
        sizes=PRESETS,
        words=("--workers", "{threads}"),
        papers=("tsx-hpc",),
    ),
    "netstack": Suite(
        "clients and servers over a user-level TCP/IP stack",
        {
            name: Program(f"papers/workloads/netstack/{name}")
            for name in ("netdedup", "netferret", "netstreamcluster")
        },
        chosen("--locking", "mutex", "tsx.abort", "tsx.cond", "mutex.busywait", "tsx.busywait"),
        (Metric("bandwidth", "MB/s", True, "bytes_per_second", scale=1e-6), SECONDS),
        sizes=presets("tiny", "sim", "small", "paper", "large"),
        simulated_size="sim",
        words=THREADS,
        seeded=True,
        papers=("tsx-hpc",),
    ),
    "txcache": Suite(
        "a cache whose locks become transactions, stage by stage (docs/internals/workloads.md)",
        {"self-load": Program("papers/workloads/txcache/txcache")},
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
        sizes=PRESETS,
        words=THREADS,
        papers=("gcc-tm",),
    ),
    "stamp": Suite(
        "the STAMP-like programs",
        {
            name: Program(f"papers/workloads/stamp/{program}", ("--preset", f"{prefix}{{size}}"))
            for name, (program, prefix) in STAMP.items()
        },
        {
            "sequential": Variant(("--variant", "sequential"), threads=1),
            "lock": Variant(("--variant", "lock")),
            "elided": Variant(("--variant", "elided")),
            "tsx": Variant(("--variant", "tsx")),
            "tm:stock": Variant(program=TM_BUILD, simulated=False),
            "tm:auto": Variant((), {**OUR_TM, "SYNCOPATE_TM": "auto"}, TM_BUILD, simulated=False),
        },
        (SECONDS, JOULES),
        families={
            "lock:": Variant(("--variant", "lock", "--lock", "{rest}")),
            "elided:": Variant(("--variant", "elided", "--lock", "{rest}")),
            "tm:stock:": Variant((), {"ITM_DEFAULT_METHOD": "{rest}"}, TM_BUILD, simulated=False),
            # On modeled machines the library form: gcc compiles no -fgnu-tm for them.
            "tm:": Variant(
                (), {**OUR_TM, "SYNCOPATE_TM": "{rest}"}, TM_BUILD, modeled="{program}.tl2"
            ),
        },
        sizes={size: () for size in ("tiny", "small", "sim", "paper", "large")},
        simulated_size="tiny",
        words=(*THREADS, "--json"),
        seeded=True,
        papers=("tsx-hpc", "always-abort"),
    ),
    "hpc": tsx_hpc_set(
        "the HPC set beside histogram and physics",
        HPC,
        chosen("--variant", "original", "elided", "lockset", "static", "coarsened", "adaptive"),
        (SECONDS, RATE, JOULES),
    ),
    "rmstm": tsx_hpc_set(
        "the RMS-TM-like programs",
        {name: Program(f"papers/workloads/rmstm/{program}") for name, program in RMSTM.items()},
        chosen("--variant", "fgl", "sgl", "tsx")
        | {"tsx-apart": Variant(("--variant", "tsx", "--memory", "0", "--files", "0"))},
        (SECONDS, JOULES),
    ),
    "nas": Suite(
        "the NAS-like kernels in C, of which suite lua has some in Lua",
        {name: Program(f"papers/workloads/nas/{name}") for name in NAS},
        {"libgomp": Variant(), "ours": Variant(variables=OPENMP)},
        (SECONDS,),
        sizes=presets("lua", "small", "paper", "large"),
        words=THREADS,
        papers=("ruby-gil",),
    ),
    "lua": Suite(
        "Lua with an elided interpreter lock (`make lua` builds it)",
        {name: Program("lua/bin/lua-mt", (f"{name}.lua",)) for name in LUA},
        {
            name: Variant(variables={"SYNCOPATE_GIL": name})
            for name in ("gil", "htm:16", "paper:1", "balance", "dynamic")
        },
        (Metric("time", "us", False, "microseconds"),),
        families={"htm:": Variant(variables={"SYNCOPATE_GIL": "htm:{rest}"})},
        sizes=presets("tiny", "small", "paper", "large"),
        simulated_size="tiny",
        words=THREADS,
        folder="papers/workloads/lua",
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
