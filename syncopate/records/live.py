"""What the locks of a running program do: its record, read again and again while it grows.

The recorder writes into a shared mapping, so that a reader sees a wait as soon as it begins. Sums,
which have waits that are not over until now, only ever grow; what happened in an interval is the
difference of two snapshots.
"""

from __future__ import annotations

import contextlib
import operator
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from syncopate.base import boundedfile
from syncopate.base.errors import BAD_USE, Failure
from syncopate.base.since import zip_equal
from syncopate.records import openwaits
from syncopate.records.analysis import Analysis
from syncopate.records.livecounts import LiveCounts
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import BY_KERNEL, BY_PRELOAD, LOST_KINDS, MAGIC, OBJECT_NAMES
from syncopate.symbols.symbols import Symbolizer

Key = tuple[int, str, str, str]  # process, lock's name, its place, its kind


class Counts(NamedTuple):
    """Of the locks of one name, since the program began."""

    waited_ns: int
    waits: int
    acquisitions: int
    longest_ns: int
    got: int  # of the waits: that ended with it
    open: int  # of the waits: that are not over
    open_ns: int


NOTHING = Counts(0, 0, 0, 0, 0, 0, 0)


class Snapshot(NamedTuple):
    """Everything at one time."""

    seconds: float  # of time.monotonic()
    threads: int  # that run
    lived_ns: dict[int, int]  # by process: all its threads together, until now or their ends
    counts: dict[Key, Counts]
    deadlocks: tuple[dict, ...] = ()  # as in docs/reference/report-schema.md
    open_waits: tuple[dict, ...] = ()  # that have lasted a while, for locks first
    perhaps_ns: int = 0  # waited where there may be locks of the program's own


LASTING_NS = 100_000_000  # waits shorter than this come and go


class Tap:
    """One record that a program writes."""

    def __init__(self, path: str):
        self.path = path
        self._maps = ""
        self._symbolizer: Symbolizer | None = None

    def read(self, now_ns: int) -> Snapshot | None:
        """As of this monotonic time. None before the record's clock can be told."""
        with contextlib.suppress(OSError):
            openwaits.look(self.path)
        record = Record(self.path, now_ns)
        if record.end_ticks <= record.header.start_ticks:
            return None
        maps = record.maps()
        if self._symbolizer is None or maps != self._maps:
            self._maps, self._symbolizer = maps, Symbolizer(maps, record.header.start_realtime_ns)
        analysis = Analysis(record, symbolizer=self._symbolizer, with_events=False)
        threads = analysis.threads.values()
        until = [thread.end_ticks or record.end_ticks for thread in threads]
        lived = sum(end - thread.start_ticks for end, thread in zip_equal(until, threads))
        found = openwaits.OpenWaits(analysis)
        lasting = [each for each in found.as_data() if each["waited_ns"] >= LASTING_NS]
        for each in lasting:
            del each["frames"]
        return Snapshot(
            now_ns / 1e9,
            sum(not thread.end_ticks for thread in threads) * record.runs,
            {record.header.process_id: analysis.ns(lived)},
            _counts(analysis),
            tuple(found.deadlocks()),
            tuple(lasting),
            _perhaps(analysis),
        )


def _perhaps(analysis: Analysis) -> int:
    """What a report calls "perhaps lost to locks of its own", in nanoseconds."""
    kinds = {"futex", "yield"}
    if analysis.record.header.recorder == BY_KERNEL:
        kinds.add("semaphore")
    sums = (group.kinds[kind].total for group in analysis.groups for kind in kinds & {*group.kinds})
    signaled = sum(group.signaled_by_waiters for group in analysis.groups)
    return analysis.ns(sum(sums) + signaled)


def _counts(analysis: Analysis) -> dict[Key, Counts]:
    """By what a line of the screen says of a lock: locks that it does not tell apart are added."""
    found: dict[Key, Counts] = {}
    with LiveCounts(analysis.record.header) as exact:
        for key, counts in _counts_of_groups(analysis, exact):
            found[key] = _both(found.get(key, NOTHING), counts)
    return found


def _both(one: Counts, other: Counts) -> Counts:
    longest = max(one.longest_ns, other.longest_ns)
    return Counts(*map(operator.add, one, other))._replace(longest_ns=longest)


def _counts_of_groups(analysis: Analysis, exact: LiveCounts) -> Iterator[tuple[Key, Counts]]:
    for group in analysis.groups:
        kinds = [kind for name, kind in group.kinds.items() if name in LOST_KINDS]
        if not kinds:
            continue
        waits = sum(kind.waits for kind in kinds)
        taken = sum(map(exact.acquisitions, group.locks)) + group.elision["committed"]
        if analysis.record.header.recorder != BY_PRELOAD:
            taken = 0
        process = analysis.record.header.process_id
        name, object_name = group.name, OBJECT_NAMES.get(group.object, "unknown")
        yield (
            (process, name.text, name.place, object_name),
            Counts(
                analysis.ns(sum(kind.total for kind in kinds)),
                waits,
                max(taken, group.got()) if taken else 0,
                analysis.ns(max(kind.largest for kind in kinds)),
                group.got(),
                group.open.waits,
                analysis.ns(group.open.total),
            ),
        )


class Rate(NamedTuple):
    """What happened to the locks of one name in an interval, by second."""

    process: int
    lock: str
    object: str
    waiting: float  # threads that waited, on average
    waits: float
    got: float  # of the waits: that ended with it
    acquisitions: float | None  # None: they are not counted
    mean_ns: float | None  # of the waits that ended
    longest_ns: int  # since the program began


def rates(before: Snapshot, after: Snapshot) -> list[Rate]:
    """Locks that were waited for in between, those first that most threads waited for."""
    seconds = max(1e-9, after.seconds - before.seconds)
    found = []
    for key, now in after.counts.items():
        then = before.counts.get(key, NOTHING)
        waits, waited = now.waits - then.waits, now.waited_ns - then.waited_ns
        got = now.got - then.got
        if waits > 0 or waited > 0:
            process, name, _, kind = key
            taken = now.acquisitions - then.acquisitions
            waiting = waited / 1e9 / seconds
            found.append(
                Rate(process, name, kind, waiting, waits / seconds, got / seconds,
                     max(taken, got) / seconds if now.acquisitions else None,
                     _mean_of_ended(then, now), now.longest_ns)
            )  # fmt: skip
    return sorted(found, key=lambda rate: -rate.waiting)


def _mean_of_ended(then: Counts, now: Counts) -> float | None:
    """How long those waits lasted that ended in between, all of each."""
    waits = now.waits - now.open - (then.waits - then.open)
    waited = now.waited_ns - now.open_ns - (then.waited_ns - then.open_ns)
    return max(0, waited) / waits if waits > 0 else None


def lived(before: Snapshot, after: Snapshot) -> float:
    """How many threads there were in between, on average."""
    passed = (max(0, now - before.lived_ns.get(of, 0)) for of, now in after.lived_ns.items())
    return sum(passed) / 1e9 / max(1e-9, after.seconds - before.seconds)


def perhaps(before: Snapshot, after: Snapshot) -> float:
    """How many threads waited in between where there may be locks of the program's own."""
    seconds = max(1e-9, after.seconds - before.seconds)
    return max(0, after.perhaps_ns - before.perhaps_ns) / 1e9 / seconds


def snapshot(taps: list[Tap]) -> Snapshot:
    """The sums of all records that can be read by now."""
    now_ns = time.monotonic_ns()
    whole = Snapshot(now_ns / 1e9, 0, {}, {})
    for tap in taps:
        read = tap.read(now_ns)
        if read is not None:
            whole = Snapshot(
                whole.seconds,
                whole.threads + read.threads,
                _added(whole.lived_ns, read.lived_ns, operator.add, 0),
                _added(whole.counts, read.counts, _both, NOTHING),
                whole.deadlocks + read.deadlocks,
                whole.open_waits + read.open_waits,
                whole.perhaps_ns + read.perhaps_ns,
            )
    return whole


def _added(whole: dict, more: dict, both: Callable, nothing) -> dict:
    """The sums of two records: of one process that became another program by exec, in part."""
    return whole | {key: both(whole.get(key, nothing), each) for key, each in more.items()}


def record_of(process: int) -> str:
    """The record that a running process writes. A Failure when there is none."""
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        raise Failure(f"there is no process {process}", BAD_USE) from None
    except OSError as error:
        raise Failure(f"process {process}: {error.strerror}; run as its user", BAD_USE) from None
    shared = [line.split(maxsplit=5) for line in lines if line.split(maxsplit=2)[1:2] == ["rw-s"]]
    for path in dict.fromkeys(fields[5] for fields in shared if len(fields) == 6):
        if is_record(path):
            return path
    raise Failure(
        f"process {process} is not recorded; start it with `syncopate record -- PROGRAM`,"
        " or `syncopate top -- PROGRAM`",
        BAD_USE,
    )


def is_record(path: str) -> bool:
    """Whether there is a record by now: the recorder writes its first bytes last."""
    return boundedfile.starts_with(path, MAGIC)
