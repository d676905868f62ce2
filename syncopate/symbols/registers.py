"""Where a function has a value from: what it passes to another one, or where it writes.

Follows a register backwards from a call, in the instructions of machinecode.py: as far as every way
to the call gives it the same value. Where that is not plain, the answer is None.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from syncopate.symbols.machinecode import Function, Instruction

PARAMETERS = ("%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9")  # of the System V ABI
_KEPT = {"%rbx", "%rbp", "%r12", "%r13", "%r14", "%r15"}  # over calls
_SLOT = re.compile(r"(-?0x[0-9a-f]+)?\((%rbp|%rsp)\)$")
_WIDE = re.compile(r"v?mov\w*(ps|pd|dqa|dqu)\d*$|v?lddqu|rep")  # may write more than a slot
MOST_WIDE = 64  # bytes
MOST_AT_END = 16  # instructions that take down a frame
PLACE = re.compile(r"(-?0x[0-9a-f]+)?\((%r\w+)\)$")
_IMPLICIT = re.compile(r"(rep|stos|movs|cmps|scas|lods|xchg|xadd|cmpxchg|mul|div|idiv|cqto|cltd|"
                       r"cpuid|rdtsc|syscall|loop|mulx)")  # fmt: skip
MOST_STEPS = 2000  # instructions looked at for one register
MOST_POINTERS = 4  # read one behind the other
MOST_TO_STORE = 12  # instructions between a store and what reads it

Value = tuple[str, int]  # a register or a place on the stack, and what is added to it


class Origin(NamedTuple):
    """A value: the root, and the first offset added; then, for each further offset, what lies there
    is read as a pointer, and that offset is added."""

    root: str  # a parameter's register, STATIC, or FRAME
    offsets: tuple[int, ...]

    def plus(self, offset: int) -> Origin:
        return self._replace(offsets=(*self.offsets[:-1], self.offsets[-1] + offset))

    def beside(self, other: Origin) -> int | None:
        """How far the other one lies behind it in one object; None where that is not known."""
        same = (self.root, self.offsets[:-1]) == (other.root, other.offsets[:-1])
        return other.offsets[-1] - self.offsets[-1] if same else None

    def within(self, passed: Origin, register: str = PARAMETERS[0]) -> Origin | None:
        """The same as its caller has it, who passes that in this register."""
        if self.root != register:
            return None
        first = passed.offsets[-1] + self.offsets[0]
        return Origin(passed.root, (*passed.offsets[:-1], first, *self.offsets[1:]))


STATIC = ""  # its first offset is an address
FRAME = "frame"  # an address within the function's own frame; its offset tells nothing

Keeps = Callable[[Instruction, str], bool]


def _nothing(call: Instruction, register: str) -> bool:
    return False


def origin(
    function: Function, user: Instruction, register: str, keeps: Keeps = _nothing
) -> Origin | None:
    """What `register` holds at this instruction, where that is not in its own frame. `keeps`:
    whether a call leaves a register alone that it need not."""
    found = place_of(function, user, register, keeps)
    return None if found and found.root == FRAME else found


def place_of(
    function: Function,
    user: Instruction,
    register: str,
    keeps: Keeps = _nothing,
    follows_stores: bool = True,
) -> Origin | None:
    """The same, where it may be an address in the function's own frame, too."""
    order, at = function.order()
    targets = function.targets()
    value, index = (register, 0), at[user.address] - 1
    behind_pointers: tuple[int, ...] = ()
    setting = -1  # where other ways may lead to what follows, but all have the value from here
    seen: set[tuple[str, int]] = set()
    for _ in range(MOST_STEPS):
        if index < 0:
            name, offset = value
            known = name in PARAMETERS and function.start not in targets
            return Origin(name, (offset, *behind_pointers)) if known else None
        if value[0] == "%rsp" or (value[0] == "%rbp" and function.has_frame_pointer):
            return None if behind_pointers else Origin(FRAME, (value[1],))
        each, behind = order[index], order[index + 1].address
        if index != setting and (
            behind in targets
            or each.following != behind  # there another part of the function begins
            or each.is_jump
            or each.ends
            or (each.is_call and not _is_kept(value[0]) and not keeps(each, value[0]))
        ):
            # Other ways lead here: right only for what is set once in the whole function.
            found = _only_setting(function, value[0]) if _is_kept(value[0]) else None
            if found is None or (value[0], found) in seen:
                return None
            seen.add((value[0], found))
            index = setting = at[found]
            continue
        if _sets(each, value[0]) and each.data is not None:
            found = _static(each, value)
            return found and Origin(STATIC, (*found, *behind_pointers))
        step = _before(function, each, value)
        if step is None:
            stored = _stored(function, each, value) if follows_stores else None
            if stored is not None:
                value, index = (stored[0], value[1]), at[stored[1]] - 1
                continue
            step = _read_from(each, value)
            behind_pointers = (value[1], *behind_pointers)
        if step is None or len(behind_pointers) > MOST_POINTERS:
            return None
        value, index = step, index - 1
    return None


def _static(each: Instruction, value: Value) -> tuple[int, ...] | None:
    """What is at a static address that stands in the instruction, or that address."""
    parts = operands_of(each.operands)
    if len(parts) != 2 or parts[1] != value[0] or "(%rip)" not in parts[0]:
        return None
    if each.name in ("lea", "leaq"):
        return (each.data + value[1],)
    return (each.data, value[1]) if each.name in ("mov", "movq") else None


def _read_from(each: Instruction, value: Value) -> Value | None:
    """The place of the pointer that an instruction reads into the register."""
    parts = operands_of(each.operands)
    if len(parts) != 2 or parts[1] != value[0] or each.name not in ("mov", "movq"):
        return None
    found = PLACE.match(parts[0])
    return (found[2], int(found[1] or "0", 16)) if found and found[2] != "%rip" else None


def _stored(function: Function, read: Instruction, value: Value) -> tuple[str, int] | None:
    """The register that was stored where an instruction reads, and the address of the instruction
    that did so shortly before: as constructors that are not optimized pass on what they keep."""
    source = _read_from(read, value)
    wanted = source and place_of(function, read, source[0], follows_stores=False)
    if not wanted or wanted.root == FRAME:
        return None
    order, places = function.order()
    index = places[read.address]
    for each in reversed(order[max(0, index - MOST_TO_STORE) : index]):
        if each.following in function.targets() or each.is_jump or each.is_call or each.ends:
            return None
        if each.is_conditional:
            return None
        if not function.writes(each):
            continue
        found = PLACE.match(each.written())
        base = found and place_of(function, each, found[2], follows_stores=False)
        if not base or base.plus(int(found[1] or "0", 16)) != wanted.plus(source[1]):
            return None  # it may be another place, or the same
        stored = operands_of(each.operands)[0]
        plain = each.name in ("mov", "movq") and stored == whole_register(stored)
        return (stored, each.address) if plain and stored.startswith("%r") else None
    return None


def _is_kept(name: str) -> bool:
    return name in _KEPT or _SLOT.match(name) is not None


def _is_slot(function: Function, operand: str) -> bool:
    """Whether this is one place of the function's frame, wherever in it that is said."""
    found = _SLOT.match(operand)
    if not found:
        return False
    return function.has_frame_pointer if found[2] == "%rbp" else _is_frame_fixed(function)


def _is_frame_fixed(function: Function) -> bool:
    """Whether the stack pointer stays as it is from the function's first instructions to those that
    take the frame down."""
    order, _ = function.order()
    begin = next(
        (i for i, each in enumerate(order) if each.is_call or each.is_jump or each.is_conditional
         or each.ends), 0,
    )  # fmt: skip
    changes = [i for i, each in enumerate(order) if _moves_stack(each)]
    before = max((i for i in changes if i < begin), default=0)
    if any("(%rsp)" in each.operands for each in order[:before]):
        return False
    for i in (i for i in changes if i > before):
        for each in order[i : i + MOST_AT_END]:
            if each.ends or each.is_jump:
                break
            if each.is_call or each.is_conditional or "(%rsp)" in each.operands:
                return False
            if each.name.startswith(("push", "sub")):
                return False
        else:
            return False
    return True


def _moves_stack(each: Instruction) -> bool:
    return each.name.startswith(("push", "pop", "leave", "enter")) or (
        operands_of(each.operands)[-1] == "%rsp" and not each.name.startswith(("cmp", "test"))
    )


def _is_written_otherwise(function: Function, slot: str) -> bool:
    """Whether a wide write may reach a slot."""
    at = int(_SLOT.match(slot)[1] or "0", 16)
    for each in function.at.values():
        wide = _WIDE.match(each.name) and _SLOT.match(operands_of(each.operands)[-1])
        if wide and -MOST_WIDE < int(wide[1] or "0", 16) - at < 8:
            return True
    return False


def _only_setting(function: Function, name: str) -> int | None:
    """Where the function sets what it keeps, if it does that once, or in steps that nothing leads
    into: the last one. What it restores at its end does not count."""
    is_shared = _SLOT.match(name) and any(
        each.name.startswith("lea") and operands_of(each.operands)[0] == name
        for each in function.at.values()
    )
    if is_shared or (_SLOT.match(name) and _is_written_otherwise(function, name)):
        return None  # others may set it
    found = [
        each.address
        for each in function.at.values()
        if _sets(each, name) and not each.name.startswith("pop")
    ]
    if not found:
        return None
    order, places = function.order()
    steps = order[places[min(found)] : places[max(found)] + 1]
    apart = any(each.is_jump or each.is_conditional or each.is_call or each.ends for each in steps)
    entered = any(each.address in function.targets() for each in steps[1:])
    return None if apart or entered else max(found)


def operands_of(text: str) -> list[str]:
    """An instruction's operands, the last one the target, as AT&T's syntax has them."""
    parts, depth, begin = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(text[begin:index].strip())
            begin = index + 1
    return [*parts, text[begin:].strip()]


def whole_register(register: str) -> str:
    """The 64-bit register that one is a part of."""
    name = register.removeprefix("%")
    if found := re.fullmatch(r"r(\d+)[bwd]?", name):
        return f"%r{found[1]}"
    letters = {"a": "ax", "b": "bx", "c": "cx", "d": "dx"}
    if found := re.fullmatch(r"[re]?([abcd])[xlh]", name):
        return f"%r{letters[found[1]]}"
    if found := re.fullmatch(r"[re]?(si|di|bp|sp)l?", name):
        return f"%r{found[1]}"
    return register


def _sets(each: Instruction, name: str) -> bool:
    if each.name.startswith(("cmp", "test", "push", "nop", "j", "call", "prefetch")) or (
        each.name.startswith("bt") and each.name in ("bt", "btl", "btq")
    ):
        return False
    last = operands_of(each.operands)[-1]
    if name.startswith("%"):
        if _IMPLICIT.match(each.name) and not each.name.startswith(("movsb", "movsw", "movsl")):
            return name not in _KEPT or name in map(whole_register, operands_of(each.operands))
        return last.startswith("%") and whole_register(last) == name
    return last == name


def _before(function: Function, each: Instruction, value: Value) -> Value | None:
    """What gave the value, before an instruction; None where that is not known."""
    name, offset = value
    if not _sets(each, name):
        return value
    parts = operands_of(each.operands)
    if len(parts) != 2 or (name.startswith("%") and parts[1] != name):
        return None  # a part of the register
    source = parts[0]
    if each.name in ("mov", "movq"):
        full = source.startswith("%r") and not re.search(r"\d[bwd]$", source)
        return (source, offset) if full or _is_slot(function, source) else None
    if each.name in ("lea", "leaq") and (found := PLACE.match(source)):
        return (found[2], offset + int(found[1] or "0", 16)) if found[2] != "%rip" else None
    if each.name in ("add", "addq", "sub", "subq") and source.startswith("$"):
        number = int(source[1:], 16)
        number -= (number >> 63) << 64
        return name, offset + (number if each.name.startswith("add") else -number)
    return None
