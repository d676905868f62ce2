"""What `syncopate record` adds to finished records, and where the records of children are."""

import os
import re
import struct

from syncopate.base.boundedfile import open_plain
from syncopate.records.recordformat import ENDED_AT, MAGIC, MEASURED, MEASURED_AT


def write_measured(path: str, text: str) -> None:
    """Puts `measured` into a finished record. A file that is none stays as it is.

    Requires: at most MEASURED.size bytes. Raises what open_plain() does.
    """
    with open_plain(path, change=True) as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(MEASURED_AT)
            file.write(MEASURED.pack(text.encode()))


def write_ended(path: str, monotonic_ns: int) -> None:
    """Says in a record when its process has ended. A file that is none stays as it is.

    Raises what open_plain() does.
    """
    with open_plain(path, change=True) as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(ENDED_AT)
            file.write(struct.pack("<Q", monotonic_ns))


def children_of(record: str) -> list[str]:
    """The records that child processes left beside `record`: FILE.PID and FILE.PID.N."""
    folder, base = os.path.split(record)
    pattern = re.compile(re.escape(base) + r"\.\d+(\.\d+)?")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(os.path.join(folder, name) for name in names if pattern.fullmatch(name))
