"""Waits added up: how many, how long, and of which lengths."""

from __future__ import annotations

from syncopate.records import histogram, recordformat


class Sums:
    """Waits, in ticks."""

    __slots__ = ("largest", "total", "waits")

    def __init__(self):
        self.waits = self.total = self.largest = 0


class Kind(Sums):
    """Waits of one kind on a group of locks."""

    __slots__ = ("_counts", "_packed", "_packed_waits", "threads")

    def __init__(self):
        super().__init__()
        self.threads: set[int] = set()  # that waited so
        self._counts = [0] * 64
        # Histograms of rows to be added to _counts: as one number with 64 places of 32 bits, which
        # is added at once. Their waits together are fewer than a place holds.
        self._packed = self._packed_waits = 0

    def add_histogram(self, waits: int, packed: bytes) -> None:
        """That of a row of so many waits."""
        if self._packed_waits + waits >= 1 << 32:
            self._unpack()
        self._packed_waits += waits
        self._packed += int.from_bytes(packed, "little")

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

    def add_all(self, other: Kind) -> None:
        """The waits of another group as well."""
        self.waits += other.waits
        self.total += other.total
        self.largest = max(self.largest, other.largest)
        self.threads |= other.threads
        histogram.add(self.histogram, other.histogram)
