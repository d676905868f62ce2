#!/usr/bin/env python3
"""Holds the simulated machine against the real one: predicted and measured throughput of locks.

Usage: calibration_check.py [--machine NAME] [--rounds N] [--output FILE.json] [--quick]

Runs the same source, papers/workloads/lock_pingpong.cpp, natively and on the simulated machine (by
default `this`, which is calibrated first when its file is missing), for several locks at 1, 2, 4
and 8 threads. The prediction is one deterministic number; the measurement is the median of
interleaved rounds. FIFO spin locks are left out where threads outnumber processors. Prints the
error of each pair and writes all of it as JSON.
Exit status: 0; 1 when a run failed; 2 for a wrong call. Errors of prediction are results, not
failures.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from syncopate.base import compactjson  # noqa: E402
from syncopate.commands import calibrate  # noqa: E402

LOCKS = ["pthread", "futex", "tatas:spin", "tatas", "ticket:spin", "mcs:spin", "mcs", "auto"]
THREADS = [1, 2, 4, 8]
WORK = 100  # nanoseconds inside, and again outside
LONG_ENOUGH = 30000  # predicted pairs of a thread: several time slices


def progress(text: str) -> None:
    """Shows what is going on, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r{text:40}\r", end="", file=sys.stderr, flush=True)


def run(program: Path, lock: str, threads: int, pairs: int, environment: dict) -> float:
    """Lock/unlock pairs a second of one run, by the clock of the machine that it runs on."""
    command = [str(program), "--lock", lock, "--threads", str(threads)]
    command += ["--pairs", str(pairs), "--work", str(WORK)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"calibration_check: {' '.join(command)} ended with {done.returncode}")
    result = json.loads(done.stdout)
    return result["operations"] / result["seconds"]


def predicted(build: Path, machine: str, lock: str, threads: int, pairs: int) -> float:
    environment = {**os.environ, "SYNCOPATE_MACHINE": machine, "SYNCOPATE_QUIET": "1"}
    return run(build / "lock_pingpong.simulated", lock, threads, pairs, environment)


def collapses(lock: str, threads: int) -> bool:
    """FIFO spinning with more threads than processors: a hand-over lasts a time slice, so that
    neither run would end soon; such pairs are left out."""
    return threads > (os.cpu_count() or 1) and lock in ("ticket:spin", "mcs:spin")


def table(rows: list[dict]) -> str:
    lines = [
        f"{'lock':12} {'threads':>7} {'measured/s':>12} {'spread':>15} {'predicted/s':>12}  error"
    ]
    for row in rows:
        spread = f"{row['low']:.2g}..{row['high']:.2g}"
        lines.append(
            f"{row['lock']:12} {row['threads']:7} {row['measured']:12.3g} {spread:>15}"
            f" {row['predicted']:12.3g}  {row['error']:+.0%}"
        )
    return "\n".join(lines)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="this", help="machine file (default: this)")
    parser.add_argument("--rounds", type=int, default=7, help="native runs of each pair")
    parser.add_argument("--pairs", type=int, default=300000, help="lock/unlock pairs of a thread")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release/papers/workloads")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    parser.add_argument("--quick", action="store_true", help="3 rounds, fewer pairs")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.pairs = 3, 100000
    return chosen


def main() -> int:
    o = options()
    if o.machine == "this" and not os.path.exists(calibrate.default_output()):
        calibrate.main([])
    cases = [(lock, t) for t in THREADS for lock in LOCKS if not collapses(lock, t)]
    measured: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for number in range(o.rounds):
        progress(f"round {number + 1} of {o.rounds}")
        for lock, threads in cases:
            rate = run(o.build / "lock_pingpong", lock, threads, o.pairs, dict(os.environ))
            measured[lock, threads].append(rate)
    rows = []
    for lock, threads in cases:
        progress(f"predicting {lock} x {threads}")
        guess = predicted(o.build, o.machine, lock, threads, LONG_ENOUGH)
        real = sorted(measured[lock, threads])
        middle = statistics.median(real)
        rows.append(
            {
                "lock": lock,
                "threads": threads,
                "measured": middle,
                "low": real[len(real) // 4],
                "high": real[-1 - len(real) // 4],
                "predicted": guess,
                "error": guess / middle - 1,
            }
        )
    progress("")
    print(table(rows))
    errors = [abs(row["error"]) for row in rows]
    print(f"median error {statistics.median(errors):.0%}, largest {max(errors):.0%}")
    if o.output:
        result = {"machine": o.machine, "work_ns": WORK, "rounds": o.rounds, "rows": rows}
        o.output.write_text(compactjson.lines(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
