"""Loops that spin: code of x86-64 that waits for memory to change, or lets time pass.

Told by the shortest way from an instruction, at which a thread was seen to run, back to it. It
spins where PAUSE is on that way; where it does nothing but count; or where each round does the same
as the one before unless memory changes: nothing that it keeps depends on the round before, and it
writes nothing that others see but by exchanging. Code need not have symbols. What cannot be
followed is taken to be no spinning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from syncopate.symbols.machinecode import Instruction, Program
from syncopate.symbols.registers import operands_of, whole_register

MOST_STEPS = 40  # instructions of a round
MOST_READ = 160  # looked at from one address
PAUSES = ("pause", "tpause", "umwait", "mwait", "mwaitx")
_EXCHANGED = "exchanged()"
_BY_ITSELF = re.compile(r"(nop\w*|endbr64|[lm]fence|jmp\w*|j\w+|data16)$")
_COPIES = re.compile(r"(mov(abs|[bwlq]|[sz]\w+)?|lea\w?|set\w+)$")
_COMPARES = re.compile(r"(cmp|test|bt)[bwlq]?$")
_CHANGES = re.compile(
    r"(add|sub|and|or|xor|adc|sbb|inc|dec|neg|not|imul|sh[lr]|sa[lr]|ro[lr]|cmov\w+)[bwlq]?$"
)
_EXCHANGES = re.compile(r"(xchg|cmpxchg)[bwlq]?$")
_CLOCKS = ("rdtsc", "rdtscp")
_COUNTS = re.compile(r"(add|sub|inc|dec)[bwlq]?$")
_EXTENDS = {"cltq": "%rax", "cwtl": "%rax", "cbtw": "%rax"}
_REGISTER = re.compile(r"%(?![defgcs]s\b)\w+")
# A function's own variables: where it keeps no frame pointer, %rbp may point to anything else.
_OWN = re.compile(r"(-?(0x[0-9a-f]+)?\(%rsp\)|-0x[0-9a-f]+\(%rbp\))$")
_Uses = tuple[set[str], set[str]]  # what an instruction reads, and writes


class _Unknown(Exception):
    """An instruction of which it is not known what it reads and writes."""


def spinning(program: Program, address: int) -> list[int]:
    """The instructions of the loop that spins at this link-time address, the lowest first; none: it
    does not, as far as is known. Of a function that does nothing but pause, that address itself."""
    here = program.instruction(address)
    if here is None:
        return []
    way = _round(program, here)
    if not way:  # a function that pauses for its callers
        return [address] if here.name in PAUSES or program.follows_pause(address) else []
    if any(each.name in PAUSES for each in way) or _only_counts(way) or _is_same_each_time(way):
        return sorted(each.address for each in way)
    return []


def _round(program: Program, start: Instruction) -> list[Instruction]:
    """The shortest way from the instruction back to it, in order; empty: there is none."""
    before: dict[int, Instruction | None] = {start.address: None}
    ways = [start]
    for _ in range(MOST_STEPS):
        further = []
        for each in ways:
            for at in _next(each):
                if at == start.address:
                    return _way_to(each, before)
                if at in before or len(before) >= MOST_READ:
                    continue
                found = program.instruction(at)
                if found is not None:
                    before[at] = each
                    further.append(found)
        ways = further
    return []


def _way_to(last: Instruction, before: dict[int, Instruction | None]) -> list[Instruction]:
    way, each = [], last
    while each is not None:
        way.append(each)
        each = before[each.address]
    return way[::-1]


def _next(each: Instruction) -> Iterator[int]:
    """Where it goes on, as far as that is known; not in what it calls."""
    if each.ends or each.name.startswith("sys"):
        return
    if (each.is_jump or each.is_conditional) and each.target is not None:
        yield each.target
    if not each.is_jump:
        yield each.following


def _only_counts(way: list[Instruction]) -> bool:
    """Whether a round changes one number by as much each time, and does no more than copy it and
    compare it: as who lets time pass before another try."""
    steps = [each for each in way if not _BY_ITSELF.match(each.name)]
    counted = [operands_of(each.operands)[-1] for each in steps if _COUNTS.match(each.name)]
    if len(counted) != 1:
        return False
    operands = [of for each in steps for of in operands_of(each.operands)]
    if _place(counted[0]) in set().union(*map(_registers_of_address, operands)):
        return False  # it goes through memory
    return all(_counts_or_copies(each, operands_of(each.operands)) for each in steps)


def _counts_or_copies(each: Instruction, operands: Sequence[str]) -> bool:
    """Whether it adds a constant, copies or compares, in registers and on the function's stack."""
    if not all("(" not in (_place(of) or "") or _OWN.match(of) for of in operands):
        return False
    if _COUNTS.match(each.name):
        return len(operands) == 1 or operands[0].startswith("$")
    return bool(_COMPARES.match(each.name)) or each.name.startswith("mov")


def _is_same_each_time(way: list[Instruction]) -> bool:
    """Whether a round does what the one before did, unless memory changed that it reads."""
    try:
        steps = [_uses(each) for each in way]
    except _Unknown:
        return False
    for at, each in enumerate(way):
        # Who expects what memory held before changes it by that, again where another was faster.
        if each.name.startswith("cmpxchg") and _is_from_memory(steps, at, "%rax"):
            return False
    if _has_cycle([_sources(steps, at, reads) for at, (reads, _) in enumerate(steps)]):
        return False
    return any(_reads_memory(reads) for reads, _ in steps)


def _reads_memory(places: Iterable[str]) -> bool:
    return any("(" in place or place in _CLOCKS for place in places)


def _is_from_memory(steps: Sequence[_Uses], at: int, place: str) -> bool:
    """Whether what this step reads there was read from memory before, or is not plain."""
    sources = _sources(steps, at, [place])
    for _ in range(len(steps)):
        if any(_reads_memory(steps[each][0]) for each in sources):
            return True
        sources = set().union(*(_sources(steps, each, steps[each][0]) for each in sources))
    return bool(sources)


def _sources(steps: Sequence[_Uses], at: int, places: Iterable[str]) -> set[int]:
    """Which steps of a round have last written these places before that step, in this round or the
    last."""
    found = set()
    for place in places:
        before = ((at - back) % len(steps) for back in range(1, len(steps) + 1))
        found |= {next((each for each in before if place in steps[each][1]), -1)}
    return found - {-1}


def _has_cycle(sources: Sequence[set[int]]) -> bool:
    """Whether what a step reads depends on what the same step did a round before."""
    left = {at: set(of) for at, of in enumerate(sources)}
    while free := [at for at, of in left.items() if not of & left.keys()]:
        for at in free:
            del left[at]
    return bool(left)


def _uses(each: Instruction) -> _Uses:
    """What it reads and what it writes: registers, memory as it is addressed, and clocks."""
    if each.is_call:
        raise _Unknown
    if each.name in PAUSES or _BY_ITSELF.match(each.name):
        return set(), set()
    if each.name in _CLOCKS:
        return {each.name}, {"%rax", "%rdx", *(["%rcx"] * (each.name == "rdtscp"))}
    if each.name in _EXTENDS:
        return {_EXTENDS[each.name]}, {_EXTENDS[each.name]}
    operands = operands_of(each.operands)
    addresses = set().union(*map(_registers_of_address, operands))
    places = [_place(operand) for operand in operands]
    last, others = places[-1], set(filter(None, places[:-1]))
    if _COMPARES.match(each.name):
        return {*addresses, *filter(None, places)}, set()
    if each.name.startswith("lea"):
        return addresses, _written(last, False)
    if _COPIES.match(each.name):
        return addresses | others, _written(last, False)
    if _EXCHANGES.match(each.name):
        also = {"%rax"} if each.name.startswith("cmpxchg") else others
        # Memory that is exchanged is what others may change.
        kept = {place for place in (*also, *others, last) if place and "(" not in place}
        written = kept if each.name.startswith("xchg") else {"%rax"}
        return {*addresses, *kept, _EXCHANGED}, written
    if _CHANGES.match(each.name) and not (each.name.startswith("imul") and len(places) == 1):
        if each.name.startswith(("xor", "sub")) and len(places) == 2 and places[0] == places[1]:
            return set(), _written(last, False)
        return {*addresses, *others, *filter(None, [last])}, _written(last, True)
    raise _Unknown


def _written(place: str | None, also_read: bool) -> set[str]:
    """What it writes, where nobody else sees that."""
    if place is None or ("(" in place and not _OWN.match(place)):
        raise _Unknown
    return {place}


def _registers_of_address(operand: str) -> set[str]:
    if "(" not in operand:
        return set()
    return {whole_register(each) for each in _REGISTER.findall(operand)} - {"%rip"}


def _place(operand: str) -> str | None:
    """A register as a whole, or a memory operand; None: a number."""
    if "(" in operand or re.match(r"%[defgcs]s:", operand):
        return operand if "(" in operand else f"{operand}()"
    if operand.startswith("%"):
        return whole_register(operand)
    return None if operand.startswith("$") else f"{operand}()"
