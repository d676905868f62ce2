"""What the code of a lock's critical sections does: read from the program's file, not timed.

A section begins behind the call that took the lock and ends at the one that released it; both are
known from recorded stacks. What lies between is read from the machine code, where the file is the
build that was recorded and objdump is there. It says what sections may do, not how long that takes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from syncopate.records import knowncalls
from syncopate.records.analysis import Analysis
from syncopate.records.besides import LINE, Objects, ObjectWrite
from syncopate.records.codeplaces import own_places
from syncopate.records.codewalk import SLOW, Done, Walker, repeats
from syncopate.records.lockgroups import Group
from syncopate.records.naming import telling
from syncopate.symbols import debugmembers
from syncopate.symbols.demangling import demangle
from syncopate.symbols.machinecode import Function, Instruction, Program, plain_symbol
from syncopate.symbols.symbols import CodePlace

WORD = 8
_STRING = re.compile(r"std::(__cxx11::)?basic_string<char, [^()]*> ?>(?=::)")
_OF_STD = ("_ZSt", "_ZNSt", "_ZNKSt", "_ZNSo", "_ZNSi")
_OPERATOR = re.compile(r"operator(<<|>>)(?= ?<|$)[^:]*$")
_ARGUMENTS = re.compile(r"<[^<>]*>")
LOCK_BYTES = {1: 40, 2: 56, 3: 4}  # pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t
MOST_STACKS = 6  # of holders, and of waiters, looked at for one lock
MOST_TAKEN = 8  # places of one function
MOST_CALLERS = 4  # that take a lock for others


class Call(NamedTuple):
    """A function that sections call."""

    function: str
    kind: str  # as in knowncalls
    place: str  # file:line of the call; "" where it is not known
    looped: bool
    share: float  # of the holds whose code was read


class Beside(NamedTuple):
    """A write to the lock's cache line from outside its sections."""

    variable: str
    place: str


class Facts(NamedTuple):
    """What is known of one lock's sections."""

    share: float  # of the sampled holds that the next three are about; 0: no code of them was read
    calls: list[Call]  # those of most holds first
    only_read: float  # share of the holds read whose code writes nothing but its own stack
    beside: list[Beside]
    # Of the waiting time whose stacks are known, the share of those who release it at once, having
    # done nothing with it; and where most of them wait.
    empty: float = 0.0
    empty_at: str = ""
    # Share of the holds read whose code always allocates or frees memory, has no loop without that,
    # and calls nothing else that may take long.
    allocating: float = 0.0
    slow: Sequence[str] = ()  # what half of the holds read call for certain, of codewalk.SLOW
    # As `calls` and `slow`, but by how long others waited, not by how often the lock was held.
    blamed: Sequence[Call] = ()
    blamed_slow: Sequence[str] = ()

    def of_blamed(self) -> Facts:
        """The same by how long others waited."""
        return self._replace(calls=[*self.blamed], slow=self.blamed_slow)


class SectionCode:
    """Reads the sections of one record's locks."""

    def __init__(self, analysis: Analysis):
        self._of = analysis
        self._programs: dict[str, tuple[Program, Walker]] = {}

    def facts(self, group: Group) -> Facts | None:
        """What these locks' sections do; None where no code of them can be read."""
        releases = self._releases(group)
        total = sum(weight for _, weight in releases)
        acquiring = self._acquiring(group)
        read = self._read(acquiring, releases)
        blamed = self._read(acquiring, [each for each in group.holders.most_common() if each[0]])
        empty = self._empty(group)
        if not read:
            return Facts(0.0, [], 0.0, [], *empty) if empty[0] else None
        known = sum(weight for _, weight, _ in read)
        only_read = sum(w for done, w, _ in read if done.is_known and not done.writes)
        allocating = sum(w for done, w, _ in read if _allocates_alone(done))
        return Facts(
            known / total,
            self._calls(read, known),
            only_read / known,
            self._beside(group, read),
            *empty,
            allocating / known,
            _always(read),
            self._calls(blamed, sum(weight for _, weight, _ in blamed)) if blamed else (),
            _always(blamed),
        )

    def _read(
        self, acquiring: Sequence[int], releases: Sequence[tuple[int, float]]
    ) -> list[tuple[Done, float, CodePlace]]:
        """What is done up to these stacks' releases, with their weights, and where it begins."""
        read: list[tuple[Done, float, CodePlace]] = []
        for stack, weight in releases[:MOST_STACKS]:
            found = self._section(acquiring, stack)
            if found and found[0].ends:
                read.append((found[0], weight, found[1]))
        return read

    def _empty(self, group: Group) -> tuple[float, str]:
        """Facts.empty and Facts.empty_at."""
        known = [(stack, ticks) for stack, ticks in group.waiters.most_common() if stack]
        total = sum(ticks for _, ticks in known)
        found = [each for each in known[:MOST_STACKS] if self._is_empty(each[0])]
        if not found:
            return 0.0, ""
        frames = self._of.frames_of(found[0][0])
        frame = telling(frames)
        where = frame and frame.function + (f" ({frame.place()})" if frame.file else "")
        return sum(ticks for _, ticks in found) / total, where or ""

    def _is_empty(self, stack: int) -> bool:
        """Whether who waited here releases the lock at once. Functions that only take a lock for
        their callers are passed over."""
        for place in self._places(stack)[:MOST_CALLERS]:
            _, walker = self._program(place.path)
            empty = walker.is_empty(place.function, place.at)
            if empty is not None:
                return empty
        return False

    def _releases(self, group: Group) -> list[tuple[int, float]]:
        """The stacks that release it, the most frequent first, and how many holds each is of."""
        counts: Counter[int] = Counter()
        for lock in group.locks:
            for hold in self._of.holds.get(lock.id, ()):
                if hold.stack:
                    counts[hold.stack] += hold.weight
        return counts.most_common()

    def _acquiring(self, group: Group) -> list[int]:
        waits = [stack for stack, _ in group.waiters.most_common(MOST_STACKS) if stack]
        first = Counter(lock.first_stack for lock in group.locks if lock.first_stack)
        waits += [stack for stack, _ in first.most_common(MOST_STACKS)]
        return list(dict.fromkeys(waits))

    def _places(self, stack: int) -> list[CodePlace]:
        return own_places(self._of, stack)

    def _section(self, acquiring: Sequence[int], releasing: int) -> tuple[Done, CodePlace] | None:
        """The code from where a lock was taken to where this stack released it."""
        best = None
        ends = self._places(releasing)
        for stack in acquiring:
            begins = self._places(stack)
            for begin, end in _common(begins, ends):
                _, walker = self._program(begin.path)
                done = walker.between(begin.function, begin.at, [end.at] if end else [])
                if end and not self._reaches(done, end):
                    break
                if done.ends and (best is None or (end and not best[2])):
                    best = done, begin, end
                break
        return best[:2] if best else self._taken_there(ends)

    def _taken_there(self, ends: Sequence[CodePlace]) -> tuple[Done, CodePlace] | None:
        """The same of a thread that was not seen to take the lock, as one that never waits for it:
        from one place in the function that releases it, where a lock is taken."""
        for end in ends[:1]:
            program, walker = self._program(end.path)
            function = program.function(end.function)
            taken = [
                each.following
                for each in (function.at.values() if function else ())
                if each.is_call and knowncalls.is_acquisition(plain_symbol(each.symbol))
            ]
            found = [(walker.between(end.function, at, [end.at]), at) for at in taken[:MOST_TAKEN]]
            found = [each for each in found if self._reaches(each[0], end)]
            if len(found) == 1:
                return found[0][0], end._replace(at=found[0][1])
        return None

    def _reaches(self, done: Done, end: CodePlace) -> bool:
        """Whether it comes to this release, and not to others alone."""
        function = self._program(end.path)[0].function(end.function)
        return function is not None and any(
            each.following == end.at
            for each in map(function.at.get, done.passed)
            if each is not None
        )

    def _program(self, path: str) -> tuple[Program, Walker]:
        if path not in self._programs:
            program = self._of.symbolizer.names.program(path)
            self._programs[path] = program, Walker(program)
        return self._programs[path]

    def _calls(self, read: list[tuple[Done, float, CodePlace]], known: float) -> list[Call]:
        shares: Counter[str] = Counter()
        found: dict[str, tuple[str, bool]] = {}
        for done, weight, begin in read:
            for symbol, (at, looped) in done.calls.items():
                shares[symbol] += weight
                place, before = found.get(symbol, (self._place(begin, at), False))
                found[symbol] = place, before or looped
        return [
            Call(_name(symbol), _kind_of(symbol), *found[symbol], weight / known)
            for symbol, weight in shares.most_common()
        ]

    def _place(self, beside: CodePlace, following: int) -> str:
        """file:line of a call by its (link-time) return address; "" where there is no line."""
        frames = self._of.symbolizer.frames(following + beside.bias)
        frame = telling(frames) or frames[0]
        return frame.place() if frame.file else ""

    def _beside(self, group: Group, read: list[tuple[Done, float, CodePlace]]) -> list[Beside]:
        """Writes to the line of a lock, by functions that wait for it, outside of the sections that
        were read."""
        if len(group.locks) != 1 or group.name.by != "symbol":
            return self._beside_in_object(group, read)
        lock = group.locks[0]
        where = self._of.symbolizer.data_place(lock.address)
        own = (
            range(0)
            if where is None
            else range(where[1], where[1] + LOCK_BYTES.get(group.object, 4))
        )
        inside = set().union(*(done.passed for done, _, _ in read))
        found: dict[Beside, None] = {}
        for stack in self._acquiring(group):
            for place in self._places(stack)[:2]:
                if where is None or place.path != where[0]:
                    continue
                for each, data in self._static_writes(place):
                    same = (
                        (where[1] - lock.address % LINE)
                        <= data
                        < (where[1] - lock.address % LINE + LINE)
                    )
                    if same and data not in own and each.address not in inside:
                        found[self._write(place, each, data)] = None
        # Who is called without being inlined has the object's address from its caller.
        return list(found) or self._beside_in_object(group, read)

    def _beside_in_object(
        self, group: Group, read: list[tuple[Done, float, CodePlace]]
    ) -> list[Beside]:
        """The same of locks that lie in objects of one kind, each at the same place of its line."""
        starts = {lock.address % LINE for lock in group.locks}
        if len(starts) != 1:
            return []
        (start,) = starts
        line, own = range(-start, LINE - start), LOCK_BYTES.get(group.object, 4)
        inside = set().union(*(done.passed for done, _, _ in read))
        releasing = [self._places(stack) for stack, _ in self._releases(group)[:MOST_STACKS]]
        released = {each.at for places in releasing for each in places[:MOST_CALLERS]}
        found: dict[Beside, None] = {}
        for stack in self._acquiring(group):
            places = self._places(stack)
            callers = [(each.function, each.at) for each in places if each.path == places[0].path]
            objects = Objects(*self._program(places[0].path)) if places else None
            for write in objects.writes(callers, released, inside, line) if objects else ():
                if not 0 <= write.offset < own:
                    found[self._object_write(places[0], write)] = None
        return list(found)

    def _object_write(self, place: CodePlace, write: ObjectWrite) -> Beside:
        behind = (
            f"{write.offset} bytes behind" if write.offset > 0 else f"{-write.offset} bytes before"
        )
        text = f"what lies {behind} the lock's address"
        if write.member:
            names, (function, number, offset) = self._of.symbolizer.names, write.member
            of = place.path, function, number, (offset,), WORD
            member = debugmembers.of_parameter(names, *of)
            text = member.name if member else text
        frames = self._of.symbolizer.frames(write.at.following + place.bias)
        frame = telling(frames) or frames[0]
        return Beside(text, frame.place() if frame.file else "")

    def _write(self, place: CodePlace, each: Instruction, data: int) -> Beside:
        named = self._of.symbolizer.variable(data + place.bias)
        text = f"{data:#x}" if named is None else named[0] + (f"+{named[1]:#x}" if named[1] else "")
        names = self._of.symbolizer.names
        member = debugmembers.of_variable(names, place.path, data, WORD)
        if named and member:
            text = named[0] + member.name
        return Beside(text, self._place(place, each.following))

    def _static_writes(self, place: CodePlace) -> Iterator[tuple[Instruction, int]]:
        """The function's writes to variables whose address stands in the instruction."""
        program, _ = self._program(place.path)
        function: Function | None = program.function(place.function)
        for each in function.at.values() if function else ():
            written = each.data is not None and "(%rip)" in each.written()
            if written and repeats(function, each.address):
                yield each, each.data


def _always(read: list[tuple[Done, float, CodePlace]]) -> list[str]:
    """What half of these call for certain."""
    known = sum(weight for _, weight, _ in read)
    return [
        kind
        for kind in SLOW
        if read and sum(weight for done, weight, _ in read if kind in done.always) >= known / 2
    ]


def _allocates_alone(done: Done) -> bool:
    kinds = {_kind_of(symbol) for symbol in done.calls} - {knowncalls.PERHAPS_ALLOCATION}
    allocates = knowncalls.ALLOCATION in done.always
    return allocates and done.is_known and not done.loops and kinds == {knowncalls.ALLOCATION}


def _common(
    begins: Sequence[CodePlace], ends: Sequence[CodePlace]
) -> Iterator[tuple[CodePlace, CodePlace | None]]:
    """Where the innermost function that is in both stacks took the lock, and where it released it;
    None where another function, which it called, did that last and left no return address."""
    for index, begin in enumerate(begins):
        for end in ends:
            if (begin.path, begin.function) == (end.path, end.function):
                if begin.at != end.at:
                    yield begin, end
                elif index:
                    yield begins[index - 1], None
                return


def _kind_of(symbol: str) -> str:
    perhaps = knowncalls.PERHAPS_ALLOCATION * knowncalls.may_allocate(symbol)
    return knowncalls.kind_of(symbol) or perhaps


def _name(symbol: str) -> str:
    name = _STRING.sub("std::string", demangle(symbol).partition("(")[0] or symbol)
    return _plain(name) if symbol.startswith(_OF_STD) else name


def _plain(name: str) -> str:
    """A name of the C++ library as people call it: without the template's arguments, and what the
    function returns. Those of operators that look alike stay."""
    operator = _OPERATOR.search(name)
    ending = operator[0] if operator else ""
    name = name.removesuffix(ending)
    shorter = _ARGUMENTS.sub("", name)
    while shorter != name:
        name, shorter = shorter, _ARGUMENTS.sub("", shorter)
    return name.strip().rpartition(" ")[2] + ending
