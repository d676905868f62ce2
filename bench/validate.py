#!/usr/bin/env python3
"""Runs on the model what was published for real machines, and prints both.

Usage: validate.py [--build DIR] [--only TEXT] [--output FILE.json]

Costs of one line by its state and distance, hand-overs, words that all add to, locks, barriers and
memory bandwidth: bench/validate_points.toml has every figure with its source, and what was looked
for and not found. A miss is a point that is more than 25 % off; docs/internals/model-measured.md
has each with its size, which tests/cli_machines/test_validate.py holds against the machine files.
Exit status 0: misses are results; 2 where --only names nothing.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POINTS = ROOT / "bench/validate_points.toml"
MISS = 0.25


def sets() -> list[dict]:
    """The published figures, in sets of one source and machine."""
    return tomllib.loads(POINTS.read_text(encoding="utf-8"))["set"]


def not_found() -> dict[str, str]:
    """What was looked for, and why no figure of it is here."""
    return tomllib.loads(POINTS.read_text(encoding="utf-8"))["not_found"]


def ask(build: Path, machine: str, words: list[str]) -> float:
    """One figure of the model: what the program prints."""
    environ = {**os.environ, "SYNCOPATE_MACHINE": machine, "SYNCOPATE_QUIET": "1"}
    environ["SYNCOPATE_MACHINES"] = str(ROOT / "machines")
    program = [str(build / "bench" / words[0]), *words[1:]]
    done = subprocess.run(program, env=environ, capture_output=True, text=True, check=True)
    return float(done.stdout)


def machine_of(of: dict, folder: Path) -> str:
    """The set's machine; with `changed`, keys and their values, a file of it in the folder."""
    if "changed" not in of:
        return of["machine"]
    text = (ROOT / f"machines/{of['machine']}.toml").read_text(encoding="utf-8")
    for key, value in of["changed"].items():
        text, times = re.subn(rf"(?ms)^{key} = (\[\n.*?^\]|[^\n#]*)", f"{key} = {value}  ", text)
        if times != 1:
            raise ValueError(f"{of['machine']}.toml has {times} lines that begin with '{key} ='")
    path = folder / f"{of['machine']}-changed.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def point(
    build: Path, machine: str, of: dict, what: str, published: float, asked: str | int
) -> dict:
    """A published figure, the model's, and how far that is off. `asked`: the program's words, or
    the threads that stand in those of the set."""
    threads = asked if isinstance(asked, int) else 1
    words = asked if isinstance(asked, str) else of["words"].replace("%THREADS%", str(asked))
    published /= threads if of.get("per_thread") else 1
    model = ask(build, machine, [of["program"], *words.split()])
    return {"what": what, "published": published, "model": model, "error": model / published - 1}


def results(build: Path, only: str = "") -> list[dict]:
    """The sets whose points' names contain the text, each with `rows`."""
    found = []
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        for of in sets():
            machine = machine_of(of, Path(folder))
            own = len(of["points"]) - of.get("fitted", 0)
            rows = [
                {**point(build, machine, of, *told), "fitted": number >= own}
                for number, told in enumerate(of["points"])
                if only in told[0]
            ]
            if rows:
                found.append({key: of[key] for key in ("title", "machine", "unit", "source")})
                found[-1]["rows"] = rows
    return found


def missed(row: dict) -> bool:
    return not row["fitted"] and abs(row["error"]) > MISS


def counted(found: list[dict]) -> list[dict]:
    """The rows that say something of the model: the machine file was not fitted to them."""
    return [row for of in found for row in of["rows"] if not row["fitted"]]


def show(found: list[dict], everything: bool) -> None:
    """The sets, and what comes of them."""
    for of in found:
        head = f"{of['title']}: {of['machine']}, {of['unit']}"
        print(f"{head:58} published   model  error")
        for row in of["rows"]:
            figures = f"{row['published']:9.1f} {row['model']:7.1f}  {row['error']:+.0%}"
            mark = "  fitted" if row["fitted"] else "  miss" * missed(row)
            print(f"  {row['what']:56} {figures}{mark}")
        print(textwrap.fill(of["source"], 96, initial_indent="  ", subsequent_indent="  ") + "\n")
    rows = counted(found)
    good = sum(not missed(row) for row in rows)
    twice = sum(not 0.5 <= row["error"] + 1 <= 2 for row in rows)
    print(f"{good} of {len(rows)} points within {MISS:.0%}, {twice} off by more than a factor of 2")
    if everything:
        print("\nnothing to compare with:")
        for what, why in not_found().items():
            print(textwrap.fill(f"{what}: {why}", 96, subsequent_indent="  "))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--only", default="", help="only points whose name contains this")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    o = parser.parse_args()
    found = results(o.build, o.only)
    if not found:
        print(f"validate: no point's name contains '{o.only}'", file=sys.stderr)
        return 2
    show(found, not o.only)
    if o.output:
        o.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
