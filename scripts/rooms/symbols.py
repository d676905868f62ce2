"""The arrows that only objects show: symbols of assembly, and of functions declared by hand."""

import subprocess
from pathlib import Path

from .house import House

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


def check_symbols(house: House, folder: Path, product: str, sources: dict[str, str]) -> bool:
    """Checks one product's objects (sources: of each); False where it is not built.

    A symbol of another room is for those that may use that room, and for those that have its
    declaration, which that room fills: their own, since it uses their room, or one of a room below
    both, whose inline functions call it.
    """
    objects = [folder / output for output in sources]
    if not all(path.is_file() for path in objects):
        return False
    symbols = read_symbols(objects)
    places = {str(folder / output): source for output, source in sources.items()}
    definers = {name: places[path] for path, (defined, _) in symbols.items() for name in defined}
    for path, (_, needed) in symbols.items():
        user = house.room_of(places[path])
        for name in sorted(needed & definers.keys()):
            definer = house.room_of(definers[name])
            if user is None or definer is None or user == definer:
                continue
            if definer.name in user.uses or user.name in definer.uses:
                continue
            if set(user.uses) & set(definer.uses):
                continue
            house.enter(
                f"{product}: {places[path]}", places[path], definers[name], f"({name}) calls"
            )
    return True
