#!/usr/bin/env python3
"""Every program of papers/workloads/lua under every way of choosing the lengths of transactions,
at all threads of a simulated machine: the table of docs/internals/gil-measured.md.

Throughput over one thread with the lock; then `balance` and `dynamic` over the best fixed length.
A change of some instructions moves the transactions of several threads against each other, and one
run by up to a tenth; with --repeat each program runs with so many sizes, one apart, and what is
printed are medians, of the last two columns with the lowest and the highest.
Finished runs are kept in build/figures, as those of the figures are.
"""

import argparse
import statistics
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers/figures"))

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


def neighbour(program: str, size: int, n: int) -> int:
    """The n-th of the sizes around one; the 0-th is that itself."""
    if program != "ft":
        return size + n
    return size << (n + 1) // 2 if n % 2 else size >> n // 2


def points(
    machine: str, large: bool, turn: int = 0, only: Collection[str] | None = None
) -> list[Point]:
    """Of all programs, or of those in `only`; turn: which of the sizes around their own."""
    build = ruby_gil.build_digest()

    def point(program: str, size: int, way: str, threads: int) -> Point:
        options = {"script": program, "size": size, "threads": threads, "gil": way,
                   "line": ruby_gil.LINE[machine], "build": build}  # fmt: skip
        return Point(program, way, threads, "lua", options)

    found = []
    for program, own in sizes(large).items():
        if only is not None and program not in only:
            continue
        size = neighbour(program, own, turn)
        found.append(point(program, size, "gil", 1))
        found += [point(program, size, way, threads_of(program, machine)) for way in WAYS]
    return found


def speeds_of(runs: list[dict], program: str, threads: int) -> dict[str, float | None]:
    """By way, of one size. A run without a result, or with another than the lock's: None."""
    at = {(r["series"], r["x"]): r for r in runs if "error" not in r}
    first = at.get(("gil", 1))

    def speed(way: str) -> float | None:
        run = at.get((way, threads))
        if run is None or first is None or run["result"] != first["result"]:
            return None
        work = threads if program in GROWING else 1
        return work * first["microseconds"] / run["microseconds"]

    return {way: speed(way) for way in WAYS}


def ratio_cell(ratios: list[float]) -> str:
    middle = statistics.median(ratios)
    cell = f"{middle:.2f}" if middle >= GOAL else f"**{middle:.2f}**"
    return cell if len(ratios) == 1 else f"{cell} [{min(ratios):.2f}, {max(ratios):.2f}]"


def table(machine: str, *sweeps: list[dict]) -> list[str]:
    """Rows of Markdown, medians over the sweeps, one of each size. Without all results: a dash."""
    lines = ["| program | threads | " + " | ".join(WAYS) + " | balance | dynamic |",
             "|---|" + "--:|" * (len(WAYS) + 3)]  # fmt: skip
    for program in dict.fromkeys(r["panel"] for r in sweeps[0]):
        threads = threads_of(program, machine)
        speeds = [
            speeds_of([r for r in runs if r["panel"] == program], program, threads)
            for runs in sweeps
        ]
        cells = []
        for way in WAYS:
            values = [s[way] for s in speeds]
            cells.append("-" if None in values else f"{statistics.median(values):.2f}")
        for way in OURS:
            ratios = [
                (s[way] or 0) / best if (best := max(s[fixed] or 0 for fixed in FIXED)) else 0
                for s in speeds
            ]
            cells.append(ratio_cell(ratios))
        lines.append(f"| {program} | {threads} | " + " | ".join(cells) + " |")
    return lines


def make_table() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machine", default=ruby_gil.ZEC12, choices=list(ruby_gil.THREADS))
    parser.add_argument("--large", action="store_true", help="larger kernels")
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="PROGRAM,...",
                        help=f"of {', '.join(sizes(False))}")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="sizes of each program")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/papers/workloads",
                        help="the folder of lua.simulated")  # fmt: skip
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS)
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error("--repeat must be at least 1")
    if unknown := set(options.only or ()) - set(sizes(options.large)):
        parser.error(f"--only: {min(unknown)}: no such program")
    setting = Setting(options.machine, options.programs, options.limit)
    kept = Checkpoint(options.checkpoints / f"gil_ways_{options.machine}.jsonl")
    sweeps = []
    for turn in range(options.repeat):
        todo = points(options.machine, options.large, turn, options.only)
        setting.check(todo)
        sweeps.append(sweep(todo, setting, kept, many=partial(side_by_side, jobs=options.jobs)))
    print("\n".join(table(options.machine, *sweeps)))
    errors = [run for runs in sweeps for run in runs if "error" in run]
    for run in errors:
        print(f"{run['panel']} {run['series']}: {run['error']}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(guarded(make_table, "gil_ways"))
