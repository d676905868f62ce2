"""The symbol tables of an ELF file: which function or variable lies at an address."""

import bisect
import ctypes
import mmap
import os
import struct
from collections.abc import Callable

from syncopate import elf

SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_DYNSYM = 2, 3, 7, 11
STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC = 1, 2, 6, 10
DEBUG_FOLDER = "/usr/lib/debug/.build-id"
LONGEST_GUESS = 1 << 16  # a symbol of size 0 (assembly) is believed this far


class SymbolTable:
    """Symbols of one 64-bit little-endian ELF file, and of its separate debug file if it has one.

    Any other file has no symbols here; that is not an error.
    """

    def __init__(self, path: str):
        self._functions: list[tuple[int, int, str]] = []
        self._objects: list[tuple[int, int, str]] = []
        self.build_id = self._load(path)  # in hex; None where the file has none
        if self.build_id:
            name = os.path.join(self.build_id[:2], self.build_id[2:] + ".debug")
            debug = os.path.join(DEBUG_FOLDER, name)
            if os.path.exists(debug):
                self._load(debug)
        self._functions.sort()
        self._objects.sort()

    def function(self, address: int) -> tuple[str, int] | None:
        """(name, offset) of the function at a link-time address."""
        return _covering(self._functions, address)

    def variable(self, address: int) -> tuple[str, int] | None:
        """(name, offset) of the variable at a link-time address."""
        return _covering(self._objects, address)

    def address_of_variable(self, name: str) -> int | None:
        """The link-time address of the variable of that (mangled) name."""
        return next((start for start, _, text in self._objects if text == name), None)

    def variables(self, name: str) -> list[tuple[int, int]]:
        """(link-time address, bytes) of every variable of that name, as reports write it."""
        return _named(self._objects, name)

    def functions(self, name: str) -> list[tuple[int, int]]:
        """The same for functions; a C++ function's parameters may be left out."""
        return _named(self._functions, name)

    def functions_where(self, holds: Callable[[str], bool]) -> list[tuple[int, int]]:
        """(link-time address, bytes) of the functions whose name `holds` is true of."""
        named = ((start, size, demangle(symbol)) for start, size, symbol in self._functions)
        return sorted({(start, size) for start, size, name in named if size and holds(name)})

    def _load(self, path: str) -> str | None:
        """Adds the symbols of `path`. Returns its build id in hex, when it has one."""
        header = elf.read_header(path)
        if header is None or header.bits != 64 or header.order != "<":
            return None
        try:
            with open(path, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            with data:
                return self._load_sections(data)
        except (OSError, ValueError, struct.error):
            return None

    def _load_sections(self, data: mmap.mmap) -> str | None:
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", data, table + size * index) for index in range(count)
        ]
        build_id = None
        for _, kind, _, _, offset, length, link, _, _, _ in sections:
            if kind in (SHT_SYMTAB, SHT_DYNSYM) and link < count:
                names = sections[link][4]
                self._load_symbols(data, offset, length, names)
            elif kind == SHT_NOTE:
                build_id = build_id or _build_id(data[offset : offset + length])
        return build_id

    def _load_symbols(self, data: mmap.mmap, offset: int, length: int, names: int) -> None:
        view = data[offset : offset + length - length % 24]
        for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", view):
            kind = info & 15
            if not section or not value or kind == STT_TLS:
                continue
            if kind in (STT_FUNC, STT_GNU_IFUNC):
                table = self._functions
            elif kind == STT_OBJECT:
                table = self._objects
            else:
                continue
            end = data.find(b"\0", names + name)
            text = data[names + name : end].decode("utf-8", "replace")
            table.append((value, size, text))


def _named(table: list[tuple[int, int, str]], name: str) -> list[tuple[int, int]]:
    # A symbol stands in both tables of a file that is not stripped.
    return sorted(
        {
            (start, size or 1)
            for start, size, symbol in table
            if symbol == name or name in (plain := demangle(symbol), plain.partition("(")[0])
        }
    )


def _covering(table: list[tuple[int, int, str]], address: int) -> tuple[str, int] | None:
    index = bisect.bisect_right(table, (address, 1 << 64, "")) - 1
    while index >= 0:
        start, size, name = table[index]
        if address < start + (size or LONGEST_GUESS):
            return demangle(name), address - start
        if address - start > LONGEST_GUESS or size:
            return None
        index -= 1
    return None


def _build_id(note: bytes) -> str | None:
    if len(note) < 16:
        return None
    name_size, size, kind = struct.unpack_from("<III", note)
    if kind != 3 or note[12:16] != b"GNU\0" or name_size != 4:
        return None
    return note[16 : 16 + size].hex()


_library: ctypes.CDLL | bool | None = None


def demangle(name: str) -> str:
    """The C++ name behind a mangled one; other names, and all without libstdc++, as they are."""
    global _library
    if not name.startswith("_Z"):
        return name
    if _library is None:
        try:
            _library = ctypes.CDLL("libstdc++.so.6")
            _library.__cxa_demangle.restype = ctypes.c_void_p
            _library.free.argtypes = [ctypes.c_void_p]
        except OSError:
            _library = False
    if not _library:
        return name
    status = ctypes.c_int()
    text = _library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    plain = ctypes.string_at(text).decode("utf-8", "replace")
    _library.free(text)
    return plain
