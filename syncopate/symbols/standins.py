"""Files that stand in for the programs and libraries of a record: copies that travelled with it."""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from syncopate.base import boundedtool
from syncopate.symbols.names import Names
from syncopate.symbols.symboltable import SymbolTable

SECONDS, MEMORY = 120, 8 << 30
JOIN = "eu-unstrip"


class StandIn(NamedTuple):
    """A copy of a program or library, or of its debug information alone."""

    file: str
    has_code: bool


class StandIns:
    """Copies by build-id; of what has none, by path."""

    def __init__(self, copies: dict[str, StandIn] | None = None):
        self._copies = copies or {}

    def of(self, path: str, build_id: str | None) -> StandIn | None:
        return self._copies.get(build_id or path.removesuffix(" (deleted)"))


def with_symbols(path: str, folder: str) -> str:
    """The file, or a copy in the folder that has its separate debug information in it, so that
    names need no other file."""
    debug = SymbolTable(path).debug_file
    joined = os.path.join(folder, "joined")
    if debug is None:
        return path
    try:
        boundedtool.output([JOIN, "-o", joined, path, debug], SECONDS, MEMORY)
    except subprocess.TimeoutExpired:
        return path
    return joined if Names().identity(joined) else path
