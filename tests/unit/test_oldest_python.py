"""The command runs under the oldest Python that pyproject.toml names: none of the names and none of
the syntax that came later. That it does is tried in Debian 11 (tests/install)."""

import ast
import builtins
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLDEST = (3, 9)
# Since 3.10 or 3.11, by the module that has them.
LATER = {
    "datetime": {"UTC"},
    "itertools": {"pairwise", "batched"},
    "enum": {"StrEnum"},
    "contextlib": {"chdir", "aclosing"},
    "hashlib": {"file_digest"},
    "typing": {"Self", "TypeAlias", "TypeGuard", "ParamSpec", "assert_never", "override"},
    "types": {"NoneType", "EllipsisType", "UnionType"},
    "math": {"cbrt", "exp2", "sumprod"},
    "sys": {"orig_argv", "stdlib_module_names", "exception"},
    "inspect": {"get_annotations"},
}
LATER_KEYWORDS = {
    "zip": {"strict"},
    "map": {"strict"},
    "dataclass": {"slots", "kw_only"},
    "bisect": {"key"},
    "bisect_left": {"key"},
    "bisect_right": {"key"},
    "insort": {"key"},
    "TemporaryDirectory": {"ignore_cleanup_errors", "delete"},
}
LATER_METHODS = {"bit_count", "hardlink_to", "add_note"}


def is_type(node: ast.expr) -> bool:
    """Whether it is written as types are: None, a built-in one, list[...], a class's name."""
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    name = getattr(node, "id", "") or getattr(node, "attr", "")
    return isinstance(getattr(builtins, name, None), type) or bool(re.match("[A-Z].*[a-z]", name))


def later_in(source: str) -> list[str]:
    """What of the source the oldest Python lacks."""
    tree = ast.parse(source, feature_version=OLDEST)
    found = []
    annotations = set()  # which are text only
    for node in ast.walk(tree):
        for text in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            annotations |= set(ast.walk(text)) if text else set()
    for node in ast.walk(tree):
        union = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
        if union and node not in annotations and (is_type(node.left) or is_type(node.right)):
            found.append(ast.unparse(node))
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name == "tomllib"]
        elif isinstance(node, ast.ImportFrom):
            later = LATER.get(node.module, ())
            found += [f"{node.module}.{each.name}" for each in node.names if each.name in later]
        elif isinstance(node, ast.Attribute):
            module = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in LATER.get(module, ()) or node.attr in LATER_METHODS:
                found.append(f"{module}.{node.attr}")
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            given = {each.arg for each in node.keywords} & LATER_KEYWORDS.get(name, set())
            found += [f"{name}({each}=)" for each in sorted(given)]
    return found


def test_the_command_needs_no_later_python():
    files = sorted((ROOT / "syncopate").rglob("*.py"))
    assert len(files) > 150
    found = {str(path): later_in(path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == {
        str(ROOT / "syncopate/base/since.py"): ["tomllib"]
    }


@pytest.mark.parametrize(
    "source",
    [
        "import tomllib", "zip(a, b, strict=True)", "from itertools import pairwise",
        "itertools.pairwise(a)", "datetime.UTC", "(5).bit_count()",
        "Row = dict | None", "isinstance(a, int | float)", "Meter = Rapl | Hwmon",
        "@dataclass(slots=True)\nclass A: ...",
    ],
)  # fmt: skip
def test_it_finds_what_came_later(source):
    assert later_in(source)


@pytest.mark.parametrize("source", ["match a:\n  case 1: pass", "try: f()\nexcept* E: pass"])
def test_later_syntax_is_an_error(source):
    with pytest.raises(SyntaxError):
        later_in(source)


def test_the_lint_and_the_pages_know_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    name = ".".join(map(str, OLDEST))
    assert project["project"]["requires-python"] == f">={name}"
    targets = project["tool"]["ruff"]["per-file-target-version"]
    assert targets == {"syncopate/**.py": f"py{name.replace('.', '')}"}
    page = (ROOT / "docs/reference/installing.md").read_text()
    assert re.findall(r"Python (\d\.\d+)", page) == [name]
