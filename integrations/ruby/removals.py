#!/usr/bin/env python3
"""What each conflict removal in Ruby does on the emulated machine: the table of README.md.

usage: removals.py PROGRAM [--threads N] [--turns N] [--mode MODE] [--kinds A,B] [--quick]
                    [--json FILE] [--page FILE]
PROGRAM is Ruby for the emulated machine (build.sh: FOLDER/bin/ruby.emulated). Rows: no removal,
each alone, all, all but each. Columns: the kinds of tests/ruby/programs/compute.rb. Cells: of all
attempts of transactions, the percentage that aborted. Threads have no data in common. Counts, no
times: they differ a little from run to run. --page puts the table in the place of the one that
FILE has between two lines `<!-- removals.py -->`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "ruby" / "programs" / "compute.rb"
REMOVALS = [
    "objects",
    "counts",
    "malloc",
    "transient",
    "calls",
    "variables",
    "vm_lock",
    "collector",
    "lines",
]
KINDS = ["numbers", "arrays", "calls", "objects", "blocks"]


class Failure(Exception):
    """One line for the user."""


def rows(quick: bool) -> dict[str, str]:
    """Label -> SYNCOPATE_RUBY_REMOVE."""
    alone = {f"{name} alone": name for name in REMOVALS}
    but = {f"all but {name}": ",".join(n for n in REMOVALS if n != name) for name in REMOVALS}
    return {"none": "none"} | alone | {"all": "all"} | ({} if quick else but)


def run(options, kind: str, removed: str) -> tuple[str, dict]:
    """What compute.rb prints, and the lock's statistics."""
    with tempfile.TemporaryDirectory() as folder:
        statistics = Path(folder) / "gil.json"
        environment = os.environ | {
            "SYNCOPATE_RUBY_REMOVE": removed,
            "SYNCOPATE_GIL": options.mode,
            "SYNCOPATE_GIL_STATS": str(statistics),
            "SYNCOPATE_EMULATED": f"yield={options.yields}",
            "SYNCOPATE_QUIET": "1",
        }
        arguments = [str(options.threads), str(options.turns), kind]
        done = subprocess.run(
            [str(options.program), "--disable=gems", str(SCRIPT), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        if done.returncode != 0:
            raise Failure(f"{kind}: {done.stderr.strip() or done.returncode}")
        return done.stdout, json.loads(statistics.read_text(encoding="utf-8"))


def abort_ratio(statistics: dict) -> float:
    """Of all attempts, the percentage that aborted."""
    aborts = statistics["aborts"]
    attempts = statistics["transactions"] + aborts - statistics["fallbacks"]
    return 100 * aborts / attempts if attempts else 0.0


def percent(ratio: float) -> str:
    return f"{ratio:.1f} %" if ratio < 10 else f"{ratio:.0f} %"


def put_into(page: Path, text: str) -> None:
    """In the place of the table that is there."""
    mark = "<!-- removals.py -->\n"
    parts = page.read_text(encoding="utf-8").split(mark)
    if len(parts) != 3:
        raise Failure(f"{page} has no two lines {mark.strip()}")
    page.write_text(f"{parts[0]}{mark}{text}\n{mark}{parts[2]}", encoding="utf-8")


def table(options) -> str:
    lines = [
        "| removed | " + " | ".join(options.kinds) + " |",
        "|---" + "|--:" * len(options.kinds),
    ]
    lines[1] += "|"
    results: dict[str, str] = {}
    everything = {}
    for label, removed in rows(options.quick).items():
        cells = []
        for kind in options.kinds:
            result, statistics = run(options, kind, removed)
            if results.setdefault(kind, result) != result:
                raise Failure(f"{kind}, {label}: the result is another one")
            cells.append(percent(abort_ratio(statistics)))
            keys = ("transactions", "aborts", "fallbacks")
            everything[f"{label}, {kind}"] = {key: statistics[key] for key in keys}
        shown = re.sub(r"(\w+)( alone$)|(?<=all but )(\w+)$", r"`\1\3`\2", label)
        lines.append(f"| {shown} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="Ruby for the emulated machine")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--mode", default="htm:16", help="SYNCOPATE_GIL")
    parser.add_argument("--yields", type=int, default=3000, help="SYNCOPATE_EMULATED's yield")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=KINDS)
    parser.add_argument("--quick", action="store_true", help="not all but each")
    parser.add_argument("--json", type=Path, help="the counts, too")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    options = parser.parse_args()
    if not options.program.is_file():
        print(f"removals.py: there is no {options.program}: run build.sh", file=sys.stderr)
        return 2
    try:
        text = table(options)
        print(text)
        if options.page:
            put_into(options.page, text)
    except (Failure, subprocess.TimeoutExpired) as problem:
        print(f"removals.py: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
