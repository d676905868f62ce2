"""Sampled waits and holds as spans in time, for the page's timeline and for traces."""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from syncopate.records.analysis import Analysis
from syncopate.records.naming import object_name
from syncopate.records.recordformat import KIND_NAMES


class Span(NamedTuple):
    """A wait or a hold; times in nanoseconds since the process began."""

    thread: int
    start_ns: int
    length_ns: int
    lock: str
    kind: str  # a wait kind, or "hold"
    stack: int
    weight: int = 1  # of so many waits or holds alike this one was kept
    holder: int = 0  # of a wait: the kernel's id of the thread that held the lock; 0: not known


def offsets(analyses: list[Analysis]) -> list[int]:
    """How long after the first of these processes each one began, in nanoseconds."""
    begins = [analysis.record.header.start_realtime_ns for analysis in analyses]
    return [begin - min(begins) for begin in begins]


def _called(analysis: Analysis, lock: int) -> str:
    """A lock's name, and what it is unless a mutex: an rwlock and a condition may share one."""
    group = analysis.group_of.get(lock)
    if group is None:
        return f"lock #{lock}"
    kind = object_name(group.object, group.locks)
    return group.name.text if kind == "mutex" else f"{group.name.text} ({kind})"


def waits(analysis: Analysis) -> Iterator[Span]:
    for lock, events in analysis.waits.items():
        name = _called(analysis, lock)
        for event in events:
            start = analysis.since_start(event.start)
            length = analysis.ns(event.end - event.start)
            kind = KIND_NAMES.get(event.wait, "wait")
            yield Span(
                event.thread, start, length, name, kind, event.stack, event.weight, event.holder
            )


def holds(analysis: Analysis) -> Iterator[Span]:
    """Holds whose start is known."""
    for lock, events in analysis.holds.items():
        name = _called(analysis, lock)
        for event in events:
            if event.start:
                start = analysis.since_start(event.start)
                length = analysis.ns(event.end - event.start)
                yield Span(event.thread, start, length, name, "hold", event.stack, event.weight)


def longest(spans: Iterator[Span], most: int) -> list[Span]:
    """The `most` longest spans, in order of time."""
    kept = heapq.nlargest(most, spans, key=lambda span: span.length_ns)
    return sorted(kept, key=lambda span: span.start_ns)
