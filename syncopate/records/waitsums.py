"""Waits added up: how many, how long, and of which lengths."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Sequence

from syncopate.records import histogram, recordformat

_as_number = functools.partial(int.from_bytes, byteorder="little")


class Sums:
    """Waits, in ticks."""

    __slots__ = ("largest", "total", "waits")

    def __init__(self):
        self.waits = self.total = self.largest = 0


OfThread = tuple[int, int, int]  # waits of one thread: how many, ticks in all, and at most


class Kind(Sums):
    """Waits of one kind on a group of locks."""

    __slots__ = ("_columns", "_counts", "_packed", "_packed_waits")

    def __init__(self):
        super().__init__()
        # Rows with waits: of which threads, how many, how long together and at most.
        self._columns = tuple(array("Q") for _ in range(4))
        self._counts = [0] * 64
        # Histograms of rows to be added to _counts: as one number with 64 places of 32 bits, which
        # is added at once. Their waits together are fewer than a place holds.
        self._packed = self._packed_waits = 0

    def add_rows(
        self,
        threads: Sequence[int],
        waits: Sequence[int],
        totals: Sequence[int],
        largest: Sequence[int],
        packed: Sequence[bytes],
    ) -> tuple[int, int]:
        """Rows of a record: whose, how many waits, how long together and at most, histograms.
        Returns how many waits they are, and how long together."""
        count, total = sum(waits), sum(totals)
        self.waits += count
        self.total += total
        self.largest = max(self.largest, max(largest))
        self._add_histograms(count, waits, packed)
        columns: Iterable[Sequence[int]] = (threads, waits, totals, largest)
        if not all(waits):
            columns = zip(*(row for row in zip(threads, waits, totals, largest) if row[1]))
        for column, more in zip(self._columns, columns):
            column.extend(more)
        return count, total

    def _add_histograms(
        self, all_waits: int, waits: Sequence[int], packed: Sequence[bytes]
    ) -> None:
        if self._packed_waits + all_waits < 1 << 32:
            self._packed_waits += all_waits
            self._packed += sum(map(_as_number, packed))
            return
        for count, one in zip(waits, packed):  # of a damaged record, or of years
            if self._packed_waits + count >= 1 << 32:
                self._unpack()
            self._packed_waits += count
            self._packed += _as_number(one)

    def _unpack(self) -> None:
        # A damaged record's counts may be more than its waits: what overflows is left out.
        whole = (self._packed & ((1 << 2048) - 1)).to_bytes(256, "little")
        histogram.add(self._counts, recordformat.ROW_HISTOGRAM.unpack(whole))
        self._packed = self._packed_waits = 0

    @property
    def histogram(self) -> list[int]:
        """How many waits were of which length, by histogram.bucket()."""
        if self._packed:
            self._unpack()
        return self._counts

    @property
    def threads(self) -> set[int]:
        """Those that waited so."""
        return set(self._columns[0])

    def by_thread(self) -> dict[int, OfThread]:
        threads, *sums = self._columns
        found = dict(zip(threads, zip(*sums)))
        return found if len(found) == len(threads) else merged(zip(threads, zip(*sums)))

    def add_all(self, other: Kind) -> None:
        """The waits of another group as well."""
        self.waits += other.waits
        self.total += other.total
        self.largest = max(self.largest, other.largest)
        for column, more in zip(self._columns, other._columns):
            column.extend(more)
        histogram.add(self.histogram, other.histogram)


def merged(of_threads: Iterable[tuple[int, OfThread]]) -> dict[int, OfThread]:
    """The sums of each thread, of which there may be several."""
    found: dict[int, OfThread] = {}
    for thread, more in of_threads:
        known = found.get(thread)
        if known:
            more = (known[0] + more[0], known[1] + more[1], max(known[2], more[2]))
        found[thread] = more
    return found
