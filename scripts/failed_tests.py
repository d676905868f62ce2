#!/usr/bin/env python3
"""Says what failed in the last run of the tests, where ctest's summary has only the names.

usage: failed_tests.py BUILD

A line of ctest's may be hundreds of tests of another tool's: for each that failed this prints which
of these failed, and what they said first. Exit status: 0, also where nothing failed; 2 without a
run to tell of.
"""

import re
import sys
from pathlib import Path

MOST_OF_ONE = 6
WIDTH = 160
# What the tools call a failure: pytest's summary and assertions, GoogleTest's, other tools' errors.
TELLING = re.compile(r"(FAILED|ERROR) \S|E  +\S|\[  FAILED  \] \S|.*: (Failure|error: )")
TEST = re.compile(r"^\d+/\d+ Testing: ([^\n]*)\n(.*?)^<end of output>", re.M | re.S)


def said(output: str) -> list[str]:
    """The lines that tell why: those of the tools, else the last ones."""
    lines = [line.strip()[:WIDTH] for line in output.splitlines() if line.strip()]
    summary = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    others = [line for line in lines if TELLING.match(line) and line not in summary]
    return (summary[:MOST_OF_ONE] + others[:MOST_OF_ONE]) or lines[-MOST_OF_ONE:]


def failed(folder: Path) -> list[str]:
    """The lines to print, by what ctest has left in its folder."""
    log = (folder / "LastTest.log").read_text(encoding="utf-8", errors="replace")
    outputs = {name: text.partition("Output:\n")[2] for name, text in TEST.findall(log)}
    try:
        names = (folder / "LastTestsFailed.log").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for name in (line.partition(":")[2] for line in names):
        lines = said(outputs.get(name, "").strip("-\n"))
        found += [f"{name}:", *(f"  {line}" for line in lines)]
    return found


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.partition("\n\n")[2], end="", file=sys.stderr)
        return 2
    try:
        lines = failed(Path(sys.argv[1]) / "Testing" / "Temporary")
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
