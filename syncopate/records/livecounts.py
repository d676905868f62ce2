"""How often a running program has taken its locks, to the last time: a record has steps."""

from __future__ import annotations

import os
import struct

from syncopate.records.recordformat import BY_PRELOAD, MUTEX, Header, Lock

# As is_sampled() and since_sampled() of src/record/recorder.h.
PERIOD, FIRST_PERIOD, FIRST_ONES = 256, 16, 4096
HAS_PLACES = 1 << 16  # of Lock.places: the mutex's memory has its identity, and its count


class LiveCounts:
    """Reads the counts that mutexes hold themselves from the memory of a process. Who may not read
    that, or finds that it ends, has the record's."""

    def __init__(self, header: Header):
        self._memory: int | None = None
        if header.recorder == BY_PRELOAD:
            try:
                self._memory = os.open(f"/proc/{header.process_id}/mem", os.O_RDONLY)
            except OSError:
                return

    def __enter__(self) -> LiveCounts:
        return self

    def __exit__(self, *_) -> None:
        if self._memory is not None:
            os.close(self._memory)

    def acquisitions(self, lock: Lock) -> int:
        if self._memory is None or lock.object != MUTEX or not lock.places & HAS_PLACES:
            return lock.acquisitions
        told = lock.acquisitions
        if self._word(lock, lock.places >> 8 & 255) != lock.id:
            return told
        count = self._word(lock, lock.places & 255)
        if count is None:
            return told
        return count if told <= count <= told + PERIOD else told + since_told(count)

    def _word(self, lock: Lock, offset: int) -> int | None:
        try:
            raw = os.pread(self._memory, 4, lock.address + offset)
        except (OSError, OverflowError):
            return None
        return struct.unpack("<I", raw)[0] if len(raw) == 4 else None


def since_told(count: int) -> int:
    """Of so many, how many came after the last that a record was told of."""
    return (count - 1) % (FIRST_PERIOD if count <= FIRST_ONES else PERIOD) if count else 0
