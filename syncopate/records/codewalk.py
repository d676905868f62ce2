"""What the machine code between two places of a function may do: which functions it calls, whether
it writes, and what it passes on the way.

All ways from the begin to an end are followed, and the functions called on them, as far as they lie
in the same file and are called directly. Whatever cannot be followed is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from syncopate.records import knowncalls
from syncopate.symbols.firstargument import are_alike, first_argument
from syncopate.symbols.machinecode import Function, Instruction, Program, plain_symbol
from syncopate.symbols.registers import FRAME, PARAMETERS, PLACE, place_of

SLOW = (knowncalls.ALLOCATION, knowncalls.SLEEP, knowncalls.INPUT_OUTPUT, knowncalls.WAIT)
MOST_FUNCTIONS = 400  # read for one section
MOST_DEPTH = 8
MOST_STEPS = 12  # instructions of a section that does nothing: its lock's address, and a check
MOST_TRACED = 1000  # instructions of a function in which it is looked where writes go
MOST_INSIDE = 4  # locks taken inside each other, of those that are told apart


@dataclass
class Done:
    """What a piece of code does."""

    calls: dict[str, tuple[int, bool]] = field(default_factory=dict)  # by symbol: where, in a loop
    writes: bool = False  # to memory other than its stack
    through: set[str] = field(default_factory=set)  # registers of parameters that it writes through
    is_known: bool = True  # False: something on the way could not be followed
    passed: set[int] = field(default_factory=set)  # addresses of instructions, callees' too
    ends: bool = False  # whether there is a way to an end at all
    always: frozenset[str] = frozenset()  # of SLOW: what every way to an end calls
    loops: bool = False  # whether it may go round without allocating or freeing memory


class Way(NamedTuple):
    """A place on a way through a function's section, and what was taken since its begin and not
    released: the section's own lock again, and others."""

    at: int
    again: int = 0
    others: int = 0


LEFT = Way(-1)


class Walker:
    """Reads the code of one file."""

    def __init__(self, program: Program):
        self._program = program
        self._callees: dict[int, Done] = {}
        self._left = MOST_FUNCTIONS

    def between(self, start: int, begin: int, ends: Iterable[int]) -> Done:
        """What the function that starts at `start` does from `begin` on, where it has taken a
        lock, up to the calls whose return addresses are in `ends`, or to any other that releases
        it. Which lock a call is about is told by its argument, or else by what was taken last."""
        self._left = MOST_FUNCTIONS
        function = self._program.function(start)
        if function is None or begin not in function.at:
            return Done(is_known=False)
        wanted = frozenset(ends)
        calls = _Calls(function, begin, wanted)

        def step(way: Way) -> Way | None:
            each = function.at[way.at]
            if not (each.is_call or each.is_jump):
                return way
            # Who comes to where the lock was taken has released it, or has not got it then.
            if each.is_call and each.following == begin:
                return LEFT
            is_wanted = each.is_call and each.following in wanted
            if is_wanted or calls.releases(each):
                same = calls.are_of_the_lock(each)
                is_end = is_wanted and same is not False and not way.again
                return None if is_end else _released(way, same)
            return _taken(way, calls.are_of_the_lock(each)) if calls.takes(each) else way

        done = Done()
        follows, found = self._ways(function, begin, step, done)
        self._do_all(function, follows, found, done, 0)
        done.writes |= bool(done.through)
        return done

    def is_empty(self, start: int, begin: int) -> bool | None:
        """Whether nothing is done between `begin` and the release, but that the lock's address is
        made, and whether taking it failed is checked. None where the function, which starts at
        `start`, does not release it, as one that only takes it for its caller."""
        function = self._program.function(start)
        at, before = begin, ""
        for _ in range(MOST_STEPS):
            each = function.at.get(at) if function else None
            if each is None:
                return False
            if (each.is_call or each.is_jump) and knowncalls.is_release(plain_symbol(each.symbol)):
                return _Calls(function, begin).are_of_the_lock(each) is not False
            if each.name.startswith("ret"):
                return None
            if each.is_jump and each.target is not None:
                at = each.target
            elif each.is_conditional and before == "%eax,%eax" and each.name in ("je", "jne"):
                at = each.target if each.name == "je" and each.target else each.following
            elif each.makes_address() or function.is_frame(each):
                at = each.following
            else:
                return False
            before = each.operands if each.name == "test" else ""
        return False

    def _whole(self, function: Function, depth: int) -> Done:
        """What a function does that is called."""

        def step(way: Way) -> Way | None:
            each = function.at[way.at]
            return None if each.name.startswith("ret") or self._leaves(function, each) else way

        done = Done()
        follows, found = self._ways(function, function.start, step, done)
        leaving = {way for way in found if self._leaves(function, function.at[way.at])}
        self._do_all(function, follows, found, done, depth, leaving)
        return done

    @staticmethod
    def _leaves(function: Function, each: Instruction) -> bool:
        """Whether it jumps to another function, as in place of a call and a return."""
        cold = plain_symbol(each.symbol) == f"{function.name}.cold"
        return each.is_jump and each.symbol != "" and each.target not in function.at and not cold

    def _do_all(
        self,
        function: Function,
        follows: dict[Way, list[Way]],
        ends: set[Way],
        done: Done,
        depth: int,
        ends_too: Iterable[Way] = (),
    ) -> None:
        """Adds what is done on the ways to the ends; at ends only where they are in `ends_too`."""
        reaching = _reaching(follows, ends)
        done.ends = bool(reaching)
        for way in sorted((reaching - ends) | set(ends_too)):
            each = function.at[way.at]
            if function.writes(each):
                found = PLACE.match(each.written())
                _add_write(function, each, found[2] if found else "", done)
            if each.is_call or way in ends:
                self._do_call(function, each, way in _reached(follows, way), done, depth)
            elif each.is_jump and self._leaves(function, each):
                done.is_known = False
        done.passed |= {way.at for way in reaching}
        self._look_at_ways(function, follows, reaching, ends, done, depth)

    def _look_at_ways(
        self,
        function: Function,
        follows: dict[Way, list[Way]],
        reaching: set[Way],
        ends: set[Way],
        done: Done,
        depth: int,
    ) -> None:
        """Whether ways to an end, and rounds on these, can do without calls of a kind."""
        begin = next(iter(follows))
        kinds = {way: self._always(function.at[way.at], depth) for way in reaching}
        for kind in SLOW:
            without = {way for way in reaching if kind not in kinds[way]}
            after = {way: [each for each in follows[way] if each in without] for way in without}
            if reaching and not ({begin} & without | _reached(after, begin)) & ends:
                done.always |= {kind}
            if kind != knowncalls.ALLOCATION:
                continue
            done.loops |= any(
                way in _reached(after, way) for way in without if len(follows[way]) > 1
            )

    def _always(self, each: Instruction, depth: int) -> frozenset[str]:
        """What an instruction calls for certain."""
        if not (each.is_call or each.is_jump):
            return frozenset()
        if kind := knowncalls.kind_of(plain_symbol(each.symbol)):
            return frozenset((kind,))
        inside = each.is_call and each.target is not None and "@" not in each.symbol
        return self._callee(each.target, depth + 1).always if inside else frozenset()

    def _ways(
        self, function: Function, begin: int, step: Callable[[Way], Way | None], done: Done
    ) -> tuple[dict[Way, list[Way]], set[Way]]:
        """(what follows each place, those at which a way ends well). `step`: what is held behind
        the instruction; None where the way ends there, LEFT where it is none of the section."""
        follows: dict[Way, list[Way]] = {}
        ends, todo = set(), [Way(begin)]
        while todo:
            way = todo.pop()
            if way in follows:
                continue
            each = function.at.get(way.at)
            if each is None:  # the code goes on where it was not read
                done.is_known = False
                continue
            follows[way] = []
            behind = step(way)
            if behind is None:
                ends.add(way)
            if behind is None or behind is LEFT:
                continue
            follows[way] = [behind._replace(at=at) for at in self._next(function, each, done)]
            todo += follows[way]
        return follows, ends

    def _next(self, function: Function, each: Instruction, done: Done) -> list[int]:
        if each.ends or (each.is_call and knowncalls.never_returns(plain_symbol(each.symbol))):
            return []
        if each.is_jump:
            if each.target is None:  # through a table, or to another file
                done.is_known = False
                return []
            if each.target not in function.at and not self._cold(each, function):
                done.is_known = False
                return []
            return [each.target]
        if each.is_conditional and each.target is not None:
            there = [each.target] if each.target in function.at else self._cold(each, function)
            return [each.following, *there]
        return [each.following]

    def _cold(self, each: Instruction, function: Function) -> list[int]:
        """The part of a function that the compiler put elsewhere is added to it."""
        symbol = plain_symbol(each.symbol)
        if symbol != f"{function.name}.cold":
            return []
        part = self._program.function(each.target) if self._left > 0 else None
        self._left -= 1
        if part is None:
            return []
        function.at.update(part.at)
        return [each.target]

    def _do_call(
        self, function: Function, each: Instruction, looped: bool, done: Done, depth: int
    ) -> None:
        symbol = plain_symbol(each.symbol)
        if knowncalls.kind_of(symbol):
            _add(done, symbol, each.following, looped)
            done.writes = True
        elif knowncalls.only_reads(symbol):
            return
        elif knowncalls.does_little(symbol):
            if knowncalls.may_allocate(symbol):
                _add(done, symbol, each.following, looped)
            done.writes = True
        elif each.target is None or "@" in each.symbol:
            done.is_known = False  # through a pointer, or a library's, of which nothing is known
        else:
            of = self._callee(each.target, depth + 1)
            self._merge(of, looped, done)
            for register in of.through:
                _add_write(function, each, register, done)

    def _callee(self, target: int, depth: int) -> Done:
        if target not in self._callees:
            self._left -= 1
            function = self._program.function(target) if self._left >= 0 else None
            if function is None or depth > MOST_DEPTH:
                return Done(is_known=False)
            self._callees[target] = Done(is_known=False)  # where it calls itself
            self._callees[target] = self._whole(function, depth)
        return self._callees[target]

    @staticmethod
    def _merge(of: Done, looped: bool, done: Done) -> None:
        for symbol, (at, in_loop) in of.calls.items():
            # A function that is called in a loop does not call all that it may in each round: it
            # writes messages where something has failed. Memory it needs now and then.
            kind = knowncalls.kind_of(symbol)
            each_round = kind == knowncalls.ALLOCATION or kind in of.always
            _add(done, symbol, at, (looped and each_round) or in_loop)
        done.writes |= of.writes
        done.loops |= of.loops
        done.is_known &= of.is_known
        done.passed |= of.passed


def repeats(function: Function, at: int) -> bool:
    """Whether an instruction is in a loop of its function, as far as jumps are plain."""
    follows = {
        Way(each.address): [
            *([Way(each.following)] if not (each.ends or each.is_jump) else []),
            *([Way(each.target)] if each.target in function.at and not each.is_call else []),
        ]
        for each in function.at.values()
    }
    return Way(at) in _reached(follows, Way(at))


class _Calls:
    """Which calls of a function take or release a lock: those of known names, and of the functions
    of the program that the section in question begins and ends with."""

    def __init__(self, function: Function, begin: int, ends: Iterable[int] = ()):
        self._function = function
        by_return = {each.following: each for each in function.at.values() if each.is_call}
        taken = by_return.get(begin)
        self._lock = first_argument(function, taken) if taken else None
        self._taking = taken.target if taken else None
        self._releasing = {by_return[end].target for end in ends if end in by_return} - {None}

    def are_of_the_lock(self, call: Instruction) -> bool | None:
        """Whether one that takes or releases a lock is about the section's; None: not known."""
        return are_alike(self._lock, first_argument(self._function, call))

    def takes(self, each: Instruction) -> bool:
        if not each.is_call:
            return False
        by_name = knowncalls.always_acquires(plain_symbol(each.symbol))
        return by_name or (each.target is not None and each.target == self._taking)

    def releases(self, each: Instruction) -> bool:
        return knowncalls.is_release(plain_symbol(each.symbol)) or (
            each.target is not None and each.target in self._releasing
        )


def _taken(way: Way, same: bool | None) -> Way:
    """Behind a call that takes a lock: the section's own (`same`), another, or either (None)."""
    if same:
        return way._replace(again=min(MOST_INSIDE, way.again + 1))
    return way._replace(others=min(MOST_INSIDE, way.others + 1))


def _released(way: Way, same: bool | None) -> Way | None:
    """Behind one that releases a lock; None where that ends the section."""
    if way.others and not same:
        return way._replace(others=way.others - 1)
    if same is False:
        return way
    return way._replace(again=way.again - 1) if way.again else None


def _add_write(function: Function, each: Instruction, register: str, done: Done) -> None:
    """Adds that an instruction writes, or has written, where that register leads to: a function
    that is not optimized makes objects in its own frame by calls that get their addresses."""
    if done.writes:
        return
    traced = register and len(function.at) <= MOST_TRACED
    place = place_of(function, each, register) if traced else None
    if place and place.root in PARAMETERS and len(place.offsets) == 1:
        done.through.add(place.root)
    elif not place or place.root != FRAME:
        done.writes = True


def _add(done: Done, symbol: str, at: int, looped: bool) -> None:
    known = done.calls.get(symbol)
    done.calls[symbol] = (known[0] if known else at, looped or (known is not None and known[1]))


def _reached(follows: dict[Way, list[Way]], begin: Way) -> set[Way]:
    """What can come after an instruction."""
    seen: set[Way] = set()
    todo = list(follows.get(begin, ()))
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += follows.get(at, ())
    return seen


def _reaching(follows: dict[Way, list[Way]], ends: set[Way]) -> set[Way]:
    """The instructions from which an end is reached, the ends too."""
    before: dict[Way, list[Way]] = {}
    for at, those in follows.items():
        for after in those:
            before.setdefault(after, []).append(at)
    return ends.union(*(_reached(before, end) for end in ends))
