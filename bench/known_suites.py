"""Suites of programs with known verdicts, which other verifiers ship: what stands in a folder.

Nothing of them is here: a user names the folder. A reader takes it and returns its cases, and why
others are left out. New suites: one function, one line in SUITES.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = (".c", ".cc", ".cpp")
RACE = "race"  # the verdict is about data races only
ERRORS = "errors"  # about all errors but data races
SAFETY = "safety"  # about all errors but threads that wait for good
CHECKS = "checks"  # about assertions and crashes
ANY = "any"  # about all errors


@dataclass(frozen=True)
class Case:
    """A program: is it right (else wrong), and in what respect."""

    source: Path
    right: bool
    about: str = ANY
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    cases: list[Case]
    left_out: Counter  # how many for which reason


def genmc(folder: Path) -> Suite:
    """GenMC's tests/: correct/ and wrong/, a folder for each program, its files in variants/."""
    tests = folder / "tests" if (folder / "tests").is_dir() else folder
    cases, left_out = [], Counter()
    for kind, right in (("correct", True), ("wrong", False)):
        for source in _sources(tests / kind, "variants"):
            test = source.parent.parent
            group = source.relative_to(tests / kind).parts[0]
            if group in ("fs", "lkmm", "relinche", "helper"):
                left_out[f"{group}: not C++'s memory model"] += 1
                continue
            said = _first_line(test / "args.rc11.mo.in")
            options, _, words = said.partition("|")
            flags = [
                f"-I{tests.parent / word[2:]}" if word.startswith("-I.") else word
                for word in words.replace("|", " ").split()
                if word.startswith(("-D", "-I"))
            ]
            about = SAFETY if right and group != "liveness" else ANY
            if "-disable-race-detection" in options:
                about = ERRORS
            cases.append(Case(source, right, about, (*flags, "-include", "stdint.h")))
    return Suite(cases, left_out)


_OF_ANALYZER = re.compile(
    r"PARAM:.*(?:allfuns|nonstatic|otherfun|lock\.fail|\"kernel\"|LibraryDesc)"
)
_ANNOTATED = re.compile(r"//\s*(NO)?RACE(!?)(?![A-Z_])")


def goblint(folder: Path) -> Suite:
    """Goblint's regression tests: lines that race are marked RACE!, those that do not NORACE."""
    cases, left_out = [], Counter()
    for source in _sources(folder):
        text = source.read_text(errors="replace")
        marks = _ANNOTATED.findall(text)
        certain = [mark for mark in marks if mark[0] or mark[1]]
        if not marks:
            left_out["no line is marked"] += 1
        elif _OF_ANALYZER.search(text):
            left_out["functions that nobody calls, or locks that may fail"] += 1
        elif len(certain) < len(marks):
            left_out["a mark that is the analyzer's, not the program's"] += 1
        else:
            right = all(no for no, _ in certain)
            includes = ["-I" + str(folder / "tests/regression/28-race_reach"), "-Dgoblint_h"]
            cases.append(Case(source, right, RACE, tuple(includes)))
    return Suite(cases, left_out)


_UNREACHABLE = re.compile(r"unreach-call\.prp\s*\n\s*expected_verdict:\s*(true|false)")
_NO_RACE = re.compile(r"no-data-race\.prp\s*\n\s*expected_verdict:\s*(true|false)")
_INPUT = re.compile(r"^input_files:\s*['\"]?([^'\"\n]+)", re.M)


def sv_comp(folder: Path) -> Suite:
    """SV-COMP's tasks: a .yml beside each program. Two verdicts of one program are two cases."""
    cases, left_out = [], Counter()
    for task in sorted(folder.rglob("*.yml")):
        text = task.read_text(errors="replace")
        named = _INPUT.search(text)
        source = task.parent / named.group(1).strip() if named else task
        if source.suffix == ".i" and source.with_suffix(".c").is_file():
            source = source.with_suffix(".c")
        verdicts = [(_UNREACHABLE.search(text), ERRORS), (_NO_RACE.search(text), RACE)]
        found = [(match.group(1) == "true", about) for match, about in verdicts if match]
        if not source.is_file() or not found:
            left_out["no program or no verdict of these properties"] += 1
        cases += [Case(source, right, about) for right, about in found if source.is_file()]
    return Suite(cases, left_out)


_THREADS = re.compile(r"pthread|std::thread|threads\.h")


def esbmc(folder: Path) -> Suite:
    """ESBMC's regression tests: a test.desc names the program, the options and the verdict. What is
    right there may race, unless races were looked for."""
    cases, left_out = [], Counter()
    for description in sorted(folder.rglob("test.desc")):
        _, name, options, *rest = (description.read_text(errors="replace") + "\n" * 3).splitlines()
        source = description.parent / name.strip()
        right = any("VERIFICATION SUCCESSFUL" in line for line in rest)
        wrong = any("VERIFICATION FAILED" in line for line in rest)
        text = source.read_text(errors="replace") if source.is_file() else ""
        if right == wrong or not _THREADS.search(text):
            left_out["no verdict, or no threads"] += 1
        elif not right and "leak" in options:
            left_out["leaks of memory"] += 1
        else:
            about = ANY if not right else RACE if "data-races" in options else ERRORS
            cases.append(Case(source, right, about, ("-include", "esbmc.h")))
    return Suite(cases, left_out)


_REFERENCE = re.compile(r"^(\w+) (Allow|Forbid) :", re.M)
_WEAKER = re.compile(r"memory_order_(?!seq_cst)|\b(?:relaxed|acquire|release)\b")


def nidhugg(folder: Path) -> Suite:
    """Nidhugg's folder of smoke tests: which of its C-tests can fail under sequential consistency,
    and so under C++'s model. What cannot there may, in C++'s, where the program has weaker orders.
    """
    cases, left_out = [], Counter()
    for name, verdict in _REFERENCE.findall((folder / "reference.results.txt").read_text()):
        source = folder / "C-tests" / f"{name}.c"
        text = source.read_text() if source.is_file() else ""
        if verdict == "Forbid" and (_WEAKER.search(text) or '.inc"' in text):
            left_out["right under sequential consistency, with weaker orders"] += 1
        else:
            cases.append(Case(source, verdict == "Forbid", CHECKS))
    return Suite(cases, left_out)


_RIGHT = re.compile(r"(?:[-_](?:true|good|safe|correct|ok|no))(?:[-_.]|$)", re.I)
_WRONG = re.compile(r"(?:[-_](?:false|bad|unsafe|wrong|bug|buggy|yes))(?:[-_.]|$)", re.I)


def named(folder: Path) -> Suite:
    """Programs whose names tell: NAME_true, NAME-no, good, safe; NAME_false, NAME-yes, bad, unsafe;
    or that stand in folders named so."""
    cases, left_out = [], Counter()
    for source in _sources(folder):
        name = "_" + "_".join(source.relative_to(folder).with_suffix("").parts)
        right, wrong = bool(_RIGHT.search(name)), bool(_WRONG.search(name))
        if right == wrong:
            left_out["its name tells no verdict"] += 1
        else:
            cases.append(Case(source, right))
    return Suite(cases, left_out)


def right(folder: Path) -> Suite:
    """Any programs that are all taken to be right."""
    return Suite([Case(source, True) for source in _sources(folder)], Counter())


SUITES: dict[str, Callable[[Path], Suite]] = {
    "genmc": genmc,
    "goblint": goblint,
    "sv-comp": sv_comp,
    "esbmc": esbmc,
    "named": named,
    "nidhugg": nidhugg,
    "right": right,
}


def _sources(folder: Path, parent: str | None = None) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SOURCES and path.is_file() and parent in (None, path.parent.name):
            yield path


def _first_line(path: Path) -> str:
    if not path.is_file():
        return ""
    return next((line for line in path.read_text().splitlines() if line.strip()), "")
