#!/usr/bin/env python3
"""Checks that every file uses only what its room may use (scripts/rooms.toml).

Usage: check_rooms.py [--build FOLDER] [ROOT]

Without a build: plain includes and Python's imports. With the folder of a configured build: also
which files each compilation finds by its include path, and what each program and library is linked
of; of what has been built, the compiler's own lists of dependencies too. What cannot be resolved is
an error. Prints one line a breach; exit status 1 when there is one.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from rooms.build import check_build
from rooms.house import TableError, read_house
from rooms.imports import check_imports
from rooms.includes import check_includes


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Checks the table of rooms.")
    parser.add_argument("--build", type=Path, help="folder of a configured build")
    parser.add_argument("root", nargs="?", type=Path, default=Path("."))
    options = parser.parse_args(arguments)
    try:
        house = read_house(options.root.resolve(), built=options.build is not None)
        includes = check_includes(house)
        check_imports(house)
        told = ""
        if options.build:
            told = check_build(house, includes, options.build.resolve())
        house.check_table()
    except (TableError, OSError, KeyError, tomllib.TOMLDecodeError) as error:
        print(f"check_rooms: {error}", file=sys.stderr)
        return 1
    for message in house.findings:
        print(message)
    if house.findings:
        return 1
    print(f"rooms: {len(house.rooms)} rooms, {len(house.files)} files{told}, all right")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
