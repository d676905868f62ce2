"""A record file as bytes: opened, its header read, its chunks found, and judged. Nothing in a file
is believed: a damaged one is a Failure, never another exception. What the chunks hold is
recordfile.py's."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator

from syncopate.base.boundedfile import open_plain
from syncopate.base.errors import FAILED, Failure
from syncopate.base.shown import shown
from syncopate.records.recordformat import (
    BYTES_USED,
    BYTES_USED_AT,
    CHUNK_BYTES,
    CHUNK_HEADER,
    COMMAND_AT,
    COMMAND_BYTES,
    FILE_HEADER,
    HEADER_BYTES,
    ITEM_BYTES,
    MAGIC,
    VERSION,
    Header,
)

REDACTED = "(arguments left out)"
A_PIECE = 1 << 20  # bytes that are copied at once


def text_of(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def _is_ours(word: str) -> bool:
    """Whether `syncopate record` has put this word into a Java program's command line."""
    return word.startswith("-agentpath:") and "/libsyncopate-jvm.so" in word


class RecordChunks:
    """One open record, without what is in its chunks."""

    def __init__(self, path: str, shown_as: str | None = None):
        """Opens and checks `path`. A Failure says what is wrong with it. `shown_as`: what to call
        it in place of its path."""
        self.path = shown_as or path
        self._place = path
        try:
            with open_plain(path) as file:
                # The header first: a running program's record grows, and never below what it says.
                start = file.read(HEADER_BYTES)
                self.size = os.fstat(file.fileno()).st_size
                if len(start) < HEADER_BYTES:
                    self._refuse_short(start[:8])
                self._data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Failure(f"cannot read {path}: {reason}", FAILED) from None
        self.header = self._read_header(start)
        self._chunks = list(self._walk())
        self._is_redacted = False

    def redact(self) -> None:
        """Leaves out the program's arguments, as `record --redact` does (src/record/file.cpp)."""
        name = self.header.command[0] if self.header.command else ""
        # A process that wrote a title over its arguments has them in its first word.
        has_title = " " in name and name != shown(self.header.executable)
        if has_title or len(self.header.command) > 1:
            name = shown(self.header.executable) if has_title else name
            self.header = self.header._replace(command=[name, REDACTED])
            self._is_redacted = True

    def pieces(self) -> Iterator[bytes]:
        """The file as it was when it was opened, for a copy of it; where arguments are left out,
        without them."""
        start = bytearray(self._data[:HEADER_BYTES])
        # The program may go on, and its record grow beyond what is copied here.
        BYTES_USED.pack_into(start, BYTES_USED_AT, self.header.bytes_used)
        if self._is_redacted:
            program = bytes(start[COMMAND_AT : COMMAND_AT + COMMAND_BYTES]).split(b"\0", 1)[0]
            executable = os.fsencode(self.header.executable)
            if b" " in program and program != executable:
                program = executable
            command = program + b"\0" + REDACTED.encode()
            start[COMMAND_AT : COMMAND_AT + COMMAND_BYTES] = command[:COMMAND_BYTES].ljust(
                COMMAND_BYTES, b"\0"
            )
        yield bytes(start)
        for at in range(HEADER_BYTES, self.size, A_PIECE):
            yield self._data[at : min(at + A_PIECE, self.size)]

    def _refuse_short(self, start: bytes) -> None:
        if start == MAGIC or (MAGIC.startswith(start) and start):
            raise self._damaged(f"it ends after {self.size} bytes, inside its header")
        raise self._foreign()

    def _foreign(self) -> Failure:
        return Failure(
            f"{self.path} is not a Syncopate record; make one with `syncopate record`", FAILED
        )

    def _damaged(self, what: str) -> Failure:
        return Failure(f"{self.path} is damaged: {what}; record again", FAILED)

    def _read_header(self, start: bytes) -> Header:
        fields = FILE_HEADER.unpack_from(start)
        if fields[0] != MAGIC:
            raise self._foreign()
        if fields[1] != VERSION or fields[2] != HEADER_BYTES:
            raise Failure(
                f"{self.path} has record format {fields[1]} and this Syncopate reads {VERSION};"
                " read it with the version that wrote it",
                FAILED,
            )
        numbers, texts = fields[3:13], fields[13:17]
        command = texts[3].rstrip(b"\0").decode("utf-8", "replace").split("\0")
        command = [shown(word) for word in command if not _is_ours(word)]
        header = Header(
            *numbers,
            *(shown(text_of(text)) for text in texts[:2]),
            os.fsdecode(texts[2].split(b"\0", 1)[0]),
            command,
            fields[17],
            text_of(fields[18]),
            *fields[19:],
        )
        if header.bytes_used < HEADER_BYTES:
            raise self._damaged(f"its header says that {header.bytes_used} bytes of it are used")
        if header.bytes_used > self.size:
            raise self._damaged(
                f"it is cut off at {self.size} of {header.bytes_used} bytes, as by a partial copy"
            )
        return header

    def _walk(self) -> Iterator[tuple[int, int, int, int]]:
        """Yields (kind, first, used, offset of the items) of every chunk, checked to be inside."""
        offset, end = HEADER_BYTES, self.header.bytes_used
        while offset + CHUNK_BYTES <= end:
            kind, size, first, used, _ = CHUNK_HEADER.unpack_from(self._data, offset)
            if kind not in ITEM_BYTES or size < 4096 or size % 4096 or offset + size > end:
                raise self._damaged(f"no sound chunk at byte {offset}")
            if used * ITEM_BYTES[kind] + CHUNK_BYTES > size:
                raise self._damaged(f"the chunk at byte {offset} claims {used} items")
            yield kind, first, used, offset + CHUNK_BYTES
            offset += size

    def _items(self, kind: int, layout: struct.Struct) -> Iterator[tuple[int, int, tuple]]:
        """Yields (chunk.first, index, fields) of every valid item of one kind."""
        for chunk_kind, first, used, offset in self._chunks:
            if chunk_kind == kind:
                view = memoryview(self._data)[offset : offset + used * layout.size]
                for index, fields in enumerate(layout.iter_unpack(view)):
                    yield first, index, fields

    def _let_go(self, size: int, offset: int) -> None:
        """Of these bytes of the file hardly any will be read again: they are no memory of ours."""
        if isinstance(self._data, mmap.mmap):
            start = offset - offset % mmap.PAGESIZE
            self._data.madvise(mmap.MADV_DONTNEED, start, size + offset - start)
