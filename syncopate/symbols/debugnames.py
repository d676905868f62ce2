"""Members of variables and classes, from debug information: asked of syncopate-names (libdw)."""

import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from syncopate.base import boundedtool, paths
from syncopate.base.shown import shown

SECONDS, MEMORY = 60, 8 << 30


class Member(NamedTuple):
    """A part of a variable or class."""

    name: str  # ".lock" or "[3].lock" of a variable, "" for all of it; "Cache::lock" of a class
    file: str  # where it is declared; "" when unknown
    line: int


def of_variable(address: int, size: int) -> str:
    """The question which member of a variable lies at a link-time address."""
    return f"v {address:x} {size:x}"


def of_parameter(function: int, number: int, offset: int, size: int) -> str:
    """The question which member lies there in what a function's parameter points to."""
    return f"p {function:x} {number} {offset:x} {size:x}"


def ask(path: str, questions: Sequence[str]) -> list[Member | None]:
    """The answers, in that order; None where debug information does not say it, or is not there."""
    tool = paths.find(paths.NAMES_TOOL)
    nothing: list[Member | None] = [None] * len(questions)
    if tool is None or not questions:
        return nothing
    asked = "".join(f"{question}\n" for question in questions)
    try:
        told = boundedtool.output([tool, path], SECONDS, MEMORY, asked) or ""
    except subprocess.TimeoutExpired:
        return nothing
    lines = told.split("\n")[:-1]
    if len(lines) != len(questions):  # its end came early, as of a damaged file
        return nothing
    return [_parsed(line) for line in lines]


def _parsed(line: str) -> Member | None:
    name, *place = line.split("\t")
    if len(place) != 2:
        return None
    return Member(shown(name), shown(place[0]), int(place[1]))
