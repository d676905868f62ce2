"""run.py SUITE: every test of a standard that passes without us passes with us, under every lock.

Exit status: 0 they all do; 1 one does not; 2 wrong use; 77 the source cannot be had here.
"""

import argparse
import os
import re
import sys
from pathlib import Path

import glibc_tests
import open_posix_tests
import standard

sys.path.insert(0, str(standard.ROOT / "tests" / "programs"))
import preloaded

SUITES = {"glibc": glibc_tests, "open-posix": open_posix_tests}
UNFETCHED = 77
LINES = 5  # Of a failed test's output.
RECORDED = "recorded"
# The recorder takes a key for thread-specific data and address space
# (docs/reference/recording-limits.md); these tests want all keys, or leave no address space.
NOT_RECORDED = re.compile(r"tst-key[14]|tst-tss-basic|tst-basic7")


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--work", type=Path, required=True, help="folder for what is built")
    parser.add_argument("--locks", help="comma-separated values of SYNCOPATE_LOCK, and `recorded`")
    parser.add_argument("--only", default="", metavar="REGEX", help="only tests with such names")
    parser.add_argument("--jobs", type=int, default=4 * (os.cpu_count() or 1), help="at a time")
    return parser.parse_args()


def _environment(choice):
    if choice == RECORDED:
        return {**preloaded.environment("auto"), "SYNCOPATE_RECORD": "set for each run"}
    return preloaded.environment(choice)


def _failures(choice, programs, without_us, jobs):
    """Runs the programs under one lock; prints a line, and what failed. Returns the names."""
    with_us = _environment(choice)
    if choice == RECORDED:
        programs = {t: path for t, path in programs.items() if not NOT_RECORDED.match(t.name)}
    passed, failed = standard.passing(programs, with_us, jobs)
    names = ", ".join(test.name for test in failed)
    print(f"{choice}: {len(passed)} of {len(programs)} pass; not {names or 'any'}", flush=True)
    fails = []
    for test, (status, output) in failed.items():
        judged = standard.verdict(test, programs[test], without_us, with_us)
        last = "\n    ".join(output.splitlines()[-LINES:])
        print(f"  {judged}: {test.name}: status {status}\n    {last}", flush=True)
        if judged == "fails":
            fails.append(f"{choice} {test.name}")
    return fails


def main():
    """Runs the suite that the command line names; returns the exit status."""
    arguments = _arguments()
    suite = SUITES[arguments.suite]
    work = arguments.work.absolute() / arguments.suite
    try:
        source = standard.fetch(suite.PACKAGE, work)
    except standard.UnfetchedError as error:
        print(f"SKIPPED, not run: {error}")
        return UNFETCHED

    compilers = os.cpu_count() or 1
    tests = suite.tests(source, work, compilers)
    chosen = [test for test in tests if re.search(arguments.only, test.name)]
    programs = standard.build(chosen, work / "programs", compilers)
    without_us = {k: v for k, v in os.environ.items() if not k.startswith("SYNCOPATE")}
    passed, left_out = standard.passing(programs, without_us, arguments.jobs)
    print(
        f"{len(chosen)} tests, {len(programs)} build outside their tree, "
        f"{len(passed)} of these pass without us",
        flush=True,
    )
    print("left out:", *(f"{test.name} ({status})" for test, (status, _) in left_out.items()))
    if not arguments.only and len(passed) < suite.LEAST:
        print(f"too few: {suite.LEAST} passed when this was written; see {work}/programs/*.err")
        return 1

    locks = arguments.locks.split(",") if arguments.locks else [*preloaded.lock_choices(), RECORDED]
    fails = [name for lock in locks for name in _failures(lock, passed, without_us, arguments.jobs)]
    for name in fails:
        print(f"FAILS with us, passes without: {name}")
    print(f"{len(passed)} tests under {len(locks)} locks: {len(fails)} fail that pass without us")
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
