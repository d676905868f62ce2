"""The symbol tables of an ELF file: which function or variable lies at an address."""

import bisect
import lzma
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterator

from syncopate.base.boundedfile import open_plain
from syncopate.base.errors import Failure
from syncopate.symbols import elf
from syncopate.symbols.demangling import demangle, prepare

SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_DYNSYM = 2, 3, 7, 11
STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC = 1, 2, 6, 10
NT_GNU_BUILD_ID = 3
DEBUG_FOLDER = "/usr/lib/debug"
LONGEST_GUESS = 1 << 16  # a symbol of size 0 (assembly) is believed this far
MOST_SYMBOLS = 4_000_000
MOST_UNPACKED = 256 << 20  # bytes of .gnu_debugdata
LONGEST_NAME = 1 << 16
MOST_LOOKS = 64  # symbols before an address, of which one may reach over it


class Section:
    """One entry of the table of sections."""

    __slots__ = ("kind", "length", "link", "name", "offset")

    def __init__(self, name: str, kind: int, offset: int, length: int, link: int):
        self.name = name
        self.kind = kind
        self.offset = offset
        self.length = length
        self.link = link


class SymbolTable:
    """Symbols of one 64-bit little-endian ELF file, and of its separate debug file if it has one:
    as .gnu_debugdata in it, by .gnu_debuglink, or by build-id in /usr/lib/debug or where debuginfod
    keeps what it fetched.

    Any other file has no symbols here; that is not an error.
    """

    def __init__(self, path: str, build_id: str | None = None):
        """`build_id`: the wanted one; a file that has another one is not read."""
        self._functions: list[tuple[int, int, str]] = []
        self._objects: list[tuple[int, int, str]] = []
        self._count = 0
        self.build_id: str | None = None  # in hex; None where the file has none
        self.is_complete = False  # whether there is more than what the loader needs
        self._load(path, build_id)
        self.debug_file = self._find_debug(path, self.build_id or build_id)
        if self.debug_file:
            self._load(self.debug_file, None)
        self._functions.sort()
        self._objects.sort()

    def _find_debug(self, path: str, build_id: str | None) -> str | None:
        places = debug_files(build_id) if build_id else []
        link, checksum = self._link
        if link:
            folder = os.path.dirname(os.path.realpath(path))
            for place in (folder, f"{folder}/.debug", DEBUG_FOLDER + folder):
                debug = os.path.join(place, link)
                if os.path.realpath(debug) != os.path.realpath(path) and _has(debug, checksum):
                    places.append(debug)
        return next((place for place in places if os.path.isfile(place)), None)

    def function(self, address: int) -> tuple[str, int] | None:
        """(name, offset) of the function at a link-time address."""
        return _plain(self.function_symbol(address))

    def variable(self, address: int) -> tuple[str, int] | None:
        """(name, offset) of the variable at a link-time address."""
        return _plain(self.variable_symbol(address))

    def function_symbol(self, address: int) -> tuple[str, int] | None:
        """The same as the file has it, not demangled."""
        return _covering(self._functions, address)

    def variable_symbol(self, address: int) -> tuple[str, int] | None:
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
        prepare(symbol for _, _, symbol in self._functions)
        named = ((start, size, demangle(symbol)) for start, size, symbol in self._functions)
        return sorted({(start, size) for start, size, name in named if size and holds(name)})

    def _load(self, path: str, build_id: str | None) -> None:
        """Adds the symbols of `path`, of all of them those that are sound."""
        self._link: tuple[str, int] = ("", 0)
        header = elf.read_header(path)
        if header is None or header.bits != 64 or header.order != "<":
            return
        try:
            with open_plain(path) as file:
                data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            with data:
                self._load_sections(data, build_id)
        except (OSError, ValueError, OverflowError, struct.error, Failure):
            return  # what was sound before it stays

    def _load_sections(self, data: mmap.mmap | bytes, build_id: str | None) -> None:
        sections = list(_sections(data))
        for section in sections:
            if section.kind == SHT_NOTE:
                note = data[section.offset : section.offset + min(section.length, 1 << 16)]
                self.build_id = self.build_id or _build_id(note)
        if build_id and self.build_id != build_id:
            return
        for section in sections:
            if section.kind in (SHT_SYMTAB, SHT_DYNSYM) and section.link < len(sections):
                self.is_complete |= section.kind == SHT_SYMTAB
                self._load_symbols(data, section, sections[section.link].offset)
            elif section.name == ".gnu_debuglink":
                self._link = _debug_link(data[section.offset : section.offset + section.length])
            elif section.name == ".gnu_debugdata" and isinstance(data, mmap.mmap):
                packed = data[section.offset : section.offset + section.length]
                self._load_sections(_unpacked(packed), None)

    def _load_symbols(self, data: mmap.mmap | bytes, section: Section, names: int) -> None:
        length = max(0, min(section.length, len(data) - section.offset))
        view = data[section.offset : section.offset + length - length % 24]
        for name, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", view):
            kind = info & 15
            if not index or not value or kind == STT_TLS:
                continue
            if kind in (STT_FUNC, STT_GNU_IFUNC):
                table = self._functions
            elif kind == STT_OBJECT:
                table = self._objects
            else:
                continue
            self._count += 1
            if self._count > MOST_SYMBOLS:
                return
            end = data.find(b"\0", names + name, names + name + LONGEST_NAME)
            if end >= 0:
                text = data[names + name : end].decode("utf-8", "replace")
                table.append((value, size, text))


def debug_files(build_id: str) -> list[str]:
    """Where the debug information of a build may lie: packages', and what debuginfod fetched."""
    beneath = os.path.join(build_id[:2], build_id[2:] + ".debug")
    places = [os.path.join(DEBUG_FOLDER, ".build-id", beneath)]
    home = os.path.expanduser("~")
    caches = [
        os.environ.get("DEBUGINFOD_CACHE_PATH"),
        os.path.join(os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache", "debuginfod_client"),
        f"{home}/.debuginfod_client_cache",
    ]
    return places + [os.path.join(cache, build_id, "debuginfo") for cache in caches if cache]


def build_id_of(path: str) -> str | None:
    """The build-id of a file, in hex, by its sections; None where it has none."""
    table = SymbolTable.__new__(SymbolTable)
    table.build_id, table.is_complete = None, False
    table._load(path, "none")  # which none has: no symbol is read
    return table.build_id


def _sections(data: mmap.mmap | bytes) -> Iterator[Section]:
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count, naming = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * index) for index in range(count)]
    names = heads[naming][4] if naming < count else None
    for name, kind, _, _, offset, length, link, _, _, _ in heads:
        text = b"" if names is None else data[names + name : names + name + 32].split(b"\0")[0]
        yield Section(text.decode("latin-1"), kind, offset, length, link)


def _unpacked(packed: bytes) -> bytes:
    """What .gnu_debugdata holds: an ELF file of symbols alone."""
    try:
        return lzma.LZMADecompressor().decompress(packed, MOST_UNPACKED)
    except (lzma.LZMAError, EOFError) as error:
        raise ValueError(str(error)) from None


def _debug_link(section: bytes) -> tuple[str, int]:
    """The debug file's name, and the checksum that it must have."""
    name = section.split(b"\0")[0]
    at = (len(name) + 4) & -4
    if not name or b"/" in name or len(section) < at + 4:
        return "", 0
    return os.fsdecode(name), struct.unpack_from("<I", section, at)[0]


def _has(path: str, checksum: int) -> bool:
    try:
        with open_plain(path) as file:
            found = 0
            while part := file.read(1 << 20):
                found = zlib.crc32(part, found)
        return found == checksum
    except (OSError, ValueError, Failure):
        return False


def _named(table: list[tuple[int, int, str]], name: str) -> list[tuple[int, int]]:
    # A symbol stands in both tables of a file that is not stripped.
    prepare(symbol for _, _, symbol in table)
    return sorted(
        {
            (start, size or 1)
            for start, size, symbol in table
            if symbol == name or name in (plain := demangle(symbol), plain.partition("(")[0])
        }
    )


def _plain(found: tuple[str, int] | None) -> tuple[str, int] | None:
    return found and (demangle(found[0]), found[1])


def _covering(table: list[tuple[int, int, str]], address: int) -> tuple[str, int] | None:
    last = bisect.bisect_right(table, (address, 1 << 64, "")) - 1
    for index in range(last, max(-1, last - MOST_LOOKS), -1):
        start, size, name = table[index]
        if address < start + (size or LONGEST_GUESS):
            return name, address - start
        if address - start > LONGEST_GUESS or size:
            return None
    return None


def _build_id(notes: bytes) -> str | None:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        content = at + 12 + (name_size + 3 & -4)
        if kind == NT_GNU_BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0":
            return notes[content : content + size].hex() or None
        at = content + (size + 3 & -4)
    return None
