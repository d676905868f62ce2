"""Members of variables and classes, from debug information."""

from __future__ import annotations

from typing import NamedTuple

from syncopate.base.shown import shown
from syncopate.symbols.names import Names


class Member(NamedTuple):
    """A part of a variable or class."""

    name: str  # ".lock" or "[3].lock" of a variable, "" for all of it; "Cache::lock" of a class
    file: str  # where it is declared; "" when unknown
    line: int


def of_variable(names: Names, path: str, address: int, size: int) -> Member | None:
    """The member of a variable at a link-time address; None where debug information does not say
    it, or is not there."""
    return _asked(names, path, f"v {address:x} {size:x}")


def of_parameter(
    names: Names, path: str, function: int, number: int, offset: int, size: int
) -> Member | None:
    """The member that lies there in what a function's parameter points to."""
    return _asked(names, path, f"p {function:x} {number} {offset:x} {size:x}")


def _asked(names: Names, path: str, question: str) -> Member | None:
    (told,) = names.ask(path, [question])
    return Member(shown(told[0]), shown(told[1]), int(told[2])) if len(told) == 3 else None
