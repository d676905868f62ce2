#!/usr/bin/env python3
"""What waiting costs other programs: how much of its speed a program keeps beside one whose threads
wait for a lock, and how much processor time the waiting program takes for each of its sections.

    bench/foreign_load.py [--rounds 5] [--seconds 1] [--threads 8] [--json FILE] [CONFIGURATION ...]

As many neighbors as there are processors compute alone, each for itself. Beside them runs nothing,
or `pthread_load contended` with long sections, under each configuration in turn
(syncopate/bench/configuration.py). Both run for the same time; ratios of medians, interleaved.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from interleaved import (
    ROOT,
    Configuration,
    ConfigurationError,
    comparison_table,
    provenance,
    run_rounds,
)

ALONE = "alone"
DEFAULT = (
    "glibc", "auto", "mcs:park", "tatas:adaptive", "tatas:yield", "tatas:spin",
    "tatas:spin+SYNCOPATE_GUARD=slices",
)  # fmt: skip
LOAD = ROOT / "build" / "release" / "bench" / "pthread_load"
SECTION, OUTSIDE = 20_000, 2_000  # cycles: some 10 us held, 1 us not
NEIGHBOR = """
import sys, time
end, rounds = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    for _ in range(1000): pass
    rounds += 1
print(rounds)
"""


def waiting_program(configuration, threads, seconds):
    command = [LOAD, "contended", "--threads", threads, "--seconds", seconds]
    command += ["--work-in", SECTION, "--work-out", OUTSIDE]
    return subprocess.Popen(
        [str(word) for word in command],
        env=configuration.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def measure_once(configuration, threads, seconds):
    """Neighbors' rounds a second, and the waiting program's processor time by section, in us."""
    program = configuration.text != ALONE and waiting_program(configuration, threads, seconds)
    neighbors = [
        subprocess.Popen(
            [sys.executable, "-c", NEIGHBOR, str(seconds)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(os.cpu_count())
    ]
    rounds = sum(int(neighbor.communicate()[0]) for neighbor in neighbors)
    result = {"rounds_per_second": rounds / seconds, "us_per_section": 0.0}
    if program:
        told = json.loads(program.communicate()[0])
        sections = max(1, sum(told["thread_operations"]))
        result["us_per_section"] = told["cpu_seconds"] / sections * 1e6
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("configurations", nargs="*", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if not LOAD.is_file():
        sys.exit(f"foreign_load: {LOAD} is not built; run `make` first")
    try:
        configurations = [Configuration(ALONE)]
        configurations += [Configuration.parse(text) for text in options.configurations]
    except ConfigurationError as error:
        sys.exit(f"foreign_load: {error}")
    start = time.monotonic()
    results = run_rounds(
        configurations,
        options.rounds,
        lambda each: measure_once(each, options.threads, options.seconds),
        lambda text: print(f"\r{text:60}", end="", file=sys.stderr, flush=True),
    )
    print(f"\r{'':60}\r", end="", file=sys.stderr)
    print(comparison_table(results, "rounds_per_second"))
    print()
    results.pop(ALONE)
    print(comparison_table(results, "us_per_section"))
    print(f"\nload average {os.getloadavg()[0]:.1f}, {time.monotonic() - start:.0f} s")
    if options.json:
        document = {"provenance": provenance(), "results": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
