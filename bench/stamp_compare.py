#!/usr/bin/env python3
"""Compare what makes the STAMP-like programs' transactions atomic, interleaved.

    bench/stamp_compare.py
    bench/stamp_compare.py --libitm build/lib --variants sequential,lock,tm:stock,tm:auto,tm:norec
    bench/stamp_compare.py --programs genome,kmeans-high --threads 1,2,4 --rounds 9 --json out.json

A variant is one of
    sequential         no synchronization, one thread; what others are compared with
    lock[:NAME]        one global lock: the platform's mutex, or that of locks/all.h
    elided[:NAME]      the same, elided
    tm:stock[:METHOD]  -fgnu-tm on the compiler's libitm (ITM_DEFAULT_METHOD: ml_wt, gl_wt, ...)
    tm:ALGORITHM       -fgnu-tm on the libitm of --libitm, under that SYNCOPATE_TM
Every round runs each variant of a program once, each round starting with the next one. Shown
are the seconds of the parallel region: medians, half the spread in percent, and ratios of medians.
The JSON file has, besides, how fair each was: what the thread that did least did, as a multiple of
an equal share.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from interleaved import ROOT, Summary, number, provenance, ratio_of_medians, run_rounds, table

from syncopate.base import compactjson
from syncopate.base.errors import Failure
from syncopate.bench.programsuites import (
    STAMP as PROGRAMS,
)  # name: (program, prefix of its presets)
from syncopate.bench.suites import find_variant
from syncopate.bench.suitetable import SUITES

PLACES = ["build/papers/workloads/stamp", "build/release/papers/workloads/stamp"]


class UseError(Exception):
    """What cannot be run; the text is one line for the user."""


@dataclass(frozen=True)
class Variant:
    """One way to run a program: the words after it and the environment."""

    text: str
    threads: int
    words: tuple = ()
    variables: dict = field(default_factory=dict, hash=False)

    @property
    def uses_tm(self):
        return self.text.startswith("tm:")


def parse_variant(text, threads, libitm):
    """Returns the Variant that `text` means; raises UseError."""
    try:
        found = find_variant("stamp", SUITES["stamp"], text)
    except Failure as failure:
        raise UseError(str(failure)) from failure
    variables = dict(found.variables)
    if "LD_LIBRARY_PATH" in variables:
        if libitm is None:
            raise UseError(f"{text}: needs --libitm, the folder of our libitm.so.1")
        variables["LD_LIBRARY_PATH"] = str(libitm)
    return Variant(text, found.threads or threads, found.words, variables)


def run_program(build, name, variant, options):
    """Runs one program to its end; returns what subprocess does, which may be TimeoutExpired."""
    program, prefix = PROGRAMS[name]
    path = build / (program + (".tm" if variant.uses_tm else ""))
    words = [str(path), "--preset", prefix + options.preset, "--threads", str(variant.threads)]
    words += ["--seed", str(options.seed), "--json", *variant.words]
    drop = ("LD_LIBRARY_PATH", "SYNCOPATE_TM", "ITM_DEFAULT_METHOD", "LD_PRELOAD")
    clean = {key: value for key, value in os.environ.items() if key not in drop}
    return subprocess.run(
        words,
        env={**clean, **variant.variables},
        capture_output=True,
        timeout=options.timeout,
        check=False,
    )


def run_once(build, name, variant, options):
    """Runs one program; returns its seconds, infinity where it failed, and its least share."""
    failed = {"seconds": math.inf, "least_share": 0}
    try:
        done = run_program(build, name, variant, options)
        if done.returncode == 2:
            raise UseError(done.stderr.decode(errors="replace").strip())
        if done.returncode != 0:
            print(f"{name} {variant.text}: ended with {done.returncode}", file=sys.stderr)
            return failed
    except subprocess.TimeoutExpired:
        print(f"{name} {variant.text}: not done after {options.timeout} s", file=sys.stderr)
        return failed
    result = json.loads(done.stdout)
    done_by = result["per_thread"]
    equal = sum(done_by) / len(done_by)
    return {"seconds": result["seconds"], "least_share": min(done_by) / equal if equal else 0}


def measure(build, name, texts, threads, options):
    """Returns what run_once() did, in {variant text: [of each round]}, at one number of threads."""
    variants = [parse_variant(text, threads, options.libitm) for text in texts]

    def note(text):
        if sys.stderr.isatty():
            print(f"\r\x1b[K{name}, {threads} threads, {text}", end="", file=sys.stderr, flush=True)

    return run_rounds(variants, options.rounds, lambda v: run_once(build, name, v, options), note)


def column(runs, key):
    """Returns {program: {variant text: [the value `key` of each round]}}."""
    return {
        name: {text: [each[key] for each in rounds] for text, rounds in variants.items()}
        for name, variants in runs.items()
    }


def finite(seconds):
    """Returns the number for JSON, which has no infinity: None where the run failed."""
    return seconds if math.isfinite(seconds) else None


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def cell(values, base):
    """Returns a ratio of medians and half the spread of `values`, as text, and the ratio."""
    if math.inf in values or math.inf in base:
        return "failed", None
    summary = Summary.of(values)
    spread = 50 * (summary.largest - summary.smallest) / summary.median
    ratio = ratio_of_medians(values, base).value
    return f"{ratio:.2f} ±{spread:.0f}%", ratio


def ratio_table(results, base):
    """Returns the table of all programs' ratios to the variant `base`, and the geometric means."""
    variants = list(next(iter(results.values())))
    rows, ratios = [], {variant: [] for variant in variants}
    for name, values in results.items():
        median = statistics.median(values[base])
        row = [name, number(median)]
        for variant in variants:
            text, ratio = cell(values[variant], values[base])
            row.append(text)
            if ratio is not None:
                ratios[variant].append(ratio)
        rows.append(row)
    means = {variant: geometric_mean(list_) for variant, list_ in ratios.items()}
    rows.append(["geometric mean", "", *(f"{means[v]:.2f}" for v in variants)])
    return table(rows, ["", f"{base} s", *variants]), means


def find_build(given):
    for place in [given] if given else [ROOT / each for each in PLACES]:
        if (Path(place) / "ssca2").is_file():
            return Path(place).resolve()
    raise UseError("no STAMP-like programs there; run `make`, or give --build FOLDER")


def find_libitm(given):
    """Returns the folder of a libitm.so.1, given as itself or as the library; None without one."""
    if given is None:
        return None
    path = Path(given).resolve()
    folder = path if path.is_dir() else path.parent
    if not (folder / "libitm.so.1").exists():
        raise UseError(f"--libitm: there is no {folder / 'libitm.so.1'}")
    return folder


def add_run_options(parser, threads):
    """What is run, and how: the options that settle_run_options() reads."""
    parser.add_argument("--build", help="the folder of the programs")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="(default: all)")
    parser.add_argument(
        "--threads", default=threads, help=f"numbers of threads (default: {threads})"
    )
    parser.add_argument("--preset", default="small", help="without high- and low- (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (default: 1)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds per run (default: 120)")


def settle_run_options(options):
    """Replaces their texts by folders, lists and numbers. Raises UseError."""
    options.build = find_build(options.build)
    options.libitm = find_libitm(options.libitm)
    options.programs = options.programs.split(",")
    for name in options.programs:
        if name not in PROGRAMS:
            raise UseError(f"no program is called '{name}'; there are {', '.join(PROGRAMS)}")
    try:
        options.threads = [int(each) for each in options.threads.split(",")]
    except ValueError as error:
        raise UseError("--threads needs whole numbers, with commas between them") from error
    if min(options.threads) < 1:
        raise UseError("--threads are at least 1")


def arguments(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--libitm", help="our libitm.so.1, or its folder")
    add_run_options(parser, threads="1,2")
    parser.add_argument(
        "--variants", help="(default: sequential,lock,tm:stock, and tm:auto of ours)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--json", help="also writes all numbers to this file")
    options = parser.parse_args(words)
    settle_run_options(options)
    default = "sequential,lock,tm:stock" + (",tm:auto" if options.libitm else "")
    options.variants = (options.variants or default).split(",")
    if options.rounds < 1:
        raise UseError("--threads and --rounds are at least 1")
    return options


def main(words=None):
    try:
        options = arguments(words)
        for text in options.variants:
            parse_variant(text, 1, options.libitm)
        report = {"provenance": provenance(), "preset": options.preset}
        report |= {"seconds": {}, "least_share": {}, "means": {}}
        failed = False
        for threads in options.threads:
            runs = {
                name: measure(options.build, name, options.variants, threads, options)
                for name in options.programs
            }
            results = column(runs, "seconds")
            failed = failed or any(
                math.inf in values for variants in results.values() for values in variants.values()
            )
            report["seconds"][threads] = {
                name: {text: [finite(each) for each in values] for text, values in rows.items()}
                for name, rows in results.items()
            }
            report["least_share"][threads] = column(runs, "least_share")
            report["means"][threads] = {}
            for base in ("sequential", "lock"):
                if base in options.variants:
                    text, means = ratio_table(results, base)
                    title = f"{threads} threads: time as a multiple of {base}"
                    print(f"\n{title}, preset {options.preset}\n\n{text}", flush=True)
                    report["means"][threads][base] = means
        print("\n" + "; ".join(f"{key} {value}" for key, value in report["provenance"].items()))
        if options.json:
            Path(options.json).write_text(compactjson.lines(report), encoding="utf-8")
    except (UseError, OSError) as error:
        print(f"stamp_compare: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
