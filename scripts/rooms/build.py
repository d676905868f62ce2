"""The arrows that a build shows: include paths, dependency files, link lines."""

import json
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from .house import House
from .includes import SOURCES, Includes
from .symbols import check_symbols

LIBRARY = re.compile(r"^(?:-l:?|--library=|.*/|)(?:lib)?([^/]+?)(?:\.so[.\d]*|\.a|\.o)?$")
LINKED = re.compile(r"-l|--library=|[^-].*\.(?:a|o|so(?:\.[\d.]+)?)$")
PATH_OPTIONS = ("-I", "-isystem", "-iquote", "-idirafter")
# Options by which a compiler reads what nothing here looks at.
UNSEEN = ("@", "-imacros", "--include", "-iprefix", "-iwithprefix", "-I-", "-Wp,", "--sysroot")
# Libraries that a compiler links by itself.
IMPLIED = {"-fopenmp": "gomp", "-fgnu-tm": "itm", "-fsanitize=thread": "tsan"}
COMPILER = re.compile(r"(?:^|[\s;&(])\S*/?(?:c\+\+|g\+\+|gcc|cc|clang|clang\+\+)(?:-\d+)? ")


@dataclass
class Compilation:
    """One call of a compiler. source: relative to the root, or absolute where generated."""

    source: str
    output: str
    paths: tuple[str, ...]
    first: tuple[str, ...]
    unseen: tuple[str, ...] = ()


@dataclass
class Link:
    """One program or library. folder: of the CMakeLists.txt that names it."""

    output: str
    folder: str
    objects: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)


class Build:
    """A configured build folder, and what its files say."""

    def __init__(self, house: House, includes: Includes, folder: Path) -> None:
        self.house, self.includes, self.folder = house, includes, folder
        self.inside = cache(self._inside)
        self.is_generated = cache(lambda path: Path(path).is_relative_to(folder))
        settings = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
        found = re.search(r"^SYNCOPATE_PRODUCTS_DIR:\w+=(.+)$", settings, re.M)
        self.products = Path(found[1]) if found else folder
        self.compilations = [
            self._compilation(entry)
            for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
        ]
        self.sources = {each.output: each.source for each in self.compilations}

    def _inside(self, path: str) -> str:
        """The path relative to the root where it is below it and not generated; else absolute."""
        target = Path(path) if Path(path).is_absolute() else self.folder / path
        target = Path(str(target.resolve()))
        if target.is_relative_to(self.house.root) and not target.is_relative_to(self.folder):
            return target.relative_to(self.house.root).as_posix()
        return target.as_posix()

    def _compilation(self, entry: dict) -> Compilation:
        words = shlex.split(entry["command"])
        paths, first, output = [], [], ""
        for word, after in zip(words, [*words[1:], ""], strict=True):
            for option in PATH_OPTIONS:
                if word.startswith(option):
                    paths.append(self.inside(word.removeprefix(option) or after))
                    break
            if word.startswith("-include"):
                first.append(self.inside(word.removeprefix("-include") or after))
            elif word == "-o":
                output = after
        unseen = tuple(word for word in words[1:] if word.startswith(UNSEEN))
        return Compilation(self.inside(entry["file"]), output, tuple(paths), tuple(first), unseen)

    # ---- what each compilation reads

    def check_paths(self, each: Compilation) -> None:
        """The folders of a compilation's include path stand in the table."""
        rooms = [self.house.room_of(each.source), self.house.room_of(_target_folder(each.output))]
        allowed = {path for room in rooms if room for path in room.paths}
        place = f"{each.source}: compiled for {each.output}"
        for path in each.paths:
            choosers = [room.name for room in rooms if room and path in room.seams]
            self.house.chosen.update((name, path) for name in choosers)
            if not choosers and not path.startswith("/") and path not in allowed:
                self.house.find(
                    f"{place} with the include path {path}, which its room does not have"
                )
        allowed |= {folder for room in rooms if room for folder in room.seams}
        for path in each.first:
            if not any(path.startswith(f"{folder}/") for folder in (*allowed, "")):
                self.house.find(f"{place} with {path} first, which its room does not have")
        for option in each.unseen:
            self.house.find(f"{place} with {option}, and nothing looks at what that reads")

    def reach(self, each: Compilation) -> frozenset[str]:
        """What a compilation may read of ours, by its include path."""
        house = self.house
        room = house.room_of(each.source) or house.room_of(_target_folder(each.output))
        # Behind the real path the table's: what is compiled under conditions is looked for as well.
        paths = tuple(path for path in each.paths if not path.startswith("/"))
        paths = tuple(dict.fromkeys((*paths, *(room.paths if room else ()))))
        roots = [*each.first, each.source]
        if Path(each.source).is_absolute():  # generated: one source out of several
            text = Path(each.source).read_text(encoding="utf-8")
            roots = [self.inside(name) for name in re.findall(r'#include "([^"]+)"', text)]
        return frozenset().union(*(self.includes.reach(root, paths) for root in roots))

    def check_compilations(self) -> int:
        """Returns how many compilations' dependency lists were compared."""
        reach = {}
        for each in self.compilations:
            self.check_paths(each)
            reach[each.output] = self.reach(each)
        compared = 0
        for output, dependencies in read_dependencies(self.folder):
            if output not in reach:
                continue
            compared += 1
            for path in map(self.inside, dependencies):
                if path.startswith("/"):
                    if self.is_generated(path) and path != self.sources[output]:
                        self.house.find(f"{output}: reads the generated {path}, which has no room")
                elif path not in reach[output]:
                    self.house.find(f"{output}: reads {path}, which no include explains")
        return compared

    # ---- what is linked

    def check_links(self) -> int:
        links = read_links(self.folder / "build.ninja")
        made = {self._where(link.output): link for link in links}
        for path, link in made.items():
            pattern = self._product(path)
            if pattern:
                self._check_product(path, link, self.house.products[pattern])
                self._check_product_symbols(path, link, self.house.products[pattern])
            elif path.startswith("/"):
                self.house.find(f"{path}: this product is not under [products]")
            else:
                self._check_program(path, link, made)
        for pattern in self.house.products:
            if not any(fnmatch(path, pattern) for path in made):
                self.house.find(f"scripts/rooms.toml: products: nothing makes {pattern}")
        return len(links)

    def _product(self, path: str) -> str | None:
        return next((key for key in self.house.products if fnmatch(path, key)), None)

    def _where(self, output: str) -> str:
        """A product: /lib/NAME, below the folder of products; else relative to the build."""
        path = Path(self.folder, output)
        return (
            "/" + path.relative_to(self.products).as_posix() if self._is_product(path) else output
        )

    def _is_product(self, path: Path) -> bool:
        return path.is_relative_to(self.products) and not path.is_relative_to(self.folder)

    def _libraries(self, link: Link) -> set[str]:
        """Ours as `_where` says, others by their short names."""
        names = set()
        for word in link.libraries:
            path = Path(self.folder, word)
            if word in IMPLIED.values():
                names.add(word)
            elif word.startswith("-") or not path.is_relative_to(self.house.root):
                match = LIBRARY.match(word)
                names.add(match[1] if match else word)
            else:
                names.add(self._where(word))
        return names

    def _check_product(self, path: str, link: Link, product: dict) -> None:
        rooms = {self._room_name(path, each) for each in link.objects} - {None}
        for name in sorted(rooms - set(product["rooms"])):
            self.house.find(f"{path}: linked of room '{name}', which its row does not name")
        for name in sorted(set(product["rooms"]) - rooms):
            self.house.find(f"scripts/rooms.toml: products: {path} has nothing of room '{name}'")
        libraries, allowed = self._libraries(link), product.get("libraries", [])
        for name in sorted(libraries):
            if not any(fnmatch(name, pattern) for pattern in allowed):
                self.house.find(f"{path}: linked with {name}, which its row does not name")
        for pattern in allowed:
            if not any(fnmatch(name, pattern) for name in libraries):
                self.house.find(
                    f"scripts/rooms.toml: products: {path} is not linked with {pattern}"
                )

    def _check_product_symbols(self, path: str, link: Link, product: dict) -> None:
        if not product.get("machine"):
            sources = {each: self.sources[each] for each in link.objects if each in self.sources}
            compiled = {each.source: each for each in self.compilations if each.output in sources}
            reach = cache(lambda source: self.reach(compiled[source]))
            check_symbols(self.house, self.folder, path, sources, reach)

    def _room_name(self, path: str, output: str) -> str | None:
        source = self.sources.get(output)
        room = self.house.room_of(source) if source else None
        if room is None:
            self.house.find(f"{path}: linked of {output}, whose source is in no room")
        return room.name if room else None

    def _check_program(self, path: str, link: Link, made: dict[str, Link]) -> None:
        maker = f"{link.folder}/CMakeLists.txt"
        sources = [self.sources.get(output, "/") for output in link.objects]
        tests = [s for s in sources if s[0] != "/" and self.house.is_onlooker(s)]
        maker = tests[0] if tests else maker  # what has a test in it is a test
        room = self.house.room_of(maker)
        if room is None:
            self.house.find(f"{path}: {maker} is in no room")
            return
        for source in sources:
            if source[0] != "/":  # else generated: one source out of several, each checked
                self.house.enter(path, maker, source, "links")
        for name in sorted(self._libraries(link)):
            if "/" not in name:
                self.house.leave(path, room, "libraries", name)
            elif name in made and not self._product(name):  # a program's own library
                self.house.enter(path, maker, f"{made[name].folder}/CMakeLists.txt", "links")
            elif not any(fnmatch(name, pattern) for pattern in room.links):
                self.house.find(f"{path}: room '{room.name}' may not be linked with {name}")


def _target_folder(output: str) -> str:
    return output.partition("CMakeFiles/")[0]


def read_dependencies(folder: Path) -> list[tuple[str, list[str]]]:
    """What the compiler read for each object that is newer than all of it."""
    if not (folder / ".ninja_deps").is_file():
        return []
    command = ["ninja", "-C", str(folder), "-t", "deps"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return parse_dependencies(folder, text)


def parse_dependencies(folder: Path, text: str) -> list[tuple[str, list[str]]]:
    found = []

    @cache
    def changed(path: str) -> float:
        """When a file was changed; later than all where it is gone."""
        file = folder / path
        return file.stat().st_mtime if file.is_file() else float("inf")

    for block in text.split("\n\n"):
        head, *rows = block.strip().splitlines() or [""]
        if "(VALID)" not in head:
            continue
        output, paths = head.partition(": #deps")[0], [row.strip() for row in rows]
        made = changed(output)
        if all(changed(path) <= made for path in paths):
            found.append((output, paths))
    return found


def _names(text: str) -> list[str]:
    """The paths of a line of ninja's, where a blank of a path's own is "$ "."""
    found = re.findall(r"(?:\$.|[^\s$])+", text)
    return [re.sub(r"\$(.)", r"\1", each) for each in found]


def _libraries_of(words: list[str]) -> list[str]:
    """What a linker's line names, also behind the compiler's -Wl, and what the compiler adds."""
    found = [IMPLIED[word] for word in words if word in IMPLIED]
    for word in words:
        if word.startswith("-Wl,"):
            found += [part for part in word.split(",") if LINKED.match(part)]
        elif not word.startswith("-") or word.startswith("-l"):
            found.append(word)
    return found


def read_links(path: Path) -> list[Link]:
    """The programs and libraries of a build.ninja that CMake wrote."""
    links: list[Link] = []
    current: Link | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("build "):
            outputs, _, rest = line.removeprefix("build ").partition(": ")
            rule, _, inputs = rest.partition(" ")
            current = None
            if "_LINKER__" in rule:
                explicit = _names(inputs.partition("|")[0])
                current = Link(_names(outputs)[0], "", [i for i in explicit if i.endswith(".o")])
                links.append(current)
        elif current and line.startswith(("  LINK_LIBRARIES = ", "  LINK_FLAGS = ")):
            words = shlex.split(line.partition(" = ")[2].replace("$:", ":"))
            current.libraries += _libraries_of(words)
        elif current and line.startswith("  OBJECT_DIR = "):
            current.folder = line.partition(" = ")[2].partition("/CMakeFiles/")[0]
    return links


def check_commands(house: House, folder: Path) -> None:
    """Compilers that the build calls by a command of its own, as CMakeLists.txt names them."""
    for line in (folder / "build.ninja").read_text(encoding="utf-8").splitlines():
        said = re.match(r"  COMMAND = cd (\"[^\"]+\"|\S+) && (.*)", line)
        if not said or not COMPILER.search(said[2]):
            continue
        maker = Path(said[1].strip('"')).relative_to(folder).as_posix() + "/CMakeLists.txt"
        room = house.room_of(maker)
        for word in shlex.split(said[2].replace("$:", ":")):
            path = Path(word.removeprefix("-I").removeprefix("-L"))
            if not path.is_absolute() or not path.is_relative_to(house.root) or not room:
                continue
            named = path.relative_to(house.root).as_posix()
            if path.is_relative_to(folder):
                continue
            if word.startswith("-I") and named not in (*room.paths, *room.seams):
                house.find(f"{maker}: compiles with the include path {named}")
            elif named.endswith(SOURCES):
                house.enter(maker, maker, named, "compiles")


def check_build(house: House, includes: Includes, folder: Path) -> str:
    """Returns what was looked at, for the last line."""
    build = Build(house, includes, folder)
    compared = build.check_compilations()
    linked = build.check_links()
    check_commands(house, folder)
    return (
        f", {len(build.compilations)} compilations ({compared} with what the compiler read), "
        f"{linked} programs and libraries"
    )
