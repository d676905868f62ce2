#!/usr/bin/env python3
"""Checks that every path named in pages and comments is there, and that tests are named.

Usage: check_paths.py [ROOT]

Looked at: Markdown and its templates, comments of C, C++, assembly, CMake, shell, TOML and Python,
Python's docstrings. A path is a name with a source file's ending, or one that begins with a folder
of the project. It is there if it is one of the project's files or folders, from the root, from the
page's own folder, or, as "locks/all.h", the last part of one; "*", "?", {a,b} and words in capitals
(NAME, KIND, ...) are patterns, a program has its source's path without the ending, and what is
built lies below build/release in the folders of its sources. Files of
other projects and of examples stand in scripts/foreign_paths.toml. A page's link leads from where
the page is to a file or folder, and what stands behind its "#" is a heading there. And the field
"Checked by" of an algorithm's header names every test that includes the header, or the test's
folder; those that run over the list of all locks, in each of the list's headers. And a file that
begins with "#!" is executable. Prints one line a finding; exit status 1 when there is one.
"""

import ast
import io
import os
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch, translate
from functools import cache
from pathlib import Path

from rooms.house import list_files

ENDINGS = "h|hpp|cpp|cc|c|S|py|sh|md|cmake|cocci|def|map|lua|rb|js|mjs|java|inc|html|toml"
PROGRAMS = (".cpp", ".c")
LETTER = r"[\w+*?{},.-]"
BEFORE = r"(?<![\w/.<$~:@}*-])"
C_LIKE = (
    ".h",
    ".cpp",
    ".c",
    ".S",
    ".def",
    ".inc",
    ".cocci",
    ".js",
    ".mjs",
    ".css",
    ".java",
    ".go",
    ".rs",
)
HASH_LIKE = (".sh", ".cmake", ".toml", ".txt", ".rb", ".yml", ".ci/run", "Makefile")
# Copied from elsewhere, or written by the benchmarks: their text is not ours.
LEFT_OUT = ("papers/results/", "docs/demo.txt")
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
HASH_COMMENT = re.compile(r"(?:^|\s)#(.*)")
PLACEHOLDER = re.compile(r"NAME|FILE|SUITE|KIND|FOLDER|MACHINE|(?<=fig)N")  # anything
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def _lines(first: int, text: str) -> Iterator[tuple[int, str]]:
    yield from enumerate(text.splitlines(), first)


def _python_lines(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            said = ast.get_docstring(node, clean=False)
            if said:
                yield from _lines(node.body[0].lineno, said)


def prose(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are written for readers."""
    if path.endswith((".md", ".md.in")):
        yield from _lines(1, text)
    elif path.endswith(C_LIKE):
        for comment in C_COMMENT.finditer(text):
            if comment[0][0] == "/":
                yield from _lines(text.count("\n", 0, comment.start()) + 1, comment[0])
    elif path.endswith(".py"):
        yield from _python_lines(text)
    elif path.endswith(HASH_LIKE):
        for number, line in _lines(1, text):
            comment = HASH_COMMENT.search(line)
            if comment:
                yield number, comment[1]


def expand(path: str) -> list[str]:
    """a{b,c} as ab and ac."""
    braces = BRACES.search(path)
    if not braces:
        return [path]
    before, behind = path[: braces.start()], path[braces.end() :]
    return [each for part in braces[1].split(",") for each in expand(before + part + behind)]


class Tree:
    """What is there: each file, each folder, and the last parts of their paths."""

    def __init__(self, files: list[str]) -> None:
        folders = {parent.as_posix() for file in files for parent in Path(file).parents} - {"."}
        self.tops = sorted({file.split("/")[0] for file in files if "/" in file})
        programs = {path.rpartition(".")[0] for path in files if path.endswith(PROGRAMS)}
        self.tails: set[str] = set()
        for path in (*files, *folders, *programs):
            parts = path.split("/")
            self.tails.update("/".join(parts[index:]) for index in range(len(parts)))
        self.has = cache(self._has)

    def pattern(self) -> re.Pattern:
        """Finds a path in a line of prose."""
        tops = "|".join(map(re.escape, [*self.tops, "build"]))
        named = rf"((?:{LETTER}+/)*{LETTER}*\w\.(?:{ENDINGS}))(?![\w/-])"
        below = rf"((?:\.\./)*(?:{tops})/(?:{LETTER}+/)*{LETTER}*)"
        return re.compile(f"{BEFORE}(?:{named}|{below})")

    def source_of(self, built: str) -> str:
        """The folder of what a path is made of that building makes: the sources' folders are
        below build/release; "" where nothing is known of it."""
        _, _, below = built.partition("build/")
        if below.partition("/")[0] in self.tops:
            return built
        _, _, source = below.partition("release/")
        return os.path.dirname(source) if source.partition("/")[0] in self.tops else ""

    def _has(self, path: str) -> bool:
        if "*" in path or "?" in path:
            matches = re.compile(translate(path)).match
            return any(map(matches, self.tails))
        return path in self.tails


class Foreign:
    """Names that are not ours; each row has its reason, and has to be needed."""

    def __init__(self, rows: list[dict]) -> None:
        self.rows = rows
        self.used: set[tuple[int, str]] = set()

    def has(self, source: str, path: str) -> bool:
        for index, row in enumerate(self.rows):
            if path in row["names"] and fnmatch(source, row["in"]):
                self.used.add((index, path))
                return True
        return False

    def unneeded(self) -> list[str]:
        return [
            f"scripts/foreign_paths.toml: {name} is not named in {row['in']}"
            for index, row in enumerate(self.rows)
            for name in row["names"]
            if (index, name) not in self.used
        ]


def check_file(tree: Tree, foreign: Foreign, pattern: re.Pattern, path: str, text: str) -> list:
    findings = []
    for number, line in prose(path, text):
        for match in pattern.finditer(line):
            named = (match[1] or match[2]).rstrip(".,").rstrip("/")
            if named.lstrip("./").startswith("build"):
                named = tree.source_of(named)
            for each in expand(named) if named else ():
                each = each if tree.has(each) else PLACEHOLDER.sub("*", each)
                beside = os.path.normpath(os.path.join(os.path.dirname(path), each))
                if tree.has(each) or tree.has(beside) or foreign.has(path, each):
                    continue
                findings.append(f"{path}:{number}: there is no {each}")
    return findings


LINK = re.compile(  # also with a title, as a definition, in HTML
    r'''\]\(([^()\s]+)(?:\s+"[^"]*")?\)|^\s*\[[^\]]+\]:\s+(\S+)|\b(?:href|src)="([^"]+)"'''
)
FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2\s*?$", re.M | re.S)
HEADING = re.compile(r"^#{1,6} +(.*)", re.M)


def without_code(text: str) -> str:
    """A page with its code blocks as empty lines."""
    return FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)


def anchors(text: str) -> set[str]:
    """What links call a page's headings, as GitHub makes it of them."""
    found: set[str] = set()
    for heading in HEADING.findall(without_code(text)):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w -]", "", shown).replace(" ", "-")
        again = (f"{name}-{number}" for number in range(1, len(found) + 1))
        found.add(name if name not in found else next(each for each in again if each not in found))
    return found


def check_links(root: Path, files: list[str]) -> list[str]:
    """The links of pages that lead nowhere."""
    places = {*files, *(parent.as_posix() for file in files for parent in Path(file).parents)}
    headings = cache(lambda page: anchors((root / page).read_text(encoding="utf-8")))
    findings = []
    for path in files:
        if not path.endswith((".md", ".md.in")):
            continue
        text = without_code((root / path).read_text(encoding="utf-8"))
        for number, line in _lines(1, text):
            for found in LINK.finditer(line):
                link = found[found.lastindex]
                target, _, anchor = link.partition("#")
                if ":" in target:
                    continue  # elsewhere
                page = os.path.normpath(Path(path).parent / target) if target else path
                if page not in places:
                    findings.append(f"{path}:{number}: there is no {target}")
                elif anchor and not (page in files and anchor in headings(page)):
                    findings.append(f"{path}:{number}: {page} has no heading #{anchor}")
    return findings


CHECKED_BY = re.compile(r"^// Checked by +(.*\n(?://  .*\n)*)", re.M)
ALGORITHMS = "include/syncopate/"
LISTS = {  # what runs over a list of algorithms checks each of them
    "include/syncopate/locks/all.h": (
        "tests/conformance/every_lock.h",
        "tests/check/lock_check.cpp",
    ),
    "include/syncopate/barriers/all.h": (
        "tests/conformance/barrier_test.cpp",
        "tests/check/barrier_check.cpp",
    ),
}
INCLUDE = re.compile(r"^#include <(syncopate/[^>]+)>", re.M)


def check_fields(files: list[str], texts: dict[str, str]) -> list[str]:
    """What the fields "Checked by" leave out."""
    includers: dict[str, set[str]] = {}
    for path in files:
        if path.startswith("tests/") and path in texts:
            for name in INCLUDE.findall(texts[path]):
                includers.setdefault(f"include/{name}", set()).add(path)
    for listing, tests in LISTS.items():
        for name in INCLUDE.findall(texts.get(listing, "")):
            includers.setdefault(f"include/{name}", set()).update(tests)
    findings = []
    for path in files:
        field = path.startswith(ALGORITHMS) and CHECKED_BY.search(texts.get(path, ""))
        if not field:
            continue
        said = re.sub(r"\n//\s+", " ", field[1])
        named = [each for word in re.findall(r"tests/[\w{},./*]+", said) for each in expand(word)]
        stems = [name.rstrip(".,") for name in named]
        findings += [
            f"{path}: 'Checked by' does not name {test}"
            for test in sorted(includers.get(path, ()))
            if not any(test == stem or test.startswith(stem.rstrip("/") + "/") for stem in stems)
        ]
    return findings


def check_scripts(root: Path, texts: dict[str, str]) -> list[str]:
    """Scripts that pages call by their names, and that nobody may execute."""
    return [
        f"{path}: begins with #! and is not executable"
        for path, text in texts.items()
        if text.startswith("#!") and not (root / path).stat().st_mode & 0o111
    ]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else ".").resolve()
    files = list_files(root)
    tree = Tree(files)
    with open(root / "scripts/foreign_paths.toml", "rb") as file:
        foreign = Foreign(tomllib.load(file).get("foreign", []))
    findings = [f"a row without a reason: {row}" for row in foreign.rows if not row.get("reason")]
    pattern, texts = tree.pattern(), {}
    for path in files:
        if path.endswith((".md", ".in", ".py", *C_LIKE, *HASH_LIKE)) and not path.startswith(
            LEFT_OUT
        ):
            texts[path] = (root / path).read_text(encoding="utf-8")
            try:
                findings += check_file(tree, foreign, pattern, path, texts[path])
            except (SyntaxError, tokenize.TokenError) as error:
                findings.append(f"{path}: cannot be read: {error}")
    findings += check_links(root, files)
    findings += check_fields(files, texts)
    findings += check_scripts(root, texts)
    findings += foreign.unneeded()
    findings = list(dict.fromkeys(findings))
    print("\n".join(findings) if findings else f"paths: {len(files)} files, all right")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
