"""Waits that are not over: of a program that runs, hangs, or was killed. Who waits for whom, and
whether they wait for each other for ever.

A thread that waits without a time limit lets go of nothing. So where one was seen to hold a lock at
a time at which it was waiting already, and is in that wait still, it holds the lock still: that is
certain. Who held a lock when a wait for it began may have released it since.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

from syncopate.base.boundedfile import open_plain
from syncopate.base.since import zip_equal
from syncopate.base.units import duration
from syncopate.records import recordformat
from syncopate.records.analysis import Analysis
from syncopate.records.naming import telling
from syncopate.records.recordchunks import REDACTED
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import KIND_NAMES, LOST_KINDS, Lock, OpenWait, Thread

LOOK_AFTER_NS = 50_000_000  # shorter waits are not worth a look at who holds the lock
OWNER_AT = {
    recordformat.MUTEX: 8,
    recordformat.RWLOCK: 24,
    recordformat.SEMAPHORE: 24,
}  # in its memory
FUTEX_CALL = {"x86_64": "202", "aarch64": "98"}.get(os.uname().machine)  # the number of futex()
FUTEX_COMMAND = 127  # the part of its operation that says what to do
FUTEX_WAITS = {0, 6, 9, 11, 13}  # FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2
MOST_CYCLES = 16
NOBODY_RAN_NS = 500_000_000
SEMAPHORES, NOT_ASLEEP = {"semaphore", "semaphore_lock"}, {"trylock", "yield", "spinlock"}
# Nobody has these, though one may be made of what its waiter has taken, as Python's conditions are.
FOR_SIGNALS = ("condition", "semaphore")
SHOWN = 8  # waits that are not over, in a report

WITH_PROCESS_NS = 100_000_000  # a killed process's threads end as each gets a processor


class Holder(NamedTuple):
    """Whom a thread waits for: its index, and how that is known."""

    thread: int
    certain: bool
    ended: bool = False  # it is over: nobody will let go of what it held


class Waiting(NamedTuple):
    """One thread that waits, and for whom."""

    thread: int
    wait: OpenWait
    holders: tuple[Holder, ...]


def waiting(record: Record) -> dict[int, Waiting]:
    """By thread index, the threads of a record that wait."""
    all_threads = [*record.threads()]
    threads = [thread for thread in all_threads if not thread.end_ticks]
    ended = {thread.thread_id: thread for thread in all_threads if thread.end_ticks}
    locks = record.locks_of(thread.open.lock for thread in threads if thread.open)
    by_id = {thread.thread_id: thread for thread in threads}
    found = {}
    for thread in threads:
        wait = thread.open
        if wait and not wait.end and wait.kind in KIND_NAMES:
            lock = locks.get(wait.lock)
            holders: list[Holder] = []
            if KIND_NAMES[wait.kind] not in FOR_SIGNALS:
                holders = [*_holders(thread, wait, lock, threads, by_id)]
                if not holders and lock is not None:
                    holders = [*_ended_holder(record, thread, ended, by_id)]
            found[thread.id] = Waiting(thread.id, wait, tuple(holders))
    return found


def _holders(
    thread: Thread, wait: OpenWait, lock: Lock | None, threads: list[Thread], by_id: dict
) -> Iterator[Holder]:
    if lock is None:
        return
    if lock.object == recordformat.THREAD:
        joined = [other for other in threads if other.handle == lock.address]
        if joined:
            yield Holder(max(joined, key=lambda other: other.start_ticks).id, True)
        return
    readers = [other for other in threads if lock.address in other.read_held]
    if lock.object == recordformat.RWLOCK and readers:
        yield from (Holder(reader.id, True) for reader in readers)
        return
    seen = thread.seen if thread.seen.since == wait.since else None
    holder = by_id.get(seen.holder if seen else wait.holder)
    if holder is None:
        return
    theirs = holder.open if holder.open and not holder.open.end else None
    still = theirs is not None and (
        theirs.since == seen.holder_since if seen else theirs.since <= wait.since
    )
    yield Holder(holder.id, holder is thread or still)


def _ended_holder(
    record: Record, thread: Thread, ended: dict[int, Thread], by_id: dict
) -> Iterator[Holder]:
    """A thread that ended and held the lock by its memory: for certain, where that was read when
    it had ended; else it may have let go of it in between."""
    wait = thread.open
    seen = thread.seen if thread.seen.since == wait.since else None
    holder = ended.get(seen.holder if seen else wait.holder)
    if holder is None or holder.thread_id in by_id:
        return
    if _ended_with_all(record, holder):
        yield Holder(holder.id, False)
        return
    yield Holder(holder.id, holder.end_ticks <= wait.since, ended=True)


def _ended_with_all(record: Record, thread: Thread) -> bool:
    """Whether it may be that the process's end ended it: the kernel's view sees each thread's."""
    if record.header.recorder != recordformat.BY_KERNEL:
        return False
    return record.end_ticks - thread.end_ticks < WITH_PROCESS_NS / record.ns_per_tick


def cycles(waits: dict[int, Waiting]) -> list[list[int]]:
    """Threads that wait for each other in a circle: each list of them once, in order."""
    found: dict[frozenset[int], list[int]] = {}

    def follow(path: list[int]) -> None:
        for holder in waits[path[-1]].holders:
            if len(found) >= MOST_CYCLES:
                return
            if holder.thread == path[0]:
                found.setdefault(frozenset(path), path)
            elif holder.thread > path[0] and holder.thread in waits and holder.thread not in path:
                follow([*path, holder.thread])

    for thread in sorted(waits):
        follow([thread])
    return list(found.values())


# ---- looking at a process that runs ----


def look(path: str, with_command: bool = False) -> None:
    """Puts into the record of a running process who holds the locks that are waited for just now,
    and the times of its threads; and its command, where that is not to be left out.

    Only the process's own memory says the one. Changes nothing where it cannot be read.
    """
    record = Record(path)
    _keep_times(path, record)
    if with_command:
        _keep_command(path, record)
    old_enough = record.end_ticks - LOOK_AFTER_NS / record.ns_per_tick
    before = [each for each in record.threads() if _is_worth_a_look(each, old_enough)]
    if not before or not record.runs:
        return
    _keep_names(path, record)
    locks = record.locks_of(each.open.lock for each in before)
    owners = _owners(record.header.process_id, before, locks)
    waits = {each.thread_id: each.open for each in record.threads() if not each.end_ticks}
    again = {each.id: each for each in Record(path).threads()}
    theirs = {each.thread_id: each.open for each in again.values() if not each.end_ticks}
    with open_plain(path, change=True) as file:
        for thread, owner in zip_equal(before, owners):
            if owner is None or again[thread.id].open != thread.open:
                continue
            mine = waits.get(owner)
            still = mine is not None and not mine.end and theirs.get(owner) == mine
            seen = (thread.open.since, mine.since if still else 0, owner)
            os.pwrite(
                file.fileno(), recordformat.SEEN.pack(*seen), thread.at + recordformat.SEEN_AT
            )


def _keep_times(path: str, record: Record) -> None:
    """What the kernel counts for threads, of those that run: it is lost where they are killed."""
    if not record.runs or record.header.recorder != recordformat.BY_PRELOAD:
        return
    looks, at_futex = record.header.looks, record.header.looks_at_futex
    with open_plain(path, change=True) as file:
        for thread in record.threads():
            if not thread.end_ticks and not (thread.open and not thread.open.end):
                looks += 1
                at_futex += _sleeps_at_a_futex(record.header.process_id, thread.thread_id)
            counted = None if thread.end_ticks else times_of(record.header.process_id, thread)
            if counted is not None and counted[0]:
                packed = recordformat.LOOKED.pack(_after_ms(record.header), *counted)
                os.pwrite(file.fileno(), packed, thread.at + recordformat.LOOKED_AT)
        if looks < 1 << 32:
            os.pwrite(
                file.fileno(), recordformat.LOOKS.pack(looks, at_futex), recordformat.LOOKS_AT
            )


def _after_ms(header: recordformat.Header) -> int:
    """How long ago a record's start is, as far as its format can say."""
    passed = (time.monotonic_ns() - header.start_monotonic_ns) // 1_000_000
    return min(max(0, passed), (1 << 32) - 1)


def _sleeps_at_a_futex(process: int, thread: int) -> bool:
    """Whether a thread is in a futex call that waits, as the kernel says."""
    try:
        with open(f"/proc/{process}/task/{thread}/syscall", encoding="ascii") as file:
            words = file.read().split()
    except OSError:
        return False
    if len(words) < 3 or words[0] != FUTEX_CALL:
        return False
    return int(words[2], 16) & FUTEX_COMMAND in FUTEX_WAITS


def times_of(process: int, thread: Thread) -> tuple[int, int] | None:
    """Processor time, and time without one, of a thread since it began; None: it is gone."""
    try:
        with open(f"/proc/{process}/task/{thread.thread_id}/schedstat", encoding="ascii") as file:
            cpu, delay, _ = map(int, file.read().split())
    except (OSError, ValueError):
        return None
    before = 1000 * thread.cpu_before_us
    return max(0, cpu - before), max(0, delay - thread.delay_before_ns)


def _as_kept(command: bytes) -> bytes:
    """What a header has of a command line; the end of one that is cut says so (record/file.cpp)."""
    if len(command) >= recordformat.COMMAND_BYTES:
        return command[: recordformat.COMMAND_BYTES - 4] + b"..."
    return command.rstrip(b"\0")


def _keep_command(path: str, record: Record) -> None:
    """Servers write over their arguments what each process is for, as nginx's workers do when they
    have begun. What was left out stays so."""
    if not record.runs:
        return
    try:
        with open(f"/proc/{record.header.process_id}/cmdline", "rb") as file:
            now = _as_kept(file.read(recordformat.COMMAND_BYTES))
    except OSError:  # it has just ended
        return
    with open_plain(path, change=True) as file:
        known = os.pread(file.fileno(), recordformat.COMMAND_BYTES, recordformat.COMMAND_AT)
        if now and now != known.rstrip(b"\0") and REDACTED.encode() not in known:
            whole = now.ljust(recordformat.COMMAND_BYTES, b"\0")
            os.pwrite(file.fileno(), whole, recordformat.COMMAND_AT)


def _keep_names(path: str, record: Record) -> None:
    """Threads often get their names after they began; of a killed one they are lost later."""
    with open_plain(path, change=True) as file:
        for thread in record.threads():
            name = b"" if thread.end_ticks else _name_of(record.header.process_id, thread.thread_id)
            whole, at = name.ljust(recordformat.NAME_BYTES, b"\0"), thread.at + recordformat.NAME_AT
            if name and whole != os.pread(file.fileno(), recordformat.NAME_BYTES, at):
                os.pwrite(file.fileno(), whole, at)


def _name_of(process: int, thread: int) -> bytes:
    try:
        with open(f"/proc/{process}/task/{thread}/comm", "rb") as file:
            return file.read(recordformat.NAME_BYTES).rstrip(b"\n")
    except OSError:
        return b""


def _is_worth_a_look(thread: Thread, old_enough: float) -> bool:
    wait = thread.open
    return bool(
        wait and not wait.end and wait.flags & recordformat.HAS_OWNER and wait.since <= old_enough
    )


def _owners(process: int, threads: list[Thread], locks: dict[int, Lock]) -> list[int | None]:
    """Kernel thread ids, by what the locks' memory says; None where it cannot be read."""
    try:
        memory = open(f"/proc/{process}/mem", "rb", buffering=0)  # noqa: SIM115
    except OSError:
        return [None] * len(threads)
    with memory:
        return [_owner(memory.fileno(), locks.get(thread.open.lock)) for thread in threads]


def _owner(memory: int, lock: Lock | None) -> int | None:
    if lock is None or lock.object not in OWNER_AT:
        return None
    try:
        raw = os.pread(memory, 4, lock.address + OWNER_AT[lock.object])
    except (OSError, OverflowError):
        return None
    return struct.unpack("<I", raw)[0] if len(raw) == 4 else None


# ---- what a report says ----


def _verdict(kinds: set[str], timed: bool, certain: bool) -> str:
    """What a circle of threads is that wait in these ways; true also where not all is known."""
    if timed:
        return "threads wait for each other, until a time-out"
    if "trylock" in kinds:
        return "threads wait for each other, one of them by trying again and again"
    if not certain:
        return "a deadlock, if who held these locks when the waits began holds them still"
    if kinds & {"semaphore", "semaphore_lock"}:
        return "deadlock, unless another thread posts the semaphore"
    return "deadlock"


class OpenWaits:
    """The waits of a record that are not over, and those among them that never will be."""

    def __init__(self, analysis: Analysis):
        self.called: dict[str, str] = {}  # by name, what sentences call locks
        self.of = analysis
        self.waits = waiting(analysis.record)

    def as_data(self) -> list[dict]:
        """The `open_waits` of docs/reference/report-schema.md: locks first, the longest first."""
        found = [self._wait(each) for each in self.waits.values()]
        return sorted(found, key=lambda each: (each["kind"] not in LOST_KINDS, -each["waited_ns"]))

    def deadlocks(self) -> list[dict]:
        """The `deadlocks` of docs/reference/report-schema.md: certain ones first."""
        found = [self._deadlock(threads) for threads in cycles(self.waits)]
        return sorted(found, key=lambda each: not each["certain"])

    def nobody_goes_on(self) -> Iterator[str]:
        """A sentence where all threads wait for others of them, in no circle that is known: as
        around semaphores, whose memory does not say who has taken them. Longer than one that was
        woken may take to run."""
        running = [thread for thread in self.of.threads.values() if not thread.end_ticks]
        waits = [self.waits.get(thread.id) for thread in running]
        if len(waits) < 2 or None in waits or cycles(self.waits):
            return
        last = max((each.wait for each in waits), key=lambda wait: wait.since)
        lasted = self.of.ns(max(0, self.of.end_ticks - last.since))
        timed = any(each.wait.flags & recordformat.TIMED for each in waits)
        kinds = {KIND_NAMES[each.wait.kind] for each in waits}
        if lasted < NOBODY_RAN_NS or timed or kinds & NOT_ASLEEP or not kinds & SEMAPHORES:
            return
        parts = sorted(f"{self.of.label(each.thread)} for {self._told(each)}" for each in waits)
        more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
        yield (
            f"all {len(waits)} threads wait, without a time limit, for {duration(lasted)}"
            f"{' or longer' * self._or_longer(last)}: {', '.join(parts[:SHOWN])}{more}; none of"
            " them can post these semaphores, only a signal handler or another process"
        )

    def _wait(self, each: Waiting) -> dict:
        wait = each.wait
        frames = self._frames(each)
        return {
            "thread": self.of.label(each.thread),
            "kind": KIND_NAMES[wait.kind],
            "lock": self._called(each),
            "place": self._place(each),
            "waited_ns": self.of.ns(max(0, self.of.end_ticks - wait.since)),
            "or_longer": self._or_longer(wait),
            "timed": bool(wait.flags & recordformat.TIMED),
            "holds_since": self._holds_since(each),
            "holders": [
                {
                    "thread": self.of.label(holder.thread),
                    "certain": holder.certain,
                    "ended": holder.ended,
                    "left_behind": False,
                }
                for holder in each.holders
            ]
            or [*self._left_behind(each)],
            "frames": [frame.as_data() for frame in frames],
        }

    def _left_behind(self, each: Waiting) -> Iterator[dict]:
        """The thread of another process that had the lock when this one was forked from it: nobody
        here will let go of it. Its number is below this process's, as no own thread's is."""
        if KIND_NAMES[each.wait.kind] not in LOST_KINDS:
            return
        thread = self.of.threads[each.thread]
        seen = thread.seen if thread.seen.since == each.wait.since else None
        holder = seen.holder if seen else each.wait.holder
        locks = [x for x in self.of.group(each.wait.lock).locks if x.id == each.wait.lock]
        private = locks and not self.of.shared_memory.identity(locks[0].address)
        if not private or locks[0].object not in (recordformat.MUTEX, recordformat.RWLOCK):
            return
        known = {other.thread_id for other in self.of.threads.values()}
        if 0 < holder < self.of.record.header.process_id and holder not in known:
            label = self.of.holder_label(holder)
            yield {"thread": label, "certain": True, "ended": False, "left_behind": True}

    def _or_longer(self, last: OpenWait) -> bool:
        """Whether what lasts since this wait began may have begun before the recording did, or gone
        on beyond what the record tells, as of a process that was killed while nobody looked."""
        if last.flags & recordformat.BEGAN_BEFORE:
            return True
        record = self.of.record
        ended = record.header.flags & recordformat.ENDED or record.header.ended_monotonic_ns
        return not (ended or record.runs or record.is_of_a_running_program())

    def _holds_since(self, each: Waiting) -> int:
        """How many holds were seen of others who took the lock after the wait for it began."""
        if KIND_NAMES[each.wait.kind] not in LOST_KINDS:
            return 0
        holds = self.of.holds.get(each.wait.lock, ())
        return sum(hold.start > each.wait.since and hold.thread != each.thread for hold in holds)

    def _frames(self, each: Waiting) -> list:
        stack = each.wait.stack
        return self.of.frames_of(stack) or self.of.frames_of(
            recordformat.OPEN_CALLERS + each.thread
        )

    def _place(self, each: Waiting) -> str:
        frame = telling(self._frames(each))
        return frame.place() if frame else ""

    def _called(self, each: Waiting) -> str:
        """What the thread waits for: a lock's name, or the thread that it joins."""
        if KIND_NAMES[each.wait.kind] == "join" and each.holders:
            return self.of.label(each.holders[0].thread)
        return self.of.group(each.wait.lock).name.text

    def _told(self, each: Waiting) -> str:
        """The same as its program's source calls it, where that is known: for sentences."""
        name = self._called(each)
        return self.called.get(name, name)

    def _deadlock(self, threads: list[int]) -> dict:
        waits = [self.waits[thread] for thread in threads]
        following = [*threads[1:], threads[0]]
        links = [
            next(holder for holder in each.holders if holder.thread == after)
            for each, after in zip_equal(waits, following)
        ]
        kinds = {KIND_NAMES[each.wait.kind] for each in waits}
        timed = any(each.wait.flags & recordformat.TIMED for each in waits)
        certain = all(link.certain for link in links)
        last = max((each.wait for each in waits), key=lambda wait: wait.since)
        lasted_ns = self.of.ns(max(0, self.of.end_ticks - last.since))
        parts = [self._part(each, after) for each, after in zip_equal(waits, following)]
        return {
            "certain": certain and not timed and "trylock" not in kinds,
            "threads": [self.of.label(thread) for thread in threads],
            "locks": [self._called(each) for each in waits],
            "places": [self._place(each) for each in waits],
            "lasted_ns": lasted_ns,
            "sentence": f"{_verdict(kinds, timed, certain)}: {', '.join(parts)}"
            f" (for {duration(lasted_ns)}{' or longer' * self._or_longer(last)})",
        }

    def _part(self, each: Waiting, holder: int) -> str:
        """ "A/12 waits for m2 at queue.cpp:7, held by B/13"."""
        place, called = self._place(each), self._told(each)
        at = f" at {place}" if place and not called.endswith(f" at {place}") else ""
        who = self.of.label(each.thread)
        if KIND_NAMES[each.wait.kind] == "join":
            return f"{who} waits for {called} to end{at}"
        held = "held by itself" if holder == each.thread else f"held by {self.of.label(holder)}"
        return f"{who} waits for {called}{self._which(each)}{at}, {held}"

    def _which(self, each: Waiting) -> str:
        """The address of one of several locks that are called the same."""
        locks = self.of.group(each.wait.lock).locks
        address = next((lock.address for lock in locks if lock.id == each.wait.lock), 0)
        return f" ({address:#x})" if len(locks) > 1 and address else ""
