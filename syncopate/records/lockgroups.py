"""Locks of one name, with all that a record says of their waits and holds: a report's line."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

from syncopate.records import recordformat
from syncopate.records.naming import Name
from syncopate.records.recordformat import LOST_KINDS
from syncopate.records.teams import Team
from syncopate.records.waitsums import Kind, OfThread, Sums, merged


class Group:
    """Locks of one name: one line of the report."""

    def __init__(self, name: Name, kind: int):
        self.name = name
        self.object = kind
        self.locks: list[recordformat.Lock] = []
        self.kinds: dict[str, Kind] = defaultdict(Kind)
        self.team = Team()
        self.elision: Counter[str] = Counter()  # by recordformat.ELISION_COUNTS
        self.speculation: Counter[str] = Counter()  # by recordformat.SPECULATION_COUNTS
        # Holds that were watched, and those that did not run on (recordformat.HOLDER_COUNTS).
        self.interrupted: Counter[str] = Counter()
        # Ticks that threads waited, by the kernel's number of who held it meanwhile (0: not known).
        self.blocked_by: Counter[int] = Counter()
        self.releases = 0  # while others waited
        self.in_vain = 0  # waits for it that ended without it
        self.open = Sums()  # lost waits that are not over
        self.signaled_by_waiters = 0  # ticks of waits for condition variables that are used so
        # Of watched holds: how long they took together, and how long of that those that slept did,
        # which are taken to be each thread's longest ones.
        self.held_ticks, self.slept_ticks = 0, 0.0
        self.kept_processor = Sums()  # of watched holds those that did not lose it
        self.waiters: Counter[int] = Counter()  # stack id to ticks
        self.holders: Counter[int] = Counter()

    def lost(self) -> int:
        return sum(kind.total for name, kind in self.kinds.items() if name in LOST_KINDS)

    def losers(self) -> set[int]:
        """The threads that waited for it as for a lock."""
        kinds = (kind for name, kind in self.kinds.items() if name in LOST_KINDS)
        return set().union(*(kind.threads for kind in kinds))

    def by_thread(self) -> dict[int, OfThread]:
        """All its waits, of whatever kind."""
        each = [kind.by_thread() for kind in self.kinds.values()]
        if len(each) == 1:
            return each[0]
        return merged(itertools.chain.from_iterable(one.items() for one in each))

    def contended(self) -> int:
        """How often a thread waited for it."""
        return sum(kind.waits for name, kind in self.kinds.items() if name in LOST_KINDS)

    def got(self) -> int:
        """How many of these waits ended with the lock, as far as is known."""
        return max(0, self.contended() - self.in_vain - self.open.waits)


def is_for_signals(group: Group) -> bool:
    """Whether nobody holds it: it stands for the end of a thread or a signal, or is a semaphore
    that threads have waited for, and never for each other."""
    if group.object == recordformat.SEMAPHORE:
        return "semaphore" in group.kinds and "semaphore_lock" not in group.kinds
    return group.object in (recordformat.THREAD, recordformat.CONDITION)
