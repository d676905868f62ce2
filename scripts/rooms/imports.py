"""The arrows of Python: imports, modules that are loaded by name, and circles."""

import ast
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from .house import Excuse, House, Room

# Calls that load a module whose name an import would have shown.
LOADERS = {"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"}


@cache
def _module(root: Path, folder: str, name: str) -> str | None:
    """The file of a dotted name below a folder; the longest part of it that is a file."""
    parts = name.split(".")
    found = None
    for count in range(1, len(parts) + 1):
        stem = Path(folder, *parts[:count])
        for candidate in (stem.with_suffix(".py"), stem / "__init__.py"):
            if (root / candidate).is_file():
                found = candidate.as_posix()
    return found


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Every dotted name that a statement may load."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        return []
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _relative(path: str, node: ast.ImportFrom) -> tuple[str, list[str]]:
    """Folder and names of `from .module import name`."""
    folder = Path(path).parents[node.level - 1].as_posix()
    stem = [node.module] if node.module else []
    return folder, [".".join([*stem, alias.name]) for alias in node.names]


class Imports:
    """Checks the imports of the house's Python files."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.arrows: dict[str, dict[str, int]] = {}

    def check(self, path: str, room: Room) -> None:
        text = (self.house.root / path).read_text(encoding="utf-8")
        try:
            tree = ast.parse(text, path)
        except SyntaxError as error:
            self.house.find(f"{path}:{error.lineno}: cannot be read: {error.msg}")
            return
        arrows = self.arrows.setdefault(path, {})
        deferred = _deferred(tree) if "TYPE_CHECKING" in text else set()
        for node in ast.walk(tree):
            if not isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
                continue
            place = f"{path}:{node.lineno}"
            if isinstance(node, ast.ImportFrom) and node.level:
                folder, names = _relative(path, node)
                folders: tuple[str, ...] = (folder,)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = _names(node)
                folders = self._folders(path, room)
            elif _loaded(node) and not self._rows(path):
                names, folders = [_loaded(node)], self._folders(path, room)
            else:
                self._check_loader(path, place, node)
                continue
            for name in names:
                target = self._check_name(place, path, name, folders, room)
                if target and node not in deferred:
                    arrows[target] = node.lineno

    def _folders(self, path: str, room: Room) -> tuple[str, ...]:
        """Where modules are looked for: beside a script, but not beside a package's module."""
        own = Path(path).parent
        packaged = (self.house.root / own / "__init__.py").is_file()
        return room.python if packaged else (own.as_posix(), *room.python)

    def _check_name(
        self, place: str, path: str, name: str, folders: tuple[str, ...], room: Room
    ) -> str | None:
        top = name.split(".")[0]
        if top in sys.stdlib_module_names:
            return None
        # The root comes last: where the project is run from it, everything is a package.
        for folder in dict.fromkeys((*folders, ".")):
            target = _module(self.house.root, folder, name)
            if target and target != path:
                self.house.enter(place, path, target, "imports")
                return target
        self.house.leave(place, room, "packages", top)
        return None

    def _rows(self, path: str) -> list[Excuse]:
        return [row for row in self.house.loads if row.source == path]

    def _check_loader(self, path: str, place: str, node: ast.AST) -> None:
        name = _called(node)
        if name not in LOADERS:
            return
        rows = self._rows(path)
        for excuse in rows:
            excuse.used = True
            targets = [each for each in self.house.files if fnmatch(each, excuse.target)]
            if not targets:
                self.house.find(f"{place}: there is no {excuse.target}")
            for target in targets:
                self.house.enter(place, path, target, "loads")
        if not rows:
            self.house.find(f"{place}: {name} loads what no import shows; list it under [[loads]]")

    def check_circles(self) -> None:
        """Files that import each other as they are loaded."""
        done: set[str] = set()

        def visit(path: str, way: tuple[str, ...]) -> None:
            if path in way:
                circle = (*way[way.index(path) :], path)
                self.house.find("imports in a circle: " + " -> ".join(circle))
                return
            if path in done:
                return
            for target in self.arrows.get(path, {}):
                if not target.endswith("__init__.py"):
                    visit(target, (*way, path))
            done.add(path)

        for path in self.arrows:
            visit(path, ())


def _called(node: ast.AST) -> str | None:
    """The last part of what a call calls."""
    if not isinstance(node, ast.Call):
        return None
    return getattr(node.func, "attr", None) or getattr(node.func, "id", None)


def _loaded(node: ast.AST) -> str | None:
    """The module that import_module("name") or __import__("name") loads."""
    if _called(node) not in {"import_module", "__import__"} or not node.args:
        return None
    value = node.args[0]
    literal = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return value.value if literal else None


def _deferred(tree: ast.Module) -> set[ast.AST]:
    """Imports under TYPE_CHECKING, which nothing loads."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found.update(each for part in node.body for each in ast.walk(part))
    return found


def check_imports(house: House) -> None:
    imports = Imports(house)
    for path in house.files:
        room = house.room_of(path)
        if path.endswith(".py") and room:
            imports.check(path, room)
    imports.check_circles()
