"""How long a lock's holds are, as a replay needs it: those that run and those that sleep, without
those of holders that were interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from syncopate.base.units import duration, percent
from syncopate.records import histogram
from syncopate.records.analysis import Analysis
from syncopate.records.innerwaits import InnerWaits
from syncopate.records.lockgroups import Group
from syncopate.records.recordformat import INSIDE

PREEMPTED_NS = 200_000  # a rare hold this long was interrupted: by the order of a time slice
FAR_LONGER = 20  # ... and by so much more than the median
RARE = 0.01  # of the holds
ENOUGH = 640  # that those measured of a lock stand for: forty of one in sixteen

Buckets = list[tuple[int, int, int]]  # from ns, to ns, how often


class Holds(NamedTuple):
    """A lock's holds."""

    awake: Buckets  # that keep a processor
    asleep: Buckets  # in which their thread sleeps, or waits for input or output
    mean_ns: float  # of all
    awake_ns: float  # of that, what takes a processor


def of(analysis: Analysis, group: Group, assumptions: list[str]) -> Holds:
    """What the record says; what had to be assumed is added to `assumptions`."""
    undisturbed, slept, ticks, longest = _undisturbed(analysis, group)
    often = sum(undisturbed) + sum(slept)
    exact = analysis.ns(ticks) / often if often >= ENOUGH else None
    if exact is None:
        undisturbed, slept = _merged(analysis, group)
        longest = max(lock.hold_max for lock in group.locks)
    asleep = buckets(analysis, slept, longest)
    awake, long = usual(analysis, undisturbed, longest)
    if long and exact is None:
        share = 100 * long / (sum(undisturbed) + sum(slept))
        limit = duration(_interrupted(buckets(analysis, undisturbed, longest)))
        assumptions.append(
            f"{share:.2g} % of the measured holds were over {limit}: left out, as of holders that"
            " were interrupted"
        )
    if exact is not None and not long:
        times = exact / max(1.0, mean(awake + asleep))
        awake, asleep = (scaled_by(each, times) for each in (awake, asleep))
    return _holds(awake, asleep, assumptions)


def _holds(awake: Buckets, asleep: Buckets, assumptions: list[str]) -> Holds:
    often = [sum(count for _, _, count in each) for each in (awake, asleep)]
    part = often[0] / max(1, sum(often))
    if asleep:
        which = (
            "the sections" if not awake else f"{percent(1 - part)} of the sections, the longest,"
        )
        assumptions.append(
            f"in {which} the thread sleeps, or waits for input or output: that takes no processor,"
            " and is no slower beside others' (of one disk it may be)"
        )
    return Holds(awake, asleep, mean(awake + asleep), part * mean(awake))


def _undisturbed(analysis: Analysis, group: Group) -> tuple[list[int], list[int], int, int]:
    """Of holds that were not interrupted: the histograms of those that ran and of those that slept,
    the sum of all, and the longest, in ticks."""
    ids = {lock.id for lock in group.locks}
    watched = _sleepers(analysis, group)
    ran, slept, ticks, longest = [0] * 64, [0] * 64, 0, 0
    for row in analysis.record.gaps(INSIDE):
        if row.lock in ids:
            counts = list(row.histogram)
            histogram.add(slept, _take_longest(counts, watched.get((row.thread, row.lock), 0.0)))
            histogram.add(ran, counts)
            ticks, longest = ticks + row.wait_sum, max(longest, row.wait_max)
    return ran, slept, ticks, longest


def _merged(analysis: Analysis, group: Group) -> tuple[list[int], list[int]]:
    """The same of all holds that were timed."""
    counts = [0] * 46
    for lock in group.locks:
        histogram.add(counts, lock.hold_histogram)
    seen = group.interrupted
    share = seen["slept"] / seen["watched"] if seen["watched"] else 0.0
    slept = _take_longest(counts, max(0.0, share - _waits_inside(analysis, group)))
    return counts, slept


def _sleepers(analysis: Analysis, group: Group) -> dict[tuple[int, int], float]:
    """Of each thread's holds of each lock, the share in which it slept; but not for another lock:
    that does not go on beside others."""
    ids = {lock.id for lock in group.locks}
    inside = _waits_inside(analysis, group) if group.interrupted["slept"] else 0.0
    return {
        (thread, lock): max(0.0, counts["slept"] / max(1, counts["watched"]) - inside)
        for thread, lock, counts in analysis.record.holders()
        if lock in ids
    }


def _waits_inside(analysis: Analysis, group: Group) -> float:
    """The share of its holds in which another lock is waited for."""
    inner = InnerWaits(analysis).of(group)
    return inner.holds / inner.samples if inner else 0.0


def _take_longest(counts: list[int], share: float) -> list[int]:
    """Moves the longest `share` of the times out of a histogram."""
    left = round(share * sum(counts))
    taken = [0] * len(counts)
    for index in reversed(range(len(counts))):
        taken[index] = min(left, counts[index])
        counts[index] -= taken[index]
        left -= taken[index]
    return taken


def buckets(analysis: Analysis, counts: Sequence[int], largest: int) -> Buckets:
    """The buckets of a histogram that are not empty, as (from ns, to ns, count)."""
    found: Buckets = []
    for index, count in enumerate(counts):
        if count:
            low = histogram.lower_edge(index)
            last = index == len(counts) - 1
            high = max(low, min(largest, largest if last else histogram.lower_edge(index + 1) - 1))
            found.append((analysis.ns(low), analysis.ns(high), count))
    return found


def usual(analysis: Analysis, counts: Sequence[int], largest: int) -> tuple[Buckets, int]:
    """The buckets of a histogram as (from ns, to ns, count), and how many long times were left out:
    those as long as an interruption, where they are rare."""
    found = buckets(analysis, counts, largest)
    most = _interrupted(found)
    long = sum(count for low, _, count in found if low >= most)
    if long > RARE * sum(counts):
        return found, 0
    return [bucket for bucket in found if bucket[0] < most], long


def _interrupted(found: Buckets) -> float:
    """How long, in ns, is taken for an interruption where it is rare."""
    return max(PREEMPTED_NS, FAR_LONGER * _median(found))


def _median(found: Buckets) -> float:
    left = sum(count for _, _, count in found) / 2
    for low, high, count in found:
        left -= count
        if left <= 0:
            return (low + high) / 2
    return 0.0


def mean(found: Buckets) -> float:
    total = sum(count for _, _, count in found)
    return sum((low + high) / 2 * count for low, high, count in found) / total if total else 0.0


def scaled(found: Buckets, to: float) -> Buckets:
    """The same shape around the mean `to`, which is known exactly: half an octave is coarse."""
    return scaled_by(found, to / max(1.0, mean(found)))


def scaled_by(found: Buckets, times: float) -> Buckets:
    """All `times` as long."""
    return [(round(low * times), round(high * times), count) for low, high, count in found]


def taken(group: Group) -> int:
    return sum(lock.acquisitions for lock in group.locks)


def even_members(group: Group) -> int:
    """As many evenly used locks as would meet as often as these do."""
    squares = sum(lock.acquisitions**2 for lock in group.locks)
    return max(1, round(taken(group) ** 2 / squares)) if squares else 1
