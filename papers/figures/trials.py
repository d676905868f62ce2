"""The trials of differences.py: what is suspected where a figure's number is not the paper's."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import tsx_hpc_fig4
from common import Results
from monitor_mwait import LIBGOMP, ONE_SPINNER
from ruby_gil import DYNAMIC, GIL
from ruby_gil_kernels import STATED
from sweep import Point


@dataclass(frozen=True)
class Number:
    """One of a figure: the points that decide it, and how it is read off them. paper: as stated."""

    figure: str
    name: str
    paper: float
    needs: Callable[[Point], bool]
    of: Callable[[Results], float]


@dataclass(frozen=True)
class Trial:
    """What is changed. fields: "table.key" of the machine file. options: the program's. locks: of a
    series. said: in place of the names of these two."""

    number: Number
    fields: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    locks: dict = field(default_factory=dict)
    said: str = ""

    def text(self) -> str:
        pairs = [f"`{key} = {new}`" for key, new in self.fields.items()]
        words = [f"`{key} = {new}`" for key, new in self.options.items()]
        words += [f"{series} is `{lock}`" for series, lock in self.locks.items()]
        return ", ".join([*pairs, *([self.said] if self.said else words)])


NO_DIFFERENCE = 0.02  # as a ratio's logarithm


def explained(row: dict) -> float:
    """How much of the difference went with the change, in percent; 0 where there is hardly one."""
    whole = math.log(row["paper"] / row["ours"])
    if abs(whole) < NO_DIFFERENCE:
        return 0.0
    return 100 * math.log(row["then"] / row["ours"]) / whole


def at(*series: str, x: int, panel: str | None = None) -> Callable[[Point], bool]:
    """The series at x; and the last one with one thread, which speed-ups are taken over."""
    return lambda p: (
        panel in (None, p.panel)
        and ((p.series in series and p.x == x) or (p.series == series[-1] and p.x == 1))
    )


def gain(above: str, below: str, x: int, panel: str = "") -> Callable[[Results], float]:
    return lambda results: results.ratio(panel, above, below, x)


# ---- tsx-hpc ----

AVERAGE = Number(
    "tsx_hpc_fig4",
    "tsx.coarsen over the baseline, average at 8 threads",
    1.41,
    at("tsx.coarsen", "baseline", x=8),
    lambda results: tsx_hpc_fig4.average(tsx_hpc_fig4.over_baseline(results, "tsx.coarsen", 8)),
)
HISTOGRAM, PHYSICS = (
    Number(
        "tsx_hpc_fig4",
        f"{panel}: {line} over the baseline at 8 threads (the paper: more than 1)",
        1.0,
        at(line, "baseline", x=8, panel=panel),
        gain(line, "baseline", 8, panel),
    )
    for panel, line in (("histogram", "tsx.coarsen"), ("physicsSolver", "tsx.init"))
)
PRIVATE = Number(
    "tsx_hpc_fig5",
    "histogram: time of privatize over atomic's with one thread (the paper: good, at most 1)",
    1.0,
    lambda p: p.panel == "histogram" and p.series in ("privatize", "atomic") and p.x == 1,
    gain("privatize", "atomic", 1, "histogram"),
)
BUSY = Number(
    "tsx_hpc_fig6",
    "netstreamcluster: tsx.busywait over mutex, 2 connections (the paper: more than 1)",
    1.0,
    at("tsx.busywait", "mutex", x=2, panel="netstreamcluster"),
    gain("tsx.busywait", "mutex", 2, "netstreamcluster"),
)
ALONE = Number(
    "tsx_hpc_fig2",
    "our genome: tsx over sgl with one thread (the paper: comparable)",
    1.0,
    lambda p: p.panel == "genome" and p.series in ("sgl", "tsx") and p.x == 1,
    gain("tsx", "sgl", 1, "genome"),
)
ORIGINAL = "tsx_hpc_fig2_original"


def elided(panel: str, x: int, stated: str, paper: float) -> Number:
    return Number(
        ORIGINAL,
        f"{panel}: tsx over sgl with {x} thread{'s' * (x > 1)} (the paper: {stated})",
        paper,
        lambda p: p.panel == panel and p.series in ("sgl", "tsx") and p.x in (1, x),
        gain("tsx", "sgl", x, panel),
    )


APRIORI = Number(
    "tsx_hpc_fig3",
    "apriori: sgl over fgl at 8 threads",
    1.0,
    at("sgl", "fgl", x=8, panel="apriori"),
    gain("sgl", "fgl", 8, "apriori"),
)
TWICE_L1 = {"cache.l1.size": 65536, "cache.l1.ways": 16, "htm.write_lines": 608}
CORES = {"topology.cores": 8, "topology.smt": 1, "cache.llc.shared_by": 8}

# ---- ruby ----


def ruby(panel: str, paper: float) -> Number:
    return Number(
        "ruby_gil_fig5",
        f"{panel}: HTM-dynamic with 12 threads over the lock with one",
        paper,
        lambda p: p.panel == panel and (p.series, p.x) in ((GIL, 1), (DYNAMIC, 12)),
        lambda results: results.value(panel, DYNAMIC, 12),
    )


LONGER = (("ft", 64),)

# ---- always-abort ----

CACHE, CACHE_TICKET = (
    Number(
        "always_abort_fig9",
        f"50 % writes: {line} over the default at 18 threads",
        2.5,
        at(line, "default", x=18, panel="50 % sets"),
        gain(line, "default", 18, "50 % sets"),
    )
    for line in ("tatas-aahtm", "ticket-aahtm")
)


def transfers(cycles: int) -> dict:
    """Within the socket of the paper's machine."""
    return {f"coherence.transfer_{where}": cycles for where in ("cluster", "node", "socket")}


BASELINE, AHEAD = "baseline (central, polling)", "aahtm (speculating, polling)"


def solver_gain(matrix: str, x: int, paper: float) -> Number:
    return Number(
        "always_abort_fig14",
        f"{matrix}: throughput of the speculating barrier over the baseline's at {x} threads",
        1 + paper / 100,
        at(AHEAD, BASELINE, x=x, panel=matrix),
        gain(AHEAD, BASELINE, x, matrix),
    )


def solver_scaling(matrix: str, paper: float) -> Number:
    return Number(
        "always_abort_fig14",
        f"{matrix}: 16 threads over one, baseline",
        paper,
        lambda p: p.panel == matrix and p.series == BASELINE and p.x in (1, 16),
        lambda results: results.value(matrix, BASELINE, 16) / results.value(matrix, BASELINE, 1),
    )


OFFSHORE, THERMAL = solver_gain("offshore", 4, 15.58), solver_gain("thermal2", 8, 11.47)
SCALING = [solver_scaling("offshore", 2.31), solver_scaling("thermal2", 3.86)]
SMALL_LLC = {"cache.llc.size": 5_242_880}
# As if ten misses of a core overlapped: Haswell's and Broadwell's L1 has ten fill buffers.
OVERLAP = {"cache.l2.latency": 1, "cache.llc.latency": 5, "dram.local": 21, "dram.remote": 31}
FAR_DRAM = {"dram.local": 630, "dram.remote": 630}
SLOW_DRAM = {"dram.bytes_per_second": 13_000_000_000}
ADVERSARIAL = Number(
    "always_abort_fig13",
    "with the test: tatas-aahtm over tatas at 4 threads",
    1.0,
    at("tatas-aahtm", "tatas", x=4, panel="with the protective test"),
    gain("tatas-aahtm", "tatas", 4, "with the protective test"),
)


def always_abort_gain(figure: int, panel: str, way: str, base: str, x: int, said: str, paper: float,
                      *also: str) -> Number:  # fmt: skip
    """`also`: the series that the figure's speed-ups are over, where it is not `base`."""
    return Number(
        f"always_abort_fig{figure}",
        f"{panel}: {way} over {base} at {x} threads (the paper: {said})",
        paper,
        at(way, base, *also, x=x, panel=panel),
        gain(way, base, x, panel),
    )


def database_htm(panel: str) -> Number:
    return Number(
        "always_abort_fig10",
        f"{panel}: htm-10 with 18 threads over the default with one (the paper: no speed-up)",
        1.0,
        lambda p: p.panel == panel and (p.series, p.x) in (("htm-10", 18), ("default", 1)),
        lambda results: results.value(panel, "htm-10", 18),
    )


ARRAY = always_abort_gain(7, "low contention, large", "htm-10", "ticket-aahtm", 8,
                          "behind, less than 1", 1.0)  # fmt: skip


def one_lock(panel: str) -> Number:
    return always_abort_gain(11, panel, "tatas-aahtm", "tatas", 16, "more than 1.1", 1.1)


def fall_back(panel: str) -> Number:
    said = "drastic, more than 1.1"
    return always_abort_gain(12, panel, FALL_BACK, "htm-10", 16, said, 1.1, "tatas")


def scaling_on(panel: str) -> Number:
    return Number(
        "always_abort_fig12",
        f"{panel}: htm-10 with 16 threads over its speed with 8 (the paper: falls)",
        0.8,
        lambda p: p.panel == panel and (p.series, p.x) in HTM_ENDS,
        lambda results: results.value(panel, "htm-10", 16) / results.value(panel, "htm-10", 8),
    )


FALL_BACK = "htm-10-fb-aahtm"
HTM_ENDS = {("htm-10", 8), ("htm-10", 16), ("tatas", 1)}
FAR_LLC = {"cache.l2.size": 32768, "cache.llc.latency": 210}
HALF_L1 = {"cache.l1.size": 16384, "cache.l1.ways": 4}


def backing_off(number: Number, pauses: int, fields: dict | None = None) -> Trial:
    """The paper's transactions with a back-off that begins with so many PAUSEs."""
    locks = {name: f"published:{name}:{pauses}" for name in ("htm-10", FALL_BACK)}
    said = f"back-off begins with {pauses} PAUSE{'s' * (pauses > 1)}, not 4"
    return Trial(number, fields or {}, locks=locks, said=said)


# ---- mwait ----

TASKS = Number(
    "monitor_mwait_fig3",
    "tasks: 1spinner over libgomp's mutex at 64 cores",
    23,
    at(ONE_SPINNER, LIBGOMP, x=64),
    lambda results: results.ratio("", LIBGOMP, ONE_SPINNER, 64),
)
CRITICAL = Number(
    "monitor_mwait_fig2",
    "1spinner over libgomp's mutex at 64 cores",
    22,
    at(ONE_SPINNER, LIBGOMP, x=64),
    lambda results: results.ratio("", LIBGOMP, ONE_SPINNER, 64),
)
ENERGY = Number(
    "monitor_mwait_fig4",
    "tasks: energy of libgomp's mutex over 1spinner's at 64 cores",
    6,
    at(ONE_SPINNER, LIBGOMP, x=64),
    lambda results: results.ratio("", LIBGOMP, ONE_SPINNER, 64),
)
LEVELS = Number(
    "monitor_mwait_fig5",
    "two-level over central, both polling, 64 cores (the paper: no gain)",
    1.0,
    at("two-level, polling", "central, polling", x=64),
    lambda results: results.ratio("", "two-level, polling", "central, polling", 64),
)

TRIALS = [
    *(
        Trial(number, fields)
        for number in (AVERAGE, HISTOGRAM, PHYSICS)
        for fields in (
            {"atomic.rmw_cycles": 40},
            {"htm.begin_cycles": 10, "htm.commit_cycles": 5},
            {"cache.l1.latency": 1, "atomic.rmw_cycles": 17},
        )
    ),
    *(
        Trial(ALONE, fields, locks=locks)
        for fields, locks in (
            ({}, {"sgl": "tatas"}),
            ({"atomic.rmw_cycles": 7}, {}),
            ({"htm.begin_cycles": 50, "htm.commit_cycles": 40}, {}),
            ({"atomic.drains_stores": "false"}, {}),
        )
    ),
    *(
        Trial(number, fields)
        for number in (
            elided("yada", 1, "comparable", 1.0),
            *(elided(panel, 8, "more than 1.1", 1.1) for panel in ("yada", "labyrinth")),
        )
        for fields in ({"htm.learning": "false"}, CORES, TWICE_L1)
    ),
    *(Trial(ruby(panel, STATED[panel]), {}, {"size": size}) for panel, size in LONGER),
    Trial(PRIVATE, {}, {"pixels": 80000}),
    Trial(BUSY, CORES),
    Trial(APRIORI, {}, {"items": 1000, "support": 10}),
    *(
        Trial(number, fields)
        for number in (CACHE, CACHE_TICKET)
        for fields in (
            transfers(60),
            transfers(50) | {"coherence.occupancy": 5, "coherence.invalidate_per_sharer": 1},
            FAR_DRAM,
            {"os.futex_wake_cycles": 7000, "os.futex_wait_cycles": 4500},
        )
    ),
    *(backing_off(ARRAY, pauses) for pauses in (1, 8)),
    *(
        backing_off(database_htm(panel), pauses)
        for panel in ("small database", "five times as large")
        for pauses in (1, 8)
    ),
    *(
        Trial(one_lock(panel), fields, options)
        for panel in ("genome", "intruder")
        for fields, options in (
            ({}, {"between": 400}),
            (FAR_LLC, {}),
            (FAR_LLC, {"between": 200}),
        )
    ),
    *(
        backing_off(number, pauses)
        for number in (scaling_on("genome"), fall_back("genome"))
        for pauses in (1, 8)
    ),
    *(
        trial
        for number in (scaling_on("vacation"), fall_back("vacation"))
        for trial in (
            backing_off(number, 1),
            Trial(number, HALF_L1),
            backing_off(number, 1, HALF_L1),
        )
    ),
    backing_off(fall_back("intruder"), 1),
    backing_off(fall_back("intruder"), 1, FAR_LLC),
    *(Trial(OFFSHORE, fields) for fields in (SMALL_LLC, FAR_DRAM, SLOW_DRAM)),
    *(Trial(THERMAL, fields) for fields in (FAR_DRAM, SLOW_DRAM)),
    *(
        Trial(number, {}, {"seed": seed})
        for number, seed in ((OFFSHORE, 2), (OFFSHORE, 3), (THERMAL, 3))
    ),
    *(
        Trial(number, fields)
        for number in SCALING
        for fields in (SLOW_DRAM, OVERLAP, OVERLAP | SLOW_DRAM)
    ),
    Trial(ADVERSARIAL, {"htm.abort_cycles": 30}),
    Trial(ADVERSARIAL, transfers(60)),
    *(Trial(ADVERSARIAL, {}, {"seed": seed}) for seed in (2, 3, 4)),
    *(
        Trial(number, {}, {"tasks": tasks}, said=f"each thread makes {tasks:,} tasks, not 100,000")
        for number in (TASKS, ENERGY)
        for tasks in (200, 400, 800, 3200)
    ),
    *(
        Trial(number, fields)
        for number in (TASKS, CRITICAL)
        for fields in (
            {"os.futex_wake_cycles": 10000},
            {"os.syscall_cycles": 2000},
            {"atomic.rmw_cycles": 40},
            {"coherence.occupancy": 60},
            {"coherence.invalidate_per_sharer": 36},
            {"coherence.transfer_remote": 350, "coherence.transfer_socket": 320},
        )
    ),
    *(
        Trial(ENERGY, fields)
        for fields in (
            {"energy.base": 510.0},
            {"energy.monitor_light": 5.0, "energy.idle": 5.0},
            {"energy.spinning": 1.5, "energy.running": 1.5},
        )
    ),
    Trial(LEVELS, {"coherence.occupancy": 5, "coherence.invalidate_per_sharer": 1}),
    Trial(LEVELS, {"coherence.transfer_remote": 85, "coherence.transfer_socket": 85}),
    *(Trial(LEVELS, {"coherence.occupancy": cycles}) for cycles in (100, 200, 400)),
    Trial(LEVELS, {"coherence.invalidate_per_sharer": 200}),
    Trial(LEVELS, {"coherence.occupancy": 200, "coherence.invalidate_per_sharer": 200}),
]
