"""What record files count beside waits: releases, holds, sections that were elided, and others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from syncopate.records.recordchunks import RecordChunks
from syncopate.records.recordformat import (
    CALL,
    CAME_LAST,
    ELISION,
    ELISION_COUNTS,
    HOLDER,
    HOLDER_COUNTS,
    IN_VAIN,
    KIND_NAMES,
    PAGES_COUNTS,
    RELEASE,
    ROW_HISTOGRAM,
    ROW_KIND,
    ROWS,
    SIDE_COUNTS,
    SIGNALS,
    SPECULATION,
    SPECULATION_COUNTS,
    WAIT_ROW,
    Row,
)


class RecordCounts(RecordChunks):
    """The rows of one open record that are no waits, by what each kind of them counts."""

    _other_rows: dict[int, list[tuple[int, int]]] | None = None  # by kind: thread, place

    def _rows_of(self, wanted: int) -> Iterator[tuple[int, tuple]]:
        """Thread, and fields, of the rows of one kind that no wait is: mostly few."""
        if self._other_rows is None:
            self._other_rows = defaultdict(list)
            for kind, thread, used, offset in self._chunks:
                if kind != ROWS:
                    continue
                view = memoryview(self._data)[offset : offset + used * WAIT_ROW.size]
                for index, (of_row,) in enumerate(ROW_KIND.iter_unpack(view)):
                    if of_row not in KIND_NAMES:
                        at = offset + index * WAIT_ROW.size
                        self._other_rows[of_row].append((thread, at))
                self._let_go(len(view), offset)
        for thread, at in self._other_rows[wanted]:
            yield thread, WAIT_ROW.unpack_from(self._data, at)

    def calls(self) -> Iterator[tuple[int, int, int, int]]:
        """Thread, number of a system call, how often the thread was blocked in it, and ticks."""
        for thread, f in self._rows_of(CALL):
            yield thread, f[0], f[2], f[3]

    def last_arrivals(self) -> Iterator[tuple[int, int, int, int]]:
        """Thread, barrier's or region's id, how often that thread came last there, and at the end
        of a region how many ticks the others waited for it, in all."""
        for thread, f in self._rows_of(CAME_LAST):
            yield thread, f[0], f[2], f[3]

    def work(self, kind: int) -> Iterator[tuple[int, int, int, int]]:
        """Thread, barrier's or region's id, how often, how many ticks: AT_WORK, or MORE_WORK."""
        for thread, f in self._rows_of(kind):
            yield thread, f[0], f[2], f[3]

    def releases(self) -> Iterator[Row]:
        """How often each thread released a lock while others waited, and how long that took."""
        for thread, f in self._rows_of(RELEASE):
            yield Row(thread, *f[:5], ROW_HISTOGRAM.pack(*f[5:]))

    def gaps(self, kind: int) -> Iterator[Row]:
        """OUTSIDE: how often and how long each thread worked between two of its sections of a lock,
        estimated from some; AWAY: the same of being in other waits or asleep between them; INSIDE:
        of sections that did not lose their processor."""
        for thread, f in self._rows_of(kind):
            yield Row(thread, *f[:5], ROW_HISTOGRAM.pack(*f[5:]))

    def holders(self) -> Iterator[tuple[int, int, dict[str, int]]]:
        """Thread, lock id; of how many of one thread's holds it is known whether they ran on, and
        how many did not; and of how many the new pages are known (format.h's holder_count)."""
        for thread, f in self._rows_of(HOLDER):
            counts = dict(zip((*HOLDER_COUNTS, *PAGES_COUNTS, *SIDE_COUNTS), f[5:]))
            given = {"held_ticks": f[3], "given_ticks": counts["given"] * f[4]}
            yield thread, f[0], {"watched": f[2], **counts, **given}

    def elisions(self) -> Iterator[tuple[int, dict[str, int]]]:
        """Lock id, and what became of its elided sections in one thread."""
        for _, f in self._rows_of(ELISION):
            yield f[0], dict(zip(ELISION_COUNTS, f[5:]))

    def speculations(self) -> Iterator[tuple[int, dict[str, int]]]:
        """Lock id, and what became of one thread's runs ahead of it."""
        for _, f in self._rows_of(SPECULATION):
            yield f[0], dict(zip(SPECULATION_COUNTS, f[5:]))

    def signals(self) -> Iterator[tuple[int, int, int]]:
        """Thread, a condition variable's id, and how often the thread woke who waited for it."""
        for thread, f in self._rows_of(SIGNALS):
            yield thread, f[0], f[2]

    def in_vain(self) -> Iterator[tuple[int, int]]:
        """Lock id, and how many of one thread's waits for it ended without it."""
        for _, f in self._rows_of(IN_VAIN):
            yield f[0], f[2]
