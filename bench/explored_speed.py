"""How many executions a second the explored machine runs, here and in another build.

    bench/explored_speed.py [--against BUILD] [--rounds N] [--jobs N]

BUILD is another checkout's folder `build`. Every round runs each program once in each build, in
turns; what counts is processor time, so that other load does not count twice. With --jobs, the
same programs in one process and in N: then what counts is the time that has passed, and two
processors must be free. Prints the medians and, of the ratios of the rounds, median and range.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Sections under a mutex with sleepers; the same without; a lock of atomic variables that sleeps;
# one that spins.
PROGRAMS = (
    "explored_engine/explored_scenarios_counts two_consumers",
    "explored_engine/explored_scenarios_counts mutex_6",
    "check/lock_check mcs:park three_threads",
    "check/lock_check clh:yield three_threads",
)


def run(build: Path, program: str, options: str) -> tuple[int, float, float]:
    """Returns executions, seconds of processor time, and seconds that have passed."""
    words = program.split()
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(build / "lib"),
        "SYNCOPATE_STATS": "json",
        "SYNCOPATE_EXPLORE": options,
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(
        [str(build / "release" / "tests" / words[0]), *words[1:]],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    passed = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    verdict = [line for line in done.stderr.splitlines() if line.startswith("{")][-1]
    return json.loads(verdict)["executions"], used, passed


def compare(names: list[str], measure, rounds: int) -> None:
    """measure(0) and measure(1), by turns: work and seconds. Prints a line for each, and ratios."""
    rates: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            work, seconds = measure(which)
            rates[which].append(work / seconds)
    for name, each in zip(names, rates, strict=True):
        print(f"  {name:24} {statistics.median(each):12,.0f} executions/s")
    ratios = [ours / other for other, ours in zip(*rates, strict=True)]
    print(f"  ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="BUILD")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=0)
    arguments = parser.parse_args()
    build = ROOT / "build"
    for program in PROGRAMS:
        print(program)
        if arguments.jobs > 1:
            options = ["", f"jobs={arguments.jobs}"]

            def in_jobs(which: int, program=program, options=options) -> tuple[int, float]:
                executions, _, passed = run(build, program, options[which])
                return executions, passed

            compare(["1 process", f"{arguments.jobs} processes"], in_jobs, arguments.rounds)
        elif arguments.against is not None:
            builds = [arguments.against, build]

            def in_build(which: int, program=program, builds=builds) -> tuple[int, float]:
                executions, used, _ = run(builds[which], program, "")
                return executions, used

            compare([str(each) for each in builds], in_build, arguments.rounds)
        else:
            executions, used, _ = run(build, program, "")
            print(f"  {executions:,} executions, {executions / used:,.0f} a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
