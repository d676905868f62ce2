"""Which member of which class or variable a lock is, where debug information tells it for certain.

A lock in a static variable is found by its address. One in an object is found by what was passed to
the function that took or made it: where that is a fixed place in what a parameter of the calling
function points to (registers.py), the parameter's type says which member that is. But an array of
them, and one of an object that a variable points to, is called by that variable (pointed.py).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from syncopate.records.analysis import Analysis
from syncopate.records.codeplaces import own_places
from syncopate.records.lockgroups import Group
from syncopate.records.pointed import Pointed
from syncopate.records.recordformat import CREATED, MUTEX, Lock
from syncopate.symbols import debugmembers
from syncopate.symbols.debugmembers import Member
from syncopate.symbols.machinecode import Instruction, Program, plain_symbol
from syncopate.symbols.registers import PARAMETERS, STATIC, origin
from syncopate.symbols.symbols import CodePlace

# pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, pthread_cond_t, pthread_barrier_t, the word
# of a futex, sem_t
BYTES = {1: 40, 2: 56, 3: 4, 4: 48, 5: 32, 6: 4, 7: 32}
MOST_LOCKS = 20  # named so: those that cost most
MOST_VARIABLES = 100  # and by variables, for which no code is read
MOST_CALLERS = 3  # followed outwards
MOST_STACKS = 16  # of one row's locks
_OF_PTHREAD = re.compile(r"(pthread_(mutex|rwlock|spin|cond|barrier)|mtx|cnd|sem)_\w+")


class Named(NamedTuple):
    """A lock as its program's source calls it."""

    name: str  # "server.lock", "table[].lock", "Cache::lock"
    declared: str  # file:line, "" when unknown
    is_variable: bool = False  # or reached by one: where it was made tells no more


class Members:
    """Names locks of one record."""

    def __init__(self, analysis: Analysis):
        self._of, self._names = analysis, analysis.symbolizer.names
        self._pointed = Pointed(analysis)

    def name(self, group: Group) -> Named | None:
        """What these locks are; None where that is not known, or not the same of all."""
        size = _size(group)
        if size is None:
            return None
        return self.by_variable(group) or (
            None if group.name.by == "symbol" else self._in_objects(group.locks, size)
        )

    def by_variable(self, group: Group) -> Named | None:
        """The same, where a variable has them or points to them."""
        size = _size(group)
        if size is None:
            return None
        if group.name.by == "symbol":
            return self._static(group.locks, size)
        if array := self._pointed.array(group.locks, size):
            return Named(array.name(None), array.target.inner.place(), True)
        single = self._pointed.one(group.locks[0], size) if len(group.locks) == 1 else None
        return Named(*single, True) if single else None

    def one_of(self, group: Group, lock: Lock) -> str:
        """What one of several locks is called; "" where that is not known."""
        size = _size(group)
        if size is None:
            return ""
        if group.name.by == "symbol":
            named = self._static([lock], size)
            return named.name if named else ""
        array = self._pointed.array(group.locks, size)
        return array.name(lock) if array else ""

    def _static(self, locks: Sequence[Lock], size: int) -> Named | None:
        where = self._of.symbolizer.data_place(locks[0].address)
        variable = self._of.symbolizer.variable(locks[0].address)
        if where is None or variable is None:
            return None
        member = debugmembers.of_variable(self._names, *where, size)
        if member is None:
            return None
        path = member.name
        if len(locks) > 1:  # of an array: which one it is stands elsewhere
            path = "[]" + path.partition("]")[2] if path.startswith("[") else path
        return Named(variable[0] + path, member.place())

    def _in_objects(self, locks: Sequence[Lock], size: int) -> Named | None:
        """The member of the outermost class that all of them lie in: who made them, or first used
        them, may have reached them through objects of several classes."""
        stacks = (lock.create_stack if lock.flags & CREATED else lock.first_stack for lock in locks)
        found: list[Member] | None = None
        for stack in [*dict.fromkeys(stacks)][:MOST_STACKS]:
            others = self._in_object(stack, locks[0].object, size)
            same = zip(others if found is None else found, others)
            found = [*itertools.takewhile(lambda pair: pair[0].name == pair[1].name, same)]
            found = [member for member, _ in found]
        return Named(found[-1].name, found[-1].place()) if found else None

    def _in_object(self, stack: int, kind: int, size: int) -> list[Member]:
        """What it is of its class, of the class that has an object of that, and so on outwards."""
        found: list[Member] = []
        inner = None
        register, offsets = "", (0,)
        for place in own_places(self._of, stack)[:MOST_CALLERS]:
            call = self._call(place)
            if call is None:
                break
            if inner is None:
                register = _register(plain_symbol(call.symbol), kind)
            # Else it is not known who called it: one that jumped there leaves no return address.
            if not register or (inner is not None and call.target != inner):
                break
            function = self._program(place.path).function(place.function)
            passed = origin(function, call, register)
            if passed is None or passed.root == STATIC:
                break
            inner = place.function
            offsets = (*passed.offsets[:-1], passed.offsets[-1] + offsets[0], *offsets[1:])
            member = debugmembers.of_parameter(
                self._names,
                place.path,
                place.function,
                PARAMETERS.index(passed.root),
                offsets,
                size,
            )
            if member is not None:
                found.append(member)
            register = passed.root
        return found

    def _program(self, path: str) -> Program:
        return self._names.program(path)

    def _call(self, place: CodePlace) -> Instruction | None:
        function = self._program(place.path).function(place.function)
        calls = (each for each in function.at.values() if each.is_call) if function else ()
        return next((each for each in calls if each.following == place.at), None)


def _size(group: Group) -> int | None:
    """Of one of its locks; None where nothing can be said of those."""
    known = group.locks and group.name.by in ("symbol", "creation", "first use")
    return BYTES.get(group.object) if known else None


def _register(symbol: str, kind: int) -> str:
    """In which register a function of pthread takes the lock; "" for any other function."""
    if not _OF_PTHREAD.fullmatch(symbol):
        return ""
    is_second = kind == MUTEX and ("_cond_" in symbol or symbol.startswith("cnd_"))
    return PARAMETERS[1] if is_second else PARAMETERS[0]
