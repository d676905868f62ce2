#!/usr/bin/env python3
"""Overheads of OpenMP constructs: libgomp, libomp, and both with our library, interleaved.

    bench/openmp_compare.py                       BARRIER FOR ... at 2, 4, 8 threads, 5 rounds
    bench/openmp_compare.py --threads 2 --constructs BARRIER,CRITICAL --rounds 9
    bench/openmp_compare.py --busy 1              beside one foreign process that keeps computing

Each round runs every configuration once, each round starting with the next one
(papers/workloads/epcc). Shown are medians over rounds in microseconds, with the processors kept
busy beside them. --json FILE keeps every sample. What we want to reach: bench/openmp_goals.py.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from interleaved import ROOT, foreign_load, provenance

from syncopate.base import preloading
from syncopate.bench.librarysuites import CONSTRUCTS
from syncopate.launch import openmp

OURS = ("LD_PRELOAD", "SYNCOPATE", "OMP_", "GOMP_", "KMP_")

# name: (program, with our library, more variables)
CONFIGURATIONS = {
    "libgomp": ("epcc_gcc", False, {}),
    "libgomp passive": ("epcc_gcc", False, {"OMP_WAIT_POLICY": "passive"}),
    "libomp": ("epcc_clang", False, {}),
    "ours, gcc": ("epcc_gcc", True, {}),
    "ours, kept": ("epcc_gcc", True, {"SYNCOPATE_OMP_REGIONS": "kept"}),
    "ours, clang": ("epcc_clang", True, {}),
}


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--constructs", default=",".join(CONSTRUCTS), help="names or groups, by commas"
    )
    parser.add_argument("--threads", default="2,4,8", help="numbers of threads, by commas")
    add_common(parser)
    parser.add_argument(
        "--busy", type=at_least(0), default=0, help="foreign processes that compute"
    )
    return parser.parse_args()


def at_least(least):
    """An option's type: a whole number, no less than that."""

    def read(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return read


def add_common(parser):
    """The options that openmp_goals.py has as well."""
    parser.add_argument("--rounds", type=at_least(1), default=5)
    parser.add_argument(
        "--samples", type=at_least(2), default=10, help="of a construct in a round, 2 and more"
    )
    parser.add_argument(
        "--time", type=at_least(1), default=1000, help="microseconds of a sample, at least"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--library", type=Path, help="libsyncopate-openmp.so of another build")
    parser.add_argument("--json", type=Path, help="write every sample there")


def find_program(build, name):
    """The path of a workload in the build folder; None when it was not built."""
    for folder in ("papers/workloads/epcc", "release/papers/workloads/epcc"):
        path = build / folder / name
        if path.exists():
            return path
    return None


def one_run(program, library, threads, variables, options, time=None):
    """Runs every construct once; returns {construct: line of epcc.c}. `time`: of a sample, where
    it is not the options'."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    kept.update(variables, OMP_NUM_THREADS=str(threads))
    if library:
        preloading.put_first(kept, str(library))
        openmp.suit_crowd(kept)  # as `syncopate run` does
    done = subprocess.run(
        [
            program,
            "--samples",
            str(options.samples),
            "--time",
            str(time or options.time),
            *options.constructs.split(","),
        ],
        env=kept,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return {line["construct"]: line for line in map(json.loads, done.stdout.splitlines())}


def measure(programs, library, options, first=0, times=None):
    """Returns {threads: {configuration: [round's result, ...]}}. `first`: the first round's number;
    `times`: samples of configurations that last otherwise than the options say."""
    results = {}
    names = list(programs)
    for threads in map(int, options.threads.split(",")):
        results[threads] = {name: [] for name in names}
        for turn in range(first, first + options.rounds):
            for i in range(len(names)):
                name = names[(turn + i) % len(names)]
                _, ours, variables = CONFIGURATIONS[name]
                used = library if ours else None
                time = (times or {}).get(name)
                result = one_run(programs[name], used, threads, variables, options, time)
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


def look_for(options):
    """The programs by configuration, and the library; ends the script where one is missing."""
    library = options.library or options.build / "lib" / "libsyncopate-openmp.so.0"
    programs = {
        name: found
        for name, (program, _, _) in CONFIGURATIONS.items()
        if (found := find_program(options.build, program))
    }
    if not programs or not library.exists():
        sys.exit(f"{Path(sys.argv[0]).stem}: build first: no papers/workloads/epcc or {library}")
    return programs, library


def main():
    """Runs the comparison; returns the exit status."""
    options = read_arguments()
    programs, library = look_for(options)
    with foreign_load(options.busy):
        results = measure(programs, library, options)
    print(", ".join(f"{key} {value}" for key, value in provenance().items()))
    if options.busy:
        print(f"beside {options.busy} foreign busy process(es)")
    show(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
