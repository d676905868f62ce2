"""How a record says that one lock is used: holds, the work between them, who takes part.

The trace that papers/workloads/replay.cpp plays again is made of this. What a record does not tell
is assumed here, and said in LockUse.assumptions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.base.units import percent
from syncopate.records import histogram, lockbounds, recordformat, usedholds
from syncopate.records.analysis import Analysis
from syncopate.records.atonce import Lives
from syncopate.records.lockgroups import Group
from syncopate.records.recordformat import (
    AWAY,
    BARRIER,
    CONDITION,
    FUTEX,
    KIND_NAMES,
    LOST_KINDS,
    OBJECT_NAMES,
    OUTSIDE,
    SEMAPHORE,
    SIDE_COUNTS,
    SPINLOCK,
    Row,
    name_of_recorder,
)

ALIKE = 4  # threads that wait as often, within this factor, play one role
FEW_WAITS = 100  # by thread; fewer say nothing about who takes the lock how often
# Processor time of a wait that sleeps and of a release that wakes, at most, where the record does
# not tell: system calls, switches and, in virtual machines, the interrupt to another processor
# (`syncopate calibrate`: 1 to 13 us).
SLEEP_NS, WAKE_NS = 2_000, 10_000
ENOUGH_OF_THREAD = 160  # that those measured of one stand for, or it is taken to do what all do
ENOUGH_SIDES = 10  # holds of which it is known whether they were for reading
READS = 90  # percent of those of a reader-writer lock, where that is not known
RARELY = 0.1  # of how often threads take the lock on average: such a thread takes no part
ENOUGH_ASKED = 20  # waits, or releases, whose processor time was asked for
BUSY = 0.7  # of the time that threads did not wait for locks, they had a processor
ONE_OFF, LEAST_CHANCE = 10, 0.01
SPINNING = ("spin", "yield")
CANDIDATES = 5  # names that a message lists


@dataclass(frozen=True)
class ThreadUse:
    """What one thread does between two sections: means, and the lengths of work where measured."""

    outside_ns: float
    away_chance: float  # of being away - in another wait - after a section
    away_ns: float
    lengths: tuple[tuple[int, int, int], ...] = ()  # of work: from ns, to ns, how often


@dataclass
class LockUse:
    """One lock's (or group of locks') use in one record."""

    name: str
    object: int
    algorithm: str  # as the replay names it
    processors: int
    acquisitions: int
    contended: int
    holds: list[tuple[int, int, int]]  # from ns, to ns, samples: of those that keep a processor
    hold_ns: float  # of all
    members: int  # locks of that name, counted by how evenly they are used
    threads: list[ThreadUse]  # of as many as live at one time
    rate: float  # acquisitions by second in which a thread lived that takes part
    assumptions: list[str] = field(default_factory=list)
    asleep: list[tuple[int, int, int]] = field(default_factory=list)  # holds in which they sleep
    runs: float = 0.0  # of these holds, the part in which the thread has a processor
    reads: int = 0  # percent of the sections that take it for reading
    under: str = ""  # the lock that threads hold meanwhile: they wait for that, too
    most: float = math.inf  # sections a second that another lock, taken inside, allows

    def awake_ns(self) -> float:
        """What a hold takes of a processor, in the mean."""
        often = [sum(n for _, _, n in each) for each in (self.holds, self.asleep)]
        ran = usedholds.mean(self.holds) * often[0]
        ran += self.runs * usedholds.mean(self.asleep) * often[1]
        return self.hold_ns if not self.asleep else ran / sum(often)

    def asleep_share(self) -> float:
        """Of the time in sections, that of those in which threads sleep."""
        often = [sum(n for _, _, n in each) for each in (self.holds, self.asleep)]
        slept = usedholds.mean(self.asleep) * often[1] if self.asleep else 0.0
        return slept / (slept + usedholds.mean(self.holds) * often[0]) if slept else 0.0

    def trace(self) -> str:
        """The text that papers/workloads/replay.cpp reads."""
        lines = ["syncopate-trace 3"]
        lines += [f"hold {low} {high} {count}" for low, high, count in self.holds]
        lines += [f"asleep {low} {high} {count}" for low, high, count in self.asleep]
        lines.append(f"runs {round(1000 * self.runs)}")
        for thread in self.threads:
            chance = round(thread.away_chance * 1e6)
            lines.append(f"thread {thread.outside_ns:.1f} {chance} {thread.away_ns:.1f}")
            lines += [f"outside {low} {high} {count}" for low, high, count in thread.lengths]
        return "\n".join(lines) + "\n"


def choose(analysis: Analysis, name: str | None) -> Group:
    """The group of locks that a user means: by its name, by a part of it, or the worst."""
    locks = [g for g in analysis.groups if g.object not in (CONDITION, BARRIER, FUTEX, 0)]
    locks.sort(key=lambda group: (group.lost(), usedholds.taken(group)), reverse=True)
    if not locks:
        raise Failure(f"{analysis.record.path}: {_without_locks(analysis)}", FAILED)
    if name is None:
        return locks[0]
    found = [g for g in locks if g.name.text == name] or [g for g in locks if name in g.name.text]
    if found:
        return found[0]
    other = [g for g in analysis.groups if name == g.name.text]
    if other:
        raise Failure(f"'{name}' is a {OBJECT_NAMES[other[0].object]}, not a lock", BAD_USE)
    names = list(dict.fromkeys(group.name.text for group in locks))
    some = ", ".join(f"'{text}'" for text in names[:CANDIDATES])
    more = f" and {len(names) - CANDIDATES} more" if len(names) > CANDIDATES else ""
    raise Failure(
        f"no lock of {analysis.record.path} is called '{name}'{near(name, names)};"
        f" those that waited most: {some}{more}",
        BAD_USE,
    )


def of(analysis: Analysis, group: Group) -> LockUse:
    """What the record says of these locks. A Failure when it has no holds."""
    samples = sum(lock.hold_samples for lock in group.locks)
    if not samples:
        raise Failure(f"{analysis.record.path}: {_without_holds(analysis, group)}", FAILED)
    assumptions = [
        "a section's length and the work outside take as long on the other machine",
    ]
    holds = usedholds.of(analysis, group, assumptions)
    members = usedholds.even_members(group)
    if members > 1:
        assumptions.append(f"{members} locks have this name; each section takes one at random")
    contended = group.got()
    acquisitions = max(usedholds.taken(group), contended)
    threads, seconds = _threads(analysis, group, acquisitions, holds, assumptions)
    if group.object == SEMAPHORE:
        lockbounds.only_if_one_has_it(analysis, group, acquisitions * holds.mean_ns, assumptions)
    assumptions += lockbounds.not_replayed(analysis, group, holds)
    return LockUse(
        name=group.name.text,
        object=group.object,
        algorithm=_algorithm(analysis, group.object),
        processors=analysis.record.header.processors,
        acquisitions=acquisitions,
        contended=contended,
        holds=holds.awake,
        asleep=holds.asleep,
        runs=_runs(analysis, group, acquisitions, holds, threads, assumptions),
        hold_ns=holds.mean_ns,
        members=members,
        threads=threads,
        rate=acquisitions / seconds,
        assumptions=assumptions,
        reads=_reads(group, assumptions),
        under=lockbounds.under(analysis, group, assumptions),
        most=lockbounds.most(analysis, group, acquisitions, assumptions),
    )


def _without_locks(analysis: Analysis) -> str:
    """Why there is none whose use could be replayed."""
    if analysis.record.header.wait == recordformat.TRANSACTIONS:
        return "it is a record of transactions; what is replayed are holds of locks"
    if any(group.object == FUTEX for group in analysis.groups):
        return "its locks are of the program's own making: how long these are held is not seen"
    recorder = name_of_recorder(analysis.record.header.recorder)
    return "no lock was " + ("waited for" if recorder == "kernel" else "seen to be used")


def _without_holds(analysis: Analysis, group: Group) -> str:
    """Why no hold of it is known, and what helps, if anything does."""
    unseen = f"how long '{group.name.text}' is held "
    recorder = name_of_recorder(analysis.record.header.recorder)
    if recorder == "jvm":
        return unseen + "a Java VM does not tell"
    if recorder == "kernel":
        return unseen + "is not seen from the kernel; without --kernel, of pthread's locks"
    if not usedholds.taken(group):
        return unseen + "is not seen of such locks, only who waits for them"
    return (
        f"no hold of '{group.name.text}' was measured; record again, longer:"
        " `syncopate record -- PROGRAM` samples one hold in 16, then in 256"
    )


def _algorithm(analysis: Analysis, kind: int) -> str:
    header = analysis.record.header
    if OBJECT_NAMES[kind] == "rwlock":
        return "rwlock"
    if kind == SPINLOCK:
        return "tatas:spin"
    if header.lock in ("glibc", "futex", "auto"):
        return {"glibc": "pthread"}.get(header.lock, header.lock)
    return f"{header.lock}:{header.wait}" if header.wait else header.lock


@dataclass
class Spent:
    """What became of one thread's time, in ns, beside its work."""

    waits: int = 0  # for this lock
    waited: float = 0.0
    releases: int = 0  # of this lock, while others waited
    releasing: float = 0.0  # waking them
    away_count: int = 0
    away: float = 0.0  # in all other waits

    def seen(self) -> int:
        return self.waits + self.releases


def _spent(analysis: Analysis, group: Group) -> dict[int, Spent]:
    ids = {lock.id for lock in group.locks}
    spent: dict[int, Spent] = defaultdict(Spent)
    for row in analysis.record.rows():
        mine = spent[row.thread]
        if row.lock in ids and KIND_NAMES[row.kind] in LOST_KINDS:
            mine.waits += row.waits
            mine.waited += analysis.ns(row.wait_sum)
        else:
            mine.away_count += row.waits
            mine.away += analysis.ns(row.wait_sum)
    for row in analysis.record.releases():
        if row.lock in ids:
            usual, _ = usedholds.usual(analysis, row.histogram, row.wait_max)
            spent[row.thread].releases += row.waits
            spent[row.thread].releasing += row.waits * usedholds.mean(usual)
    return spent


def _runs(
    analysis: Analysis,
    group: Group,
    acquisitions: int,
    holds: usedholds.Holds,
    threads: list[ThreadUse],
    assumptions: list[str],
) -> float:
    """Of the holds in which threads sleep, the part in which they run: their processor time, where
    the work between sections was measured, so that what is left of it is that of sections."""
    asleep = holds.mean_ns - holds.awake_ns
    if not asleep or not any(each.lengths for each in threads):
        return 0.0
    spent, costs = _spent(analysis, group), _costs(analysis, group)
    spins = analysis.record.header.wait in SPINNING
    users = [t for t in analysis.threads if spent[t].seen()]
    if not all(analysis.threads[t].cpu_ns for t in users):
        return 0.0
    ran = sum(_running(analysis, t, spent[t], spins, costs, 0.0) for t in users)
    outside = sum(each.outside_ns for each in threads) / len(threads)
    inside = ran / acquisitions - outside
    runs = min(1.0, max(0.0, (inside - holds.awake_ns) / asleep))
    assumptions.append(
        f"of the sections in which it sleeps a thread runs for {percent(runs)}, as its processor"
        " time leaves"
    )
    return runs


def _reads(group: Group, assumptions: list[str]) -> int:
    """The percentage of sections that take it for reading, by the holds seen."""
    if OBJECT_NAMES[group.object] != "rwlock":
        return 0
    sides = [group.interrupted[name] for name in SIDE_COUNTS]
    if sum(sides) < ENOUGH_SIDES:
        assumptions.append(
            f"{READS} % of the sections take it for reading: the record does not tell"
        )
        return READS
    reads = round(100 * sides[0] / sum(sides))
    assumptions.append(f"{reads} % of the sections take it for reading, as of the holds watched")
    return reads


def _threads(
    analysis: Analysis,
    group: Group,
    acquisitions: int,
    holds: usedholds.Holds,
    assumptions: list[str],
) -> tuple[list[ThreadUse], float]:
    """What each thread that takes part does outside; and how long any of them lived, in seconds."""
    spent = _spent(analysis, group)
    gaps = _gaps(analysis, group, holds.mean_ns, spent)
    takers = [t for t in analysis.threads if t in gaps or (spent[t].seen() and not gaps)]
    if not takers:
        born = [t.id for t in analysis.threads.values() if t.start_stack]
        takers = born or list(analysis.threads)
        others = " that others started" * (0 < len(born) < len(analysis.threads))
        assumptions.append(f"nobody waited for it: all threads{others} are taken to use it alike")
    lives = Lives(analysis, takers)
    played, seconds = _played(analysis, takers, lives, assumptions), lives.span_ns() * 1e-9
    spins = analysis.record.header.wait in SPINNING or group.object == SPINLOCK
    costs = _costs(analysis, group)
    slept = (holds.mean_ns - holds.awake_ns) * acquisitions / len(takers)
    running = {t: _running(analysis, t, spent[t], spins, costs, slept) for t in takers}
    room = analysis.record.header.processors * analysis.since_start(analysis.end_ticks)
    room -= spins * sum(spent[t].waited for t in takers)
    fits = min(1.0, max(1.0, room) / sum(running.values()))
    if gaps:
        assumptions.append(
            "the work between two sections, and the waits elsewhere, are drawn from those measured"
        )
        return [gaps[t] for t in played], max(1e-9, seconds)
    assumptions.append("times between sections are spread exponentially around their mean")
    awake = sum(_awake(analysis, t, spent[t]) for t in takers)
    if len(takers) <= analysis.record.header.processors and sum(running.values()) < BUSY * awake:
        assumptions.append(
            "the recorded machine was busy with other programs, or the threads waited for input;"
            " the replay has its processors for itself"
        )
    shares = _shares(running, spent)
    uses = []
    for t in played:
        taken = max(1.0, acquisitions * shares[t])
        outside = max(0.0, running[t] * fits / taken - holds.awake_ns)
        uses.append(ThreadUse(outside, *_away(spent[t], taken)))
    if any(use.away_ns for use in uses):
        assumptions.append("other waits (conditions, barriers, other locks) stay as they were")
    if not all(analysis.threads[t].cpu_ns for t in takers):
        assumptions.append("waits in the kernel that no lock causes (input, output) count as work")
    return uses, max(1e-9, seconds)


def _played(
    analysis: Analysis, takers: list[int], lives: Lives, assumptions: list[str]
) -> list[int]:
    """Of the threads that take it as many as live at one time, those that lived longest."""
    at_once = lives.at_once()
    if at_once >= len(takers):
        return takers
    assumptions.append(
        f"of the {len(takers)} threads that take it {at_once} live at one time, in the mean: so"
        f" many are replayed"
    )
    longest = sorted(takers, key=lambda each: -lockbounds.life(analysis, each))[:at_once]
    return [each for each in takers if each in longest]


def _gaps(
    analysis: Analysis, group: Group, hold: float, spent: dict[int, Spent]
) -> dict[int, ThreadUse]:
    """What was measured between the sections of each thread that takes part: of one with few such
    measurements, what all did together."""
    ids = {lock.id for lock in group.locks}
    gaps: dict[int, Gaps] = defaultdict(Gaps)
    for row in analysis.record.gaps(OUTSIDE):
        if row.lock in ids:
            gaps[row.thread].add(row)
    for row in analysis.record.gaps(AWAY):
        if row.lock in ids:
            gaps[row.thread].away += row.waits
            gaps[row.thread].away_ticks += row.wait_sum
    for thread, mine in gaps.items():
        mine.waited = spent[thread].waited
    everyone = Gaps()
    for mine in gaps.values():
        everyone.merge(mine)
    if everyone.often < usedholds.ENOUGH:
        return {}
    least = RARELY * everyone.often / len(gaps)
    members = usedholds.even_members(group)
    return {
        thread: (mine if mine.often >= ENOUGH_OF_THREAD else everyone).use(analysis, members, hold)
        for thread, mine in gaps.items()
        if mine.often > least
    }


@dataclass
class Gaps:
    """The times between the sections of one thread, or of several, in ticks."""

    often: int = 0
    ticks: int = 0
    longest: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * 64)
    away: int = 0
    away_ticks: int = 0
    waited: float = 0.0  # ns, for these locks

    def add(self, row: Row) -> None:
        """One of the record's rows of work between sections."""
        self.often, self.ticks = self.often + row.waits, self.ticks + row.wait_sum
        self.longest = max(self.longest, row.wait_max)
        histogram.add(self.counts, row.histogram)

    def merge(self, other: Gaps) -> None:
        """Those of another thread."""
        self.often, self.ticks = self.often + other.often, self.ticks + other.ticks
        self.longest = max(self.longest, other.longest)
        histogram.add(self.counts, other.counts)
        self.away, self.away_ticks = self.away + other.away, self.away_ticks + other.away_ticks
        self.waited += other.waited

    def use(self, analysis: Analysis, members: int, hold: float) -> ThreadUse:
        """What a thread does that has these. Between two sections of one lock are, on average,
        members - 1 sections of others of its group, with their waits."""
        others = members - 1
        mean = max(0.0, analysis.ns(self.ticks) / self.often - others * hold) / members
        away_ns = 0.0
        if self.away:
            inside = others * self.waited / self.often * (self.often / self.away)
            away_ns = max(0.0, analysis.ns(self.away_ticks) / self.away - inside) / members
        lengths = usedholds.scaled(usedholds.buckets(analysis, self.counts, self.longest), mean)
        chance = min(1.0, self.away / self.often)
        return ThreadUse(mean, chance, away_ns, tuple(lengths))


def _away(spent: Spent, taken: float) -> tuple[float, float]:
    """The chance of being away after a section, and for how long. One-off waits, as for a start,
    are none; rare ones come as shorter ones more often, since a replay is too short for them."""
    if spent.away_count < ONE_OFF:
        return 0.0, 0.0
    chance = min(1.0, max(spent.away_count / taken, LEAST_CHANCE))
    return chance, spent.away / taken / chance


def _awake(analysis: Analysis, thread: int, spent: Spent) -> float:
    return lockbounds.life(analysis, thread) - spent.waited - spent.away - spent.releasing


def _costs(analysis: Analysis, group: Group) -> tuple[float, float]:
    """Processor time in ns of a wait and of a contended release: measured, where enough were."""
    ids = [lock.id for lock in group.locks]
    found = []
    for events, otherwise in ((analysis.waits, SLEEP_NS), (analysis.holds, WAKE_NS)):
        asked = [e.on_processor for i in ids for e in events.get(i, ()) if e.on_processor]
        enough = len(asked) >= ENOUGH_ASKED
        found.append(analysis.ns(sum(asked) / len(asked)) if enough else otherwise)
    return found[0], found[1]


def _running(
    analysis: Analysis,
    thread: int,
    spent: Spent,
    spins: bool,
    costs: tuple[float, float],
    slept: float,
) -> float:
    """How long a thread was at work, its sections included: its life without its waits, and not
    more than the processor time that it had for that; else without what it `slept` in sections."""
    left = _awake(analysis, thread, spent)
    cpu = analysis.threads[thread].cpu_ns
    if cpu:
        waiting = spent.waited if spins else min(spent.waited, spent.waits * costs[0])
        waking = min(spent.releasing, spent.releases * costs[1])
        return max(1.0, min(left, cpu - waiting - waking))
    return max(1.0, left - slept)


def _shares(running: dict[int, float], spent: dict[int, Spent]) -> dict[int, float]:
    """Each thread's share of the acquisitions: as its share of the work, unless threads' waits say
    that some take the lock far more often."""
    work, waits = sum(running.values()), sum(spent[t].seen() for t in running)
    often = {t: spent[t].seen() / waits / (running[t] / work) if waits else 1 for t in running}
    alike = all(1 / ALIKE <= times <= ALIKE for times in often.values())
    if alike or waits < FEW_WAITS * len(running):
        return {t: running[t] / work for t in running}
    return {t: spent[t].seen() / waits for t in running}
