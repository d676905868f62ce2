"""Addresses of a recorded process to functions, lines and variables: what the files of the build
that was recorded say of them, and last the offset in the file."""

from __future__ import annotations

import bisect
import mmap
import os
import re
import struct
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from syncopate.base.boundedfile import open_plain
from syncopate.base.errors import Failure
from syncopate.base.shown import shown
from syncopate.base.since import zip_equal
from syncopate.symbols.debugpackages import hint
from syncopate.symbols.demangling import demangle, prepare
from syncopate.symbols.names import PF_W, PF_X, X86_64, Names
from syncopate.symbols.standins import StandIn, StandIns
from syncopate.symbols.symboltable import Symbol, SymbolTable
from syncopate.symbols.toldnames import ToldNames

_MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)")
_BUILD = re.compile(r"build-id ([0-9a-f]{1,16}) ([0-9a-f]{1,16}) ([0-9a-f]{2,128}|-)")
_CALL = struct.Struct("<Bi")  # of x86-64: E8 and the distance
CALL, CALL_RELATIVE = _CALL.size, 0xE8
BUILD_DIGITS = 12  # of a build-id, told to readers


class Frame(NamedTuple):
    """One line of a call stack; a code address has several when functions were inlined there."""

    function: str
    file: str  # "" when unknown
    line: int
    module: str  # path of the program or library, "" when in none
    inlined: bool
    # Of what no symbol names: where its function begins, by the unwind tables; 0 when unknown.
    start: int = 0

    def as_data(self) -> dict:
        """What reports tell of it."""
        told = self._asdict()
        del told["start"]
        return told

    @property
    def is_unnamed(self) -> bool:
        """Whether it is told by its place in the module alone."""
        return bool(self.module) and self.function.startswith(f"{os.path.basename(self.module)}+0x")

    def place(self) -> str:
        """file:line without folders, else the module's name. Code that the compiler made, and a
        native method of Java's, is of no line."""
        if self.file:
            return os.path.basename(self.file) + (f":{self.line}" if self.line else "")
        return os.path.basename(self.module)


class Source(NamedTuple):
    """A file that tells of a build that was recorded."""

    path: str  # where it was when it was recorded
    build_id: str | None
    file: str
    has_code: bool  # else it has debug information alone


class _Module:
    """One mapped file: what is known of it from the record, and what its file says now."""

    def __init__(
        self,
        names: Names,
        path: str,
        recorded: tuple[int, str | None] | None,
        stand_in: StandIn | None = None,
    ):
        """`recorded`: its load bias and its build-id in hex; None where the record has neither.
        `stand_in`: a copy to be read in place of the file."""
        gone = path.removesuffix(" (deleted)")
        self.path = path if gone == path or os.path.exists(path) else gone
        self.file = stand_in.file if stand_in and stand_in.has_code else self.path
        self.is_copy = stand_in is not None
        self.name = shown(os.path.basename(self.path)) or shown(self.path)
        self.bias, self.build_id = recorded or (None, None)
        self.identity = names.identity(self.file)
        # Whether the file is another build than what was recorded.
        self.is_other = bool(self.build_id and self.identity) and (
            self.identity.build_id != self.build_id
        )
        debug = None
        if stand_in and not stand_in.has_code:
            debug, self.identity = stand_in.file, None
        # Whether the code of the build that was recorded can be read in `file`.
        self.has_code = self.identity is not None and not self.is_other
        if not self.has_code and not (debug and names.identity(debug)):
            debug = names.debug_file_of(self.build_id) if self.build_id else None
        # The file that tells of the build that was recorded; None where there is none.
        self.symbol_file = self.file if self.has_code else debug
        self.table = SymbolTable(self.symbol_file or "", names)

    def target(self, address: int, start: int, offset: int, flag: int) -> int | None:
        """The link-time address of a run-time one, in a range mapped at `start` from `offset`."""
        if self.bias is not None:
            return address - self.bias
        return self.identity and self.identity.address_of(offset + address - start, flag)


class CodePlace(NamedTuple):
    """A place in the code of a file that is the recorded build: addresses are those of the link."""

    path: str
    at: int
    function: int  # where its function starts
    bias: int  # run-time address less link-time address


class Symbolizer:
    """Names addresses of one recorded process."""

    def __init__(
        self,
        maps: str,
        recorded_at_ns: int = 0,
        stand_ins: StandIns | None = None,
        names: Names | None = None,
    ):
        """`maps` is text as in /proc/PID/maps, with the lines that src/record/build_ids.h
        describes; later lines win where two cover one address.

        `recorded_at_ns` (since the epoch) finds modules that changed after the recording where
        there are no such lines. `stand_ins` are read in place of the files that maps name. `names`
        answers for several processes, which mostly have the same files.
        """
        self._stand_ins = stand_ins or StandIns()
        self.names = names or Names()
        self._notes: list[str] = []
        self._recorded_at = recorded_at_ns
        self._modules: dict[tuple[str, int], _Module | None] = {}  # by path and first address
        self._frames: dict[int, list[Frame]] = {}
        self._entered: dict[int, int | None] = {}
        # By path: of each time that it was loaded, its first address, bias and build-id.
        self._builds: dict[str, dict[int, tuple[int, str | None]]] = defaultdict(dict)
        self._without_symbols: set[_Module] = set()
        layers: dict[int, tuple[int, int, int, str]] = {}
        writable: set[int] = set()
        self._vdso: list[range] = []
        self._of_code: set[str] = set()  # paths of what code was mapped from
        lines = maps.split("\n")
        self.told = ToldNames(lines)
        for line in lines:
            found = _MAP.match(line)
            if found and found[5].startswith("/"):
                start, end, offset = (int(found[group], 16) for group in (1, 2, 4))
                layers[start] = (start, end, offset, _unescaped(found[5]))
                (writable.add if "w" in found[3] else writable.discard)(start)
                if "x" in found[3]:
                    self._of_code.add(layers[start][3])
            elif found and found[5] == "[vdso]":
                self._vdso.append(range(int(found[1], 16), int(found[2], 16)))
            elif build := _BUILD.fullmatch(line):
                start, bias = int(build[1], 16), int(build[2], 16)
                if start in layers:
                    loaded = (bias, build[3] if build[3] != "-" else None)
                    self._builds[layers[start][3]][start] = loaded
        self._ranges = sorted(layers.values())
        self._read_only = {start for start in layers if start not in writable}
        self._notes += _at_one_place(lines)

    @property
    def notes(self) -> list[str]:
        """What the reader should know about the names, each one line."""
        return [*self._notes, *self.names.notes]

    def is_in_vdso(self, address: int) -> bool:
        """Whether code there is what the kernel maps into each process."""
        return any(address in each for each in self._vdso)

    def resolve(self, addresses: Iterable[int]) -> None:
        """Looks up return addresses in one batch, so that frames() answers at once."""
        wanted: dict[_Module, dict[int, int]] = defaultdict(dict)
        for address in set(addresses) - self._frames.keys():
            if told := self.told.code.get(address):
                self._frames[address] = [Frame(*told, False)]
                continue
            module, target = self._locate(address - 1, PF_X)  # the call, not what follows it
            if module is None or target is None or module.symbol_file is None:
                name = self._offset(module, address - 1, target) if module else f"{address:#x}"
                path = shown(module.path) if module else ""
                self._frames[address] = [Frame(name, "", 0, path, False)]
            else:
                wanted[module][address] = target
        for module, targets in wanted.items():
            self._resolve_module(module, targets)

    def _offset(self, module: _Module, address: int, target: int | None) -> str:
        """What to call an address that nothing names: by its place in the module, never by where
        the module happened to be."""
        self._without_symbols.add(module)
        if target is None:
            start, _, offset, _ = self._ranges[self._range_of(address)]
            target = offset + address - start
        return f"{module.name}+{target:#x}"

    def _range_of(self, address: int) -> int:
        return bisect.bisect_right(self._ranges, (address, 1 << 64, 0, "")) - 1

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

    def begins(self, address: int) -> bool:
        """Whether a function that has a symbol begins at that run-time address."""
        there, at = self._locate(address, PF_X)
        found = there.table.function_symbol(at) if there is not None and at is not None else None
        return found is not None and found[1] == 0

    def _find_entered(self, address: int) -> int | None:
        index = self._range_of(address - CALL)
        if index < 0 or address > self._ranges[index][1]:
            return None
        start, _, offset, path = self._ranges[index]
        module = self._module(path, start)
        if module is None or not module.has_code:
            return None
        if module.identity.machine != X86_64:
            return None
        try:
            with open(module.file, "rb") as file:
                file.seek(offset + address - CALL - start)
                operation, distance = _CALL.unpack(file.read(CALL))
        except (OSError, struct.error):
            return None
        target = address + distance
        if operation != CALL_RELATIVE:
            return None
        return target if self.begins(target) else None

    def code(self, address: int) -> tuple[str, int] | None:
        """The path of the module whose code is at a run-time address, and the link-time address."""
        module, target = self._locate(address, PF_X)
        return None if module is None or target is None else (module.path, target)

    def code_place(self, address: int) -> CodePlace | None:
        """Where a run-time address lies in a program whose code can be read: of x86-64, with a
        symbol of the function."""
        module, target = self._readable(address)
        if module is None:
            return None
        # A call that never returns may be a function's last: its return address is the next one's.
        found = module.table.function_symbol(target - 1)
        if found is None:
            return None
        return CodePlace(module.file, target, target - 1 - found[1], address - target)

    def code_at(self, address: int) -> tuple[str, int] | None:
        """The file that has the code at a run-time address, where that is x86-64's and can be read,
        and the link-time address."""
        module, target = self._readable(address)
        return None if module is None else (module.file, target)

    def _readable(self, address: int) -> tuple[_Module | None, int]:
        module, target = self._locate(address, PF_X)
        if module is None or target is None or not module.has_code:
            return None, 0
        return (module, target) if module.identity.machine == X86_64 else (None, 0)

    def data_place(self, address: int) -> tuple[str, int] | None:
        """(module's file, link-time address) of static data at a run-time address."""
        module, target = self._locate(address, PF_W)
        return None if module is None or target is None else (module.file, target)

    def variable(self, address: int) -> tuple[str, int, str] | None:
        """(name, offset in it, module path) of the static variable at `address`, if it is in one.

        A variable that no symbol names is called module+0xoffset.
        """
        module, target = self._locate(address, PF_W)
        if module is None:
            return None
        found = module.table.variable(target) if target is not None else None
        if not found and self._ranges[self._range_of(address)][0] in self._read_only:
            return None  # what was mapped there before: nothing writes here
        name, offset = found or (self._offset(module, address, target), 0)
        return shown(name), offset, shown(module.path)

    def prepare_variables(self, addresses: Iterable[int]) -> None:
        """Demangles what variable() will be asked for, at once."""
        wanted: dict[SymbolTable, list[int]] = defaultdict(list)
        for address in addresses:
            module, at, _ = self._may_be(address, PF_W)
            if module and at is not None:
                wanted[module.table].append(at)
        for table, all_at in wanted.items():
            prepare(symbol[0] for symbol in table.variable_symbols(all_at) if symbol)

    def code_site(self, address: int) -> tuple[str, str, bool] | None:
        """(name, module path, whether the name is a symbol) of the function that a return address
        lies in, not looking at what was inlined there: what can be found again in the module."""
        module, target = self._locate(address - 1, PF_X)
        if module is None or target is None:
            return None
        found = module.table.function(target)
        return found[0] if found else f"{module.name}+{target:#x}", module.path, found is not None

    def has_module(self, word: str) -> bool:
        """Whether a program or library whose file's name has `word` in it is mapped."""
        return any(word in os.path.basename(path) for *_, path in self._ranges)

    def build_id(self, path: str) -> str | None:
        module = self._module(path, max(self._builds.get(path, {0: None})))
        return module.table.build_id if module else None

    def holds(self, path: str, mark: bytes) -> bool:
        """Whether these bytes are in the file of that module, of the build that was recorded.
        Nothing is said of one that cannot be read: no name was wanted."""
        loads = self._builds.get(path, {})
        module = self._opened(path, loads.get(max(loads, default=0)))
        if not module.has_code or module.is_other:
            return False
        try:
            with (
                open_plain(module.file) as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole,
            ):
                return whole.find(mark) >= 0
        except (OSError, ValueError, Failure):
            return False

    def sources(self) -> list[Source]:
        """The files that have told something, or could have, of the builds that were recorded."""
        found = []
        for module in self._modules.values():
            if module and module.symbol_file and not self._may_be_wrong(module):
                file = module.symbol_file
                found.append(Source(module.path, module.build_id, file, module.has_code))
        return list(dict.fromkeys(found))

    def hint(self, modules: Iterable[str]) -> str | None:
        """One line that says how to get names of what was only told as an offset in `modules`."""
        named = set(modules)
        known = [m.path for m in self._without_symbols if m.symbol_file and shown(m.path) in named]
        links = ((path, self.names.ask(path, ["l"])[0]) for path in sorted(known))
        linked = {path: shown(told[0]) for path, told in links if told and told[0]}
        return hint(sorted(known), linked) if known else None

    def _locate(self, address: int, flag: int) -> tuple[_Module | None, int | None]:
        """The module at a run-time address, and the link-time address there."""
        module, target, is_behind = self._may_be(address, flag)
        if is_behind and (module is None or not module.table.variable_symbol(target)):
            return None, None
        return module, target

    def _may_be(self, address: int, flag: int) -> tuple[_Module | None, int | None, bool]:
        """The same, and whether it is behind what is mapped of the module's file: there is its
        zero-initialized data, where it has a variable."""
        index = self._range_of(address)
        if index < 0:
            return None, None, False
        start, end, offset, path = self._ranges[index]
        module = self._module(path, start)
        if address < end:
            return module, module and module.target(address, start, offset, flag), False
        base = module and module.target(start, start, offset, PF_W)
        if base is None or address - end >= 1 << 30:
            return None, None, True
        return module, base + address - start, True

    def _module(self, path: str, address: int) -> _Module | None:
        """What was loaded from `path` to where `address` is."""
        loads = self._builds.get(path, {})
        first = max((start for start in loads if start <= address), default=0)
        if (path, first) not in self._modules:
            module = self._modules[path, first] = self._opened(path, loads.get(first))
            if (note := self._state(module)) and note not in self._notes:
                self._notes.append(note)
        return self._modules[path, first]

    def _opened(self, path: str, build: tuple | None) -> _Module:
        stand_in = self._stand_ins.of(path, build and build[1])
        return _Module(self.names, path, build, stand_in)

    def _state(self, module: _Module) -> str | None:
        """What is to be said of a module whose file is not what was recorded."""
        path = shown(module.path)
        if not module.has_code and module.symbol_file:
            return None  # its debug information is there
        if module.identity is None:
            if self.names.trouble():
                return None  # that is said, of all
            if path.startswith("/dev/") or "/memfd:" in path or _is_data(module.path):
                return None
            if module.path not in self._of_code:
                return None  # a file of data has none, be it gone, as a server's logs in memory
            return f"{path} cannot be read: no names from it"
        if module.is_other:
            both = module.build_id, module.identity.build_id or "none"
            was, now = (each[:BUILD_DIGITS] for each in both)
            return f"{path} is not the build that was recorded ({was}, now {now}): no names from it"
        if self._may_be_wrong(module):
            return f"{path} changed after the recording: its names may be wrong"
        return None

    def _may_be_wrong(self, module: _Module) -> bool:
        """Whether it may be another build than what was recorded, as far as times can tell."""
        if module.build_id is not None or module.is_copy or not self._recorded_at:
            return False
        return os.stat(module.file).st_mtime_ns > self._recorded_at

    def _note_what_is_split(self, module: _Module) -> None:
        """Files of debug information that are not there: most names are in them."""
        ((missing,),) = ([*told, ""][:1] for told in self.names.ask(module.symbol_file, ["s"]))
        note = (
            f"most debug information of {module.name} is in files of its own (-gsplit-dwarf), of"
            f" which {shown(missing)} is not there: put them back where it was built, or build"
            " without -gsplit-dwarf (a .dwp is read by elfutils 0.191 and newer)"
        )
        if missing and note not in self._notes:
            self._notes.append(note)

    def _resolve_module(self, module: _Module, targets: dict[int, int]) -> None:
        places = sorted(set(targets.values()))
        self._note_what_is_split(module)
        told = self.names.ask(module.symbol_file, [f"a {target:x}" for target in places])
        answers = dict(zip_equal(places, told))
        symbols = dict(zip_equal(places, module.table.function_symbols(places)))
        prepare(function for fields in told for function in fields[::3])
        prepare(symbol[0] for symbol in symbols.values() if symbol)
        for address, target in targets.items():
            fields = answers[target]
            found = list(zip(fields[::3], fields[1::3], fields[2::3]))
            self._frames[address] = [
                Frame(shown(demangle(function)), shown(file), int(line), shown(module.path),
                      index < len(found) - 1)
                for index, (function, file, line) in enumerate(found)
            ] or [self._without_line(module, address, target, symbols[target])]  # fmt: skip

    def _without_line(
        self, module: _Module, address: int, target: int, symbol: Symbol | None
    ) -> Frame:
        """symbol+0xoffset, or as little as is known."""
        path, start = shown(module.path), 0
        if symbol:
            return Frame(shown(f"{demangle(symbol[0])}+{symbol[1]:#x}"), "", 0, path, False)
        if module.has_code:
            (told,) = self.names.ask(module.file, [f"u {target:x}"])
            start = int(told[0], 16) if told else 0
        name = self._offset(module, address - 1, target)
        return Frame(name, "", 0, path, False, start)


def _at_one_place(lines: list[str]) -> list[str]:
    """What is to be said of libraries whose code was at the same addresses, one after the other:
    which of them an address is of, nobody can tell."""
    at: dict[int, str] = {}
    found = {}
    for line in lines:
        if "x" in line[:45] and (each := _MAP.match(line)) and each[5].startswith("/"):
            start, name = int(each[1], 16), os.path.basename(each[5].removesuffix(" (deleted)"))
            before = at.setdefault(start, name)
            if before != name:
                found[shown(before), shown(name)] = None
            at[start] = name
    return [
        f"{before} and then {after} were at the same addresses: names of one may be of the other"
        for before, after in found
    ]


def _is_data(path: str) -> bool:
    """Whether a mapped file is there and is no program or library: it never had names."""
    try:
        with open(path, "rb") as file:
            return file.read(4) != b"\x7fELF"
    except (OSError, ValueError):
        return False


def _unescaped(path: str) -> str:
    """A path as the kernel meant it: it writes a newline as \\012."""
    return path.replace("\\012", "\n")
