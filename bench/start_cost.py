#!/usr/bin/env python3
"""What `syncopate run` adds to the start and to the memory of a program.

    bench/start_cost.py [--rounds 41] [--json papers/results/start_cost.json]

A small program (grep, which prints its own peak of resident memory) runs alone, with the library
preloaded by hand, and under `syncopate run`, interleaved; the table shows milliseconds from start
to end and KiB.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from interleaved import LIBRARY, ROOT, Summary, number, provenance, table

from syncopate.base import preloading

PROGRAM = ["grep", "VmHWM", "/proc/self/status"]
GOAL_MS = 60


def ways(syncopate, library):
    """Returns {how it is started: (command, environment)}."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("SYNCOPATE", "LD_PRELOAD"))}
    preloaded = preloading.changed(plain, {"LD_PRELOAD": str(library), "SYNCOPATE_LOCK": "auto"})
    return {
        "alone": (PROGRAM, plain),
        "preloaded": (PROGRAM, preloaded),
        "run": ([str(syncopate), "run", "--", *PROGRAM], plain),
    }


def measure(command, environment):
    """Returns (milliseconds, KiB) of one start."""
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    milliseconds = 1000 * (time.perf_counter() - start)
    return milliseconds, int(re.search(r"(\d+) kB", done.stdout)[1])


def main():
    """Measures what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--syncopate", type=Path, default=ROOT / "build/bin/syncopate")
    parser.add_argument("--library", default=str(LIBRARY))
    parser.add_argument("--json", type=Path, help="write everything to this file")
    options = parser.parse_args()
    if not options.syncopate.is_file() or options.rounds < 1:
        parser.error(f"no {options.syncopate}; run `make`" if options.rounds > 0 else "no rounds")

    started = ways(options.syncopate, options.library)
    rounds = {way: [] for way in started}
    for _ in range(options.rounds):
        for way, (command, environment) in started.items():
            rounds[way].append(measure(command, environment))
    times = {way: Summary.of([ms for ms, _ in each]) for way, each in rounds.items()}
    memory = {way: Summary.of([kib for _, kib in each]) for way, each in rounds.items()}
    lines = []
    for way in started:
        cells = []
        for summary in (times, memory):
            median = summary[way].median
            cells += [number(median), number(median - summary["alone"].median)]
        lines.append([way, *cells])
    print(table(lines, ["start", "ms", "more", "KiB", "more"]))
    print(f"goal: `syncopate run` adds at most {GOAL_MS} ms")
    if options.json:
        report = {"measured": provenance(), "goal_ms": GOAL_MS, "rounds": rounds}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
