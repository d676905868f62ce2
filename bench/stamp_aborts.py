#!/usr/bin/env python3
"""Abort rates of the STAMP-like programs under every algorithm for transactions.

    bench/stamp_aborts.py --libitm build/lib/tm
    bench/stamp_aborts.py --libitm build/lib/tm --programs genome,yada --threads 1,2,4 --json a.json

As table 1 of "Performance evaluation of Intel TSX for high-performance computing" (SC 2013): of all
attempts at transactions, the percentage that came to nothing by a conflict; behind it, of those
that committed, the percentage that took the global lock: by the algorithm, after many failures, or
to do what cannot be rolled back (`syncopate record --tm` shows which and where). The counts are the
library's own (SYNCOPATE_TM_STATISTICS); attempts in hardware are not among them. One run each: how
often transactions meet varies from run to run.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from interleaved import provenance, table
from stamp_compare import (
    UseError,
    add_run_options,
    parse_variant,
    run_program,
    settle_run_options,
)

from syncopate.base import compactjson
from syncopate.base.errors import Failure
from syncopate.launch.transactions import algorithms, check_choice

COUNT = re.compile(r"(\w+)=(\d+)")


def count(options, name, algorithm, threads):
    """The library's counts of one run, by name; None where the run failed."""
    variant = parse_variant(f"tm:{algorithm}", threads, options.libitm)
    variant.variables["SYNCOPATE_TM_STATISTICS"] = "1"
    try:
        done = run_program(options.build, name, variant, options)
    except subprocess.TimeoutExpired:
        return None
    said = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        print(f"{name} {algorithm}: ended with {done.returncode}: {said.strip()}", file=sys.stderr)
        return None
    return {key: int(value) for key, value in COUNT.findall(said)}


def cell(counts):
    if counts is None:
        return "failed"
    attempts = counts["commits"] + counts["restarts"]
    if attempts == 0:
        return "-"
    conflicts = counts["read"] + counts["write"] + counts["commit"]
    aborted, alone = conflicts / attempts, counts["alone"] / max(1, counts["commits"])
    return f"{100 * aborted:.1f} / {100 * alone:.0f}"


def arguments(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--libitm", required=True, help="our libitm.so.1, or its folder")
    add_run_options(parser, threads="2")
    parser.add_argument("--algorithms", default=",".join(algorithms()), help="(default: all)")
    parser.add_argument("--json", help="also writes all counts to this file")
    options = parser.parse_args(words)
    settle_run_options(options)
    options.algorithms = [check_choice(each) for each in options.algorithms.split(",")]
    return options


def measure(options, threads):
    """Returns {program: {algorithm: counts}}."""
    results = {}
    for name in options.programs:
        results[name] = {}
        for algorithm in options.algorithms:
            if sys.stderr.isatty():
                print(f"\r\x1b[K{name}, {threads} threads, {algorithm}", end="", file=sys.stderr)
            results[name][algorithm] = count(options, name, algorithm, threads)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    return results


def main(words=None):
    try:
        options = arguments(words)
        report = {"provenance": provenance(), "preset": options.preset, "counts": {}}
        for threads in options.threads:
            results = measure(options, threads)
            rows = [[name, *map(cell, counts.values())] for name, counts in results.items()]
            title = f"{threads} threads: % of attempts lost to conflicts / % of commits alone"
            print(f"\n{title}, preset {options.preset}\n")
            print(table(rows, ["", *options.algorithms]), flush=True)
            report["counts"][threads] = results
        print("\n" + "; ".join(f"{key} {value}" for key, value in report["provenance"].items()))
        if options.json:
            Path(options.json).write_text(compactjson.lines(report), encoding="utf-8")
    except (UseError, Failure, OSError) as error:
        print(f"stamp_aborts: {error}", file=sys.stderr)
        return 2
    runs = [row for results in report["counts"].values() for row in results.values()]
    return 1 if any(counts is None for row in runs for counts in row.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
