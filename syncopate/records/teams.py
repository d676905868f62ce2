"""What a record says of the threads of an OpenMP team where they wait for each other: at a barrier,
or at the end of a region. All times here are ticks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from syncopate.records import recordformat
from syncopate.records.recordfile import Record


class Team:
    """Of one such place."""

    def __init__(self):
        # By thread: at a barrier the ticks it waited, and how often it came last.
        self.arrivals: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        # At the end of a region, by who came last: the ticks that the others waited for it.
        self.kept_waiting: Counter[int] = Counter()
        # By thread: how often it came there, and for how long it was at work before.
        self.at_work: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        # By who came last: the ticks that the others waited since it was at work longer than they.
        self.more_work: Counter[int] = Counter()


def read(record: Record, team_of: Callable[[int], Team]) -> None:
    """Adds what the record counts to the teams, by the ids of the places."""
    for thread, lock, times, ticks in record.last_arrivals():
        team = team_of(lock)
        team.arrivals[thread][1] += times
        team.kept_waiting[thread] += ticks
    for thread, lock, times, ticks in record.work(recordformat.AT_WORK):
        at_work = team_of(lock).at_work[thread]
        at_work[0] += times
        at_work[1] += ticks
    for thread, lock, _, ticks in record.work(recordformat.MORE_WORK):
        team_of(lock).more_work[thread] += ticks
