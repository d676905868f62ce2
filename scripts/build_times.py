#!/usr/bin/env python3
"""Where build time goes: what Ninja noted of the last time that it made each file.

Usage: build_times.py BUILD_FOLDER [ROWS]

Seconds are those of the clock, of all steps together: what runs beside a step lengthens it, and a
compiler cache shortens it. A part is a folder of the source tree.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

DEEP = ("papers/workloads", "src/model")  # these by the folders in them
PARTS = ("src", "products", "tests", "papers", "bench")


def steps(folder: Path) -> dict[str, float]:
    """Seconds of each step of the build as it is now, by the first of the files that it made."""
    wanted = set()
    for line in (folder / "build.ninja").read_text(encoding="utf-8").splitlines():
        if line.startswith("build "):
            outputs = line.removeprefix("build ").partition(": ")[0]
            wanted |= {word.replace("$ ", " ") for word in re.split(r"(?<!\$) ", outputs)}
    found = {}
    for line in (folder / ".ninja_log").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        begin, end, _, output, command = line.split("\t")
        if output not in wanted:  # of an older build
            continue
        # A later line of a file is a later making; files of one step have the same times.
        found[output] = ((int(end) - int(begin)) / 1000, (begin, end, command))
    first = {}
    for output, (seconds, step) in found.items():
        first.setdefault(step, (output, seconds))
    return dict(first.values())


def part_of(output: str) -> str:
    folders = [each for each in output.split("/")[:-1] if each != "CMakeFiles"]
    for place, folder in enumerate(folders):
        if folder in PARTS:
            depth = 3 if "/".join(folders[place : place + 2]).startswith(DEEP) else 2
            named = [each for each in folders[place : place + depth] if not each.endswith(".dir")]
            return "/".join(named)
    return "others"


def main() -> int:
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    folder = Path(sys.argv[1])
    if not (folder / ".ninja_log").exists():
        print(f"build_times: no {folder / '.ninja_log'}; build first", file=sys.stderr)
        return 1
    seconds = steps(folder)
    parts = defaultdict(list)
    for output, each in seconds.items():
        parts[part_of(output)].append(each)
    whole = sum(seconds.values()) or 1
    print(f"{len(seconds)} steps, {whole:.0f} s together\n\nseconds  share  steps  part")
    for part, each in sorted(parts.items(), key=lambda row: -sum(row[1]))[:rows]:
        print(f"{sum(each):7.0f} {100 * sum(each) / whole:5.1f}% {len(each):6d}  {part}")
    print("\nseconds  the slowest steps")
    for output, each in sorted(seconds.items(), key=lambda row: -row[1])[:rows]:
        print(f"{each:7.1f}  {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
