"""Locks on the heap, by the variables that point to them: an array of locks has no other name.

A record has what variables pointed to at the program's end, and now and then before
(src/record/pointers.h): the last of that before a lock was destroyed counts. Several locks
of one row are an array where all lie within elements of the pointer's type, at the same place, and
two of them in neighboring ones: what an allocator gives out one by one lies farther apart.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence
from typing import NamedTuple

from syncopate.records.analysis import Analysis
from syncopate.records.naming import is_runtime
from syncopate.records.recordformat import DESTROYED, Lock
from syncopate.symbols import debugmembers
from syncopate.symbols.debugmembers import Member, Target

REACH = 4096  # before the first lock: pointers.h has the same
POINTER = 8  # bytes
END = 1 << 64
_Pointers = list[tuple[int, int]]  # values, and where they are; sorted
MOST_POINTERS = 8  # looked at for one row: the nearest ones


class Found(NamedTuple):
    """What leads to the locks of a row."""

    variable: str  # with the pointer's own member: "server.shards"
    begin: int  # where it points to
    target: Target

    def name(self, lock: Lock | None) -> str:
        """Of one lock; None: of all of them."""
        which = "" if lock is None else (lock.address - self.begin) // self.target.element
        return f"{self.variable}[{which}]{self.target.inner.name}"


class Pointed:
    """Of one record."""

    def __init__(self, analysis: Analysis):
        self._symbols = analysis.symbolizer
        moments = sorted(self._symbols.told.pointers)
        self._moments = [(ticks, sorted(pointers)) for ticks, pointers in moments]

    def array(self, locks: Sequence[Lock], size: int) -> Found | None:
        """What these locks are an array of; None where they are none, or it is not known."""
        if len(locks) < 2:
            return None
        addresses = sorted(lock.address for lock in locks)
        for moment in self._moments_of(locks):  # memory may be gone before, without a destroy call
            for begin, at in _before(moment, addresses[0]):
                found = self._leads(at, begin, addresses[0] - begin, size)
                if found and _are_elements(addresses, found.target.element):
                    return found
        return None

    def one(self, lock: Lock, size: int) -> tuple[str, str] | None:
        """What leads to the object that this lock is in, and where its member is declared; of
        several variables the one that says it shortest."""
        ways = []
        latest = next(iter(self._moments_of([lock])), [])
        for begin, at in _before(latest, lock.address):
            found = self._leads(at, begin, lock.address - begin, size)
            if found and lock.address - begin < found.target.element:
                inner = found.target.inner
                is_part = inner.name.startswith(".")
                way = f"{found.variable}->{inner.name[1:]}" if is_part else f"*{found.variable}"
                ways.append((len(way), way, inner.place()))
        return min(ways)[1:] if ways else None

    def _moments_of(self, locks: Sequence[Lock]) -> list[_Pointers]:
        """What variables pointed to while all of the locks were there, the latest first."""
        until = min((lock.destroyed_ticks for lock in locks if lock.flags & DESTROYED), default=END)
        return [pointers for ticks, pointers in self._moments[::-1] if ticks <= until]

    def _leads(self, at: int, begin: int, offset: int, size: int) -> Found | None:
        where, variable = self._symbols.data_place(at), self._symbols.variable(at)
        if where is None or variable is None or is_runtime(variable[2]):
            return None
        name, into, _ = variable
        target = debugmembers.of_pointer(self._symbols.names, *where, offset, size)
        if target is None and not into and offset % size == 0:
            target = self._by_symbol(where, name, size)
        return Found(name + target.pointer, begin, target) if target else None

    def _by_symbol(self, where: tuple[str, int], name: str, size: int) -> Target | None:
        """Where debug information knows nothing of the variable: what it points to is locks, should
        these lie side by side."""
        is_unnamed = name.startswith(f"{os.path.basename(where[0])}+0x")
        if is_unnamed or debugmembers.of_variable(self._symbols.names, *where, POINTER):
            return None
        return Target("", Member("", "", 0), size)


def _are_elements(addresses: Sequence[int], element: int) -> bool:
    steps = {after - before for before, after in zip(addresses, addresses[1:])}
    return element in steps and not any(step % element for step in steps)


def _before(pointers: _Pointers, address: int) -> _Pointers:
    """Those to at most so far before an address, the nearest first."""
    end = bisect.bisect_right(pointers, (address, END))
    near = pointers[max(0, end - MOST_POINTERS) : end]
    return [each for each in near[::-1] if address - each[0] <= REACH]
