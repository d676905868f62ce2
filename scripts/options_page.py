#!/usr/bin/env python3
"""Writes docs/reference/options.md from the build's table of options (options.json).

scripts/options_page.py build/share/syncopate/options.json docs/reference/options.md
scripts/options_page.py --check ...    exit status 1 when the page is another one
"""

import argparse
import json
import sys
from pathlib import Path

from writtenpage import write_or_check

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from syncopate.commands.optionlist import explained, written

HEAD = """\
# Environment variables

The table is src/base/options.def; this page is written from it (`make readme`). `syncopate options`
shows the same, with what is set; `syncopate options NAME` one of them.
"""
# Headings in their order, and whose variables stand below: those of the first reader that fits.
PARTS = {
    "Programs that run unmodified": ("preload", "openmp", "transactions", "elision"),
    "Locks of language runtimes": ("interpreter",),
    "Modeled machines": ("simulated", "emulated", "explored"),
    "The command": ("command",),
    "Tests of this project": ("tests",),
}


def page(rows: list[dict]) -> str:
    parts = [HEAD]
    left = list(rows)
    for heading, readers in PARTS.items():
        own = [row for row in left if set(row["readers"]) & set(readers)]
        left = [row for row in left if row not in own]
        parts.append(
            f"## {heading}\n\n| variable | read by | meaning |\n|---|---|---|\n" + _rows(own)
        )
    if left:
        raise ValueError(f"nobody reads {left[0]['variable']}")
    return "\n".join(parts)


def _rows(rows: list[dict]) -> str:
    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    return "".join(
        f"| `{cell(written(row))}` | {', '.join(row['readers'])} | {cell(explained(row))} |\n"
        for row in rows
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes the page of options.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("table", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args(arguments)
    try:
        text = page(json.loads(options.table.read_text(encoding="utf-8"))["options"])
    except (OSError, ValueError, KeyError) as error:
        print(f"options_page: {options.table}: {error}; run `make` first", file=sys.stderr)
        return 1
    return write_or_check(options.page, text, options.check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
