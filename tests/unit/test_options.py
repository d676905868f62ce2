"""The table of environment variables (src/base/options.def): every name is in it, and is read."""

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from rooms.house import list_files

ROOT = Path(__file__).resolve().parents[2]
PREFIX = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build")
TABLE = PREFIX / "share" / "syncopate" / "options.json"
ROWS = {row["variable"]: row for row in json.loads(TABLE.read_text(encoding="utf-8"))["options"]}
DEFINITION = "src/base/options.def"
LEFT_OUT = (
    "papers/results/",
    "docs/reference/options.md",
    DEFINITION,
    "tests/unit/test_options.py",
)

NAME = re.compile(r"\bSYNCOPATE(?:_[A-Z][A-Z0-9]*)+\b(?!_)")
# What else has such a name: macros, CMake's variables, a mark in the report's page.
MACRO = re.compile(r"#\s*define\s+(SYNCOPATE_\w+)|-[DU](SYNCOPATE_\w+)")
CMAKE = re.compile(
    r"\b(?:set|option|find_\w+|check_\w+|pkg_check_modules|syncopate_find_python|foreach|unset|file"
    r"|get_\w+|configure_file)\s*\(([^)]*)\)"
)
DEFINED = re.compile(r"target_compile_definitions\s*\([^)]*?(SYNCOPATE_\w+)", re.S)
OTHERS = {
    "SYNCOPATE_LOKC": "a mistake that tests make",
    "SYNCOPATE_COMPILER_HAS_TM": "what CMake finds out of the compiler",
    "SYNCOPATE_DATA": "the place in the report's page where its data come",
    "SYNCOPATE_MACHINES_FROM_LIBRARY": "a macro, defined for one source file",
    "SYNCOPATE_SOURCE_MACHINES": "a macro, defined for its tests",
    "SYNCOPATE_NOTE": "an example in CONTRIBUTING.md",
    "SYNCOPATE_PLANTED": "an option that a test adds to a copy",
}

# Whose code is where: in what a reader is linked of.
AREAS = {
    "products/preload/*": ("preload", "emulated"),
    "products/openmp/*": ("openmp",),
    "src/record/*": ("preload", "openmp", "transactions", "emulated"),
    "src/tm/*": ("transactions",),
    "products/libitm/*": ("transactions",),
    "include/syncopate/elide/gil*": ("interpreter",),
    "integrations/*.cpp": ("interpreter",),
    "include/*": ("elision", "preload", "emulated"),
    "src/model/front/*": ("simulated", "emulated", "explored"),
    "src/model/simulated/*": ("simulated",),
    "src/model/emulated/*": ("emulated",),
    "src/model/explored/*": ("explored",),
    "src/model/*": ("simulated", "emulated", "explored"),
    "syncopate/machines/energy.py": ("tests",),
    "syncopate/*": ("command",),
    "tests/*": ("tests",),
    "papers/workloads/*": ("tests",),
}
LITERAL = re.compile(r'"(SYNCOPATE(?:_[A-Z0-9]+)*)"')
SHORT = re.compile(r'\boption(?:_enabled|_number)?\("([A-Z_]+)"')
BY_ID = re.compile(r"\boption::(\w+)")
PYTHON = re.compile(
    r'environ(?:\.get\(|\[)"(SYNCOPATE\w*)"(?!\]\s*=[^=])|VARIABLE = "(SYNC\w+)"'
    r'|"(SYNCOPATE\w*)" (?:not )?in os\.environ'
)
SHELL = re.compile(r"\$\{(SYNCOPATE_\w+)|ENV\{(SYNCOPATE_\w+)")


def texts() -> dict[str, str]:
    found = {}
    for path in list_files(ROOT):
        if not path.startswith(LEFT_OUT) and not path.endswith((".png", ".svg", ".json")):
            found[path] = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    return found


TEXTS = texts()


def ids() -> dict[str, str]:
    text = (ROOT / DEFINITION).read_text(encoding="utf-8")
    return dict(re.findall(r'^SYNCOPATE_OPTION\((\w+), "(\w+)"', text, re.M))


def explained() -> set[str]:
    """Names that are no environment variables."""
    found = set(OTHERS)
    for path, text in TEXTS.items():
        for row in MACRO.findall(text):
            found.update(filter(None, row))
        if path.endswith((".cmake", "CMakeLists.txt", ".in")):
            found.update(DEFINED.findall(text))
            for inside in CMAKE.findall(text):
                found.update(re.findall(r"\b(SYNCOPATE_\w+)\b(?!=)", inside))
    return found


def unknown_names(files: dict[str, str]) -> list[str]:
    known = explained() | set(ROWS)
    stems = {each for each in known if each.endswith("_")}
    return sorted(
        f"{path}: {name}"
        for path, text in files.items()
        for name in set(NAME.findall(text))
        if name not in known and not any(name.startswith(stem) for stem in stems)
    )


def reads(path: str, text: str) -> set[str]:
    """The variables that a file reads."""
    if path.endswith(".py"):
        return {name for row in PYTHON.findall(text) for name in row if name}
    if path.endswith((".sh", ".cmake")):
        return {name for row in SHELL.findall(text) for name in row if name}
    if not path.endswith((".h", ".cpp", ".c")):
        return set()
    known = ids()
    named = {f"SYNCOPATE_{short}" for short in SHORT.findall(text)}
    by_id = {known[each] for each in BY_ID.findall(text) if each in known}
    return set(LITERAL.findall(text)) | named | by_id


def area_of(path: str) -> tuple[str, ...]:
    return next((who for pattern, who in AREAS.items() if fnmatch(path, pattern)), ())


READ = {
    (path, name): area_of(path)
    for path, text in TEXTS.items()
    if area_of(path)
    for name in reads(path, text)
}


def test_every_name_is_in_the_table() -> None:
    assert unknown_names(TEXTS) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.cpp", 'getenv("SYNCOPATE_NO_SUCH")'),
        ("docs/a.md", "`SYNCOPATE_LOCKS=mcs`"),
        ("syncopate/a.py", "os.environ['SYNCOPATE_NEW']"),
    ],
)
def test_a_planted_name_is_found(path: str, text: str) -> None:
    assert len(unknown_names({path: text})) == 1


def test_everything_read_is_in_the_table() -> None:
    assert [each for each in READ if each[1] not in ROWS] == []


def test_the_table_says_who_reads() -> None:
    """A reader that the table leaves out. Tests set and look at many; they need not be named."""
    assert [
        (path, name)
        for (path, name), who in READ.items()
        if name in ROWS and who != ("tests",) and not set(who) & set(ROWS[name]["readers"])
    ] == []


@pytest.mark.parametrize("name", ROWS)
def test_what_the_table_says_is_read_is_read(name: str) -> None:
    readers = {reader for (_, each), who in READ.items() if each == name for reader in who}
    assert set(ROWS[name]["readers"]) <= readers


def test_every_row_is_whole() -> None:
    for name, row in ROWS.items():
        assert row["form"] and row["meaning"] and row["readers"], name
        assert set(row["choices_that_wait"]) <= set(row["choices"])
        for word in re.findall(r"\b[a-z][a-z_]*\b", row["form"].replace(".toml", "")):
            assert not row["choices"] or word in row["choices"], name


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "syncopate", "options", *arguments],
        env={"SYNCOPATE_NATIVE": str(PREFIX), "PATH": os.environ["PATH"], **environ},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_command_shows_the_table() -> None:
    every = run("--all", "--json")
    assert {row["variable"]: row for row in json.loads(every.stdout)} == ROWS
    users = {row["variable"] for row in json.loads(run("--json").stdout)}
    assert users == {name for name, row in ROWS.items() if row["readers"] != ["tests"]}
    page = run(COLUMNS="200")
    assert page.returncode == 0
    assert all(f"{name}={ROWS[name]['form']}" in page.stdout for name in users)


def test_the_command_shows_one_and_what_it_is_set_to() -> None:
    done = run("lock", SYNCOPATE_LOCK="mcs:park", COLUMNS="200")
    assert "SYNCOPATE_LOCK=NAME[:WAIT]" in done.stdout
    assert "set: mcs:park" in done.stdout
    assert "SYNCOPATE_WAIT" not in done.stdout


def test_the_command_says_what_was_meant() -> None:
    done = run("lokc")
    assert done.returncode == 2
    assert "no variable is named 'lokc' (did you mean LOCK" in done.stderr
    done = run("wait", SYNCOPATE_LOKC="mcs")
    assert "SYNCOPATE_LOKC is set, and nothing reads it (did you mean SYNCOPATE_LOCK" in done.stdout
