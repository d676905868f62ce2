"""What the loader would see in an ELF file: for which machine, who interprets it, what it needs.

Reads with `struct` alone and imports nothing heavy, because `syncopate run` waits for it.
"""

from __future__ import annotations

import os
import stat
import struct

MACHINES = {
    3: "x86",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC64",
    22: "s390",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    243: "RISC-V",
}
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB = 1, 5
MOST_SEGMENT_BYTES = 1 << 20  # more is no program's


class Header:
    """The identity of a program or library."""

    __slots__ = ("bits", "dynamic", "interpreter", "loads", "machine", "order")

    def __init__(self, bits: int, order: str, machine: int):
        self.bits = bits
        self.order = order  # struct's sign for the byte order
        self.machine = machine
        self.interpreter: str | None = None  # None: statically linked, or a shared library
        self.loads: list[tuple[int, int, int]] = []  # (file offset, address, bytes)
        self.dynamic = (0, 0)  # (file offset, bytes) of what the loader reads

    def describe(self) -> str:
        return f"{self.bits}-bit {MACHINES.get(self.machine, f'machine {self.machine}')}"


def read_header(path: str) -> Header | None:
    """Reads the ELF header and program headers of `path`; None when it is no (whole) ELF file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return _read(file)
    except (OSError, ValueError, OverflowError, struct.error):
        return None


def needed(path: str) -> list[str]:
    """The libraries that a program or library asks the loader for by itself; of what is damaged, or
    no ELF file, none."""
    try:
        with open(path, "rb") as file:
            header = _read(file)
            return _needed(file, header) if header else []
    except (OSError, struct.error, ValueError, OverflowError):
        return []


def _needed(file, header: Header) -> list[str]:
    layout = struct.Struct(header.order + ("qQ" if header.bits == 64 else "iI"))
    file.seek(header.dynamic[0])
    raw = file.read(min(header.dynamic[1], 1 << 16))
    entries = list(layout.iter_unpack(raw[: len(raw) - len(raw) % layout.size]))
    strings = next((value for tag, value in entries if tag == DT_STRTAB), 0)
    at = [offset + strings - begin for offset, begin, size in header.loads
          if begin <= strings < begin + size]  # fmt: skip
    if not at:
        return []
    names = []
    for tag, value in entries:
        if tag == DT_NEEDED:
            file.seek(at[0] + value)
            names.append(file.read(256).split(b"\0", 1)[0].decode("utf-8", "replace"))
    return names


def _read(file) -> Header | None:
    start = file.read(64)
    if len(start) < 52 or start[:4] != b"\x7fELF" or start[4] not in (1, 2):
        return None
    wide = start[4] == 2
    order = ">" if start[5] == 2 else "<"
    header = Header(64 if wide else 32, order, struct.unpack_from(order + "H", start, 18)[0])
    if wide:
        (table,) = struct.unpack_from(order + "Q", start, 32)
        size, count = struct.unpack_from(order + "HH", start, 54)
    else:
        (table,) = struct.unpack_from(order + "I", start, 28)
        size, count = struct.unpack_from(order + "HH", start, 42)
    if size * count > MOST_SEGMENT_BYTES:
        return None
    file.seek(table)
    segments = file.read(size * count)
    for index in range(count):
        if wide:
            kind, _, offset, address, _, length = struct.unpack_from(
                order + "IIQQQQ", segments, index * size
            )
        else:
            kind, offset, address, _, length, _, _ = struct.unpack_from(
                order + "7I", segments, index * size
            )
        if kind == PT_LOAD:
            header.loads.append((offset, address, length))
        elif kind == PT_DYNAMIC:
            header.dynamic = (offset, length)
        elif kind == PT_INTERP:
            file.seek(offset)
            name = file.read(min(length, 4096)).rstrip(b"\0")
            header.interpreter = name.decode("utf-8", "replace")
    return header
