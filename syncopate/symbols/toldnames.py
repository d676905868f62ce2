"""Names that a record tells itself: of code and of locks that are in no file, as Java's are.

Lines beside those of what is mapped:
"name ADDRESS FUNCTION\\tFILE\\tLINE\\tWHOSE" of a return address, "lock ADDRESS NAME\\tPLACE" of a
lock, "pointers TICKS" of a moment, and behind that "pointer AT VALUE" of each variable that led to
a lock then (src/record/pointers.h).
"""

import re
from collections.abc import Iterable

from syncopate.base.shown import shown

_CODE = re.compile(r"name ([0-9a-f]{1,16}) ([^\t]*)\t([^\t]*)\t(\d{1,9})\t([^\t]*)")
_LOCK = re.compile(r"lock ([0-9a-f]{1,16}) ([^\t]*)\t([^\t]*)")
_MOMENT = re.compile(r"pointers ([0-9a-f]{1,16})")
_POINTER = re.compile(r"pointer ([0-9a-f]{1,16}) ([0-9a-f]{1,16})")


class ToldNames:
    """What the lines of a record tell; others mean nothing here."""

    def __init__(self, lines: Iterable[str]):
        self.code: dict[int, tuple[str, str, int, str]] = {}  # function, file, line, whose
        self.locks: dict[int, tuple[str, str]] = {}  # name, place
        # Moments, and pairs of a variable's value and where it lies.
        self.pointers: list[tuple[int, list[tuple[int, int]]]] = []
        for line in lines:
            if found := _CODE.fullmatch(line):
                function, file, whose = map(shown, found.group(2, 3, 5))
                self.code[int(found[1], 16)] = function, file, int(found[4]), whose
            elif found := _LOCK.fullmatch(line):
                self.locks[int(found[1], 16)] = shown(found[2]), shown(found[3])
            elif found := _MOMENT.fullmatch(line):
                self.pointers.append((int(found[1], 16), []))
            elif self.pointers and (found := _POINTER.fullmatch(line)):
                self.pointers[-1][1].append((int(found[2], 16), int(found[1], 16)))
