"""Functions of x86-64 programs as instructions, read by objdump (binutils), where it is installed.

Tells of each instruction where it leads, what it calls, and whether it writes to memory other than
the stack. What is not plain from the instruction alone is told as unknown, never guessed.
"""

from __future__ import annotations

import bisect
import functools
import re
import shutil
from collections.abc import Callable, Sequence
from typing import NamedTuple

from syncopate.symbols.codeslices import PLAIN, Slices, told

LONGEST = 1 << 15  # bytes of one function
FEW, LONGEST_ONE = 64, 15  # bytes read for one instruction, and what one may have
PAUSE = b"\xf3\x90"
PIECE = 1 << 12  # read at least: what starts the tool anew for each function takes longest
_LINE = re.compile(r" *([0-9a-f]+):\t(\S.*)")
_HEAD = re.compile(r"[0-9a-f]+ <(.*)>:")
_TARGET = re.compile(r"(?:0x)?([0-9a-f]+)(?: <([^>]*)>)?")
_DATA = re.compile(r"# (?:0x)?([0-9a-f]+)(?: <([^>]*)>)?")
_FURTHER = re.compile(r"\+0x[0-9a-f]+$")  # behind a symbol's begin
_ADDED = re.compile(r"(@plt|\+0x[0-9a-f]+|@+[A-Z][\w.]*)+$")
_PREFIX = re.compile(r"(lock|rep[nz]*|bnd|notrack|data16|cs|ds|es|ss|fs|gs|xacquire|xrelease) ")
# With a memory operand alone, or as the last one, these only read it.
_READS = re.compile(
    r"(cmp(?!xchg)|test|bt[lqw]?$|push|v?u?comis|v?p?test|jmp|call|nop|prefetch|i?mul|i?div|"
    r"fi?ld|f(i?)(add|sub|mul|div|com)|ldmxcsr|vldmxcsr|clflush|verr|verw)"
)
_STACK = re.compile(r"\((%rsp|%rbp)")
_CONDITIONAL = re.compile(r"j(?!mp)|loop|xbegin")
_FRAME_POINTER = "%rsp,%rbp"
_ARGUMENT = re.compile(r".*,%(rdi|edi)")
_FROM_STACK = re.compile(r"-?(0x[0-9a-f]+)?\((%rsp|%rbp)\),%\w+")


class Instruction(NamedTuple):
    """One instruction of a function; addresses are those of the link."""

    address: int
    name: str
    operands: str
    target: int | None  # of a direct jump or call
    symbol: str  # what is called or jumped to, as the file names it; "" where that is not known
    data: int | None  # a variable's address that stands in it
    following: int  # the address behind it

    @property
    def is_call(self) -> bool:
        return self.name.startswith("call")

    @property
    def is_jump(self) -> bool:
        return self.name.startswith("jmp")

    @property
    def is_conditional(self) -> bool:
        return _CONDITIONAL.match(self.name) is not None

    @property
    def ends(self) -> bool:
        """Whether nothing follows it: a return, or what stops the program."""
        return self.name.startswith(("ret", "ud2", "hlt", "int3", "iret"))

    def makes_address(self) -> bool:
        """Whether it does no more than what makes the argument of a call, of what a function has in
        registers and on its stack; or checks a call's result."""
        if self.name.startswith("nop") or self.name in ("endbr64", "cltq"):
            return True
        if self.name == "test":
            return self.operands == "%eax,%eax"
        if self.name.startswith("lea"):
            return True
        if not self.name.startswith("mov"):
            return False
        registers = "(" not in self.operands and not self.written()
        return bool(
            registers or _ARGUMENT.fullmatch(self.operands) or _FROM_STACK.fullmatch(self.operands)
        )

    def written(self) -> str:
        """The memory operand that it writes to; "" where it writes none."""
        last = _last_operand(self.operands)
        if "(" not in last and not re.match(r"(%[defgs]s:)?0x[0-9a-f]+$", last):
            return ""
        if self.is_call or self.is_jump or self.is_conditional or self.name.startswith("lea"):
            return ""
        return "" if _READS.match(self.name) else last


class Function:
    """A function's instructions, by address, as far as its own range goes."""

    def __init__(self, start: int, name: str, instructions: list[Instruction]):
        self.start = start
        self.name = name
        self.at = {each.address: each for each in instructions}
        self._order: list[Instruction] = []
        self._places: dict[int, int] = {}
        self._targets: frozenset[int] = frozenset()
        self.has_frame_pointer = any(
            each.name.startswith("mov") and each.operands == _FRAME_POINTER for each in instructions
        )

    def order(self) -> tuple[list[Instruction], dict[int, int]]:
        """The instructions by address, and the place of each there; the first one is the
        function's, and parts that were put before it come last."""
        if len(self._order) != len(self.at):
            by_place = sorted(self.at, key=lambda address: (address < self.start, address))
            self._order = [self.at[address] for address in by_place]
            self._places = {each.address: place for place, each in enumerate(self._order)}
            self._targets = frozenset(
                each.target for each in self._order if each.target and not each.is_call
            )
        return self._order, self._places

    def targets(self) -> frozenset[int]:
        """The addresses to which it jumps."""
        self.order()
        return self._targets

    @staticmethod
    def is_frame(instruction: Instruction) -> bool:
        """Whether it takes down the function's frame, as before it jumps to its last call."""
        to_stack = instruction.operands.endswith("%rsp")
        return instruction.name in ("pop", "leave") or (
            to_stack and instruction.name.startswith("add")
        )

    def writes(self, instruction: Instruction) -> bool:
        """Whether it writes to memory that is not known to be the function's own stack."""
        operand = instruction.written()
        found = _STACK.search(operand)
        own = found is not None and (found[1] == "%rsp" or self.has_frame_pointer)
        return bool(operand) and not own


class Program:
    """The machine code of one file."""

    def __init__(
        self,
        path: str,
        symbols: Callable[[], dict[int, str]] = dict,
        loads: Sequence[tuple[int, int, int, int]] = (),
        sizes: Callable[[], dict[int, int]] = dict,
    ):
        """`symbols`: of each function where it begins, also where only a separate file says so;
        `sizes`: how many bytes it has. `loads`: how the file is mapped, as Identity of names.py has
        it."""
        self._path, self._symbols = path, functools.cache(symbols)
        self._sizes = sizes
        self._starts = functools.cache(lambda: sorted(self._symbols()))
        self._tool = shutil.which("objdump")
        self._functions: dict[int, Function | None] = {}
        self._told: dict[int, tuple[str, list[tuple[int, str]]]] = {}  # read with those before them
        self._single: dict[int, Instruction | None] = {}
        self._slices = Slices(self._tool or "", path, loads)

    def function(self, start: int) -> Function | None:
        """The function that begins at a link-time address; None where nothing can be read."""
        if start not in self._functions:
            self._functions[start] = self._read(start)
        return self._functions[start]

    def instruction(self, address: int) -> Instruction | None:
        """The one that begins at a link-time address, where one does; calls have no symbols. None
        where nothing can be read."""
        if address not in self._single:
            self._single[address] = None
            text = self._slices.lines(address, address + FEW + LONGEST_ONE) if self._tool else ""
            found = [line for line in map(_LINE.fullmatch, text.splitlines()) if line]
            # The last ones may be cut off.
            ends = [int(each[1], 16) for each in found[1:]]
            for each, end in zip(found, ends):
                if end <= address + FEW + 1:
                    at = int(each[1], 16)
                    self._single[at] = _parse(at, each[2], end)
        return self._single[address]

    def follows_pause(self, address: int) -> bool:
        """Whether the instruction before that address is PAUSE."""
        return self._slices.bytes_of(address - len(PAUSE), address) == PAUSE

    def _read(self, start: int) -> Function | None:
        if self._tool is None:
            return None
        if start not in self._told:
            self._tell(start)
        name, lines = self._told.pop(start, ("", []))
        if not lines:
            return None
        ends = [at for at, _ in lines[1:]] + [self._end(start, lines)]
        parsed = (_parse(*line, end) for line, end in zip(lines, ends))
        name = self._symbols().get(start, name)
        return Function(start, name, [self._resolved(each, lines) for each in parsed])

    def _end(self, start: int, lines: list[tuple[int, str]]) -> int:
        return max(lines[-1][0] + 1, start + self._sizes().get(start, 0))

    def _tell(self, start: int) -> None:
        """Has the tool print from there on, a piece or the whole function, and keeps what it says
        of the functions that are whole; the first one need not be."""
        found: list[tuple[str, list[tuple[int, str]]]] = []
        for line in self._printed(start).splitlines():
            if head := _HEAD.fullmatch(line):
                found.append((head[1], []))
            elif found and (each := _LINE.fullmatch(line)):
                at = int(each[1], 16)
                if found[-1][1] and at in self._symbols():
                    found.append((self._symbols()[at], []))
                found[-1][1].append((at, each[2]))
        for name, lines in found[:1] + found[1:-1]:
            if lines:
                own = self._within(lines) if self._is_sliced(start) else lines
                self._told.setdefault(lines[0][0], (name, own))

    def _is_sliced(self, start: int) -> bool:
        """The tool's own symbols are wanted where ours do not have this function."""
        return start in self._symbols()

    def _within(self, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Without what follows a section's last function."""
        start = lines[0][0]
        size = self._sizes().get(start)
        return [line for line in lines if line[0] < start + size] if size else lines

    def _printed(self, start: int) -> str:
        starts = self._starts()
        index = bisect.bisect_right(starts, start)
        end = starts[index] if index < len(starts) else start + LONGEST
        stop = min(max(end, start + PIECE), start + LONGEST)
        text = self._slices.lines(start, stop) if self._is_sliced(start) else ""
        if text:
            return text
        ends = [f"--start-address={start:#x}", f"--stop-address={stop:#x}"]
        return told([self._tool, "-d", *PLAIN, *ends, "--", self._path])

    def _resolved(self, each: Instruction, own: list[tuple[int, str]]) -> Instruction:
        """With the symbol of what it calls: that which a separate file has where this one has none
        but an earlier function's; and where it calls through a pointer that the loader sets once,
        to a function of the same file, as Rust calls its library."""
        if each.target is not None:
            if not each.symbol:  # a slice has none
                return each._replace(symbol=self._symbol_of(each.target))
            inside = own[0][0] <= each.target <= own[-1][0]
            if inside or not _FURTHER.search(each.symbol):
                return each
            return each._replace(symbol=self._symbol_over(each.target))
        is_fixed = (each.is_call or each.is_jump) and each.data and "(%rip)" in each.operands
        target = self._slices.own_pointers.get(each.data) if is_fixed else None
        if target is None:
            if is_fixed and not each.symbol:
                return each._replace(
                    symbol=self._slices.pointers.get(each.data, f"*{each.data:#x}")
                )
            return each
        return each._replace(target=target, symbol=self._symbols().get(target, ""), data=None)

    def _symbol_of(self, address: int) -> str:
        known = self._symbols().get(address)
        return known or self._slices.stubs.get(address) or self._symbol_over(address)

    def _symbol_over(self, address: int) -> str:
        starts = self._starts()
        index = bisect.bisect_right(starts, address) - 1
        if index < 0:
            return ""
        further = address - starts[index]
        return self._symbols()[starts[index]] + (f"+{further:#x}" if further else "")


def plain_symbol(symbol: str) -> str:
    """A symbol without what objdump adds: usleep@plt, usleep@GLIBC_2.2.5."""
    return _ADDED.sub("", symbol)


def _parse(address: int, text: str, following: int) -> Instruction:
    code, _, _ = text.partition("# ")
    code = code.strip()
    while prefix := _PREFIX.match(code):
        code = code[prefix.end() :].lstrip()
    name, _, operands = code.partition(" ")
    operands = operands.strip()
    target, symbol, data = None, "", None
    if found := _DATA.search(text):
        data, symbol = int(found[1], 16), found[2] or ""
    if name.startswith(("call", "j", "loop", "xbegin")):
        if found := _TARGET.fullmatch(operands):
            target, symbol, data = int(found[1], 16), found[2], None
        elif not operands.startswith("*"):
            symbol = ""
    return Instruction(address, name, operands, target, symbol, data, following)


def _last_operand(operands: str) -> str:
    depth, begin = 0, 0
    for index, letter in enumerate(operands):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            begin = index + 1
    return operands[begin:].strip()
