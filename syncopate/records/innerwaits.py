"""Which locks threads wait for while they hold another: by the recorded waits that lie in its
recorded holds. Both are samples, so that this is a share, and no sum."""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from typing import NamedTuple

from syncopate.records.analysis import Analysis
from syncopate.records.lockgroups import Group
from syncopate.records.recordformat import KIND_NAMES, LOST_KINDS, Event


class Inner(NamedTuple):
    """Waits for what takes most of the time within a lock's holds."""

    name: str  # of the locks that are waited for
    share: float  # of the time of these holds
    holds: int  # in which such a wait lies
    samples: int  # holds looked at


class InnerWaits:
    """Of one record."""

    def __init__(self, analysis: Analysis):
        self._of = analysis
        self._waits: dict[int, list[Event]] = defaultdict(list)  # by thread
        for waits in analysis.waits.values():
            for wait in waits:
                if KIND_NAMES.get(wait.wait) in LOST_KINDS:
                    self._waits[wait.thread].append(wait)
        self._starts: dict[int, list[int]] = {}
        for thread, waits in self._waits.items():
            waits.sort(key=lambda wait: wait.start)
            self._starts[thread] = [wait.start for wait in waits]

    def of(self, group: Group) -> Inner | None:
        """None where no such wait was seen."""
        ticks: Counter[str] = Counter()
        holds: Counter[str] = Counter()
        total = samples = 0
        for lock in group.locks:
            for hold in self._of.holds.get(lock.id, ()):
                if not hold.start:
                    continue
                samples += 1
                total += (hold.end - hold.start) * hold.weight
                inside = Counter()
                for wait in self._within(hold):
                    if wait.lock != lock.id:
                        inside[self._of.group(wait.lock).name.text] += wait.end - wait.start
                ticks.update({name: each * hold.weight for name, each in inside.items()})
                holds.update(inside.keys())
        if not total or not ticks:
            return None
        ((name, most),) = ticks.most_common(1)
        return Inner(name, most / total, holds[name], samples)

    def _within(self, hold: Event) -> list[Event]:
        """The thread's waits that begin and end in a hold."""
        starts = self._starts.get(hold.thread, [])
        first = bisect.bisect_left(starts, hold.start)
        last = bisect.bisect_left(starts, hold.end)
        return [wait for wait in self._waits[hold.thread][first:last] if wait.end <= hold.end]
