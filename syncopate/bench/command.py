"""`syncopate bench`: finds what is asked for and calls it."""

import sys

from syncopate.base.errors import BAD_USE, Failure, near

USAGE = """\
usage: syncopate bench ACTION ...

Runs suites of programs, compares what they measured, reproduces the papers' figures.

  list       the suites, their programs, variants and sizes
  run        run a suite, or one program of it
  compare    two result files, or the variants within one
  plot       draw a result file
  report     one HTML page for each suite
  regret     where a lock loses to the best of several, and how much
  paper      a paper's figures on the simulated machine that stands for the paper's
  originals  fetch and build the papers' original programs

More: syncopate bench ACTION --help
"""
ACTIONS = {
    "list": "listsuites",
    "run": "runsuite",
    "compare": "comparefiles",
    "plot": "plotfile",
    "report": "reportpage",
    "regret": "regretmatrix",
    "paper": "paper",
    "originals": "originals",
}


def main(arguments: list[str]) -> int:
    if not arguments:
        sys.stderr.write(USAGE)
        return BAD_USE
    action, rest = arguments[0], arguments[1:]
    if action in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return 0
    if action not in ACTIONS:
        raise Failure(
            f"bench: there is no '{action}'{near(action, list(ACTIONS))};"
            f" there are {', '.join(ACTIONS)}",
            BAD_USE,
        )
    import importlib

    return importlib.import_module(f"syncopate.bench.{ACTIONS[action]}").main(rest)
