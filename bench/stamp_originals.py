#!/usr/bin/env python3
"""STAMP in GCC's transactions, as the authors of gcc-tm-memcached.txt published it, on GCC's libitm
and on ours under the paper's algorithms, interleaved.

    syncopate bench originals --sources DIR --program stamp-transmem --program stamp
    bench/stamp_originals.py
    bench/stamp_originals.py --programs genome,yada --threads 1,2,4 --rounds 9 --json out.json

Every round runs each library once, each round starting with the next one; shown are medians of the
time that a program tells of its parallel region, and their ratio to the first library's. A run
counts if the program finds its own result right, where it looks: kmeans, ssca2, vacation and bayes
check nothing, so of these each run counts that ends well. The sizes are those of the suite's README
files for larger simulations, of kmeans and yada for the smaller ones.
"""

import argparse
import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from interleaved import ROOT, Summary, number, provenance, ratio_of_medians, run_rounds, table
from tm_compare import environment

from syncopate.base import wholefile

TIME = re.compile(r"^Time(?: taken for all)?\s*(?:=|is)\s*([\d.e+-]+)", re.M)
LIBRARIES = "stock,stock:ml_wt,auto,norec,eager_norec,lazy,tl2,encounter_time"
INPUTS = "{inputs}"  # of STAMP itself: this repository has none


@dataclass(frozen=True)
class Library:
    text: str  # as in tm_compare.py


@dataclass(frozen=True)
class Program:
    words: str
    says: str = ""  # what it prints when it has checked its result; else it checks nothing


PROGRAMS = {
    "bayes": Program("-v32 -r4096 -n2 -p20 -s0 -i2 -e2"),
    "genome": Program("-g512 -s32 -n32768", says="Sequence matches gene: yes"),
    "intruder": Program("-a10 -l16 -n4096 -s1"),
    "kmeans": Program(f"-m15 -n15 -T0.05 -i {INPUTS}/random-n2048-d16-c16.txt"),
    "labyrinth": Program(f"-i {INPUTS}/random-x48-y48-z3-n64.txt", says="Verification passed."),
    "ssca2": Program("-s14 -i1.0 -u1.0 -l9 -p9"),
    "vacation": Program("-n4 -q60 -u90 -r1048576 -T4096"),
    "yada": Program(f"-a20 -i {INPUTS}/633.2", says="Final mesh is valid."),
}


def run_once(name: str, library: Library, threads: int, options) -> dict[str, float]:
    """Its seconds; infinite where it failed, which is said on standard error."""
    program = PROGRAMS[name]
    words = program.words.replace(INPUTS, str(options.originals / "stamp/inputs")).split()
    command = [options.originals / "stamp-transmem" / name, *words, f"-t{threads}"]
    try:
        done = subprocess.run(
            command, env=environment(library.text, options.library), capture_output=True,
            text=True, errors="replace", timeout=options.limit, check=False,
        )  # fmt: skip
        why = f"ended with {done.returncode}" if done.returncode else ""
        found = TIME.search(done.stdout)
        if not why and (found is None or program.says not in done.stdout):
            why = "its result is not right"
    except subprocess.TimeoutExpired:
        why = f"not done after {options.limit} s"
    if why:
        print(f"{name} on {library.text}, {threads} threads: {why}", file=sys.stderr, flush=True)
        return {"seconds": math.inf}
    return {"seconds": float(found[1])}


def measure(threads: int, options) -> dict[str, dict[str, list[float]]]:
    """The seconds of each round, by program and library."""
    results = {}
    for name in options.programs:
        runs = run_rounds(
            options.libraries,
            options.rounds,
            lambda library, name=name: run_once(name, library, threads, options),
        )
        results[name] = {text: [each["seconds"] for each in of] for text, of in runs.items()}
    return results


def shown(results: dict[str, dict[str, list[float]]]) -> str:
    names = list(next(iter(results.values())))
    rows = []
    for program, by in results.items():
        base = by[names[0]]
        whole = Summary.of(base).median if math.inf not in base else math.inf
        row = [program, number(whole) if math.isfinite(whole) else "FAILED"]
        for name in names[1:]:
            bad = math.inf in by[name] or math.isinf(whole)
            row.append("FAILED" if bad else str(ratio_of_medians(by[name], base)))
        rows.append(row)
    return table(rows, ["", f"{names[0]} s", *names[1:]])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--originals", type=Path, default=ROOT / "build/originals")
    parser.add_argument("--library", type=Path, default=ROOT / "build/lib/tm")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="(default: all)")
    parser.add_argument("--libraries", default=LIBRARIES, help=f"(default: {LIBRARIES})")
    parser.add_argument("--threads", default="1,2,4", help="numbers of threads (default: 1,2,4)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--limit", type=float, default=120, help="seconds per run (default: 120)")
    parser.add_argument("--json", type=Path, help="also writes all numbers to this file")
    options = parser.parse_args()
    options.programs = options.programs.split(",")
    options.libraries = [Library(text) for text in options.libraries.split(",")]
    options.threads = [int(each) for each in options.threads.split(",")]
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"no program is called {', '.join(unknown)}")
    for name in options.programs:
        if not (options.originals / "stamp-transmem" / name).is_file():
            parser.error(f"{name} is not built: syncopate bench originals --program stamp-transmem")
    if not (options.originals / "stamp/inputs").is_dir():
        parser.error("STAMP's inputs are not there: syncopate bench originals --program stamp")
    if not (options.library / "libitm.so.1").exists():
        parser.error(f"there is no {options.library / 'libitm.so.1'}")
    return options


def main() -> int:
    options = arguments()
    report = {"provenance": provenance(), "rounds": options.rounds, "seconds": {}}
    failed = False
    for threads in options.threads:
        results = measure(threads, options)
        failed |= any(math.inf in each for by in results.values() for each in by.values())
        print(f"\n{threads} threads: time, and as a multiple of the first\n\n{shown(results)}",
              flush=True)  # fmt: skip
        report["seconds"][threads] = {
            name: {
                text: [t if math.isfinite(t) else None for t in all_] for text, all_ in by.items()
            }
            for name, by in results.items()
        }
    print("\n" + "; ".join(f"{key} {value}" for key, value in report["provenance"].items()))
    if options.json:
        wholefile.write(options.json, [json.dumps(report, indent=1) + "\n"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
