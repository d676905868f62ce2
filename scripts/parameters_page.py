#!/usr/bin/env python3
"""Writes docs/reference/machine-files.md from the table of a machine's parameters.

scripts/parameters_page.py [--check] [TABLE PAGE]

TABLE is src/model/simulated/description/parameters.def. With --check the exit status is 1 when the
page is another one.
"""

import argparse
import re
import sys
from pathlib import Path

from writtenpage import write_or_check

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/model/simulated/description/parameters.def"
PAGE = ROOT / "docs/reference/machine-files.md"
ROW = re.compile(
    r"^SYNCOPATE_(?P<section>\w+)\((?P<type>[\w:]+), (?P<key>\w+), \"(?P<unit>[^\"]*)\","
    r" (?P<presence>required|optional),\s(?P<least>[\w\'.]+), (?P<most>[\w\'.]+),"
    r"\s+\"(?P<meaning>[^\"]*)\"\)$",
    re.M,
)
# Sections of several tables; any other is called as its rows are.
TABLES = {"CACHE": "cache.{l1,l2,llc}", "MONITOR_DEPTH": "monitor.{light,deep}"}
HEAD = """\
# The keys of machine files

Written by `scripts/parameters_page.py` from src/model/simulated/description/parameters.def
(`make readme`). What such a file is for: [machines.md](../machines.md#machine-files). Times are
cycles of the machine's clock unless the unit says otherwise. A key is required unless it is said to
be optional: then it is 0, or false, where it is left out. `machine.name` and `machine.source` say
what the machine is and where its numbers come from.
"""
TAIL = """\

`monitor.present` is true where there are user-mode monitor waits. Without `htm.present` or
`monitor.present` the other keys of that section are left out.
"""


def rows(text: str) -> list[dict[str, str]]:
    """The table's rows, in their order."""
    found = [match.groupdict() for match in ROW.finditer(text)]
    begun = len(re.findall(r"^SYNCOPATE_\w+\(", text, re.M))
    if not found or len(found) != begun:
        raise ValueError(f"{begun - len(found)} of {begun} rows cannot be read")
    return found


def page(text: str) -> str:
    lines = [HEAD, "| section.key | unit | meaning |", "|---|---|---|"]
    for row in rows(text):
        section = TABLES.get(row["section"], row["section"].lower())
        meaning = row["meaning"]
        if row["presence"] == "optional":
            meaning = f"optional; {meaning}"
        lines.append(f"| {section}.{row['key']} | {row['unit']} | {meaning} |")
    return "\n".join(lines) + "\n" + TAIL


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes the page of machine files' keys.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("table", type=Path, nargs="?", default=TABLE)
    parser.add_argument("page", type=Path, nargs="?", default=PAGE)
    options = parser.parse_args(arguments)
    try:
        text = page(options.table.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"parameters_page: {options.table}: {error}", file=sys.stderr)
        return 1
    return write_or_check(options.page, text, options.check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
