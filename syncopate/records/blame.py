"""Who held a lock while others waited: joins wait and hold events by their overlap in time.

Events are samples. Each wait's time is spread over the sampled holds of the same lock that overlap
it, in proportion to the overlap and to how many holds each sample stands for; a hold whose start is
unknown counts from the end of the one before, and so for those between, too. What is longer than
all that these stand for, nobody is known to have held: a waiter whose turn has come may lack a
processor. The thread that held the lock when the wait began is known exactly; where no sampled hold
of it overlaps, what no sample covers until another thread is seen to have the lock is laid to it,
with the stack that it is most often seen to hold from.
"""

import bisect
import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from syncopate.records.recordformat import Event

# Holds looked at for one wait; of more, an even selection. With many waits, fewer for each.
MOST_HOLDS, LEAST_HOLDS = 256, 4
MOST_PARTS = 200_000  # of all waits together


def most_holds(waits: int) -> int:
    """How many holds to look at for each of so many waits."""
    return max(LEAST_HOLDS, min(MOST_HOLDS, MOST_PARTS // max(1, waits)))


def _stands_for(hold: Event) -> int:
    """How many times as much as its length it stands for; of a damaged record a hold may for none.
    Where its start is unknown, its span has what was left out."""
    return max(hold.weight, 1) if hold.start else 1


class Blame(NamedTuple):
    """A part of one wait and who is to answer for it."""

    waiter: int  # thread index
    holder: int  # kernel thread id, 0 when unknown
    stack: int  # of the holder, 0 when unknown
    ticks: float


class Holds:
    """The sampled holds of one lock."""

    def __init__(
        self,
        holds: Sequence[Event],
        thread_ids: dict[int, int],
        most: int,
        waits: Sequence[Event] = (),
    ):
        """`most`: how many are looked at for one wait (most_holds()). `waits`: of a lock that one
        thread has at a time, and that all who waited got: they tell who had it then."""
        self._thread_ids = thread_ids
        self._most = most
        self._spans: list[tuple[int, int, Event]] = []
        self._ends = sorted(hold.end for hold in holds)
        self._seen = [(wait.end, thread_ids.get(wait.thread, 0)) for wait in waits]
        self._seen += [(wait.start, wait.holder) for wait in waits if wait.holder]
        self._seen.sort()
        previous = 0
        for hold in sorted(holds, key=lambda hold: hold.end):
            # Unknown start: not before the last hold that we saw end.
            self._spans.append((hold.start or self._not_before(hold, previous), hold.end, hold))
            previous = hold.end
        self._spans.sort(key=lambda span: span[0])
        self._starts = [span[0] for span in self._spans]
        self._latest: list[int] = []  # the greatest end so far, so that it can be bisected
        for _, end, _ in self._spans:
            self._latest.append(max(end, self._latest[-1] if self._latest else 0))

    def _not_before(self, hold: Event, previous: int) -> int:
        """When others were last seen to have it, if that was after `previous`. One that stands for
        others has their time, too."""
        thread = self._thread_ids.get(hold.thread, 0)
        place = bisect.bisect_left(self._seen, (hold.end, 0)) if hold.weight == 1 else 0
        while place > 0 and self._seen[place - 1][0] > previous:
            place -= 1
            time, holder = self._seen[place]
            if holder != thread:
                return time
        return previous

    @functools.cached_property
    def _usual(self) -> dict[int, int]:
        """Where each thread mostly holds it."""
        counts: dict[int, Counter[int]] = defaultdict(Counter)
        for _, _, hold in self._spans:
            counts[self._thread_ids.get(hold.thread, 0)][hold.stack] += hold.weight
        return {thread: stacks.most_common(1)[0][0] for thread, stacks in counts.items()}

    def blame(self, wait: Event) -> Iterator[Blame]:
        """Spreads the whole of one wait; the parts' ticks add up to its length."""
        length = wait.end - wait.start
        overlaps: list[tuple[float, Event]] = list(self._overlapping(wait))
        if wait.holder and all(self._thread_ids.get(h.thread) != wait.holder for _, h in overlaps):
            overlaps += self._of_holder(wait)  # it may not be among those that were selected
        covered = min(sum(shared for shared, _ in overlaps), length)
        rest = 0 if overlaps else length
        if wait.holder and all(self._thread_ids.get(h.thread) != wait.holder for _, h in overlaps):
            rest = min(length - covered, self._until_another(wait)) if overlaps else length
        if rest:
            stack = self._usual.get(wait.holder, 0) if wait.holder else 0
            yield Blame(wait.thread, wait.holder, stack, rest)
        shares = [(shared * _stands_for(hold), hold) for shared, hold in overlaps]
        total = sum(share for share, _ in shares)
        known = min(length, max(covered, self._explained(wait, overlaps))) - rest
        if length - rest > known:
            yield Blame(wait.thread, 0, 0, length - rest - known)
        for share, hold in shares:
            part = known * share / total
            holder = self._thread_ids.get(hold.thread, 0)
            yield Blame(wait.thread, holder, hold.stack, part)

    def _explained(self, wait: Event, overlaps: list[tuple[float, Event]]) -> float:
        """How long it was held while the wait lasted, as far as samples tell: until the last of
        them ended, and for as long again as others were held, between two samples, that were left
        out."""
        if not overlaps:
            return wait.end - wait.start
        last, others = wait.start, 0.0
        for shared, hold in overlaps:
            last = max(last, min(hold.end, wait.end))
            if hold.weight > 1:
                others = max(others, shared * (hold.weight - 1 if hold.start else 1))
            if hold.start > wait.start:
                place = bisect.bisect_right(self._ends, hold.start)
                before = self._ends[place - 1] if place else 0
                others = max(others, hold.start - max(wait.start, before))
        return last - wait.start + others

    @functools.cached_property
    def _by_thread(self) -> dict[int, list[int]]:
        """The places of each thread's spans, which are in order."""
        found: dict[int, list[int]] = defaultdict(list)
        for place, (_, _, hold) in enumerate(self._spans):
            found[self._thread_ids.get(hold.thread, 0)].append(place)
        return found

    def _of_holder(self, wait: Event) -> list[tuple[float, Event]]:
        """The first hold by the thread that held the lock when the wait began that overlaps the
        wait: until then that thread held it. As if it stood for as many as one that is selected."""
        places = self._by_thread.get(wait.holder, [])
        first, _, step = self._selection(wait)
        for place in places[bisect.bisect_left(places, first) :]:
            start, end, hold = self._spans[place]
            if start >= wait.end:
                break
            if end > wait.start and hold.thread != wait.thread:
                shared = min(end, wait.end) - max(start, wait.start)
                return [(max(shared, 1) / step, hold)]  # it may be shorter than the clock's step
        return []

    def _until_another(self, wait: Event) -> int:
        """How long it waits until another thread is seen to have it than when it began; of a hold
        whose start is unknown, until its end."""
        first, last, _ = self._selection(wait)
        for start, end, hold in self._spans[first:last]:  # in the order of their starts
            since = start if hold.start else end
            if since >= wait.start and hold.thread != wait.thread:
                return min(since, wait.end) - wait.start
        return wait.end - wait.start

    def _selection(self, wait: Event) -> tuple[int, int, int]:
        """Among which spans to look, and each which of them."""
        first = bisect.bisect_right(self._latest, wait.start)
        last = bisect.bisect_left(self._starts, wait.end)
        return first, last, max(1, (last - first) // self._most)

    def _overlapping(self, wait: Event) -> Iterator[tuple[int, Event]]:
        for index in range(*self._selection(wait)):
            start, end, hold = self._spans[index]
            shared = min(end, wait.end) - max(start, wait.start)
            if shared > 0 and hold.thread != wait.thread:
                yield shared, hold
