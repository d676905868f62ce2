"""Addresses of a recorded process to functions, lines and variables.

Code addresses go to eu-addr2line (elfutils), one process per module with all addresses at once;
those of which it knows no line to addr2line (binutils), since it finds none in what clang compiles:
that has no .debug_aranges. Where both are missing or know nothing, the symbol table answers, and
last the offset in the module.
"""

import bisect
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

from syncopate import elf
from syncopate.elfsymbols import SymbolTable

_MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)")
_POSITION = re.compile(r"(.*?):(\d+)(?::\d+)?(?: \(.*\))?$")
_CALL = struct.Struct("<Bi")  # of x86-64: E8 and the distance
CALL, CALL_RELATIVE = _CALL.size, 0xE8
_INLINED = re.compile(r" inlined at .* in ")


class Frame(NamedTuple):
    """One line of a call stack; a code address has several when functions were inlined there."""

    function: str
    file: str  # "" when unknown
    line: int
    module: str  # path of the program or library, "" when in none
    inlined: bool

    def place(self) -> str:
        """file:line without folders, else the module's name."""
        if self.file:
            return f"{os.path.basename(self.file)}:{self.line}"
        return os.path.basename(self.module)


class _Module:
    def __init__(self, path: str):
        self.path = path
        self.name = os.path.basename(path) or path
        self.header = elf.read_header(path)
        self._table: SymbolTable | None = None

    @property
    def table(self) -> SymbolTable:
        if self._table is None:
            self._table = SymbolTable(self.path)
        return self._table


class Symbolizer:
    """Names addresses of one recorded process."""

    def __init__(self, maps: str, recorded_at_ns: int = 0):
        """`maps` is text as in /proc/PID/maps; later lines win where two cover one address.

        `recorded_at_ns` (since the epoch) finds modules that changed after the recording.
        """
        self.notes: list[str] = []  # what the reader should know about the names, each one line
        self._recorded_at = recorded_at_ns
        self._modules: dict[str, _Module | None] = {}
        self._frames: dict[int, list[Frame]] = {}
        self._entered: dict[int, int | None] = {}
        layers: dict[int, tuple[int, int, int, str]] = {}
        for line in maps.splitlines():
            found = _MAP.match(line)
            if found and found[5].startswith("/"):
                start, end, offset = (int(found[group], 16) for group in (1, 2, 4))
                layers[start] = (start, end, offset, found[5])
        self._ranges = sorted(layers.values())
        self._tools = [shutil.which("eu-addr2line"), shutil.which("addr2line")]

    def resolve(self, addresses: Iterable[int]) -> None:
        """Looks up return addresses in one batch, so that frames() answers at once."""
        wanted: dict[str, dict[int, int]] = {}
        for address in set(addresses) - self._frames.keys():
            module, target = self._locate(address - 1, elf.PF_X)  # the call, not what follows it
            if module is None or target is None:
                name = f"{module.name}+{address - 1:#x}" if module else f"{address:#x}"
                path = module.path if module else ""
                self._frames[address] = [Frame(name, "", 0, path, False)]
            else:
                wanted.setdefault(module.path, {})[address] = target
        for path, targets in wanted.items():
            self._resolve_module(self._module(path), targets)

    def frames(self, address: int) -> list[Frame]:
        """The frames of a return address, innermost inlined one first; never empty."""
        if address not in self._frames:
            self.resolve([address])
        return self._frames[address]

    def entered(self, address: int) -> int | None:
        """Where the call before a return address leads, at run time: to the first byte of a
        function that has a symbol. None for other calls, as through a table, and elsewhere."""
        if address not in self._entered:
            self._entered[address] = self._find_entered(address)
        return self._entered[address]

    def _find_entered(self, address: int) -> int | None:
        index = bisect.bisect_right(self._ranges, (address - CALL, 1 << 64, 0, "")) - 1
        if index < 0 or address > self._ranges[index][1]:
            return None
        start, _, offset, path = self._ranges[index]
        module = self._module(path)
        if module is None or module.header is None or module.header.machine != elf.X86_64:
            return None
        try:
            with open(path, "rb") as file:
                file.seek(offset + address - CALL - start)
                operation, distance = _CALL.unpack(file.read(CALL))
        except (OSError, struct.error):
            return None
        target = address + distance
        if operation != CALL_RELATIVE:
            return None
        there, at = self._locate(target, elf.PF_X)
        found = there.table.function(at) if there is not None and at is not None else None
        return target if found and found[1] == 0 else None

    def code(self, address: int) -> tuple[str, int] | None:
        """The path of the module whose code is at a run-time address, and the link-time address."""
        module, target = self._locate(address, elf.PF_X)
        return None if module is None or target is None else (module.path, target)

    def variable(self, address: int) -> tuple[str, int, str] | None:
        """(name, offset in it, module path) of the static variable at `address`, if it is in one.

        A variable that no symbol names is called module+0xoffset.
        """
        module, target = self._locate(address, elf.PF_W)
        if module is None:
            return None
        if target is None:
            return f"{module.name}+{address:#x}", 0, module.path
        name, offset = module.table.variable(target) or (f"{module.name}+{target:#x}", 0)
        return name, offset, module.path

    def code_site(self, address: int) -> tuple[str, str, bool] | None:
        """(name, module path, whether the name is a symbol) of the function that a return address
        lies in, not looking at what was inlined there: what can be found again in the module."""
        module, target = self._locate(address - 1, elf.PF_X)
        if module is None or target is None:
            return None
        found = module.table.function(target)
        return found[0] if found else f"{module.name}+{target:#x}", module.path, found is not None

    def build_id(self, path: str) -> str | None:
        module = self._module(path)
        return module.table.build_id if module else None

    def _locate(self, address: int, flag: int) -> tuple[_Module | None, int | None]:
        """The module at a run-time address, and the link-time address there."""
        index = bisect.bisect_right(self._ranges, (address, 1 << 64, 0, "")) - 1
        if index < 0 or address >= self._ranges[index][1]:
            return self._beyond(address, index)
        start, _, offset, path = self._ranges[index]
        module = self._module(path)
        if module is None or module.header is None:
            return module, None
        return module, module.header.address_of(offset + address - start, flag)

    def _beyond(self, address: int, index: int) -> tuple[_Module | None, int | None]:
        """Zero-initialized data is mapped without a file after the module's last file mapping."""
        if index < 0:
            return None, None
        start, end, offset, path = self._ranges[index]
        module = self._module(path)
        if module is None or module.header is None:
            return None, None
        base = module.header.address_of(offset, elf.PF_W)
        if base is None:
            return None, None
        target = base + address - start
        if target - (base + end - start) < 1 << 30 and module.table.variable(target):
            return module, target
        return None, None

    def _module(self, path: str) -> _Module | None:
        if path not in self._modules:
            module = _Module(path)
            self._modules[path] = module
            if module.header is None:
                if not path.startswith("/dev/") and "/memfd:" not in path:
                    self.notes.append(f"{path} cannot be read: no names from it")
            elif self._recorded_at and os.stat(path).st_mtime_ns > self._recorded_at:
                self.notes.append(f"{path} changed after the recording: its names may be wrong")
        return self._modules[path]

    def _resolve_module(self, module: _Module, targets: dict[int, int]) -> None:
        answers = self._ask(module.path, sorted(set(targets.values())))
        for address, target in targets.items():
            found = answers.get(target, [])
            if len(found) < 2 and not (found and found[0][1]):
                self._frames[address] = [self._from_table(module, target, found)]
                continue
            self._frames[address] = [
                Frame(function, file, line, module.path, index < len(found) - 1)
                for index, (function, file, line) in enumerate(found)
            ]

    def _from_table(self, module: _Module, target: int, answer: list) -> Frame:
        """A frame without lines: symbol+0xoffset, or as little as is known."""
        found = module.table.function(target)
        name = f"{found[0]}+{found[1]:#x}" if found else f"{module.name}+{target:#x}"
        if not found and answer and answer[0][0] != "??":
            name = answer[0][0]  # only eu-addr2line knows it, from debug information kept elsewhere
        return Frame(name, "", 0, module.path, False)

    def _ask(self, path: str, targets: list[int]) -> dict[int, list[tuple[str, str, int]]]:
        """Returns target to [(function, file, line)], innermost first, of all that are known."""
        first, second = self._tools
        if first is None:
            note = "eu-addr2line is missing (Debian package elfutils): no lines, no inlined frames"
            if second is None and note not in self.notes:
                self.notes.append(note)
        answers = _run_addr2line(first, path, targets)
        without_line = [t for t in targets if not any(file for _, file, _ in answers.get(t, []))]
        for target, found in _run_addr2line(second, path, without_line).items():
            if any(file for _, file, _ in found):
                answers[target] = found
        return answers


def _run_addr2line(
    tool: str | None, path: str, targets: list[int]
) -> dict[int, list[tuple[str, str, int]]]:
    if tool is None or not targets:
        return {}
    try:
        done = subprocess.run(
            [tool, "-e", path, "-f", "-i", "-C", "-a"],
            input="".join(f"{target:#x}\n" for target in targets),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError:
        return {}
    return parse_addr2line(done.stdout)


def parse_addr2line(output: str) -> dict[int, list[tuple[str, str, int]]]:
    """Reads `addr2line -a -f -i`: after each address, pairs of lines (function, position)."""
    answers: dict[int, list[tuple[str, str, int]]] = {}
    current: list[tuple[str, str, int]] = []
    function = None
    for line in output.splitlines():
        if function is None and line.startswith("0x"):
            current = answers.setdefault(int(line, 16), [])
        elif function is None:
            function = _INLINED.split(line)[0]
        else:
            found = _POSITION.match(line)
            known = found is not None and found[1] != "??"
            current.append((function, found[1] if known else "", int(found[2]) if known else 0))
            function = None
    return answers
