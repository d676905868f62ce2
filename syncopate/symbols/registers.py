"""What a function passes to another one: which of its own parameters, and where in that.

Follows a register backwards from a call, in the instructions of machinecode.py: as far as every way
to the call gives it the same value. Where that is not plain, the answer is None.
"""

from __future__ import annotations

import re

from syncopate.symbols.machinecode import Function, Instruction

PARAMETERS = ("%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9")  # of the System V ABI
_KEPT = {"%rbx", "%rbp", "%r12", "%r13", "%r14", "%r15"}  # over calls
_SLOT = re.compile(r"-?0x[0-9a-f]+\(%rbp\)$")
_BASE = re.compile(r"(-?0x[0-9a-f]+)?\((%r\w+)\)$")
_IMPLICIT = re.compile(r"(rep|stos|movs|cmps|scas|lods|xchg|xadd|cmpxchg|mul|div|idiv|cqto|cltd|"
                       r"cpuid|rdtsc|syscall|loop|mulx)")  # fmt: skip
MOST_STEPS = 2000  # instructions looked at for one register

Value = tuple[str, int]  # a register or a place on the stack, and what is added to it


def parameter_passed(
    function: Function, call: Instruction, register: str
) -> tuple[int, int] | None:
    """(number of the function's own parameter, offset): what `register` holds at this call."""
    order = [address for address in sorted(function.at) if address >= function.start]
    at = {address: index for index, address in enumerate(order)}
    targets = {each.target for each in function.at.values() if not each.is_call}
    value, index = (register, 0), at[call.address] - 1
    seen: set[tuple[str, int]] = set()
    for _ in range(MOST_STEPS):
        if index < 0:
            return None if function.start in targets else _parameter(value)
        each = function.at[order[index]]
        behind = order[index + 1]
        if (
            behind in targets
            or each.is_jump
            or each.ends
            or (each.is_call and not _is_kept(value[0]))
        ):
            # Other ways lead here: right only for what is set once in the whole function.
            found = _only_setting(function, value[0]) if _is_kept(value[0]) else None
            if found is None or (value[0], found) in seen:
                return None
            seen.add((value[0], found))
            index = at[found]
            continue
        step = _before(each, value)
        if step is None:
            return None
        value, index = step, index - 1
    return None


def _parameter(value: Value) -> tuple[int, int] | None:
    name, offset = value
    return (PARAMETERS.index(name), offset) if name in PARAMETERS and offset >= 0 else None


def _is_kept(name: str) -> bool:
    return name in _KEPT or _SLOT.match(name) is not None


def _only_setting(function: Function, name: str) -> int | None:
    """Where the function sets what it keeps, if it does that once; what it restores at its end
    does not count."""
    is_shared = _SLOT.match(name) and any(
        each.name.startswith("lea") and _operands(each.operands)[0] == name
        for each in function.at.values()
    )
    if is_shared:
        return None  # others may set it
    found = [
        each.address
        for each in function.at.values()
        if _sets(each, name) and not each.name.startswith("pop")
    ]
    return found[0] if len(found) == 1 else None


def _operands(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(text[begin:index].strip())
            begin = index + 1
    return [*parts, text[begin:].strip()]


def _whole(register: str) -> str:
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
    last = _operands(each.operands)[-1]
    if name.startswith("%"):
        if _IMPLICIT.match(each.name) and not each.name.startswith(("movsb", "movsw", "movsl")):
            return name not in _KEPT or name in map(_whole, _operands(each.operands))
        return last.startswith("%") and _whole(last) == name
    return last == name


def _before(each: Instruction, value: Value) -> Value | None:
    """What gave the value, before an instruction; None where that is not known."""
    name, offset = value
    if not _sets(each, name):
        return value
    parts = _operands(each.operands)
    if len(parts) != 2 or (name.startswith("%") and parts[1] != name):
        return None  # a part of the register
    source = parts[0]
    if each.name in ("mov", "movq"):
        full = source.startswith("%r") and not re.search(r"\d[bwd]$", source)
        return (source, offset) if full or _SLOT.match(source) else None
    if each.name in ("lea", "leaq") and (found := _BASE.match(source)):
        return (found[2], offset + int(found[1] or "0", 16)) if found[2] != "%rip" else None
    if each.name in ("add", "addq", "sub", "subq") and source.startswith("$"):
        number = int(source[1:], 16)
        number -= (number >> 63) << 64
        return name, offset + (number if each.name.startswith("add") else -number)
    return None
