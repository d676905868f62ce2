"""The code of a file as objdump prints it, a piece at a time: the piece alone is given to it, since
it reads all symbols of a file anew each time that it is started. What the file calls is asked once.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Sequence

from syncopate.base import boundedtool, scratch
from syncopate.base.boundedfile import open_plain
from syncopate.base.errors import Failure

SECONDS, MEMORY = 10, 4 << 30
PLAIN = ("-w", "--no-show-raw-insn")
_STUB = re.compile(r"([0-9a-f]+) <(.*)>:")
_SET = re.compile(r"([0-9a-f]+) (R_X86_64_\w+) +(\S+)")
_RELATIVE = re.compile(r"\*ABS\*\+0x([0-9a-f]+)")
_STUBS = (".plt", ".plt.sec", ".plt.got")


def told(command: Sequence[str], pass_fds: Sequence[int] = ()) -> str:
    """What the tool says; "" where that is nothing, or takes too long."""
    try:
        return boundedtool.output(command, SECONDS, MEMORY, pass_fds=pass_fds) or ""
    except subprocess.TimeoutExpired:
        return ""


class Slices:
    """Of one file of x86-64."""

    def __init__(self, tool: str, path: str, loads: Sequence[tuple[int, int, int, int]]):
        """`loads`: as Identity of names.py has them."""
        self._tool, self._path, self._loads = tool, path, loads

    def lines(self, start: int, stop: int) -> str:
        """What is printed of a range of link-time addresses; "" where none of it can be read."""
        code = self.bytes_of(start, stop)
        if not code:
            return ""
        how = ["-D", "-b", "binary", "-m", "i386:x86-64", *PLAIN, f"--adjust-vma={start:#x}"]
        try:
            with tempfile.TemporaryFile(dir=scratch.place()) as piece:
                piece.write(code)
                piece.flush()
                at = piece.fileno()
                return told([self._tool, *how, "--", f"/proc/self/fd/{at}"], (at,))
        except (OSError, Failure):  # no room
            return ""

    def bytes_of(self, start: int, stop: int) -> bytes:
        """The code at these link-time addresses; b"" where it cannot be read."""
        for offset, address, size, _ in self._loads:
            if address <= start < address + size:
                try:
                    with open_plain(self._path) as file:
                        file.seek(offset + start - address)
                        return file.read(min(stop, address + size) - start)
                except (OSError, Failure):
                    return b""
        return b""

    @functools.cached_property
    def stubs(self) -> dict[int, str]:
        """Where the code is that calls other files' functions, and what objdump calls it."""
        sections = [word for name in _STUBS for word in ("-j", name)]
        text = told([self._tool, "-d", *PLAIN, *sections, "--", self._path])
        found = filter(None, map(_STUB.fullmatch, text.splitlines()))
        return {int(each[1], 16): each[2] for each in found}

    @functools.cached_property
    def pointers(self) -> dict[int, str]:
        """Pointers that the loader sets to what has a name: to other files' functions, mostly."""
        found = ((at, to) for at, kind, to in self._set if kind != "R_X86_64_RELATIVE")
        return {at: to for at, to in found if not to.startswith("*")}

    @functools.cached_property
    def own_pointers(self) -> dict[int, int]:
        """Those that it sets to what is in this file: link-time addresses."""
        found = ((at, _RELATIVE.fullmatch(to)) for at, _, to in self._set)
        return {at: int(to[1], 16) for at, to in found if to}

    @functools.cached_property
    def _set(self) -> list[tuple[int, str, str]]:
        text = told([self._tool, "-R", "--", self._path])
        found = filter(None, map(_SET.fullmatch, text.splitlines()))
        return [(int(each[1], 16), each[2], each[3]) for each in found]
