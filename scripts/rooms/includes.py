"""The arrows of C, C++ and assembly: what a file includes, and which file that is."""

import os
import re
from functools import cache
from pathlib import Path

from .house import House
from .text import logical_lines, without_comments

SOURCES = (".h", ".c", ".cpp", ".cxx", ".S", ".def", ".inc")
DIRECTIVE = re.compile(
    r"^\s*(?:#|%:|\?\?=)\s*(?:include|include_next|import|embed|pragma\s+GCC\s+dependency)\b\s*(.*)$",
    re.S,
)
ASKED = re.compile(r"__has_(?:include|include_next|embed)\s*\(\s*(.*)", re.S)
MODULE = re.compile(r"^\s*(?:export\s+)?import\s*[<\"\w:].*;", re.S)
# What the assembler reads, in its own files and in those of C.
ASSEMBLY = re.compile(r"\.(?:incbin|include)\b\s*(.*)", re.S)
NAMED = re.compile(r'\\?([<"])([^>"\\]+)\\?[>"]')


class Includes:
    """Reads includes and finds their files. Results are kept: many programs share headers."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.root = house.root
        self.read = cache(self._read)
        self.find = cache(self._find)
        self.check = cache(self._check)
        self.reach = cache(self._reach)
        self.meant: dict[tuple[str, str], str] = {}

    def _read(self, path: str) -> list[tuple[int, str, str]]:
        """(line, quote, name) of each include of a file; quote is empty where a macro names it."""
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        rows = []
        for number, line in logical_lines(without_comments(text)):
            said = DIRECTIVE.match(line) or ASSEMBLY.search(line) or ASKED.search(line)
            if said:
                named = NAMED.match(said[1])
                rows.append((number, *named.groups()) if named else (number, "", said[1].strip()))
            elif MODULE.match(line):
                rows.append((number, "", line.strip()))
        return rows

    def _find(self, folder: str, quote: str, name: str, paths: tuple[str, ...]) -> str | None:
        """The included file, relative to the root; None when no folder of ours has it."""
        for place in (folder, *paths) if quote == '"' else paths:
            joined = os.path.join(self.root, place, name)
            if os.path.isfile(joined):
                target = Path(joined).resolve()
                if target.is_relative_to(self.root):
                    return target.relative_to(self.root).as_posix()
        return None

    def _check(self, path: str, paths: tuple[str, ...]) -> list[str]:
        """Checks each include of a file, as the compiler finds it by `paths`. Returns the files."""
        house = self.house
        room = house.room_of(path)
        found = []
        for number, quote, name in self.read(path):
            place = f"{path}:{number}"
            if not quote:
                if not house.is_excused(path, name):
                    house.find(f"{place}: an include that a macro names: {name}")
                continue
            target = self.find(str(Path(path).parent), quote, name, paths)
            if name in house.seams:
                found += self._through_seam(place, name, target)
            elif target:
                self._enter(place, path, name, target)
                found.append(target)
            elif name.startswith("syncopate/"):
                house.find(f"{place}: no such file: {name}")
            elif room:
                house.leave(place, room, "headers", name)
        return found

    def _enter(self, place: str, path: str, name: str, target: str) -> None:
        """One name in one file means one file, whatever the include path."""
        meant = self.meant.setdefault((path, name), target)
        if meant != target:
            self.house.find(f"{place}: '{name}' is {meant} or {target}, and no seam says so")
        self.house.enter(place, path, target)

    def _through_seam(self, place: str, name: str, target: str | None) -> list[str]:
        """A seam is open to all; without a build it leads to each of its files."""
        seam = self.house.seams[name]
        if not self.house.built:
            seam.used.update(seam.files)  # which of them, the build says
        if target is None:
            return []
        seam.used.add(target)
        if target not in seam.files:
            self.house.find(f"{place}: {target} is not among the files of the seam '{name}'")
        return [target]

    def _reach(self, path: str, paths: tuple[str, ...]) -> frozenset[str]:
        """All files that a compilation of `path` may read, each include on the way checked."""
        seen = {path}
        left = [path]
        while left:
            for target in self.check(left.pop(), paths):
                if target not in seen:
                    seen.add(target)
                    left.append(target)
        return frozenset(seen)


def check_includes(house: House) -> Includes:
    """The plain includes of all files, by the folders that the table gives their rooms."""
    includes = Includes(house)
    for path in house.files:
        room = house.room_of(path)
        if path.endswith(SOURCES) and room:
            includes.check(path, room.paths)
    return includes
