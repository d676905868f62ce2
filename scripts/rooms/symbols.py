"""The arrows that only objects show: symbols of assembly, and of functions declared by hand."""

import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .house import House, Room

# What of ours a source includes, by its path.
Reach = Callable[[str], frozenset[str]]
DEFINED = set("TDBRAi")  # what a linker takes from one object alone


def read_symbols(objects: list[Path]) -> dict[str, tuple[set[str], set[str]]]:
    """What each object defines, and what it needs."""
    command = ["nm", "--print-file-name", "--format=posix", *map(str, objects)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, tuple[set[str], set[str]]] = {str(path): (set(), set()) for path in objects}
    for line in text.splitlines():
        path, _, rest = line.partition(": ")
        words = rest.split()
        if path not in found or len(words) < 2:
            continue
        if words[1] in DEFINED:
            found[path][0].add(words[0])
        elif words[1] == "U":
            found[path][1].add(words[0])
    return found


def plain_names(symbols: list[str]) -> dict[str, str]:
    """Each symbol's name as a declaration has it; empty for what has none, as an operator."""
    if not symbols:
        return {}
    text = subprocess.run(
        ["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for symbol, shown in zip(symbols, text.splitlines(), strict=True):
        before = re.sub(r"<[^<>]*>|\[abi:\w+\]", "", shown.partition("(")[0])
        name = re.search(r"(\w+)$", before)
        found[symbol] = name[1] if name and "operator" not in before else ""
    return found


class Declarations:
    """Where what one room fills and another calls is declared."""

    def __init__(self, house: House, reach: Reach | None) -> None:
        self.house, self.reach = house, reach
        self.words = cache(self._words)

    def _words(self, path: str) -> frozenset[str]:
        text = (self.house.root / path).read_text(encoding="utf-8", errors="replace")
        return frozenset(re.findall(r"\w+", text))

    def is_shared(self, name: str, definer: str, rooms: set[str]) -> bool:
        """Whether the definer's source includes a header with the name, of one of the rooms or a
        seam. Assembly includes none: some header of the rooms has it."""
        if self.reach is None or not name:
            return True
        seams = {path for seam in self.house.seams.values() for path in seam.files}
        seen = self.house.files if definer.endswith(".S") else self.reach(definer)
        return any(
            (room := self.house.room_of(path)) is not None
            and path.endswith(".h")
            and (room.name in rooms or path in seams)
            and name in self.words(path)
            for path in seen
        )


def _may_fill(user: Room, definer: Room) -> set[str]:
    """Rooms in which a declaration may stand that `definer` fills for `user`."""
    own = {user.name} if user.name in definer.uses else set()
    return own | (set(user.uses) & set(definer.uses))


def check_symbols(
    house: House,
    folder: Path,
    product: str,
    sources: dict[str, str],
    reach: Reach | None = None,
) -> bool:
    """Checks one product's objects (sources: of each); False where it is not built.

    A symbol of another room is for those that may use that room, and for those that have its
    declaration, which that room fills: their own, since it uses their room, or one of a room below
    both, whose inline functions call it. The definer has to include that declaration.
    """
    objects = [folder / output for output in sources]
    if not all(path.is_file() for path in objects):
        return False
    symbols = read_symbols(objects)
    places = {str(folder / output): source for output, source in sources.items()}
    declarations = Declarations(house, reach)
    definers = {name: places[path] for path, (defined, _) in symbols.items() for name in defined}
    plain = plain_names(sorted(definers))
    for path, (_, needed) in symbols.items():
        user = house.room_of(places[path])
        for name in sorted(needed & definers.keys()):
            definer = house.room_of(definers[name])
            if user is None or definer is None or user == definer:
                continue
            if definer.name in user.uses:
                continue
            rooms = _may_fill(user, definer)
            if rooms and declarations.is_shared(plain[name], definers[name], rooms):
                continue
            house.enter(
                f"{product}: {places[path]}", places[path], definers[name], f"({name}) calls"
            )
    return True
