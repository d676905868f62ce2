#!/usr/bin/env python3
"""Transactions on GCC's libitm and on ours, interleaved.

    bench/tm_compare.py                          nanoseconds per transaction (tm_bench)
    bench/tm_compare.py --rounds 7 --algorithms auto,norec
    bench/tm_compare.py --stamp build/release/papers/workloads/stamp         seconds of STAMP-likes
    bench/tm_compare.py --only vacation,genome --stamp ...            some of its programs

Every round runs each library once, so that drift of the machine meets all alike; the median over
rounds is shown, with the range. Each STAMP-like program checks its own result: one that fails is
shown as FAILED, never as a time.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

from interleaved import ROOT, provenance

from syncopate.base import compactjson
from syncopate.bench.librarysuites import TM_SHAPES as SHAPES

STOCK = {"stock": {}, "stock:ml_wt": {"ITM_DEFAULT_METHOD": "ml_wt"}}
PROGRAMS = ("genome", "intruder", "kmeans", "labyrinth", "ssca2", "vacation", "yada", "bayes")


def environment(name: str, library: Path) -> dict[str, str]:
    """The environment under which a program runs on the named library."""
    plain = {k: v for k, v in os.environ.items() if k not in ("SYNCOPATE_TM", "LD_LIBRARY_PATH")}
    if name in STOCK:
        return {**plain, **STOCK[name]}
    return {**plain, "SYNCOPATE_TM": name, "LD_LIBRARY_PATH": str(library)}


def run_bench(program: Path, environ: dict[str, str], milliseconds: int) -> dict[str, float]:
    """Nanoseconds by shape. Raises CalledProcessError."""
    text = subprocess.run(
        [program, str(milliseconds)], env=environ, check=True, capture_output=True, text=True
    ).stdout
    return {name: float(value) for name, value in map(str.split, text.splitlines())}


def run_stamp(program: Path, environ: dict[str, str], threads: int, limit: int) -> float | None:
    """Seconds that the program says it took; None when it failed or its check did not pass."""
    try:
        result = subprocess.run(
            [program, "--threads", str(threads)],
            env=environ,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return None
    fields = dict(line.split(None, 1) for line in result.stdout.splitlines() if " " in line)
    if result.returncode != 0 or fields.get("check", "").strip() != "passed":
        return None
    return float(fields["seconds"])


def show(title: str, rows: dict[str, dict[str, list]], columns: list[str]) -> None:
    """One line for each row, the median of each column and its range."""
    print(f"{title:<14}" + "".join(f"{column:>22}" for column in columns))
    for name, row in rows.items():
        cells = []
        for column in columns:
            values = row[column]
            if None in values:
                cells.append("FAILED")
                continue
            middle = statistics.median(values)
            cells.append(f"{middle:.4g} ({min(values):.4g}-{max(values):.4g})")
        print(f"{name:<14}" + "".join(f"{cell:>22}" for cell in cells))


def show_ratios(rows: dict[str, dict[str, list]], columns: list[str]) -> None:
    """The geometric mean, over all rows, of how much faster each column is than each stock one."""
    for base in (column for column in columns if column in STOCK):
        for column in (column for column in columns if column not in STOCK):
            ratios = [
                statistics.median(row[base]) / statistics.median(row[column])
                for row in rows.values()
                if None not in row[base] and None not in row[column]
            ]
            if ratios:
                mean = math.exp(statistics.fmean(map(math.log, ratios)))
                print(f"{column}: {mean:.2f} times as fast as {base} (of {len(ratios)} rows)")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--algorithms", default="auto,htm,norec,eager_norec,lazy,tl2,encounter_time"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=int, default=40, help="per shape and round")
    parser.add_argument("--library", type=Path, default=ROOT / "build/lib/tm")
    parser.add_argument("--bench", type=Path, default=ROOT / "build/release/bench/tm_bench")
    parser.add_argument("--stamp", type=Path, help="folder of the STAMP-like programs")
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--json", type=Path, help="writes the nanoseconds to this file, too")
    parser.add_argument("--limit", type=int, default=120, help="seconds for one STAMP-like run")
    options = parser.parse_args()
    needed = [options.library / "libitm.so.1"] + ([] if options.stamp else [options.bench])
    for path in needed:
        if not path.exists():
            print(f"tm_compare: {path} is not there; build it, or name another", file=sys.stderr)
            return 2

    columns = [*STOCK, *options.algorithms.split(",")]
    rows: dict[str, dict[str, list]] = {}
    for _ in range(options.rounds):
        for column in columns:
            environ = environment(column, options.library)
            if not options.stamp:
                results = run_bench(options.bench, environ, options.milliseconds)
                for shape in SHAPES:
                    rows.setdefault(shape, {}).setdefault(column, []).append(results[shape])
        if options.stamp:
            for name in options.only.split(","):
                for threads in map(int, options.threads.split(",")):
                    row = rows.setdefault(f"{name} {threads}", {})
                    for column in columns:
                        environ = environment(column, options.library)
                        program = options.stamp / f"{name}.tm"
                        seconds = run_stamp(program, environ, threads, options.limit)
                        row.setdefault(column, []).append(seconds)
    unit = "seconds" if options.stamp else "nanoseconds"
    if options.json and not options.stamp:
        report = {"measured": {**provenance(), "rounds": options.rounds}, "nanoseconds": rows}
        options.json.write_text(compactjson.lines(report), encoding="utf-8")
    show(unit, rows, columns)
    show_ratios(rows, columns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
