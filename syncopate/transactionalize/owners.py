"""The structures whose members locks are, as the compiler knows them. One structure has several
names: its tag, typedefs, typedefs of these; the compiler says which are one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from syncopate.transactionalize import semantic
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.lockcalls import CAST, bare

OPTIONS = ("-fsyntax-only", "-Wincompatible-pointer-types", "-fdiagnostics-plain-output")
_ASKED = "syncopate_owner_"
_SAYS = re.compile(
    rf"'struct {_ASKED}(\d+) \*' from incompatible pointer type '([^']*)'(?: {{aka '([^']*)'}})?"
)
_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|union)\b|\*\s*$")
_ARGUMENT = {"lock": 0, "unlock": 0, "trylock": 0, "condition": 1}  # which one is the mutex
_WAITS = re.compile(r"pthread_cond_(?:timed|clock)?wait$")
Place = tuple[str, int, int]  # file, line, column of a call


class Question:
    """Marked sources whose diagnostics tell, for some calls, the structure of their mutex."""

    def __init__(self, texts: dict[str, CText], facts: Iterable[semantic.Fact]):
        self.places: list[Place] = []
        self.marked: dict[str, str] = {}
        by_file: dict[str, dict[int, semantic.Fact]] = {}
        for fact in facts:
            waits = fact.kind == "condition" and _WAITS.match(fact.more["name"])
            if fact.kind in ("lock", "unlock", "trylock") or waits:
                at = texts[fact.file].offset(fact.line, fact.column)
                by_file.setdefault(fact.file, {})[at] = fact
        for file, calls in by_file.items():
            self._mark(texts[file], calls)

    def _mark(self, text: CText, calls: dict[int, semantic.Fact]) -> None:
        out, begun = [], 0
        for at, fact in sorted(calls.items()):
            end = text.call_end(at)
            if at < begun or end < 0 or not text.blocks(at):
                continue
            given = text.arguments(at)
            which = _ARGUMENT[fact.kind]
            owner = _owner(given[which]) if which < len(given) else None
            if owner is None:
                continue
            name = f"{_ASKED}{len(self.places)}"
            self.places.append((fact.file, fact.line, fact.column))
            lines = "\n" * (text.text.count("\n", at, end) - owner.count("\n"))
            out += [text.text[begun:at], f"({{ struct {name} *{name} = ({owner}){lines}; 0; }})"]
            begun = end
        if out:
            self.marked[text.path] = "".join([*out, text.text[begun:]])

    def answers(self, said: str) -> dict[Place, str]:
        """Call -> the one name of its mutex's structure, by a compiler's diagnostics. Not those of
        structures without any."""
        found = {}
        for number, written, meant in _SAYS.findall(said):
            name = _QUALIFIER.sub("", meant or written).strip()
            if re.fullmatch(r"\w+", name):
                found[self.places[int(number)]] = name
        return found


def _owner(mutex: str) -> str | None:
    """A pointer to the structure that `&STRUCTURE.MEMBER` is a member of."""
    argument = bare(mutex.strip())
    cast = CAST.match(argument)
    argument = bare(argument[cast.end() if cast else 0 :])
    inner = bare(argument[1:].strip()) if argument.startswith("&") else ""
    while inner.endswith("]"):  # of an array of mutexes
        opening = CText("", inner).opening(len(inner) - 1)
        inner = inner[: max(opening, 0)].rstrip()
    match = re.fullmatch(r"(.*)(->|\.)\s*\w+", inner, re.S)
    if not match:
        return None
    return match[1] if match[2] == "->" else f"&({match[1]})"
