#!/usr/bin/env python3
"""Checks the layer rule: a file includes only files of its own level or a lower one.

Usage: check_layers.py [ROOT]
Prints one line per offending include; exit status 1 when there is one.
"""

import re
import sys
from pathlib import Path

# Path prefixes and their level, the most specific first. A file under none of them that belongs to
# the project may include anything (tools, tests, benchmarks).
LEVELS = [
    ("include/syncopate/machine", 0),
    ("src/machine", 0),
    ("src/instrument/pthread/algorithm", 4),
    ("src/instrument", 0),
    ("include/syncopate/wait", 1),
    ("include/syncopate/locks/all", 3),
    ("include/syncopate/locks/any_lock", 3),
    ("include/syncopate/locks", 2),
    ("include/syncopate/rwlocks", 2),
    ("include/syncopate/barriers", 2),
    ("include/syncopate/condition", 2),
    ("include/syncopate/elide", 3),
    ("include/syncopate/gil", 3),
    ("include/syncopate/tm", 3),
    ("src/record", 3),
    ("src/tm", 3),
    ("shims", 4),
    ("src/tools", 5),
    ("tests", 5),
    ("bench", 5),
    ("workloads", 5),
]
SOURCE_DIRS = ("include", "src", "shims", "workloads", "tests", "bench")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def level_of(path: str) -> int | None:
    """The level of a path relative to the root; None where no level is set."""
    for prefix, level in LEVELS:
        if path == prefix or path.startswith((prefix + "/", prefix + ".")):
            return level
    return None


def resolve(root: Path, source: Path, quote: str, name: str) -> str | None:
    """The included file relative to the root; None when it is not the project's."""
    places = [root / "include", root / "src", root / "shims", root]
    if quote == '"':
        places.insert(0, source.parent)
    for place in places:
        target = (place / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root).as_posix()
    return None


def check_file(root: Path, source: Path) -> list[str]:
    """One message per include of the file that climbs a level, or that has no level."""
    path = source.relative_to(root).as_posix()
    own = level_of(path)
    if own is None:
        return [f"{path}: this folder has no level; add it to scripts/check_layers.py"]
    messages = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = resolve(root, source, match[1], match[2])
        if target is None:
            if match[2].startswith("syncopate/"):
                messages.append(f"{path}:{number}: no such file: {match[2]}")
            continue
        other = level_of(target)
        if other is None:
            messages.append(f"{path}:{number}: {target} has no level")
        elif other > own:
            messages.append(f"{path}:{number}: level {own} includes {target} of level {other}")
    return messages


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else ".").resolve()
    sources = [
        source
        for folder in SOURCE_DIRS
        for source in sorted((root / folder).rglob("*"))
        if source.suffix in {".h", ".cpp", ".c"} and source.is_file()
    ]
    if not sources:
        print(f"{root}: no sources to check", file=sys.stderr)
        return 1
    messages = [message for source in sources for message in check_file(root, source)]
    print("\n".join(messages) if messages else f"layers: {len(sources)} files, all right")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
