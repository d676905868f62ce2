#!/usr/bin/env python3
"""Writes the README's table of locks from the code's own list (locks.json).

The table stands between the lines `<!-- locks: begin -->` and `<!-- locks: end -->`.

Usage: readme_locks.py [--check] LOCKS_JSON README
With --check nothing is written; exit status 1 when the README's table is not the code's.
"""

import argparse
import json
import sys
from pathlib import Path

BEGIN, END = "<!-- locks: begin -->\n", "<!-- locks: end -->\n"


def row(lock: dict) -> str:
    """One line of the table; the default waiting strategy is in bold."""
    waits = [f"**{w}**" if w == lock["default_wait"] else w for w in lock["waits"]]
    collapses = ", ".join(lock["collapses_when_oversubscribed"]) or "-"
    cells = [
        f"[`{lock['name']}`](include/{lock['header']})",
        lock["summary"],
        lock["fair"],
        f"{lock['size']} B",
        ", ".join(waits) or "its own way",
        offered(lock),
        collapses,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def offered(lock: dict) -> str:
    """Whether `syncopate run --lock` takes it for unmodified programs, and with which waiting."""
    if not lock["preload"]:
        return "no"
    missing = [wait for wait in lock["waits"] if wait not in lock["preload_waits"]]
    return f"yes, but by {', '.join(missing)}" if missing else "yes"


def table(locks: list[dict]) -> str:
    titles = ["lock", "what it is", "fairness", "size", "waits by", "`run --lock`"]
    titles.append("collapses oversubscribed with")
    head = "| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|\n"
    return head + "".join(row(lock) for lock in locks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("locks", type=Path)
    parser.add_argument("readme", type=Path)
    options = parser.parse_args()

    text = options.readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"{options.readme}: no lines {BEGIN.strip()} and {END.strip()}", file=sys.stderr)
        return 1
    new = before + BEGIN + table(json.loads(options.locks.read_text("utf-8"))) + END + after
    if new == text:
        return 0
    if options.check:
        print(f"{options.readme}: the table of locks is not the code's; run `make readme`")
        return 1
    options.readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
