"""The arrows of Python: imports, modules that are loaded by name, and circles."""

import ast
import re
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from .house import Excuse, House, Room

# What loads a module whose name an import would have shown, by any name that it is given.
BY_NAME = {"import_" + "module", "__" + "import__"}  # in two parts, since they are looked for
WORDS = {"exec", "eval"}  # in a text they mean many things
LOADERS = {
    *BY_NAME, *WORDS, "spec_from_" + "file_location", "run_" + "path", "run_" + "module",
    "SourceFile" + "Loader", "load_" + "module", "resolve_" + "name",
}  # fmt: skip
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
LOADING = (ast.Import, ast.ImportFrom, ast.Call)
LOOKED_AT = (*LOADING, ast.Name, ast.Attribute, ast.Constant, ast.Expr)
# An import in a program that a shell script has in it.
IN_SHELL = re.compile(r"^\s*(?:from\s+[\w.]+\s+import\s+\w[\w, ]*|import\s+\w[\w., ]*)$")


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

    def check(self, path: str, room: Room, text: str | None = None) -> None:
        """text: of the file, unless it is more than Python."""
        text = (self.house.root / path).read_text(encoding="utf-8") if text is None else text
        try:
            tree = ast.parse(text, path)
        except SyntaxError as error:
            self.house.find(f"{path}:{error.lineno}: cannot be read: {error.msg}")
            return
        arrows = self.arrows.setdefault(path, {})
        nodes = [node for node in ast.walk(tree) if isinstance(node, LOOKED_AT)]
        known = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}  # mere texts
        deferred = _deferred(tree) if "TYPE_CHECKING" in text else set()
        for node in nodes:
            if not isinstance(node, LOADING):
                self._check_mention(path, node, known)
                continue
            place = f"{path}:{node.lineno}"
            self._check_renamed(place, path, node)
            if isinstance(node, ast.ImportFrom) and node.level:
                folder, names = _relative(path, node)
                folders: tuple[str, ...] = (folder,)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = _names(node)
                folders = self._folders(path, room)
            elif _loaded(node) and not self._rows(path):
                names, folders = [_loaded(node)], self._folders(path, room)
                known.update((id(node.func), id(node.args[0])))
            else:
                self._check_loader(path, place, node)
                if _called(node) in LOADERS:
                    known.add(id(node.func))
                continue
            for name in names:
                target = self._check_name(place, path, name, folders, room)
                if target and node not in deferred:
                    arrows[target] = node.lineno

    def _check_renamed(self, place: str, path: str, node: ast.AST) -> None:
        """A loader that is imported under another name."""
        if isinstance(node, ast.ImportFrom) and not self._rows(path):
            for alias in node.names:
                if alias.name in LOADERS and alias.asname not in (None, alias.name):
                    self.house.find(f"{place}: {alias.name} under another name loads unseen")

    def _check_mention(self, path: str, node: ast.AST, known: set[int]) -> None:
        """What loads without a statement: a package's module as an attribute of it, a module's
        name as a text, a loader that is given on."""
        if isinstance(node, ast.Attribute):
            known.add(id(node.value))  # a part of this one
        if id(node) in known:
            return
        name = node.value if isinstance(node, ast.Constant) else _dotted(node)
        if not isinstance(name, str):
            return
        place, text = f"{path}:{node.lineno}", isinstance(node, ast.Constant)
        if name.rpartition(".")[2] in LOADERS - (WORDS if text else set()) and not self._rows(path):
            self.house.find(f"{place}: {name} loads what no import shows; list it under [[loads]]")
        elif DOTTED.fullmatch(name):
            target = _module(self.house.root, ".", name)
            if text and target not in _files_of(name):
                return  # a file's name, or another thing's
            if target and target != path:
                self.house.enter(place, path, target, "names")

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


def _dotted(node: ast.AST) -> str | None:
    """A name, or a chain of attributes of one, as it is written."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        below = _dotted(node.value)
        return f"{below}.{node.attr}" if below else None
    return None


def _files_of(name: str) -> tuple[str, str]:
    """The files of a module with that whole name."""
    stem = name.replace(".", "/")
    return f"{stem}.py", f"{stem}/__init__.py"


def _called(node: ast.AST) -> str | None:
    """The last part of what a call calls."""
    if not isinstance(node, ast.Call):
        return None
    return getattr(node.func, "attr", None) or getattr(node.func, "id", None)


def _loaded(node: ast.AST) -> str | None:
    """The module that import_module("name") or __import__("name") loads."""
    if _called(node) not in BY_NAME or len(node.args) != 1:
        return None
    value = node.args[0]
    literal = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return value.value if literal and not value.value.startswith(".") else None


def _deferred(tree: ast.Module) -> set[ast.AST]:
    """Imports under TYPE_CHECKING, which nothing loads."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _dotted(node.test) in (
            "TYPE_CHECKING",
            "typing.TYPE_CHECKING",
        ):
            found.update(each for part in node.body for each in ast.walk(part))
    return found


def _python_of(house: House, path: str) -> str:
    """A script's lines that are Python's imports, each where it stands."""
    lines = (house.root / path).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip() if IN_SHELL.match(line) else "" for line in lines)


def check_imports(house: House) -> None:
    imports = Imports(house)
    for path in house.files:
        room = house.room_of(path)
        if path.endswith(".py") and room:
            imports.check(path, room)
        elif path.endswith(".sh") and room:
            imports.check(path, room, _python_of(house, path))
    imports.check_circles()
