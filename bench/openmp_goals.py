#!/usr/bin/env python3
"""What the OpenMP library is meant to reach, and what it reaches here: a line for each goal.

    bench/openmp_goals.py                 ten minutes; better with nothing else running
    bench/openmp_goals.py --rounds 9      steadier medians
    bench/openmp_goals.py --only 2        the goals for 2 threads alone
    bench/openmp_goals.py --only 1        2 threads that have one processor
    bench/openmp_goals.py --only 8 --busy 1 --json papers/results/measured/openmp_goals.json
                                          8 threads beside a busy process; the file's other parts
                                          stay; then scripts/openmp_page.py writes the page
    bench/openmp_goals.py --only 8 --busy 1 --rounds 1 --more --json ...
                                          one more round for that part: where a quiet machine is to
                                          be had for minutes only

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
from pathlib import Path

from interleaved import foreign_load, provenance
from openmp_compare import CONFIGURATIONS, add_common, look_for, measure, median

from syncopate.base import compactjson

CONSTRUCTS = ("PARALLEL", "FOR", "BARRIER", "SINGLE", "CRITICAL", "LOCK", "REDUCTION")
YARDSTICK = "TWO_FLAGS"
LATE = "LATE"
MOST_WHILE_LATE = 0.05  # processors
DIGITS = 4  # that are kept of what is measured

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
# Beside a busy process less: what repetitions were counted for in a lucky moment may take a
# thousand times as long.
BUSY_TIME = 10_000

# And of these still less: each of libomp's barriers waits for time slices there, so that a count
# made in a lucky moment takes minutes.
SLOW_BESIDE_BUSY = {"libomp": 1000}

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
    parser.add_argument("--busy", type=int, choices=(0, 1), help="only with so many foreign busy"
                        " processes")  # fmt: skip
    parser.add_argument("--more", action="store_true", help="add rounds to those in the file of"
                        " --json that were measured in the same way")  # fmt: skip
    parser.add_argument("--without", default="", help="configurations to leave out, by commas:"
                        " where a runtime takes minutes for a run")  # fmt: skip
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
        options.time = max(options.time, BUSY_TIME if busy else CROWD_TIME)
    options.constructs = ",".join(constructs)
    times = SLOW_BESIDE_BUSY if busy else {}
    with foreign_load(busy), where or nullcontext():
        return measure(programs, library, options, options.first, times)[threads]


# What is kept of a line of papers/workloads/epcc for each round.
FIELDS = ("overhead_us", "cpus")


def scheduling():
    """How the kernel was told to treat what is measured."""
    policy = {os.SCHED_FIFO: "FIFO", os.SCHED_RR: "round robin"}.get(os.sched_getscheduler(0))
    if policy is None:
        return f"nice {os.nice(0)}"
    return f"real time, {policy} {os.sched_getparam(0).sched_priority}"


def read_parts(path: Path):
    """The parts that are in the file; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def rounds_before(name, options):
    """How many rounds of a part are there already, to which this run's are added."""
    if not options.more:
        return 0
    return read_parts(options.json).get(name, {"measured": {"rounds": 0}})["measured"]["rounds"]


def extend(before, rounds, measured):
    """Adds new rounds to a part's; ends the script where they were measured in another way."""
    old = before["measured"]
    for what in measured:
        if what not in ("rounds", "date") and old.get(what) != measured[what]:
            sys.exit(f"openmp_goals: --more: {what} was {old.get(what)}, is {measured[what]}")
    if set(rounds) != set(before["configurations"]):
        sys.exit("openmp_goals: --more: other configurations than before")
    for configuration, constructs in rounds.items():
        for construct, fields in constructs.items():
            for field, values in fields.items():
                fields[field] = before["configurations"][configuration][construct][field] + values
    measured["rounds"] += old["rounds"]


def keep(path: Path, name, found, options):
    """Puts one part's rounds into the file, beside the parts that are there already."""
    parts = read_parts(path)
    rounds = {
        configuration: {
            construct: {field: [each[construct][field] for each in all_rounds] for field in FIELDS}
            for construct in all_rounds[0]
        }
        for configuration, all_rounds in found.items()
    }
    how = {"rounds": options.rounds, "samples": options.samples, "sample_us": options.time}
    measured = provenance() | {"scheduling": scheduling()} | how
    if options.more and name in parts:
        extend(parts[name], rounds, measured)
    parts[name] = {"measured": measured, "configurations": rounds}
    kept = compactjson.rounded(dict(sorted(parts.items())), DIGITS)
    path.write_text(compactjson.lines(kept), encoding="utf-8")


def main():
    """Runs everything; returns the exit status."""
    options = read_arguments()
    if options.more and not options.json:
        sys.exit("openmp_goals: --more adds to the file of --json")
    programs, library = look_for(options)
    programs = {name: at for name, at in programs.items() if name not in options.without.split(",")}
    time = options.time
    print(", ".join(f"{key} {value}" for key, value in provenance().items()))

    def measured(name, *how, **more):
        options.time = time
        options.first = rounds_before(name, options)
        found = phase(programs, library, options, *how, **more)
        if options.json:
            keep(options.json, name, found, options)
        return found

    if options.only in (None, 2) and not options.busy:
        show_two_threads(measured("2", 2, (*CONSTRUCTS, YARDSTICK, LATE), crowded=False))
    if options.only in (None, 1) and not options.busy:
        found = measured("2 on one", 2, CONSTRUCTS, where=one_processor())
        show_crowd(found, CONSTRUCTS, "2 threads on one processor")
    processors = len(os.sched_getaffinity(0))
    for threads, busy in CROWDS:
        if options.only not in (None, threads) or options.busy not in (None, busy):
            continue
        if threads <= processors:
            continue
        found = measured(f"{threads}, {busy} busy", threads, CONSTRUCTS, busy=busy)
        load = f" beside {busy} busy process" if busy else ""
        show_crowd(found, CONSTRUCTS, f"{threads} threads{load}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
