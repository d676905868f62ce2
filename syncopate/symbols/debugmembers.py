"""Members of variables and classes, from debug information."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from syncopate.base.shown import shown
from syncopate.symbols.names import Names

MOST_OFFSETS = 8  # main.cpp has the same


class Member(NamedTuple):
    """A part of a variable or class."""

    name: str  # ".lock" or "[3].lock" of a variable, "" for all of it; "Cache::lock" of a class
    file: str  # where it is declared; "" when unknown
    line: int

    def place(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else ""


def of_variable(names: Names, path: str, address: int, size: int) -> Member | None:
    """The member of a variable at a link-time address; None where debug information does not say
    it, or is not there."""
    return _asked(names, path, f"v {address:x} {size:x}")


def of_parameter(
    names: Names, path: str, function: int, number: int, offsets: Sequence[int], size: int
) -> Member | None:
    """The member that lies at the last offset, where at each one before that there is a pointer to
    what the next one is in; the first one is in what the function's parameter points to."""
    if min(offsets) < 0 or len(offsets) > MOST_OFFSETS:
        return None
    places = " ".join(f"{each:x}" for each in offsets)
    return _asked(names, path, f"p {function:x} {number} {size:x} {places}")


class Target(NamedTuple):
    """What a pointer leads to."""

    pointer: str  # the pointer's own member in its variable, as Member has it
    inner: Member  # within one element
    element: int  # its bytes


def of_pointer(names: Names, path: str, address: int, offset: int, size: int) -> Target | None:
    """What of exactly that size lies that far behind what the pointer in a variable points to."""
    (told,) = names.ask(path, [f"q {address:x} {offset:x} {size:x}"])
    if len(told) != 5:
        return None
    inner = Member(shown(told[1]), shown(told[2]), int(told[3]))
    return Target(shown(told[0]), inner, int(told[4], 16))


def _asked(names: Names, path: str, question: str) -> Member | None:
    (told,) = names.ask(path, [question])
    return Member(shown(told[0]), shown(told[1]), int(told[2])) if len(told) == 3 else None
