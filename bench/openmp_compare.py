#!/usr/bin/env python3
"""Overheads of OpenMP constructs: libgomp, libomp, and both with our library, interleaved.

    bench/openmp_compare.py                       BARRIER FOR ... at 2, 4, 8 threads, 5 rounds
    bench/openmp_compare.py --threads 2 --constructs BARRIER,CRITICAL --rounds 9
    bench/openmp_compare.py --busy 1              beside one foreign process that keeps computing

Each round runs every configuration once, each round starting with the next one (workloads/epcc).
Shown are medians over rounds in microseconds, with the processors kept busy beside them, and the
targets as reached or not. --json FILE keeps every sample.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from interleaved import ROOT, provenance

from syncopate.bench.suitetable import CONSTRUCTS

OURS = ("LD_PRELOAD", "SYNCOPATE", "OMP_", "GOMP_", "KMP_")

# name: (program, with our library, more variables)
CONFIGURATIONS = {
    "libgomp": ("epcc_gcc", False, {}),
    "libgomp passive": ("epcc_gcc", False, {"OMP_WAIT_POLICY": "passive"}),
    "libomp": ("epcc_clang", False, {}),
    "ours, gcc": ("epcc_gcc", True, {}),
    "ours, clang": ("epcc_clang", True, {}),
}

# At 2 threads: (construct, ours, compared with, at most this ratio)
TARGETS = [
    ("BARRIER", "ours, gcc", "libgomp", 0.45),
    ("FOR", "ours, gcc", "libgomp", 0.6),
    ("SINGLE", "ours, gcc", "libgomp", 0.5),
    ("CRITICAL", "ours, gcc", "libgomp", 0.75),
    ("LOCK", "ours, gcc", "libgomp", 0.75),
    ("PARALLEL", "ours, gcc", "libgomp", 0.85),
    ("REDUCTION", "ours, gcc", "libgomp", 0.85),
    ("CRITICAL", "ours, clang", "libomp", 0.2),
    ("LOCK", "ours, clang", "libomp", 0.2),
]


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--constructs", default=",".join(CONSTRUCTS), help="names or groups, by commas"
    )
    parser.add_argument("--threads", default="2,4,8", help="numbers of threads, by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=10, help="of a construct in a round")
    parser.add_argument("--busy", type=int, default=0, help="foreign processes that compute")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--library", type=Path, help="libsyncopate-openmp.so of another build")
    parser.add_argument("--json", type=Path, help="write every sample there")
    return parser.parse_args()


def find_program(build, name):
    """The path of a workload in the build folder; None when it was not built."""
    for folder in ("workloads/epcc", "release/workloads/epcc"):
        path = build / folder / name
        if path.exists():
            return path
    return None


def one_run(program, library, threads, variables, options):
    """Runs every construct once; returns {construct: line of epcc.c}."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    kept.update(variables, OMP_NUM_THREADS=str(threads))
    if library:
        kept["LD_PRELOAD"] = str(library)
    done = subprocess.run(
        [program, "--samples", str(options.samples), *options.constructs.split(",")],
        env=kept,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return {line["construct"]: line for line in map(json.loads, done.stdout.splitlines())}


def measure(programs, library, options):
    """Returns {threads: {configuration: [round's result, ...]}}."""
    results = {}
    names = list(programs)
    for threads in map(int, options.threads.split(",")):
        results[threads] = {name: [] for name in names}
        for turn in range(options.rounds):
            for i in range(len(names)):
                name = names[(turn + i) % len(names)]
                _, ours, variables = CONFIGURATIONS[name]
                used = library if ours else None
                result = one_run(programs[name], used, threads, variables, options)
                results[threads][name].append(result)
    return results


def median(rounds, construct, field):
    """The median over rounds."""
    return statistics.median(each[construct][field] for each in rounds)


def show(results):
    """Prints a table for each number of threads: overhead in microseconds, processors busy."""
    for threads, by_name in results.items():
        constructs = list(next(iter(by_name.values()))[0])
        print(f"\n{threads} threads: overhead in microseconds (processors busy)")
        print(f"{'':20}" + "".join(f"{name:>22}" for name in by_name))
        for construct in constructs:
            cells = (
                f"{median(rounds, construct, 'overhead_us'):.3f}"
                f" ({median(rounds, construct, 'cpus'):.2f})"
                for rounds in by_name.values()
            )
            print(f"{construct:20}" + "".join(f"{cell:>22}" for cell in cells))


def show_targets(results):
    """Prints which targets were reached: ratios at 2 threads, best of all when oversubscribed."""
    print("\ntargets")
    for construct, ours, other, most in TARGETS:
        rounds = results.get(2, {})
        if ours not in rounds or other not in rounds or construct not in rounds[ours][0]:
            continue
        theirs = median(rounds[other], construct, "overhead_us")
        ratio = median(rounds[ours], construct, "overhead_us") / theirs if theirs > 0 else None
        verdict = "too small to compare" if ratio is None else f"{ratio:.2f}"
        reached = ratio is not None and ratio <= most
        print(
            f"  {construct:10} {ours} / {other}, 2 threads: {verdict},"
            f" at most {most} wanted: {'reached' if reached else 'not reached'}"
        )
    processors = len(os.sched_getaffinity(0))
    for threads, rounds in results.items():
        if threads <= processors:
            continue
        stock = [name for name in rounds if not name.startswith("ours")]
        for construct in rounds[stock[0]][0]:
            best = min(median(rounds[name], construct, "overhead_us") for name in stock)
            for ours in (name for name in rounds if name.startswith("ours")):
                value = median(rounds[ours], construct, "overhead_us")
                reached = "reached" if value <= best else "not reached"
                # Sections that do not meet cost less than the delays around them vary.
                verdict = "too small to compare" if min(value, best) <= 0 else reached
                print(
                    f"  {construct:10} {ours}, {threads} threads on {processors} processors:"
                    f" {value:.3f}, best of the others {best:.3f}: {verdict}"
                )


def main():
    """Runs the comparison; returns the exit status."""
    options = read_arguments()
    library = options.library or options.build / "lib" / "libsyncopate-openmp.so.0"
    programs = {
        name: found
        for name, (program, _, _) in CONFIGURATIONS.items()
        if (found := find_program(options.build, program))
    }
    if not programs or not library.exists():
        print(f"openmp_compare: build first: no workloads/epcc or {library}", file=sys.stderr)
        return 1
    spinner = [shutil.which("sh"), "-c", "while :; do :; done"]
    busy = [subprocess.Popen(spinner) for _ in range(options.busy)]
    try:
        results = measure(programs, library, options)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(", ".join(f"{key} {value}" for key, value in provenance().items()))
    if options.busy:
        print(f"beside {options.busy} foreign busy process(es)")
    show(results)
    show_targets(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
