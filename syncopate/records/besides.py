"""Writes beside a lock that lies in an object: to the same cache line, by who takes it, without it.

Where the lock lies in the object that a pointer leads to, and where a write goes, is read from the
code (registers.py): both through the same pointers of one function are of one object, but for what
changes these in between.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from syncopate.records import knowncalls
from syncopate.records.codewalk import Walker, repeats
from syncopate.symbols.machinecode import Function, Instruction, Program, plain_symbol
from syncopate.symbols.registers import PARAMETERS, Origin, origin

LINE = 64  # bytes of a cache line
MOST_CALLERS = 5  # followed outwards: without optimization std::lock_guard is three of them
MOST_CALLS = 12  # of one function, that are looked into
_PLACE = re.compile(r"(-?0x[0-9a-f]+|)\((%r\w+)\)$")


class ObjectWrite(NamedTuple):
    """A write into the lock's object."""

    function: Function
    at: Instruction
    offset: int  # behind the lock; negative: before it
    member: tuple[int, int, int] | None  # the function, number and offset of a parameter


class _Wanted(NamedTuple):
    """What writes are looked for."""

    lock: Origin
    inside: Collection[int]  # instructions of sections: not these
    line: range  # bytes from the lock's first one on


class Objects:
    """Reads the functions of one file."""

    def __init__(self, program: Program, walker: Walker):
        self._program, self._walker = program, walker

    def writes(
        self,
        callers: list[tuple[int, int]],
        released: Collection[int],
        inside: Collection[int],
        line: range,
    ) -> Iterator[ObjectWrite]:
        """The writes within `line` (bytes from the lock's first one on) that stand outside of
        sections. `callers`: start of the function and return address of the call that takes the
        lock, and of those that called it; `released`: return addresses of calls that release it."""
        lock = Origin(PARAMETERS[0], (0,))
        for start, returns in callers[:MOST_CALLERS]:
            function = self._program.function(start)
            call = _call(function, returns)
            if call is None or lock.root not in PARAMETERS:
                return
            lock = self._of_callee(call, lock)
            passed = origin(function, call, lock.root, self._keeps)
            lock = passed and lock.within(passed, lock.root)
            if lock is None:
                return
            section = self._walker.between(start, returns, [*released])
            if section.ends:
                wanted = _Wanted(lock, section.passed | {*inside}, line)
                yield from self._in(function, call, wanted)

    def _of_callee(self, call: Instruction, lock: Origin) -> Origin:
        """What the called function's own first argument has to do with the lock. One that only
        jumps to what takes it leaves no return address."""
        function = self._program.function(call.target) if call.target is not None else None
        if lock.offsets != (0,) or knowncalls.is_acquisition(plain_symbol(call.symbol)):
            return lock
        for each in function.at.values() if function else ():
            taken = each.is_jump and knowncalls.is_acquisition(plain_symbol(each.symbol))
            if taken and (found := origin(function, each, PARAMETERS[0])):
                return found
        return lock

    def _in(self, function: Function, call: Instruction, wanted: _Wanted) -> Iterator[ObjectWrite]:
        looped = repeats(function, call.address)
        for each in function.at.values():
            if looped and not repeats(function, each.address):
                continue
            if each.is_call and each.address not in wanted.inside:
                yield from self._in_callee(function, each, wanted)
            elif found := self._beside(function, each, wanted):
                yield found

    def _in_callee(
        self, function: Function, call: Instruction, wanted: _Wanted
    ) -> Iterator[ObjectWrite]:
        """What a function of the same file writes that gets the object."""
        callee = None
        if call.target is not None and "@" not in call.symbol:
            callee = self._program.function(call.target)
        passed = origin(function, call, PARAMETERS[0], self._keeps) if callee else None
        if passed is None or len(callee.at) > MOST_CALLS * MOST_CALLS:
            return
        for each in callee.at.values():
            if found := self._beside(callee, each, wanted, passed):
                yield found

    def _beside(
        self, function: Function, each: Instruction, wanted: _Wanted, passed: Origin | None = None
    ) -> ObjectWrite | None:
        """The write of an instruction, if it goes to the line. `passed`: what the function got as
        its first argument, where it is a callee of the one that knows the lock."""
        found = self._written(function, each) if each.address not in wanted.inside else None
        whole = found.within(passed) if found and passed else found
        offset = wanted.lock.beside(whole) if whole else None
        if offset is None or offset not in wanted.line:
            return None
        return ObjectWrite(function, each, offset, _parameter(function, found))

    def _written(self, function: Function, each: Instruction) -> Origin | None:
        place = _PLACE.match(each.written())
        if place is None or not function.writes(each):
            return None
        found = origin(function, each, place[2], self._keeps)
        if found is None:
            return None
        *pointers, last = found.offsets
        return Origin(found.root, (*pointers, last + int(place[1] or "0", 16)))

    def _keeps(self, call: Instruction, register: str) -> bool:
        """Whether the called function is known to leave it alone, as compilers count on."""
        if call.target is None or "@" in call.symbol:
            return False
        function = self._program.function(call.target)
        return function is not None and all(
            not each.is_call and not each.is_jump and register not in each.operands.split(",")[-1:]
            for each in function.at.values()
        )


def _call(function: Function | None, returns: int) -> Instruction | None:
    calls = (each for each in function.at.values() if each.is_call) if function else ()
    return next((each for each in calls if each.following == returns), None)


def _parameter(function: Function, found: Origin) -> tuple[int, int, int] | None:
    if found.root not in PARAMETERS or len(found.offsets) != 1 or found.offsets[0] < 0:
        return None
    return function.start, PARAMETERS.index(found.root), found.offsets[0]
