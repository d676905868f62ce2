#!/usr/bin/env python3
"""Runs on the model what was published for real machines, and prints both.

Usage: validate.py [--build DIR] [--output FILE.json]

Costs of one line by its state and distance, and compare-exchange loops beside fetch-and-add. A miss
is a point that is more than 25 % off; docs/limits.md has each with its size, which
tests/cli_machines/test_validate.py holds against the machine files. Exit status 0: misses are
results.

The published figures are of David, Guerraoui and Trigonakis, "Everything You Always Wanted to Know
about Synchronization but Were Afraid to Ask", SOSP 2013, table 2 (four AMD Opteron 6172 of 2.1 GHz,
48 cores; cycles), as this project has them: the text was not at hand when they were entered. The
model is of the next generation with the same interconnect (machines/opteron-6272.toml).
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINE = "opteron-6272"
MISS = 0.25
MINE = 0
# The other's processor, and that of a third which reads the line: as far away. The model has no two
# hops: its packages are all linked to each other, so the farthest one stands for them.
DISTANCES = {"die": (2, 4), "package": (8, 10), "one hop": (16, 18), "two hops": (48, 50)}


@dataclass(frozen=True)
class Point:
    """One published figure; `arguments` are those of bench/validate_lines.cpp."""

    what: str
    published: float
    arguments: tuple[str, ...]


def lines(state: str, operation: str, figures: tuple[int, int, int, int]) -> list[Point]:
    """The four distances of one row of the table."""
    found = []
    for (distance, (other, third)), cycles in zip(DISTANCES.items(), figures, strict=True):
        words = ("line", state, operation, str(MINE), str(other), str(third))
        found.append(Point(f"{operation}, {state}, {distance}", cycles, words))
    return found


POINTS = [
    *lines("modified", "load", (81, 161, 172, 252)),
    *lines("shared", "load", (83, 164, 176, 254)),
    *lines("modified", "atomic", (110, 197, 216, 296)),
    *lines("shared", "atomic", (272, 283, 312, 332)),
]
LOOPS = ((2, 2000), (16, 2000), (64, 2000))  # threads, microseconds


def ask(build: Path, arguments: tuple[str, ...]) -> float:
    """One figure of the model."""
    environ = {**os.environ, "SYNCOPATE_MACHINE": MACHINE, "SYNCOPATE_QUIET": "1"}
    environ["SYNCOPATE_MACHINES"] = str(ROOT / "machines")
    program = build / "bench/validate_lines"
    done = subprocess.run(
        [str(program), *arguments], env=environ, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def points(build: Path) -> list[dict]:
    """Each published figure, the model's, and how far that is off."""
    rows = []
    for point in POINTS:
        model = ask(build, point.arguments)
        row = {"what": point.what, "published": point.published, "model": model}
        rows.append({**row, "error": model / point.published - 1})
    return rows


def loops(build: Path) -> list[dict]:
    """How many times as fast fetch-and-add is as a loop of compare-exchanges, by threads."""
    rows = []
    for threads, microseconds in LOOPS:
        add, loop = (
            ask(build, ("contended", kind, str(threads), str(microseconds)))
            for kind in ("add", "loop")
        )
        rows.append({"threads": threads, "add": add, "loop": loop, "times": add / loop})
    return rows


def show(rows: list[dict], contended: list[dict]) -> None:
    """Both tables."""
    print(f"{MACHINE}, cycles       {'published':>15} {'model':>7}  error")
    for row in rows:
        miss = "  miss" if abs(row["error"]) > MISS else ""
        figures = f"{row['published']:8.0f} {row['model']:7.0f}  {row['error']:+.0%}"
        print(f"{row['what']:28} {figures}{miss}")
    misses = sum(abs(row["error"]) > MISS for row in rows)
    print(f"{len(rows) - misses} of {len(rows)} points within {MISS:.0%}\n")
    print("one word, millions a second: fetch-and-add, compare-exchange loop (model)")
    for row in contended:
        print(
            f"{row['threads']:3} threads {row['add']:8.2f} {row['loop']:8.2f}"
            f"  a factor of {row['times']:.1f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    o = parser.parse_args()
    rows, contended = points(o.build), loops(o.build)
    show(rows, contended)
    if o.output:
        result = {"machine": MACHINE, "points": rows, "loops": contended}
        o.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
