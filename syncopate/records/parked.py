"""Waits of threads that a parking library puts aside, each at a futex or a semaphore of the
thread's own: Rust's parking_lot, PostgreSQL's light-weight locks, and Python's from 3.13 on.

The address of such an object says who waits, not for what: that is told by the functions that lead
to the wait, and of Python's by pythonparks.py where the recorder knows the word that is waited for.
Else what waits at one line of the program are for is one lock here. How much of a thread's waits
were for which is exact where all of them have a stack, and else by the sampled ones.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from syncopate.base.since import zip_equal
from syncopate.records import pythonparks, recordformat
from syncopate.records.languages import ENDED, PARKED, Retold
from syncopate.records.naming import telling
from syncopate.records.recordformat import (
    CONDITION,
    FUTEX,
    MUTEX,
    RWLOCK,
    SEMAPHORE,
    THREAD,
    Event,
    Lock,
    WaitKind,
)
from syncopate.symbols.symbols import Frame

_DEEP = 14  # frames: some of them are inlined
_PARKING = re.compile(
    r"<?parking_lot(?:_core)?::|PGSemaphoreLock\b|_PyParkingLot_Park\b|_PySemaphore_Wait\b"
)
_LIGHT_WEIGHT = re.compile(r"LWLock(Acquire|WaitForVar)")
_WAITS = re.compile(r"<?parking_lot::(raw_mutex|raw_rwlock|condvar)\b.*::(\w+)$")
_SHARED = "_shared"  # in the name of a function, with another within where that is not inlined
_JOINS = re.compile(r"_?(ThreadHandle_join|PyThread_?handle_join|join_thread)\b", re.IGNORECASE)
_PYTHONS = re.compile(r"_?Py(Event_Wait|Mutex_Lock|Mutex_TimedLock|RWMutex_R?Lock)")
_OF_PYTHON = {
    "Event_Wait": (CONDITION, WaitKind.CONDITION),
    "RWMutex_RLock": (RWLOCK, WaitKind.READ),
    "RWMutex_Lock": (RWLOCK, WaitKind.WRITE),
}
_KINDS = {
    "raw_mutex": (MUTEX, WaitKind.MUTEX),
    "raw_rwlock": (RWLOCK, WaitKind.WRITE),
    "condvar": (CONDITION, WaitKind.CONDITION),
}
_AT_OWN = {  # kinds of waits in the file, by object
    FUTEX: (WaitKind.FUTEX, WaitKind.FUTEX_LOCK),
    SEMAPHORE: (WaitKind.SEMAPHORE, WaitKind.SEMAPHORE_LOCK),
}
_CODE = 0  # their address: none, since no object is known


class Part(NamedTuple):
    """What some of the waits at one futex were for."""

    told: Retold
    waits: float  # their share of the futex's waits, and of the time
    ticks: float
    longest: int


class Parked(NamedTuple):
    """An object of one thread: what it waited for there, what for longest first."""

    parts: list[Part]
    of_stack: dict[int, Retold]  # from which it waited
    of_release: dict[int, Retold]  # when somebody woke it

    def of(self, stack: int) -> Retold:
        return self.of_stack.get(stack, self.parts[0].told)

    def of_event(self, event: Event) -> Retold:
        if event.kind == recordformat.HOLD:
            return self.of_release.get(event.end, self.parts[0].told)
        return self.of(event.stack)


def of(
    locks: Sequence[Lock],
    waits: Callable[[int], Sequence[Event]],
    holds: Callable[[int], Sequence[Event]],
    frames_of: Callable[[int], list[Frame]],
) -> tuple[dict[int, Parked], list[Lock]]:
    """By id, the objects at which threads are parked; and the locks that they are put aside for.
    `waits`, `holds`: the events of a lock."""
    next_id = max((lock.id for lock in locks), default=0) + 1
    made: dict[tuple, Retold] = {}
    new: list[Lock] = []
    found = {}
    for lock in locks:
        if lock.object not in _AT_OWN or not lock.id:
            continue
        # Without events, as for `top`: the first wait tells.
        stacks = {wait.stack for wait in waits(lock.id)} - {0} or {lock.first_stack}
        signals = pythonparks.signals_of(waits(lock.id), holds(lock.id))
        of_stack = {}
        for stack in sorted(stacks, key=lambda stack: stack != lock.first_stack):  # has its name
            frames = frames_of(stack)
            if pythonparks.is_parked(lock, frames):
                key = pythonparks.purpose(lock, frames, signals)
            else:
                key = _purpose(lock.object, frames)
            if key is None:
                continue
            if key not in made:
                kinds = dict.fromkeys(_AT_OWN[lock.object], key[1])
                made[key] = Retold(next_id + len(new), key[0], key[2], kinds)
                address = lock.address if key[-1] == (lock.id,) else _CODE
                new.append(_lock(made[key], stack, address))
            of_stack[stack] = made[key]
        if of_stack:
            parts = list(_parts(waits(lock.id), of_stack))
            parts = parts or [Part(told, 1.0, 1.0, 0) for told in of_stack.values()]
            releases = _releases(waits(lock.id), holds(lock.id), of_stack)
            found[lock.id] = Parked(parts, of_stack, releases)
    return found, new


def _purpose(own: int, frames: Sequence[Frame]) -> tuple | None:
    """The object, the wait's kind, the lock's, and the place in the program; None: nothing is
    parked there."""
    inner = [frame.function for frame in frames[:_DEEP]]
    if not any(map(_PARKING.match, inner)):
        return None
    at = telling(frames)
    place = (at.function, at.file, at.line) if at else ()
    if any(map(_JOINS.match, inner)):
        return THREAD, WaitKind.JOIN, ENDED, ()
    for function in inner:
        if wait := _PYTHONS.match(function):
            return *_OF_PYTHON.get(wait[1], (MUTEX, WaitKind.MUTEX)), PARKED, place
        if wait := _WAITS.match(function):
            kind = _KINDS[wait[1]]
            callers = [named[2] for each in inner if (named := _WAITS.match(each))]
            if kind[0] == RWLOCK and any(_SHARED in each for each in callers):
                kind = (RWLOCK, WaitKind.READ)
            return *kind, PARKED, place
        if _LIGHT_WEIGHT.match(function):
            return own, WaitKind.SEMAPHORE_LOCK, PARKED, place
    return own, _AT_OWN[own][0], PARKED, place


def _lock(told: Retold, stack: int, address: int) -> Lock:
    counts = (0,) * len(recordformat.Lock._fields)
    fields = dict(zip_equal(recordformat.Lock._fields, counts))
    fields |= {"id": told.id, "address": address, "object": told.object, "type": told.type}
    return Lock(**fields | {"first_stack": stack, "hold_histogram": ()})


def _parts(waits: Iterable[Event], of_stack: dict[int, Retold]) -> Iterable[Part]:
    sums: dict[int, list] = defaultdict(lambda: [0, 0, 0])
    told = {each.id: each for each in of_stack.values()}
    for wait in waits:
        if wait.stack in of_stack:
            each, ticks = sums[of_stack[wait.stack].id], wait.end - wait.start
            each[0] += wait.weight
            each[1] += ticks * wait.weight
            each[2] = max(each[2], ticks)
    all_waits = sum(each[0] for each in sums.values())
    all_ticks = sum(each[1] for each in sums.values())
    for known, (count, ticks, longest) in sorted(sums.items(), key=lambda each: -each[1][1]):
        share = ticks / all_ticks if all_ticks else count / all_waits
        yield Part(told[known], count / all_waits, share, longest)


def _releases(
    waits: Sequence[Event], holds: Sequence[Event], of_stack: dict[int, Retold]
) -> dict[int, Retold]:
    """What the wait was for that ended next to when somebody was woken."""
    told = sorted(
        ((wait.end, of_stack[wait.stack]) for wait in waits if wait.stack in of_stack),
        key=lambda each: each[0],
    )
    ends = [end for end, _ in told]
    found = {}
    for hold in holds:
        after = bisect.bisect_left(ends, hold.end)
        near = told[max(0, after - 1) : after + 1]
        found[hold.end] = min(near, key=lambda each: abs(each[0] - hold.end))[1]
    return found
