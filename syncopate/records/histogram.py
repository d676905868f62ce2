"""Histograms of ticks as the recorder keeps them: two buckets an octave, from 64 ticks on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def lower_edge(bucket: int) -> int:
    """The least value of a bucket, in ticks; bucket 0 also takes everything below 64."""
    return (2 + (bucket & 1)) << (bucket // 2 + 5) if bucket else 0


def bucket(ticks: int, buckets: int) -> int:
    """The bucket of a value, of so many; src/record/format.h has the same."""
    if ticks < 64:
        return 0
    log = ticks.bit_length() - 1
    return min(2 * log + (ticks >> (log - 1) & 1) - 12, buckets - 1)


def add(into: list[int], histogram: Sequence[int]) -> None:
    """Adds `histogram` to `into`, which must be as long."""
    for index, count in enumerate(histogram):
        if count:
            into[index] += count


def buckets(histogram: Sequence[int], largest: int) -> Iterator[tuple[int, int, int]]:
    """Yields (from, to, count), in ticks, of every bucket with values; none exceeds `largest`."""
    for bucket, count in enumerate(histogram):
        if count:
            low = lower_edge(bucket)
            last = bucket == len(histogram) - 1
            high = largest if last else min(largest, lower_edge(bucket + 1))
            yield low, max(low, high), count


def percentile(histogram: Sequence[int], share: float, largest: int) -> float | None:
    """The value below which `share` (0 to 1) of the values lie, in ticks.

    Interpolates linearly inside the bucket that holds it; no value exceeds `largest`, which also
    closes the last, open bucket, and is the value where there is one alone. Returns None when there
    are no values.
    """
    total = sum(histogram)
    if not total:
        return None
    if total == 1:
        return float(largest)
    rank = share * total
    below = 0
    for bucket, count in enumerate(histogram):
        if count and below + count >= rank:
            low = lower_edge(bucket)
            high = largest if bucket == len(histogram) - 1 else lower_edge(bucket + 1)
            high = max(low, min(high, largest))
            return min(low + (high - low) * (rank - below) / count, float(largest))
        below += count
    return float(largest)
