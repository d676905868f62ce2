"""suites.py SUITE: every test of an OpenMP runtime's own that passes without us passes with us.

Exit status: 0 they all do; 1 one does not; 2 wrong use; 77 the source cannot be had here.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from openmp_runs import LIBRARY, ROOT, environment

from syncopate.base import preloading

sys.path.insert(0, str(ROOT / "tests" / "external"))
import libgomp_tests
import libomp_tests
import openmp_vv_tests
import standard

SUITES = {"libgomp": libgomp_tests, "libomp": libomp_tests, "openmp_vv": openmp_vv_tests}
UNFETCHED = 77
SECONDS = 30  # For one test; those that take longer without us are left out.
LINES = 5  # Of a failed test's output; of one that hangs, all that it waits for.
SETTINGS = {
    "defaults": {},
    "kept": {"SYNCOPATE_OMP_REGIONS": "kept"},
    "own tasks": {"SYNCOPATE_OMP_TASKS": "ours", "OMP_NUM_THREADS": "4"},
    "eight": {"OMP_NUM_THREADS": "8"},
    "central": {"SYNCOPATE_OMP_BARRIER": "central", "SYNCOPATE_OMP_LOCK": "mcs"},
    "runtime": {"SYNCOPATE_OMP_BARRIER": "runtime", "SYNCOPATE_OMP_LOCK": "runtime"},
    "recorded": {"SYNCOPATE_RECORD": "set for each run"},
}


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--work", type=Path, required=True, help="folder for what is built")
    parser.add_argument("--source", type=Path, help="the runtime's source, unpacked")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="of " + ", ".join(SETTINGS))
    parser.add_argument("--optimize", default="-O2", help="of the programs")
    parser.add_argument("--only", default="", metavar="REGEX", help="only tests with such names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    return parser.parse_args()


def _failures(setting, programs, without_us, jobs):
    """Runs the programs under one setting; prints what failed. Returns the names."""
    with_us = preloading.changed(without_us, {"LD_PRELOAD": str(LIBRARY), **SETTINGS[setting]})
    passed, failed = standard.passing(programs, with_us, jobs, SECONDS)
    print(f"{setting}: {len(passed)} of {len(programs)} pass", flush=True)
    same = {**without_us, **{k: v for k, v in SETTINGS[setting].items() if k.startswith("OMP_")}}
    fails = []
    for test, first in failed.items():
        program = programs[test]
        is_ours, again = standard.fails_only_with_us(test, program, same, with_us, SECONDS)
        status, output = again or first
        lines = output.splitlines()[-100 if status == "hangs" else -LINES :]
        judged = "fails" if is_ours else "unsteady"
        print(f"  {judged}: {test.name}: status {status}", *lines, sep="\n    ", flush=True)
        if is_ours:
            fails.append(f"{setting} {test.name}")
    return fails


def main():
    """Runs the suite that the command line names; returns the exit status."""
    arguments = _arguments()
    suite = SUITES[arguments.suite]
    work = arguments.work.absolute() / arguments.suite
    try:
        source = suite.source(arguments.source, work)
    except standard.UnfetchedError as error:
        print(f"SKIPPED, not run: {error}")
        return UNFETCHED

    tests = suite.tests(source, arguments.optimize)
    chosen = [test for test in tests if re.search(arguments.only, test.name)]
    programs = standard.build(chosen, work / f"programs{arguments.optimize}", os.cpu_count() or 1)
    without_us = environment(False)
    del without_us["OMP_NUM_THREADS"]
    passed, left_out = standard.passing(programs, without_us, arguments.jobs, SECONDS)
    print(
        f"{len(chosen)} tests, {len(programs)} build outside their tree, "
        f"{len(passed)} of these pass without us",
        flush=True,
    )
    print("left out:", *(f"{test.name} ({status})" for test, (status, _) in left_out.items()))
    if not arguments.only and len(passed) < suite.LEAST:
        print(f"too few: {suite.LEAST} passed when this was written; see {work}/programs*/*.err")
        return 1

    settings = arguments.settings.split(",")
    fails = [f for s in settings for f in _failures(s, passed, without_us, arguments.jobs)]
    for name in fails:
        print(f"FAILS with us, passes without: {name}")
    print(f"{len(passed)} tests under {len(settings)} settings: {len(fails)} fail with us only")
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
