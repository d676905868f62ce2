"""What the figures of the Ruby paper share: Lua's programs in lua-mt, one series for each way of
choosing the lengths of transactions."""

import hashlib
import math
import os
from pathlib import Path

from claims import claim
from common import Claim, Point, Results
from common import best as best_series
from rules import almost_all, best
from sweep import ROOT, digest, library_of

PAPER = (
    "R. Odaira, J. G. Castanos, H. Tomari, Eliminating Global Interpreter Locks in Ruby through"
    " Hardware Transactional Memory"
)
ZEC12, HASWELL, SAPPHIRE_RAPIDS = "zec12-12c", "haswell-4c8t", "sapphire-rapids-2s"
LINE = {ZEC12: 256, HASWELL: 64, SAPPHIRE_RAPIDS: 64}  # bytes
# Percent of aborts: the paper's targets (section 5.1); the newer Xeon has the older one's.
GOAL = {ZEC12: 1, HASWELL: 6, SAPPHIRE_RAPIDS: 6}
# The paper's (section 5.4), and for the machine that it has not: as far as on zEC12, and beyond.
THREADS = {
    ZEC12: (1, 2, 4, 6, 8, 12),
    HASWELL: (1, 2, 4, 6, 8),
    SAPPHIRE_RAPIDS: (1, 2, 4, 8, 12, 16),
}

GIL, DYNAMIC, OURS = "GIL", "HTM-dynamic", "balance (ours)"
FIXED = ("HTM-1", "HTM-16", "HTM-256")

# Work grows with the threads; that of the others is split among them.
WORK_OF_EACH = ("while", "iterator", "http")

NOTES = (
    "Programs are Lua's (papers/workloads/lua) in lua-mt, with all conflict removals; the paper's"
    " are Ruby's in CRuby. Throughput is relative to the lock (GIL) with one thread. HTM-dynamic"
    " is the paper's algorithm with its target ratio of aborts; *balance* is ours"
    " ([gil.md](../../../docs/gil.md))."
)


def not_the_papers(machine: str) -> str:
    """Why no row is the paper's, where it has no such machine."""
    return "the paper has no such machine" if machine == SAPPHIRE_RAPIDS else ""


def ways(machine: str) -> dict[str, str]:
    """Series -> SYNCOPATE_GIL."""
    fixed = {name: "htm:" + name.split("-")[1] for name in FIXED}
    return {GIL: "gil"} | fixed | {DYNAMIC: f"paper:{GOAL[machine]}", OURS: "balance"}


def build_digest() -> str:
    """Tells apart what the results depend on and the sweep does not see."""
    built = ROOT / "build" / "lua" / "bin" / "lua-mt.simulated"
    program = Path(os.environ.get("LUA_MT_PROGRAM", built))
    files = sorted((ROOT / "papers/workloads" / "lua").glob("*.lua"))
    if program.is_file():
        files += [f for f in (program, library_of(program)) if f]
    return hashlib.sha256("".join(digest(f) for f in files).encode()).hexdigest()[:16]


def points(machine: str, sizes: dict[str, int], threads: tuple[int, ...]) -> list[Point]:
    build = build_digest()
    return [
        Point(script, series, n, "lua",
              {"script": script, "size": size, "threads": n, "gil": way,
               "line": LINE[machine], "build": build})
        for script, size in sizes.items()
        for series, way in ways(machine).items()
        for n in threads
    ]  # fmt: skip


def prepare(runs: list[dict]) -> None:
    """Adds `throughput`; checks that every way has the result of the lock."""
    good = [run for run in runs if "error" not in run]
    base = {run["panel"]: run for run in good if run["series"] == GIL and run["x"] == 1}
    for run in good:
        first = base.get(run["panel"])
        if first is None:
            run["error"] = "the lock with one thread has no result to compare with"
        elif run["result"] != first["result"]:
            run["error"] = f"wrong result: {run['result']} is not {first['result']}"
        else:
            work = run["x"] if run["panel"] in WORK_OF_EACH else 1
            run["throughput"] = work * first["microseconds"] / run["microseconds"]


def throughput(run: dict) -> float:
    return run["throughput"]


def aborted(run: dict) -> float:
    """Percent of the transactions begun."""
    lock = run["gil"]
    attempts = lock["transactions"] + lock["aborts"] - lock["fallbacks"]
    return 100 * lock["aborts"] / attempts if attempts else 0.0


def share(part: str):
    """A function: what percentage of the threads' cycles went into that part."""

    def of(run: dict) -> float:
        cycles = run["gil"]["cycles"]
        return 100 * cycles[part] / max(1, sum(cycles.values()))

    return of


def most_threads(results: Results, panel: str) -> int:
    return max(results.xs(panel), default=0)


def best_fixed(results: Results, panel: str, x: int) -> tuple[str, float]:
    return best_series(results, panel, list(FIXED), x)


def of_best_fixed(results: Results, series: str, panels, xs=None) -> dict[str, float]:
    """How fast a way of choosing lengths is, of the best fixed one; with all threads, or xs."""
    found = {}
    for panel in panels:
        for x in xs or [most_threads(results, panel)]:
            ours = results.value(panel, series, x)
            other = best_fixed(results, panel, x)[1]
            name = results.case(panel, x if xs else None)
            found[name] = math.nan if ours is None else ours / other
    return found


def balance_near_best(results: Results, panels) -> Claim:
    """Ours: the paper's statement about its own algorithm, for `balance`."""
    return claim(
        "our balance is the best or close to the best",
        almost_all(best(near=True)),
        of_best_fixed(results, OURS, panels),
        WHY_BALANCE,
        what="of the best fixed length",
        beyond=BEYOND_OURS,
    )


def more_threads(results: Results) -> list[int]:
    panel = results.panels()[0]
    return [x for x in results.xs(panel) if x > 1]


BEYOND_OURS = "`balance` is our algorithm, not the paper's HTM-dynamic"
WHY_SHORT = (
    "lengths begin at 255 and only shrink, by a quarter in 300 transactions: our programs run for"
    " milliseconds, the paper's for many seconds, and end before the lengths are right"
)
WHY_BALANCE = "our programs are short: what is learned comes late, see gil.md"
