"""How much of the processors other programs, and a host, had while something was measured.

With foreign load two threads seldom run at the same time: locks are contended less, and a
comparison of them says little. Source: /proc/stat (proc(5)), in ticks of the clock.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
QUIET = 0.05  # of all processors: what a kernel's own threads and a shell take stays below it
_IDLE, _WAITING, _STOLEN, _COUNTED = 3, 4, 7, 8  # of the first row's fields


@dataclass(frozen=True)
class Shares:
    """Shares of all processors' time, 0 to 1; what the host took is no program's."""

    others: float
    host: float

    def quiet(self) -> bool:
        return self.others + self.host < QUIET


@dataclass(frozen=True)
class _Times:
    """Seconds since the machine started, of all processors together."""

    all: float
    busy: float
    stolen: float
    own: float  # of this process and its ended children


def _own_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _now() -> _Times | None:
    try:
        row = STAT.read_text("ascii").split("\n", 1)[0].split()
        ticks = [int(text) for text in row[1 : 1 + _COUNTED]]
    except (OSError, ValueError):
        return None
    if row[:1] != ["cpu"] or len(ticks) < _COUNTED:
        return None
    second = os.sysconf("SC_CLK_TCK")
    idle = ticks[_IDLE] + ticks[_WAITING]
    busy = sum(ticks) - idle - ticks[_STOLEN]
    return _Times(sum(ticks) / second, busy / second, ticks[_STOLEN] / second, _own_seconds())


class Neighbors:
    """Watches from its making on what others use; children count as ours once they have ended."""

    def __init__(self) -> None:
        self._begin = _now()

    def shares(self) -> Shares | None:
        """Since the beginning; none where the kernel does not tell."""
        begin, end = self._begin, _now()
        if begin is None or end is None or end.all <= begin.all:
            return None
        whole = end.all - begin.all
        others = (end.busy - begin.busy) - (end.own - begin.own)
        return Shares(max(0.0, others) / whole, max(0.0, end.stolen - begin.stolen) / whole)

    def line(self) -> str:
        """What to print beside the figures."""
        shares = self.shares()
        if shares is None:
            return "what other programs used meanwhile is unknown: the kernel does not tell"
        told = f"other programs had {100 * shares.others:.1f} % of the processors,"
        told = f"{told} the host {100 * shares.host:.1f} %"
        return told if shares.quiet() else f"{told}: too much to compare locks, repeat it alone"
