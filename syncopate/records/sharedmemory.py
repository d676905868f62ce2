"""Which objects lie in memory that several processes share: by what is mapped, and where in it."""

from __future__ import annotations

import bisect
import re

_SHARED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..[-x]s ([0-9a-f]+) (\S+) (\d+) ")


class SharedMemory:
    """Of one recorded process."""

    def __init__(self, maps: str):
        """`maps` is text as in /proc/PID/maps; later lines win where two begin at one address."""
        found = {}
        for line in maps.split("\n"):
            if fields := _SHARED.match(line):
                start, end, offset = (int(fields[group], 16) for group in (1, 2, 3))
                found[start] = (start, end, offset, f"{fields[4]} {fields[5]}")
        self._ranges = sorted(found.values())

    def identity(self, address: int) -> str | None:
        """Equal for one object in whatever process, wherever it is mapped; None for an address in
        memory that is the process's own, or of which nothing is known."""
        at = bisect.bisect_right(self._ranges, (address, 1 << 64, 0, "")) - 1
        if at < 0 or address >= self._ranges[at][1]:
            return None
        start, _, offset, inode = self._ranges[at]
        return f"{inode} +{offset + address - start:#x}"
