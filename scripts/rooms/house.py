"""The table of rooms: which room a file is in, and which room may use which."""

import subprocess
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

CODE = (".h", ".c", ".cpp", ".cxx", ".S", ".def", ".inc", ".py", ".sh")
# Texts, data, and languages of which nothing here uses a file of another room by its name.
NO_CODE = {
    "SHA256SUMS", ".LICENSE", ".cmake", ".cocci", ".css", ".f90", ".go", ".html", ".in", ".java",
    ".js", ".json", ".lua", ".map", ".md", ".mjs", ".patch", ".rb", ".rs", ".ru", ".svg",
    ".toml", ".txt", ".yml",
}  # fmt: skip


class TableError(Exception):
    """The table contradicts itself."""


@dataclass(frozen=True)
class Room:
    """One room of the table; its keys are explained there."""

    name: str
    holds: tuple[str, ...]
    uses: tuple[str, ...]
    paths: tuple[str, ...] = ()
    seams: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


@dataclass
class Seam:
    """An include whose file the include path chooses, and which of them something named."""

    files: tuple[str, ...]
    used: set[str] = field(default_factory=set)


@dataclass
class Excuse:
    """An exception: what it allows beside the table, and whether anything needed it."""

    source: str
    target: str
    used: bool = False

    def covers(self, source: str, target: str) -> bool:
        return fnmatch(source, self.source) and fnmatch(target, self.target)


@dataclass
class House:
    """A checkout and its table. `findings` collects one line for each breach."""

    root: Path
    rooms: dict[str, Room]
    seams: dict[str, Seam]
    exceptions: list[Excuse]
    loads: list[Excuse]
    outside: dict[str, dict]
    products: dict[str, dict]
    files: list[str]
    built: bool = False  # whether a build's files are looked at, too
    findings: dict[str, None] = field(default_factory=dict)
    arrows: set[tuple[str, str]] = field(default_factory=set)
    chosen: set[tuple[str, str]] = field(default_factory=set)  # room, folder of a seam

    def __post_init__(self) -> None:
        self._rooms = {path: self._find_room(path) for path in self.files}
        self.outside_of = cache(self._outside_of)

    def find(self, message: str) -> None:
        self.findings[message] = None

    def _find_room(self, path: str) -> Room | None:
        best: tuple[int, Room] | None = None
        for room in self.rooms.values():
            for pattern in room.holds:
                if "*" in pattern:
                    weight = 1000 if fnmatch(path, pattern) else 0
                elif path == pattern or (pattern.endswith("/") and path.startswith(pattern)):
                    weight = len(pattern)
                else:
                    weight = 0
                if weight and (best is None or weight > best[0]):
                    best = (weight, room)
        return best[1] if best else None

    def room_of(self, path: str) -> Room | None:
        """The room of a file or of a folder (its path ends in a slash)."""
        if path not in self._rooms:
            self._rooms[path] = self._find_room(path)
        return self._rooms[path]

    def is_onlooker(self, path: str) -> bool:
        """Whether the file's room may use everything, and is used by nobody."""
        room = self.room_of(path)
        return room is not None and "*" in room.uses

    def enter(self, place: str, source: str, target: str, verb: str = "includes") -> None:
        """Checks one arrow. place: where it stands, for the message."""
        own, other = self.room_of(source), self.room_of(target)
        if own is None:
            self.find(f"{source}: this file is in no room of scripts/rooms.toml")
            return
        if other is None:
            self.find(f"{place}: {verb} {target}, which is in no room of scripts/rooms.toml")
            return
        if own == other:
            return
        if other.name in own.uses or ("*" in own.uses):
            self.arrows.add((own.name, other.name))
            return
        if not self.is_excused(source, target):
            self.find(f"{place}: room '{own.name}' {verb} {target} of room '{other.name}'")

    def is_excused(self, source: str, target: str) -> bool:
        """Whether an exception allows it; that exception is needed."""
        for excuse in self.exceptions:
            if excuse.covers(source, target):
                excuse.used = True
                return True
        return False

    def _outside_of(self, kind: str, name: str) -> str | None:
        """The project outside that has this header, library or Python package."""
        for project, parts in self.outside.items():
            if any(fnmatch(name, pattern) for pattern in parts.get(kind, ())):
                return project
        return None

    def leave(self, place: str, room: Room, kind: str, name: str) -> None:
        """Checks the use of something of another project. kind: headers, libraries, packages."""
        project = self.outside_of(kind, name)
        if project is None:
            self.find(f"{place}: nothing is known of '{name}': neither ours nor under [outside]")
        elif project != "system" and project not in room.outside:
            self.find(f"{place}: room '{room.name}' may not use {project} ('{name}')")

    def _is_known(self, path: str) -> bool:
        """Whether what a file of a room uses is looked at, or it is no code."""
        kind = Path(path).suffix or Path(path).name
        return path.endswith(CODE) or kind in NO_CODE or self.room_of(path) is None

    def check_table(self) -> None:
        """What the table says must be there: files, rooms, needed exceptions and arrows."""
        for path in self.files:
            if path.endswith(CODE) and self.room_of(path) is None:
                self.find(f"{path}: this file is in no room of scripts/rooms.toml")
            elif not self._is_known(path):
                self.find(f"{path}: nothing looks at what files of this kind use")
        held = {room.name for room in map(self.room_of, self.files) if room}
        for room in self.rooms.values():
            if room.name not in held:
                self.find(f"scripts/rooms.toml: room '{room.name}' is empty")
            for name in room.uses:
                if name != "*" and name in self.rooms and (room.name, name) not in self.arrows:
                    self.find(f"scripts/rooms.toml: room '{room.name}' does not use '{name}'")
            for folder in room.seams:
                if self.built and (room.name, folder) not in self.chosen:
                    self.find(f"scripts/rooms.toml: room '{room.name}' has no need of {folder}")
        for name, seam in self.seams.items():
            there = {path for path in self.files if path.endswith("/" + name)}
            for path in sorted(there ^ set(seam.files)):
                self.find(f"scripts/rooms.toml: seams: {name}: {path} is missing or not listed")
            for path in sorted(there & set(seam.files) - seam.used):
                self.find(f"scripts/rooms.toml: seams: nothing includes {path}")
        for kind in ("exceptions", "loads"):
            for excuse in getattr(self, kind):
                # What links what, only a build shows.
                if not excuse.used and (self.built or not excuse.source.endswith(".txt")):
                    arrow = f"{excuse.source} -> {excuse.target}"
                    self.find(f"scripts/rooms.toml: {kind}: {arrow} is not needed")


def list_files(root: Path) -> list[str]:
    """The project's files: what git tracks or would; in a copy without git, all but build/."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        paths = [path for path in listed.split("\0") if path]
        return sorted(path for path in paths if (root / path).is_file())
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] != "build"
    )


def _excuses(rows: list[dict]) -> list[Excuse]:
    return [Excuse(row["from"], row["to"]) for row in rows]


def read_house(root: Path, built: bool = False) -> House:
    """Raises TableError, OSError, tomllib.TOMLDecodeError, KeyError."""
    with open(root / "scripts/rooms.toml", "rb") as file:
        table = tomllib.load(file)
    for row in (*table.get("seams", []), *table.get("exceptions", [])):
        if not row.get("reason", "").strip():
            raise TableError(f"{row}: no reason is given")
    rooms = {
        name: Room(name, **{key: tuple(value) for key, value in parts.items()})
        for name, parts in table["rooms"].items()
    }
    for room in rooms.values():
        for name in room.uses:
            if name != "*" and name not in rooms:
                raise TableError(f"room '{room.name}' uses '{name}', which is no room")
        for name in room.outside:
            if name not in table["outside"]:
                raise TableError(f"room '{room.name}' uses '{name}', which is not under [outside]")
    _refuse_circles(rooms)
    return House(
        root=root,
        rooms=rooms,
        seams={row["name"]: Seam(tuple(row["files"])) for row in table.get("seams", [])},
        exceptions=_excuses(table.get("exceptions", [])),
        loads=_excuses(table.get("loads", [])),
        outside=table["outside"],
        products=table.get("products", {}),
        files=list_files(root),
        built=built,
    )


def _refuse_circles(rooms: dict[str, Room]) -> None:
    """Rooms that use each other are one room."""
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise TableError("rooms in a circle: " + " -> ".join((*way[way.index(name) :], name)))
        if name in done:
            return
        for other in rooms[name].uses:
            if other != "*":
                visit(other, (*way, name))
        done.add(name)

    for name in rooms:
        visit(name, ())
