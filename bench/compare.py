#!/usr/bin/env python3
"""Compare lock configurations on one command, interleaved.

    bench/compare.py --configs glibc,pass,auto -- uncontended --mutexes 20000
    bench/compare.py --configs glibc,auto --rounds 9 -- contended --threads 8 --waits
    bench/compare.py --configs glibc,auto --neighbors 2 -- contended --threads 8 --waits
    bench/compare.py --configs glibc,auto --metric wall --program xz -- -T2 -k -c big.tar
    bench/compare.py --configs glibc,auto --regex 'time: ([0-9.]+)' --program kccachetest -- ...

Without --program the arguments after -- go to bench/pthread_load; without any, its whole standard
series is run, with pass-through (and for one thread nothing at all) beside the locks compared. See
interleaved.py for what a configuration may say.
"""

import argparse
import json
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

from interleaved import (
    LIBRARY,
    ROOT,
    Configuration,
    ConfigurationError,
    comparison_table,
    foreign_load,
    provenance,
    run_rounds,
)

# The metrics of pthread_load's modes that are shown when the user names none.
MODE_METRICS = {
    "uncontended": ["cycles"],
    "contended": ["throughput", "share", "cpu_seconds", "voluntary"],
    "memory": ["bytes_per_mutex"],
}
WAIT_METRICS = ["longest_wait_ms", "p99_wait_us"]
STANDARD_SERIES = [
    "uncontended --null",
    "uncontended",
    "uncontended --null --mutexes 20000",
    "uncontended --mutexes 20000",
    "contended --threads 2 --null",
    "contended --threads 8 --null",
    "contended --threads 32 --null",
    "contended --threads 2",
    "contended --threads 8 --waits",
    "contended --threads 32 --waits",
    "memory",
]
PLACES = ["build/bin/pthread_load", "build/bench/pthread_load", "build/release/bench/pthread_load"]


class RunError(Exception):
    """One run failed; the text is one line for the user."""


def find_load(given):
    """Returns the path of the pthread_load binary."""
    if given:
        return given
    for place in PLACES:
        if (ROOT / place).is_file():
            return str(ROOT / place)
    raise ConfigurationError("no pthread_load in the build folder; run `make`, or give --load PATH")


def run_once(command, configuration, timeout):
    """Runs the command once; returns (its output, wall seconds, CPU seconds of it)."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    try:
        done = subprocess.run(
            command,
            env=configuration.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{configuration.text}: not done after {timeout} s") from error
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise RunError(f"{configuration.text}: exit status {done.returncode}: {last[0]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    output = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    return output, wall, cpu


def metrics_of(output, regex):
    """Returns the numbers found in one run's output: JSON fields, or what the regex captures."""
    if regex:
        found = re.findall(regex, output)
        if not found:
            raise RunError(f"the regular expression {regex!r} matches nothing in the output")
        return {"regex": float(found[-1])}
    first = output.splitlines()[0] if output else ""
    return json.loads(first) if first.startswith("{") else {}


def default_metrics(options, words):
    """Returns which metrics to show when --metric is not given."""
    if options.regex:
        return ["regex"]
    if options.program:
        return ["wall"]
    waits = WAIT_METRICS if "--waits" in words else []
    return MODE_METRICS.get(words[0], ["wall"]) + waits


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--configs", default="glibc,pass,auto", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--metric", action="append", help="JSON field, `wall` or `cpu`; repeatable")
    parser.add_argument("--regex", help="the last match's first group is the metric")
    parser.add_argument("--program", help="compare this program instead of pthread_load")
    parser.add_argument("--library", default=str(LIBRARY), help="default %(default)s")
    parser.add_argument("--load", help="where pthread_load is")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one run")
    parser.add_argument("--json", help="also write every round's numbers to this file")
    parser.add_argument(
        "--neighbors", type=int, default=0, help="busy processes beside each run (default 0)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress lines")
    parser.add_argument("arguments", nargs="*", metavar="-- arguments")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def compare(options, words):
    """Runs one comparison; returns {configuration: [metrics of each round]}."""
    configurations = [
        Configuration.parse(text, options.library) for text in options.configs.split(",")
    ]
    command = [options.program or find_load(options.load), *words]

    def measure(configuration):
        with foreign_load(options.neighbors):
            output, wall, cpu = run_once(command, configuration, options.timeout)
        return {"wall": wall, "cpu": cpu, **metrics_of(output, options.regex)}

    def progress(line):
        if not options.quiet:
            print(line, file=sys.stderr)

    return run_rounds(configurations, options.rounds, measure, progress)


def compare_and_print(options, words):
    """Runs one comparison and prints a table per metric; returns its row for JSON."""
    print(f"# {options.program or 'pthread_load'} {shlex.join(words)}", flush=True)
    results = compare(options, words)
    for metric in options.metric or default_metrics(options, words):
        if metric not in next(iter(results.values()))[0]:
            raise RunError(f"the program's output has no field {metric!r}")
        print(comparison_table(results, metric), end="\n\n", flush=True)
    return {"arguments": words, "rounds": results}


def main():
    options = parse_arguments()
    series = [options.arguments]
    if not options.arguments and not options.program:
        series = [line.split() for line in STANDARD_SERIES]
    try:
        comparisons = [compare_and_print(options, words) for words in series]
    except (ConfigurationError, RunError, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if options.json:
        report = {
            "measured": provenance(),
            "program": options.program,
            "neighbors": options.neighbors,
            "comparisons": comparisons,
        }
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
