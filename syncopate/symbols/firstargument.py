"""Which object a call is about: its first argument, as far as the code before the call tells.

A static object is known by its address, a local one by its place in the frame, a member by the
register that has the object and its offset there. What is not plain is told as unknown.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from syncopate.symbols.machinecode import Function, Instruction

MOST_REMEMBERED = 1 << 16  # instructions, as they are written
MOST_STEPS = 24  # instructions before the call that are looked at
_REGISTER = re.compile(r"%(\w+)")
_MEMORY = re.compile(r"(-?(?:0x)?[0-9a-f]*)\(%(\w+)\)")
_NUMBER = re.compile(r"\$(0x[0-9a-f]+)")
_SUBREGISTER = re.compile(r"[er]?([abcd])[xlh]|[er]?(si|di|bp|sp)l?|(r\d+)[dwb]?")
# What a call may change.
_LOST_BY_CALLS = frozenset(("a", "c", "d", "si", "di", "r8", "r9", "r10", "r11"))
FRAME = "frame"
_WRITES_NOTHING = ("cmp", "test", "push", "nop", "endbr", "bt", "j", "call")


class Place(NamedTuple):
    """What is known of an object: `base` "" for a static one, FRAME for a local one, else a
    register."""

    base: str
    offset: int


def first_argument(function: Function, call: Instruction) -> Place | None:
    """The object that a call is about; None where that is not plain."""
    before = _before(function, call.address)
    return _value(function, before, len(before), "di")


def are_alike(one: Place | None, other: Place | None) -> bool | None:
    """Whether two calls of one function are about one object; None where nobody can tell, as where
    a register may have had another object meanwhile."""
    if one is None or other is None or one.base != other.base:
        return None
    if one.offset != other.offset:
        return False
    return True if one.base in ("", FRAME) else None


def _before(function: Function, address: int) -> list[Instruction]:
    """The instructions that run before one, in order, as far back as nothing else leads there."""
    order, places = function.order()
    found: list[Instruction] = []
    at = places[address]
    while at > 0 and len(found) < MOST_STEPS:
        if order[at].address in function.targets():
            break
        at -= 1
        if order[at].is_jump or order[at].ends:
            break
        found.append(order[at])
    return found[::-1]


def _value(function: Function, before: list[Instruction], at: int, register: str) -> Place | None:
    """What a register has behind the first `at` of these instructions."""
    while at > 0:
        at -= 1
        each = before[at]
        if each.is_call and register in _LOST_BY_CALLS:
            return None
        if register not in _written(each):
            continue
        source, _, _ = each.operands.rpartition(",")
        if each.name.startswith("lea"):
            return _address(function, each, source)
        if not each.name.startswith("mov"):
            return None
        if number := _NUMBER.fullmatch(source):
            return Place("", int(number[1], 16))
        if (of := _REGISTER.fullmatch(source)) and not of[1].startswith("xmm"):
            return _value(function, before, at, _whole(of[1]))
        return None
    return _kept(function, register)


def _address(function: Function, each: Instruction, source: str) -> Place | None:
    if each.data is not None:
        return Place("", each.data)
    if found := _MEMORY.fullmatch(source):
        offset = int(found[1] or "0", 16)
        register = _whole(found[2])
        if register == "sp" or (register == "bp" and function.has_frame_pointer):
            return Place(FRAME, offset)
        of = _kept(function, register)
        return Place(of.base, of.offset + offset) if of else None
    return None


def _kept(function: Function, register: str) -> Place | None:
    """Of a register that calls leave alone: what it has in all of the function, where it is given
    a static object's address once; else the register."""
    if register in _LOST_BY_CALLS or register == "sp":
        return None
    sources = [
        each
        for each in function.at.values()
        if register in _written(each) and not each.name.startswith("pop")
    ]
    if len(sources) == 1 and sources[0].name.startswith("lea") and sources[0].data is not None:
        return Place("", sources[0].data)
    return Place(register, 0)


def _written(each: Instruction) -> tuple[str, ...]:
    """The register that an instruction changes, as far as calls' arguments are made of it."""
    return _written_by(each.name, each.operands)


@functools.lru_cache(MOST_REMEMBERED)
def _written_by(name: str, operands: str) -> tuple[str, ...]:
    if name.startswith(_WRITES_NOTHING):
        return ()
    if name.startswith("xchg"):
        return tuple(map(_whole, _REGISTER.findall(operands)))
    last = operands.rpartition(",")[2].strip()
    found = _REGISTER.fullmatch(last)
    return (_whole(found[1]),) if found else ()


def _whole(register: str) -> str:
    """rdi, edi, di and dil are parts of one register."""
    found = _SUBREGISTER.fullmatch(register)
    return next(filter(None, found.groups())) if found else register
