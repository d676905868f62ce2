"""Reads what record files hold, whose layout recordformat.py describes (recordchunks.py opens and
judges them)."""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from syncopate.base.shown import shown
from syncopate.base.since import zip_equal
from syncopate.records import histogram
from syncopate.records.recordchunks import text_of
from syncopate.records.recordcounts import RecordCounts
from syncopate.records.recordformat import (
    ABORT_CAUSES,
    BY_KERNEL,
    CONDITION,
    CONFLICT_ROW,
    CONFLICTS,
    CPU_SAMPLE,
    CPU_SAMPLES,
    CREATED,
    ENDED,
    ENOUGH_NS,
    EVENT,
    EVENTS,
    FINISHED,
    GAVE_UP,
    GIVES_UP_AFTER_NS,
    HOLD,
    KILLED,
    KIND_NAMES,
    LOCK_ENTRY,
    LOCKS,
    MAPS,
    OPEN_CALLERS,
    PACKED_ROW,
    READ_AGAIN,
    REPLACED,
    ROW_HISTOGRAM,
    ROWS,
    SITE_ENTRY,
    SITE_ROW,
    SITE_ROWS,
    SITES,
    STACK_ENTRY,
    STACKS,
    THREAD_ENTRY,
    THREADS,
    UNSAFE_CALLS,
    UNSAFE_ROW,
    WAIT,
    Conflict,
    Event,
    Lock,
    OpenWait,
    Row,
    Seen,
    SiteRow,
    Thread,
    UnsafeCall,
)

if TYPE_CHECKING:
    from syncopate.records.languages import Retold
    from syncopate.records.parked import Parked

# What two recordings do not have in common, of the header.
OF_ONE_RECORDING = (
    "process_id",
    "parent_id",
    "start_ticks",
    "start_monotonic_ns",
    "start_realtime_ns",
    "executable",
    "recorder",
)
LONG_NS = 1_000_000  # nearly all waits that take longer are events


def _is_whole(event: tuple) -> bool:
    """Whether it has been written: a program that goes on may be writing it."""
    return event[6] in (WAIT, HOLD) and event[1] >= event[0] and event[5] > 0


class Choice(NamedTuple):
    """Which events are read: one in `every`, and one in `every_long` of those that took long."""

    every: int
    every_long: int
    long: list[tuple[int, list[int]]]  # of each chunk, how many events, and which took long


class _Turn:
    """Chooses one of each `every` in turn, at random, over several lists."""

    def __init__(self, dice: Callable[[], float], every: int):
        """`dice`: random numbers below 1."""
        self._dice, self._every = dice, every
        self._begin = self._block = 0
        self._wanted = int(self._dice() * every)

    def of(self, count: int) -> list[int]:
        """Of the next list of so many: which ones."""
        chosen = []
        while self._wanted < self._begin + count:
            chosen.append(self._wanted - self._begin)
            self._block += self._every
            self._wanted = self._block + int(self._dice() * self._every)
        self._begin += count
        return chosen


class Record(RecordCounts):
    """One open record. Items come chunk by chunk; nothing is read before it is asked for."""

    def __init__(self, path: str, now_ns: int | None = None, shown_as: str | None = None):
        """Opens and checks `path`. A Failure says what is wrong with it. `now_ns`: the monotonic
        time until which a process that still runs is looked at; now unless given. `shown_as`: what
        to call it in place of its path."""
        self._now_ns = now_ns or time.monotonic_ns()
        super().__init__(path, shown_as)
        self.stand_ins = None  # copies of its programs and libraries (symbols/standins.py)
        self._threads_by_id: dict[int, int] | None = None  # index by kernel thread id
        self._retold: Mapping[int, Retold] = {}  # by lock id
        self._parked: Mapping[int, Parked] = {}  # the same
        self._more_locks: Sequence[Lock] = ()  # which those were put aside for
        self.ns_per_tick = self._rate()
        self.runs = not self.header.flags & FINISHED and self._is_mapped()
        self.end_ticks = 0
        self.end_ticks = self._end()

    def _rate(self) -> float:
        """Nanoseconds a tick, from the two stamps of both clocks where enough time has passed."""
        header = self.header
        ticks = header.last_ticks - header.start_ticks
        passed = header.last_monotonic_ns - header.start_monotonic_ns
        if passed < ENOUGH_NS and header.ticks_per_second:
            return 1e9 / header.ticks_per_second
        return passed / ticks if ticks > 0 and passed > 0 else 1.0

    def _is_mapped(self) -> bool:
        """Whether the recorded process, or the recorder beside it, is there still and writes this
        very file."""
        try:
            inode = os.stat(self._place).st_ino
            writer = self.header.recorder_id or self.header.process_id
            with open(f"/proc/{writer}/maps", "rb") as file:
                lines = [line.split(maxsplit=5) for line in file]
        except OSError:
            return False
        name = os.fsencode(os.path.basename(self._place))
        return any(
            len(each) == 6
            and each[1] == b"rw-s"
            and int(each[4]) == inode
            and os.path.basename(each[5].strip()) == name
            for each in lines
        )

    def is_of_a_running_program(self) -> bool:
        """Whether there is a process with the id and the program of the recorded one: of a copy of
        a record, too."""
        try:
            return os.readlink(f"/proc/{self.header.process_id}/exe") == self.header.executable
        except OSError:
            return False

    def has_lost_its_recorder(self) -> bool:
        """Whether the recorder beside the process was ended before it had finished the record."""
        header = self.header
        return header.recorder == BY_KERNEL and not (header.flags & ENDED or self.runs)

    def is_same_recording(self, other: Record) -> bool:
        """Whether both are of one recording of one process, be it that one is a copy that was made
        while that went on."""
        mine, yours = self.header, other.header
        return all(getattr(mine, name) == getattr(yours, name) for name in OF_ONE_RECORDING)

    def _end(self) -> int:
        """Until when the record tells of the process: its end; or now; or else, of one that was
        killed while nobody looked, the last thing that is known of it."""
        header = self.header
        known = max(header.last_ticks, header.start_ticks)
        until_ns = self._now_ns if self.runs else header.ended_monotonic_ns
        if header.flags & GAVE_UP and not header.flags & FINISHED:
            return known
        seen = header.flags & (FINISHED | REPLACED | KILLED) or self.has_lost_its_recorder()
        if not seen and until_ns > header.last_monotonic_ns:
            return max(known, self._ticks_at(until_ns))
        for thread in self.threads():
            wait = thread.open or OpenWait(*[0] * 8)
            known = max(known, thread.end_ticks, wait.since, wait.end)
        return known

    def _ticks_at(self, monotonic_ns: int) -> int:
        header = self.header
        return header.last_ticks + round(
            (monotonic_ns - header.last_monotonic_ns) / self.ns_per_tick
        )

    def locks(self) -> Iterator[Lock]:
        for first, index, fields in self._items(LOCKS, LOCK_ENTRY):
            if lock := self._lock(first + index, fields):
                yield lock
        yield from self._more_locks

    def locks_of(self, ids: Iterable[int]) -> dict[int, Lock]:
        """Of locks(), those with these ids, of which there are few: the others are not read."""
        found = {lock.id: lock for lock in self._more_locks}
        for known in {*ids}:
            for kind, first, used, offset in self._chunks:
                if kind == LOCKS and first <= known < first + used:
                    at = offset + (known - first) * LOCK_ENTRY.size
                    if lock := self._lock(known, LOCK_ENTRY.unpack_from(self._data, at)):
                        found[known] = lock
        return found

    def _lock(self, known: int, f: tuple) -> Lock | None:
        """None: it is none of locks()."""
        if not f[1]:  # object 0: an entry reserved but not yet filled when the process was killed
            return None
        kind = f[1:3]
        if known in self._parked:
            return None
        if known in self._retold:
            told = self._retold[known]
            if told.id != known:
                return None
            kind = told.object, told.type
            if told.stack:
                f = (*f[:3], f[3] & ~CREATED, 0, told.stack, *f[6:])
        taken, woken = (0, f[9]) if f[1] == CONDITION else (f[9], 0)
        return Lock(
            known, f[0], *kind, f[3], f[4], f[5], taken, *f[10:13], f[13:], f[6], f[8], woken
        )

    def retell(
        self,
        retold: Mapping[int, Retold],
        parked: Mapping[int, Parked],
        more_locks: Sequence[Lock],
    ) -> None:
        """From now on locks with these ids are what languages.py and parked.py say."""
        self._retold, self._parked, self._more_locks = retold, parked, more_locks

    def _told(self, lock: int, kind: int, stack: int) -> tuple[int, int]:
        """The lock, and what a wait for it is, by what they are in the file."""
        parked = self._parked.get(lock)
        told = parked.of(stack) if parked else self._retold.get(lock)
        return (told.id, int(told.kinds.get(kind, kind))) if told else (lock, kind)

    def _parts(self, lock: int, kind: int, *sums) -> Iterator[tuple]:
        """A row of a futex at which a thread is parked: one for each that it was parked for."""
        waits, total, largest, packed = sums
        counts = ROW_HISTOGRAM.unpack(packed)
        before = [0.0, 0.0]
        for number, part in enumerate(self._parked[lock].parts):
            after = [before[0] + part.waits, before[1] + part.ticks]
            one, other = (
                [round(n * share[0]) for n in (waits, *counts)] for share in (before, after)
            )
            some, *of_lengths = map(operator.sub, other, one)
            ticks = round(total * after[1]) - round(total * before[1])
            longest = largest if number == 0 else min(largest, part.longest)
            told = part.told
            kind_of_part = int(told.kinds.get(kind, kind))
            yield told.id, kind_of_part, some, ticks, longest, ROW_HISTOGRAM.pack(*of_lengths)
            before = after

    def threads(self) -> Iterator[Thread]:
        for kind, first, used, offset in self._chunks:
            if kind != THREADS:
                continue
            for index in range(used):
                at = offset + index * THREAD_ENTRY.size
                yield self._thread(first + index, at)

    def _thread(self, index: int, at: int) -> Thread:
        """The one with this index, at this place; as it is at one time, although it goes on."""
        f = THREAD_ENTRY.unpack_from(self._data, at)
        for _ in range(READ_AGAIN):
            again = THREAD_ENTRY.unpack_from(self._data, at)
            if f == again:
                break
            f = again
        wait = OpenWait(*f[8:16]) if f[8] and not f[3] else None
        if wait:
            lock, kind_of_wait = self._told(wait.lock, wait.kind, wait.stack)
            tries = KIND_NAMES.get(kind_of_wait) == "trylock" and self._is_just_before_end(wait.end)
            wait = wait._replace(lock=lock, kind=kind_of_wait, end=0 if tries else wait.end)
        held = tuple(address for address in f[19:23] if address)
        name, seen = shown(text_of(f[4])), Seen(*f[23:26])
        looked = (*f[17:19], f[16])
        return Thread(index, *f[:4], name, *f[5:8], wait, held, seen, *f[26:28], at, *looked)

    def _is_just_before_end(self, ticks: int) -> bool:
        known = self.end_ticks
        return known != 0 and (known - ticks) * self.ns_per_tick < GIVES_UP_AFTER_NS

    def rows(self) -> Iterator[Row]:
        """What threads waited, exactly; also in waits that are not over."""
        for thread, rows in self.plain_rows():
            for row in rows:
                yield Row(thread, *row)

    def plain_rows(self) -> Iterator[tuple[int, list[tuple]]]:
        """The same without names for the fields, some of a thread at a time: there may be
        millions."""
        for kind, thread, used, offset in self._chunks:
            if kind == ROWS:
                view = memoryview(self._data)[offset : offset + used * PACKED_ROW.size]
                rows = list(PACKED_ROW.iter_unpack(view))
                self._let_go(len(view), offset)
                known = all(map(KIND_NAMES.__contains__, {row[1] for row in rows}))
                if not known or self._parked or self._retold:
                    rows = list(self._rows_told(rows))
                if rows:
                    yield thread, rows
        for each in self.threads():
            wait = each.open
            if wait and wait.kind in KIND_NAMES:
                ticks = max(0, (wait.end or self.end_ticks) - wait.since)
                counts = [0] * 64
                counts[histogram.bucket(ticks, 64)] = 1
                packed = ROW_HISTOGRAM.pack(*counts)
                told = self._told(wait.lock, wait.kind, wait.stack)
                yield each.id, [(*told, 1, ticks, ticks, packed)]

    def _rows_told(self, rows: list[tuple]) -> Iterator[tuple]:
        """Those of known kinds, as languages.py and parked.py tell of their locks."""
        for f in rows:
            if f[1] not in KIND_NAMES:
                continue
            if f[0] in self._parked:
                yield from self._parts(*f)
            elif f[0] in self._retold:
                yield *self._told(*f[:2], 0), *f[2:]
            else:
                yield f

    def choose(self, most: int) -> Choice:
        """Which events to read, where there are more than that: of those that took long, which are
        few and may be most of the time, as many as half of that; of the others some."""
        count = self.event_count()
        if count <= most:
            return Choice(1, 1, [])
        least = round(LONG_NS / self.ns_per_tick)
        long: list[tuple[int, list[int]]] = []
        for kind, _, used, offset in self._chunks:
            if kind == EVENTS:
                long.append((used, self._long_ones(used, offset, least)))
                self._let_go(used * EVENT.size, offset)
        several = sum(len(places) for _, places in long)
        every_long = math.ceil(several / (most // 2)) or 1
        return Choice(math.ceil(count / (most - several // every_long)), every_long, long)

    def _long_ones(self, used: int, offset: int, least: int) -> list[int]:
        """Which of a chunk's events took that long. There may be millions: no loop of ours sees
        those of a chunk that has none."""
        words = memoryview(self._data)[offset : offset + used * EVENT.size].cast("Q")
        starts, ends = (words[at :: EVENT.size // 8].tolist() for at in range(2))
        lengths = list(map(operator.sub, ends, starts))
        if max(lengths, default=0) < least:
            return []
        # A hold whose beginning is not known begins at 0.
        return [at for at, length in enumerate(lengths) if length >= least and starts[at]]

    def retold(self, event: Event) -> Event:
        """With its lock and its wait's kind as rows() have them."""
        parked = self._parked.get(event.lock)
        told = parked.of_event(event) if parked else self._retold.get(event.lock)
        if told is None:
            return event
        return event._replace(lock=told.id, wait=int(told.kinds.get(event.wait, event.wait)))

    def events(self, chosen: Choice | None = None) -> Iterator[Event]:
        """As _events(), each as retold() says."""
        found = self._events(chosen)
        return map(self.retold, found) if self._retold or self._parked else found

    def _events(self, chosen: Choice | None) -> Iterator[Event]:
        """All events; or those that were chosen, at random since waits and holds may alternate,
        their weight so much more."""
        if chosen is None or chosen.every == 1:
            for thread, _, f in self._items(EVENTS, EVENT):
                if _is_whole(f):
                    yield Event(self._thread_of(thread, f), *f)
        else:
            import random  # for large records alone, and slow

            dice = random.Random(chosen.every).random
            short, long = _Turn(dice, chosen.every), _Turn(dice, chosen.every_long)
            chunks = (chunk for chunk in self._chunks if chunk[0] == EVENTS)
            for (_, thread, used, offset), (_, places) in zip_equal(chunks, chosen.long):
                of_long = set(places)
                some = [(at, chosen.every) for at in short.of(used) if at not in of_long]
                some += [(places[at], chosen.every_long) for at in long.of(len(places))]
                for at, every in sorted(some):
                    f = EVENT.unpack_from(self._data, offset + at * EVENT.size)
                    if _is_whole(f):
                        whose = self._thread_of(thread, f)
                        yield Event(whose, *f[:5], f[5] * every, *f[6:])
                self._let_go(used * EVENT.size, offset)
        yield from self._open_events()

    def _thread_of(self, teller: int, event: tuple) -> int:
        """The thread of an event, since another may tell of a hold: its index; of one that the
        record does not have, the negative of its kernel id."""
        if event[6] != HOLD or not event[4]:
            return teller
        if self._threads_by_id is None:
            self._threads_by_id = {each.thread_id: each.id for each in self.threads()}
        return self._threads_by_id.get(event[4], -event[4])

    def _open_events(self) -> Iterator[Event]:
        """Waits that are not over."""
        for each in self.threads():
            wait = each.open
            if wait and not wait.end and wait.kind in KIND_NAMES:
                end = max(wait.since, self.end_ticks)
                stack = wait.stack or OPEN_CALLERS + each.id
                yield Event(
                    each.id, wait.since, end, wait.lock, stack, wait.holder, 1, WAIT, wait.kind
                )

    def sites(self) -> dict[int, tuple[int, int]]:
        """Of each transaction site, by id: the address that its transactions return to when they
        have begun, and a stack id."""
        return {first + index: (f[0], f[1]) for first, index, f in self._items(SITES, SITE_ENTRY)}

    def site_rows(self) -> Iterator[SiteRow]:
        for thread, _, f in self._items(SITE_ROWS, SITE_ROW):
            yield SiteRow(thread, *f[:7], f[7:17], f[17:21], *f[21:])

    def conflicts(self) -> Iterator[Conflict]:
        for _, _, f in self._items(CONFLICTS, CONFLICT_ROW):
            if f[3] < len(ABORT_CAUSES):
                yield Conflict(*f)

    def unsafe_calls(self) -> Iterator[UnsafeCall]:
        for _, _, f in self._items(UNSAFE_CALLS, UNSAFE_ROW):
            yield UnsafeCall(*f)

    def cpu_samples(self) -> dict[int, tuple[int, int]]:
        """How often threads were seen running there, by the address of the next instruction: in the
        program, and in the kernel, called from there."""
        return {f[0]: (f[1], f[2]) for _, _, f in self._items(CPU_SAMPLES, CPU_SAMPLE)}

    def event_count(self) -> int:
        return sum(used for kind, _, used, _ in self._chunks if kind == EVENTS)

    def stacks(self) -> dict[int, tuple[int, ...]]:
        """Stack id to return addresses, innermost first."""
        found = {
            first + index: f[3 : 3 + min(f[1], 30)]
            for first, index, f in self._items(STACKS, STACK_ENTRY)
        }
        for each in self.threads():
            if each.open and each.open.caller:
                found[OPEN_CALLERS + each.id] = (each.open.caller,)
        return found

    def maps(self) -> str:
        """What /proc/self/maps said, later additions after earlier ones."""
        parts = [
            bytes(self._data[offset : offset + used])
            for kind, _, used, offset in self._chunks
            if kind == MAPS
        ]
        return b"".join(parts).decode("utf-8", "surrogateescape")
