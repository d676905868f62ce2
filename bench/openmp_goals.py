#!/usr/bin/env python3
"""What the OpenMP library is meant to reach, and what it reaches here: a line for each goal.

    bench/openmp_goals.py                 ten minutes; better with nothing else running
    bench/openmp_goals.py --rounds 9      steadier medians
    bench/openmp_goals.py --only 2        the goals for 2 threads alone
    bench/openmp_goals.py --only 1        2 threads that have one processor

Everything that is compared was measured in the same interleaved rounds (openmp_compare.py). Beside
the barriers of two stands what a bare pair of flags takes: two threads that each set one and poll
the other's, and do nothing else (TWO_FLAGS). It tells how far apart the two processors are, which
changes on virtual machines; a barrier can be faster (include/syncopate/barriers/flag_pair.h).
"""

import argparse
import json
import os
import sys
from contextlib import contextmanager, nullcontext

from interleaved import provenance
from openmp_compare import CONFIGURATIONS, add_common, foreign_load, look_for, measure, median

CONSTRUCTS = ("PARALLEL", "FOR", "BARRIER", "SINGLE", "CRITICAL", "LOCK", "REDUCTION")
YARDSTICK = "TWO_FLAGS"
LATE = "LATE"
MOST_WHILE_LATE = 0.05  # processors

# At 2 threads: (construct, ours, compared with, at most this ratio)
GOALS = [
    ("BARRIER", "ours, gcc", "libgomp", 0.45),
    ("FOR", "ours, gcc", "libgomp", 0.6),
    ("SINGLE", "ours, gcc", "libgomp", 0.5),
    ("CRITICAL", "ours, gcc", "libgomp", 0.75),
    ("LOCK", "ours, gcc", "libgomp", 0.75),
    ("PARALLEL", "ours, kept", "libgomp", 0.85),
    ("REDUCTION", "ours, kept", "libgomp", 0.85),
    ("CRITICAL", "ours, clang", "libomp", 0.2),
    ("LOCK", "ours, clang", "libomp", 0.2),
]
WITH_BARRIER = ("FOR", "BARRIER", "SINGLE")
OURS = [name for name in CONFIGURATIONS if name.startswith("ours")]
STOCK = [name for name in CONFIGURATIONS if not name.startswith("ours")]

# With more threads than processors a sample lasts at least that many microseconds, several slices,
# so that the start of its region, which may take several, does not count for what is inside.
CROWD_TIME = 20_000

# (threads, foreign busy processes)
CROWDS = [(4, 0), (8, 0), (4, 1), (8, 1)]


def line(what, reached, value, wanted, more=""):
    """One goal. `reached` None: it cannot be told."""
    verdict = {True: "reached", False: "NOT reached", None: "cannot be told"}[reached]
    print(f"  {what:52} {verdict:14} {value:>12}   wanted: {wanted}{more}")


def overhead(rounds, construct):
    return median(rounds, construct, "overhead_us")


def two_flags(by_name):
    """Microseconds that a bare pair of flags takes: the least median of any configuration."""
    return min(overhead(rounds, YARDSTICK) for rounds in by_name.values())


def show_two_threads(by_name):
    """The ratios at 2 threads, and beside them to two bare flags."""
    flags = two_flags(by_name)
    print(f"\n2 threads; two bare flags take {flags * 1000:.0f} ns here")
    for construct, ours, other, most in GOALS:
        if ours not in by_name or other not in by_name:
            continue
        mine, theirs = overhead(by_name[ours], construct), overhead(by_name[other], construct)
        ratio = mine / theirs if theirs > 0 else None
        more = f" ({mine * 1000:.0f} ns against {theirs * 1000:.0f})"
        if construct in WITH_BARRIER:
            more += f"; {mine / flags:.2f}x two bare flags"
        line(
            f"{construct}, {ours} / {other}",
            None if ratio is None else ratio <= most,
            "-" if ratio is None else f"{ratio:.2f}x",
            f"{most:g}x",
            more,
        )
    for ours in OURS:
        if ours in by_name:
            busy = median(by_name[ours], LATE, "cpus")
            line(f"a thread 2 ms late, {ours}: processors busy", busy <= MOST_WHILE_LATE,
                 f"{busy:.3f}", f"{MOST_WHILE_LATE:g}")  # fmt: skip


def show_crowd(by_name, constructs, what):
    """More threads than processors: never slower than the best of the others."""
    print(f"\n{what}: microseconds, against the best of {', '.join(STOCK)}")
    for construct in constructs:
        best, name = min((overhead(by_name[n], construct), n) for n in STOCK if n in by_name)
        for ours in (n for n in OURS if n in by_name):
            value = overhead(by_name[ours], construct)
            # Sections that do not meet cost less than the delays around them vary.
            told = min(value, best) > 0
            line(f"{construct}, {ours}", value <= best if told else None, f"{value:.2f}",
                 f"{best:.2f} ({name})")  # fmt: skip


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0],
        epilog=__doc__.split("\n\n", maxsplit=1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_common(parser)
    parser.add_argument("--only", type=int, choices=(1, 2, 4, 8), help="this number of threads;"
                        " 1: 2 threads on one processor")  # fmt: skip
    return parser.parse_args()


@contextmanager
def one_processor():
    """The first processor only, for what is started in the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def phase(programs, library, options, threads, constructs, busy=0, crowded=True, where=None):
    """Measures one number of threads; returns {configuration: [round's result, ...]}."""
    print(f"measuring {threads} threads, {busy} foreign process(es)", file=sys.stderr, flush=True)
    options.threads = str(threads)
    if crowded:
        options.time = max(options.time, CROWD_TIME)
    options.constructs = ",".join(constructs)
    with foreign_load(busy), where or nullcontext():
        return measure(programs, library, options)[threads]


def main():
    """Runs everything; returns the exit status."""
    options = read_arguments()
    programs, library = look_for(options)
    kept = {}
    print(", ".join(f"{key} {value}" for key, value in provenance().items()))
    if options.only in (None, 2):
        wanted = (*CONSTRUCTS, YARDSTICK, LATE)
        kept["2"] = phase(programs, library, options, 2, wanted, crowded=False)
        show_two_threads(kept["2"])
    if options.only in (None, 1):
        found = phase(programs, library, options, 2, CONSTRUCTS, where=one_processor())
        kept["2 on one"] = found
        show_crowd(found, CONSTRUCTS, "2 threads on one processor")
    processors = len(os.sched_getaffinity(0))
    for threads, busy in CROWDS:
        if options.only not in (None, threads) or threads <= processors:
            continue
        found = phase(programs, library, options, threads, CONSTRUCTS, busy)
        kept[f"{threads}, {busy} busy"] = found
        load = f" beside {busy} busy process" if busy else ""
        show_crowd(found, CONSTRUCTS, f"{threads} threads{load}")
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
