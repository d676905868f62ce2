#!/usr/bin/env python3
"""Every program of workloads/lua under every way of choosing the lengths of transactions, at all
threads of a simulated machine: the table of docs/gil.md.

Throughput over one thread with the lock; then `balance` and `dynamic` over the best fixed length.
Finished runs are kept in build/figures, as those of the figures are.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "figures"))

import ruby_gil
import ruby_gil_http
import ruby_gil_kernels
import ruby_gil_micro
from common import guarded
from sweep import CHECKPOINTS, ROOT, Checkpoint, Point, Setting, side_by_side, sweep

FIXED = ("htm:1", "htm:16", "htm:256")
OURS = ("balance", "dynamic")
WAYS = ("gil", *FIXED, "paper:1", "paper:6", *OURS)
# Allocation, whose work grows with the threads as that of ruby_gil.WORK_OF_EACH.
ALLOCATING = {"alloc": 800, "strings": 800, "collect": 100}
GROWING = (*ruby_gil.WORK_OF_EACH, *ALLOCATING)
GOAL = 0.9


def sizes(large: bool) -> dict[str, int]:
    kernels = ruby_gil_kernels.LARGE if large else ruby_gil_kernels.SIZES
    return ruby_gil_micro.SIZES | kernels | {ruby_gil_http.PANEL: 30} | ALLOCATING


def threads_of(program: str, machine: str) -> int:
    return ruby_gil_http.CLIENTS[-1] if program == "http" else ruby_gil.THREADS[machine][-1]


def points(machine: str, large: bool) -> list[Point]:
    build = ruby_gil.build_digest()

    def point(program: str, size: int, way: str, threads: int) -> Point:
        options = {"script": program, "size": size, "threads": threads, "gil": way,
                   "line": ruby_gil.LINE[machine], "build": build}  # fmt: skip
        return Point(program, way, threads, "lua", options)

    found = []
    for program, size in sizes(large).items():
        found.append(point(program, size, "gil", 1))
        found += [point(program, size, way, threads_of(program, machine)) for way in WAYS]
    return found


def table(machine: str, runs: list[dict]) -> list[str]:
    """Rows of Markdown. A run without a result, or with another than the lock's, is a dash."""
    at = {(r["panel"], r["series"], r["x"]): r for r in runs if "error" not in r}
    lines = ["| program | threads | " + " | ".join(WAYS) + " | balance | dynamic |",
             "|---|" + "--:|" * (len(WAYS) + 3)]  # fmt: skip
    for program in dict.fromkeys(r["panel"] for r in runs):
        first, threads = at.get((program, "gil", 1)), threads_of(program, machine)

        def speed(way: str, program=program, first=first, threads=threads) -> float | None:
            run = at.get((program, way, threads))
            if run is None or first is None or run["result"] != first["result"]:
                return None
            work = threads if program in GROWING else 1
            return work * first["microseconds"] / run["microseconds"]

        speeds = {way: speed(way) for way in WAYS}
        best = max((speeds[way] or 0 for way in FIXED), default=0)
        cells = ["-" if s is None else f"{s:.2f}" for s in speeds.values()]
        for way in OURS:
            ratio = (speeds[way] or 0) / best if best else 0
            cells.append(f"{ratio:.2f}" if ratio >= GOAL else f"**{ratio:.2f}**")
        lines.append(f"| {program} | {threads} | " + " | ".join(cells) + " |")
    return lines


def make_table() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machine", default=ruby_gil.ZEC12, choices=list(ruby_gil.THREADS))
    parser.add_argument("--large", action="store_true", help="larger kernels")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/workloads",
                        help="the folder of lua.simulated")  # fmt: skip
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS)
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    options = parser.parse_args()
    setting = Setting(options.machine, options.programs, options.limit)
    todo = points(options.machine, options.large)
    setting.check(todo)
    kept = Checkpoint(options.checkpoints / f"gil_ways_{options.machine}.jsonl")
    runs = sweep(todo, setting, kept, many=partial(side_by_side, jobs=options.jobs))
    print("\n".join(table(options.machine, runs)))
    errors = [run for run in runs if "error" in run]
    for run in errors:
        print(f"{run['panel']} {run['series']}: {run['error']}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(guarded(make_table, "gil_ways"))
