"""What threads wait for that Python's interpreter parks itself, from 3.13 on: each at a semaphore
of its own, for a word elsewhere. The recorder knows the word, and whether it is in a Lock, an RLock
or a SimpleQueue: it is a futex to it, which says neither who has it nor how often it is taken.

What waits for a condition in the module threading, or for a thread's end, is told by Python's
functions: a Lock may lie where another one lay, which a Condition had made for one wait.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from syncopate.records import languages
from syncopate.records.recordformat import (
    CONDITION,
    FUTEX,
    SEMAPHORE,
    THREAD,
    USED_AS_LOCK,
    Event,
    Lock,
    WaitKind,
)
from syncopate.symbols.symbols import Frame

LOCK, RLOCK, QUEUE = 16, 17, 18  # Lock.type: src/record/format.h
_TYPES = {LOCK: languages.PYTHONS_LOCK, RLOCK: languages.PYTHONS_RLOCK}
_PARKS = re.compile(r"_PyParkingLot_Park\b|_PySemaphore_(Platform)?Wait\b")
_INNER = 4  # frames, from the wait
_JOIN = ("join", "_shutdown")  # of the module threading
_MANY = 4  # wakes: so many by threads that have not waited there are no chance


class Purpose(NamedTuple):
    """What some waits at a word are for."""

    object: int
    kind: int  # of waits
    type: int
    of: tuple  # where they are, or the lock


def is_parked(lock: Lock, frames: Sequence[Frame]) -> bool:
    inner = (frame.function for frame in frames[:_INNER])
    return lock.object == FUTEX and any(map(_PARKS.match, inner))


def purpose(lock: Lock, frames: Sequence[Frame], signals: int) -> Purpose | None:
    """`signals`: how often threads were seen to wake others that had not waited there. None: it is
    not known."""
    own = languages.pythons(frames)
    at = tuple((frame.function, frame.file, frame.line) for frame in own)
    inside = own[: languages.outside_of_threading(own)]
    if inside and own[0].function.rpartition(".")[2] in _JOIN:
        return Purpose(THREAD, WaitKind.JOIN, languages.ENDED, ())
    if lock.type == QUEUE:
        return Purpose(CONDITION, WaitKind.CONDITION, languages.PYTHONS_QUEUE, at or (lock.id,))
    if lock.type not in _TYPES:
        return None
    if languages.is_of_condition(own):
        if languages.is_in_semaphore(inside):
            return Purpose(SEMAPHORE, WaitKind.SEMAPHORE, languages.PYTHONS_SEMAPHORE, at)
        return Purpose(CONDITION, WaitKind.CONDITION, languages.PYTHONS_CONDITION, at)
    is_lock = lock.type == RLOCK or lock.flags & USED_AS_LOCK or signals < _MANY
    kind = WaitKind.SEMAPHORE_LOCK if is_lock else WaitKind.SEMAPHORE
    return Purpose(SEMAPHORE, kind, _TYPES[lock.type], (lock.id,))


def signals_of(waits: Sequence[Event], holds: Sequence[Event]) -> int:
    waiters = {wait.thread for wait in waits}
    return sum(hold.thread not in waiters for hold in holds)
