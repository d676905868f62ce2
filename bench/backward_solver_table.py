#!/usr/bin/env python3
"""The triangular solve under every barrier and under libgomp, on this machine: GB/s, speed-up.

    bench/backward_solver_table.py                      three generated matrices, 1 and 2 threads
    bench/backward_solver_table.py --matrix FILE.mtx --threads 1,2,4 --rounds 9

The baseline is libgomp's barrier, as in table I of the always-abort paper. Each round runs every
barrier once, each round starting with the next one; shown are medians over rounds. A run whose
residual is too large ends the script with status 1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from interleaved import ROOT, provenance

from syncopate.base import ownsettings, preloading

BASELINE = "libgomp"
BARRIERS = ("auto", "central", "combining_tree", "dissemination", "two_level", "speculating")
PRELOADED = "libgomp, ours preloaded"


class Failure(Exception):
    """What ends the script: one line."""


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--matrix", default="offshore,inline_1,thermal2", help="by commas")
    parser.add_argument("--threads", default="1,2", help="by commas")
    parser.add_argument("--barriers", default=",".join(BARRIERS), help="by commas")
    parser.add_argument("--levels", type=int, default=400, help="of generated matrices; 0: paper's")
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/papers/workloads")
    parser.add_argument("--library", type=Path, default=ROOT / "build/lib/libsyncopate-openmp.so.0")
    return parser.parse_args()


def command_of(name: str, options: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """The program of one column, and what its environment has more than this one's."""
    folder = options.programs / "backward_solver"
    if name in (BASELINE, PRELOADED):
        more = {"LD_PRELOAD": str(options.library)} if name == PRELOADED else {}
        return [str(folder / "backward_solver.openmp")], more
    return [str(folder / "backward_solver"), "--barrier", name], {}


def throughput(name: str, matrix: str, threads: str, options: argparse.Namespace) -> float:
    command, more = command_of(name, options)
    sizes = {"levels": options.levels, "solves": options.solves}
    for key, value in {"matrix": matrix, "threads": threads, **sizes}.items():
        command += [f"--{key}", str(value)]
    kept = ownsettings.without(os.environ)
    kept.pop(preloading.LIST, None)
    done = subprocess.run(
        command, env=preloading.changed(kept, more), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Failure(f"{name}, {matrix}: {(done.stderr or done.stdout).strip()}")
    return json.loads(done.stdout)["gigabytes_per_second"]


def measure(names: list[str], matrix: str, threads: str, options: argparse.Namespace) -> dict:
    """The median of each column, in GB/s."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(options.rounds):
        for i in range(len(names)):
            name = names[(turn + i) % len(names)]
            where = f"{matrix}, {threads} threads, round {turn + 1}/{options.rounds}: {name}"
            print(f"\r\033[K{where}", end="", file=sys.stderr, flush=True)
            found[name].append(throughput(name, matrix, threads, options))
    print("\r\033[K", end="", file=sys.stderr)
    return {name: statistics.median(values) for name, values in found.items()}


def show(matrix: str, rows: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(rows.values())))
    print(f"\n{matrix}: GB/s (speed-up over {BASELINE})")
    print("threads  " + "".join(f"{name:>25}" for name in names))
    for threads, values in rows.items():
        cells = [f"{v:.2f} ({100 * (v / values[BASELINE] - 1):+.1f} %)" for v in values.values()]
        print(f"{threads:>7}  " + "".join(f"{cell:>25}" for cell in cells))


def main() -> int:
    options = read_arguments()
    names = [BASELINE, PRELOADED, *options.barriers.split(",")]
    if not options.library.exists():
        names.remove(PRELOADED)
    missing = {c[0] for n in names if not Path((c := command_of(n, options)[0])[0]).exists()}
    if missing:
        print(f"backward_solver_table: build first: no {sorted(missing)[0]}", file=sys.stderr)
        return 2
    print(", ".join(f"{key} {value}" for key, value in provenance().items()))
    try:
        for matrix in options.matrix.split(","):
            counts = options.threads.split(",")
            show(matrix, {n: measure(names, matrix, n, options) for n in counts})
    except Failure as failure:
        print(f"backward_solver_table: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
