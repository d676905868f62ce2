"""What a replay of one lock's holds leaves out, and what bounds a gain beside it: other locks that
are taken inside or outside, waits that holds do not make, semaphores that several threads have."""

from __future__ import annotations

import math
from collections.abc import Iterator

from syncopate.base.errors import FAILED, Failure
from syncopate.base.units import duration, percent, several
from syncopate.records import usedholds
from syncopate.records.analysis import Analysis
from syncopate.records.innerwaits import InnerWaits
from syncopate.records.lockgroups import Group
from syncopate.records.recordformat import OBJECT_NAMES

TOGETHER = 1.05  # holds at one time, in the mean: one lock has fewer
MOSTLY = 0.5
MOST_LOOKED_AT = 20  # locks inside which this one may be taken
LEAST_INSIDE = 0.05  # of a section's time: waits for another lock that bound what is to be gained
LEAST_LOST = 0.01  # of all threads' time: less is not worth a word


def under(analysis: Analysis, group: Group, assumptions: list[str]) -> str:
    """The lock in whose sections this one is waited for, of those that most is lost to."""
    waits = InnerWaits(analysis)
    lost = sorted(analysis.groups, key=lambda each: -each.lost())
    for other in lost[:MOST_LOOKED_AT]:
        inner = waits.of(other) if other is not group else None
        if inner and inner.name == group.name.text and inner.share >= LEAST_INSIDE:
            name = other.name.text
            assumptions.append(
                f"threads take it while they hold {name}: that they wait for {name} as well is not"
                " in the replay, and parts of this lock or another lock may bring less"
            )
            return name
    return ""


def only_if_one_has_it(
    analysis: Analysis, group: Group, held_ns: float, assumptions: list[str]
) -> None:
    """A Failure where several threads have a semaphore at one time: it is replayed as a lock."""
    together = (
        held_ns / usedholds.even_members(group) / max(1, analysis.since_start(analysis.end_ticks))
    )
    if together > TOGETHER:
        raise Failure(
            f"{analysis.record.path}: {together:.1f} threads have semaphore '{group.name.text}' at"
            " one time, in the mean: what only one can have is replayed",
            FAILED,
        )
    assumptions.append("a semaphore is replayed as a lock: one thread has it at a time")


def most(analysis: Analysis, group: Group, acquisitions: int, assumptions: list[str]) -> float:
    """How many sections a second the lock allows for which they wait inside, if all who take that
    take it as often as recorded, beside each section, and hold it for as long."""
    inner = InnerWaits(analysis).of(group)
    if inner is None or inner.share < LEAST_INSIDE:
        return math.inf
    other = next(each for each in analysis.groups if each.name.text == inner.name)
    timed = sum(lock.hold_samples for lock in other.locks)
    if not timed or OBJECT_NAMES[other.object] == "rwlock" or other is group:
        return math.inf
    each = usedholds.of(analysis, other, []).mean_ns
    held = usedholds.taken(other) * each / usedholds.even_members(other)
    if not held:
        return math.inf
    allowed = acquisitions * 1e9 / held
    assumptions.append(
        f"its sections wait for {other.name.text} inside, for {percent(inner.share)} of their time:"
        f" that is held as long and as often, which allows {allowed:,.0f} sections a second at most"
    )
    return allowed


def not_replayed(analysis: Analysis, group: Group, holds: usedholds.Holds) -> Iterator[str]:
    """That waits were longer than all who wait together could make them by the holds replayed,
    where much time went into them."""
    lives = sum(life(analysis, thread) for thread in analysis.threads)
    waits, lost = group.contended(), analysis.ns(group.lost())
    if group.open.waits and analysis.ns(group.open.total) >= MOSTLY * lost:
        yield (
            f"{several(group.open.waits, 'wait')} for it {'is' if group.open.waits == 1 else 'are'}"
            " not over at the record's end, which is most of the time lost to it: waits that do not"
            " end, as in a deadlock, are not in the replay"
        )
    longest = max((high for _, high, _ in [*holds.awake, *holds.asleep]), default=0)
    queue = max(1, len(group.losers())) * longest
    if waits and lost >= LEAST_LOST * lives and lost / waits > queue:
        yield (
            f"waits took {duration(lost / waits)} in the mean, which no hold replayed explains (the"
            f" longest: {duration(longest)}): what else made them so long, as holders without a"
            " processor or a few far longer holds, is not in the replay, and nor is what a change"
            " of that would bring"
        )


def life(analysis: Analysis, thread: int) -> float:
    entry = analysis.threads[thread]
    end = entry.end_ticks or analysis.end_ticks
    return analysis.ns(max(0, end - entry.start_ticks))
