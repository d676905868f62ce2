"""Reads record files: src/record/format.h and transaction_format.h in Python.

The layouts below mirror those headers; a test compiles them and compares every size and offset.
Nothing in a file is believed: a damaged one is a Failure, never another exception.
"""

import mmap
import os
import random
import re
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

from syncopate.base.boundedfile import open_plain
from syncopate.base.errors import FAILED, Failure
from syncopate.base.shown import shown
from syncopate.records import histogram

MAGIC = b"SYNCREC1"
VERSION = 3
HEADER_BYTES = 4096
FIRST_BYTES = 160 * 1024  # without room for these, the library starts no record
CHUNK_BYTES = 64
LOCKS, THREADS, ROWS, EVENTS, STACKS, MAPS = range(1, 7)
SITES, SITE_ROWS, CONFLICTS, UNSAFE_CALLS = range(7, 11)  # of transactions
TRANSACTIONS = "transactions"  # Header.wait of a record of transactions
MUTEX, RWLOCK, SPINLOCK, CONDITION, BARRIER, FUTEX, SEMAPHORE, THREAD, YIELD = range(1, 10)
WAIT, HOLD = 1, 2
FINISHED, DISK_FULL, DESCRIPTOR_LOST, TABLE_FULL, SAMPLED = 1, 2, 4, 8, 16
SIZE_LIMITED, SPACE_LIMITED, DETACHED = 32, 64, 128
BY_PRELOAD, BY_KERNEL = range(2)  # Header.recorder
CREATED, DESTROYED = 1, 2

KIND_NAMES = {
    1: "mutex",
    2: "mutex_relock",
    3: "read",
    4: "write",
    5: "spinlock",
    6: "condition",
    7: "barrier",
    8: "futex",
    13: "semaphore",
    14: "join",
    15: "trylock",
    16: "semaphore_lock",
    17: "yield",
}
ELISION = 9  # of wait_kind: no wait, but counts in the places of the histogram
CAME_LAST = 10  # of wait_kind: no wait, but how often the thread was the last at a barrier
RELEASE = 11  # of wait_kind: no wait, but how long contended releases took, as waking does
HOLDER = 12  # of wait_kind: no wait, but whether sampled holds ran on: HOLDER_COUNTS
OUTSIDE = 18  # of wait_kind: no wait, but how long threads worked between two sections
AWAY = 19  # of wait_kind: of these, how long they waited elsewhere or slept
INSIDE = 20  # of wait_kind: no wait, but how long holds took that were not interrupted
CALL = 21  # of wait_kind: no lock, but blocked in the system call whose number stands for it
HOLDER_COUNTS = ("preempted", "preemptions", "slept")  # in the places of the histogram
ELISION_COUNTS = (
    "committed",
    "fell_back",
    "conflict",
    "capacity",
    "lock_held",
    "explicit",
    "other",
)
OBJECT_NAMES = {
    1: "mutex",
    2: "rwlock",
    3: "spinlock",
    4: "condition",
    5: "barrier",
    6: "futex",
    7: "semaphore",
    8: "thread",
    9: "yield",
}
# Time lost to locks.
LOST_KINDS = {"mutex", "mutex_relock", "read", "write", "spinlock", "trylock", "semaphore_lock"}
AWAKE_KINDS = {"trylock", "yield"}  # in which a thread never sleeps
TIMED, HAS_OWNER = 1, 2  # OpenWait.flags
OPEN_CALLERS = 1 << 31  # stack ids from here on: of the call site alone, by thread

FILE_HEADER = struct.Struct("<8sIIQIIQQQQQII32s32s512s2048sQ1280sQQIIQQ")
CHUNK_HEADER = struct.Struct("<IIIIQ")
LOCK_ENTRY = struct.Struct("<QBBHIIIQQQQQQ46I")
THREAD_ENTRY = struct.Struct("<IIQQ16sQQQQQQIIIII20x4QQQIIQ")
WAIT_ROW = struct.Struct("<IIQQQ64I")
EVENT = struct.Struct("<QQIIIHBBQII")
STACK_ENTRY = struct.Struct("<QII30Q")
SITE_ENTRY = struct.Struct("<QI20x")
SITE_ROW = struct.Struct("<QIIQQQQ10Q4QQQQQQQQII32x")
CONFLICT_ROW = struct.Struct("<QIIIIQ32x")
UNSAFE_ROW = struct.Struct("<QQIIQQ24x")
ITEM_BYTES = {LOCKS: 256, THREADS: 192, ROWS: 288, EVENTS: 48, STACKS: 256, MAPS: 1}
ITEM_BYTES |= {SITES: 32, SITE_ROWS: 256, CONFLICTS: 64, UNSAFE_CALLS: 64}
READ_AGAIN = 8  # an entry that changes while it is read
ABORT_CAUSES = (
    "read_conflict",
    "write_conflict",
    "commit_conflict",
    "memory",
    "unsafe_call",
    "retry",
    "hardware_conflict",
    "hardware_capacity",
    "hardware_explicit",
    "hardware_other",
)
ALONE_REASONS = ("by_algorithm", "start_serial", "in_flight", "after_failures")


MEASURED = struct.Struct("1280s")  # file_header::measured
MEASURED_AT = FILE_HEADER.size - MEASURED.size - 40
ENDED_AT = FILE_HEADER.size - 32  # file_header::ended_monotonic_ns
SEEN = struct.Struct("<QQI")  # thread_entry::seen_since and what follows
SEEN_AT = THREAD_ENTRY.size - SEEN.size - 12  # that far from its end
NAME_AT, NAME_BYTES = 24, 16  # thread_entry::name
ENOUGH_NS = 20_000_000  # between two stamps of both clocks, for the rate of one by the other


class Header(NamedTuple):
    """file_header, its texts decoded."""

    bytes_used: int
    process_id: int
    parent_id: int
    start_ticks: int
    start_monotonic_ns: int
    start_realtime_ns: int
    last_ticks: int
    last_monotonic_ns: int
    flags: int
    processors: int
    lock: str
    wait: str
    executable: str
    command: list[str]
    capture_ticks: int
    measured: str  # JSON: what `syncopate record` measured beside the program; "" if nothing
    ticks_per_second: int  # as measured at the start; 0: not known
    ended_monotonic_ns: int = 0  # 0: `syncopate record` has not seen it end
    recorder: int = BY_PRELOAD
    recorder_id: int = 0  # the process that writes the record; 0: the recorded one
    lost_waits: int = 0  # of which only their number and sum is known
    lost_ticks: int = 0


class Lock(NamedTuple):
    """lock_entry."""

    id: int
    address: int
    object: int
    type: int
    flags: int
    create_stack: int
    first_stack: int
    acquisitions: int
    hold_samples: int
    hold_sum: int
    hold_max: int
    hold_histogram: tuple[int, ...]


class OpenWait(NamedTuple):
    """open_wait: what a thread waits for; end 0: still."""

    since: int
    end: int
    caller: int
    lock: int
    kind: int
    holder: int
    stack: int
    flags: int


class Seen(NamedTuple):
    """Who held a lock, and what it waited for itself meanwhile (thread_entry::seen_since)."""

    since: int = 0
    holder_since: int = 0
    holder: int = 0


class Thread(NamedTuple):
    """thread_entry; end_ticks 0: it ran when the record ended; cpu_ns 0: not known."""

    id: int
    thread_id: int
    start_stack: int
    start_ticks: int
    end_ticks: int
    name: str
    cpu_ns: int = 0
    delay_ns: int = 0
    handle: int = 0
    open: OpenWait | None = None
    read_held: tuple[int, ...] = ()  # addresses
    seen: Seen = Seen()
    cpu_before_us: int = 0
    delay_before_ns: int = 0
    at: int = 0  # where it is in the file


class Row(NamedTuple):
    """wait_row, and the thread (its index) that waited."""

    thread: int
    lock: int
    kind: int
    waits: int
    wait_sum: int
    wait_max: int
    histogram: tuple[int, ...]


class Event(NamedTuple):
    """event, and the thread (its index) it happened to."""

    thread: int
    start: int
    end: int
    lock: int
    stack: int
    holder: int
    weight: int
    kind: int
    wait: int
    # Of some waits: ticks on a processor (0: not known), and how often the thread left it.
    on_processor: int = 0
    sleeps: int = 0
    preemptions: int = 0


class SiteRow(NamedTuple):
    """site_row, and the thread (its index) whose transactions they are."""

    thread: int
    address: int
    site: int
    most_retries: int
    started: int
    committed: int
    canceled: int
    hardware: int
    aborts: tuple[int, ...]  # by ABORT_CAUSES
    alone: tuple[int, ...]  # by ALONE_REASONS
    waited: int
    run: int
    wasted: int
    run_alone: int
    measured: int
    reads: int
    writes: int
    most_reads: int
    most_writes: int


class Conflict(NamedTuple):
    """conflict_row."""

    address: int
    site: int
    winner: int
    cause: int
    stack: int
    times: int


class UnsafeCall(NamedTuple):
    """unsafe_row."""

    caller: int
    called: int
    site: int
    stack: int
    times: int
    switches: int


def lack_of_room(flags: int) -> str | None:
    """Why the record could not grow; nothing where it could."""
    if not flags & DISK_FULL:
        return None
    if flags & SIZE_LIMITED:
        return "the record had reached the limit on a file's size (ulimit -f)"
    if flags & SPACE_LIMITED:
        return "the record's part of the address space was used up (ulimit -v)"
    return "the disk was full"


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def write_measured(path: str, text: str) -> None:
    """Puts `measured` into a finished record. A file that is none stays as it is.

    Requires: at most MEASURED.size bytes. Raises what open_plain() does.
    """
    with open_plain(path, change=True) as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(MEASURED_AT)
            file.write(MEASURED.pack(text.encode()))


def write_ended(path: str, monotonic_ns: int) -> None:
    """Says in a record when its process has ended. A file that is none stays as it is.

    Raises what open_plain() does.
    """
    with open_plain(path, change=True) as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(ENDED_AT)
            file.write(struct.pack("<Q", monotonic_ns))


def children_of(record: str) -> list[str]:
    """The records that child processes left beside `record`: FILE.PID and FILE.PID.N."""
    folder, base = os.path.split(record)
    pattern = re.compile(re.escape(base) + r"\.\d+(\.\d+)?")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(os.path.join(folder, name) for name in names if pattern.fullmatch(name))


class Record:
    """One open record. Items come chunk by chunk; nothing is read before it is asked for."""

    def __init__(self, path: str, now_ns: int | None = None):
        """Opens and checks `path`. A Failure says what is wrong with it. `now_ns`: the monotonic
        time until which a process that still runs is looked at; now unless given."""
        self.path = path
        self._now_ns = now_ns or time.monotonic_ns()
        try:
            with open_plain(path) as file:
                # The header first: a running program's record grows, and never below what it says.
                start = file.read(HEADER_BYTES)
                self.size = os.fstat(file.fileno()).st_size
                if len(start) < HEADER_BYTES:
                    self._refuse_short(start[:8])
                self._data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Failure(f"cannot read {path}: {reason}", FAILED) from None
        self.header = self._read_header(start)
        self._chunks = list(self._walk())
        self.ns_per_tick = self._rate()
        self.runs = not self.header.flags & FINISHED and self._is_mapped()
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
            inode = os.stat(self.path).st_ino
            writer = self.header.recorder_id or self.header.process_id
            with open(f"/proc/{writer}/maps", "rb") as file:
                lines = [line.split(maxsplit=5) for line in file]
        except OSError:
            return False
        name = os.fsencode(os.path.basename(self.path))
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

    def _end(self) -> int:
        """Until when the record tells of the process: its end; or now; or else, of one that was
        killed while nobody looked, the last thing that is known of it."""
        header = self.header
        known = max(header.last_ticks, header.start_ticks)
        until_ns = self._now_ns if self.runs else header.ended_monotonic_ns
        if not header.flags & FINISHED and until_ns > header.last_monotonic_ns:
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

    def redact(self) -> None:
        """Leaves out the program's arguments, as `record --redact` does (src/record/file.cpp)."""
        if len(self.header.command) > 1:
            command = [self.header.command[0], "(arguments left out)"]
            self.header = self.header._replace(command=command)

    def _refuse_short(self, start: bytes) -> None:
        if start == MAGIC or (MAGIC.startswith(start) and start):
            raise self._damaged(f"it ends after {self.size} bytes, inside its header")
        raise self._foreign()

    def _foreign(self) -> Failure:
        return Failure(
            f"{self.path} is not a Syncopate record; make one with `syncopate record`", FAILED
        )

    def _damaged(self, what: str) -> Failure:
        return Failure(f"{self.path} is damaged: {what}; record again", FAILED)

    def _read_header(self, start: bytes) -> Header:
        fields = FILE_HEADER.unpack_from(start)
        if fields[0] != MAGIC:
            raise self._foreign()
        if fields[1] != VERSION or fields[2] != HEADER_BYTES:
            raise Failure(
                f"{self.path} has record format {fields[1]} and this Syncopate reads {VERSION};"
                " read it with the version that wrote it",
                FAILED,
            )
        numbers, texts = fields[3:13], fields[13:17]
        command = texts[3].rstrip(b"\0").decode("utf-8", "replace").split("\0")
        command = [shown(word) for word in command]
        header = Header(
            *numbers,
            *(shown(_text(text)) for text in texts[:2]),
            _text(texts[2]),
            command,
            fields[17],
            _text(fields[18]),
            *fields[19:25],
        )
        if header.bytes_used > self.size:
            raise self._damaged(
                f"it is cut off at {self.size} of {header.bytes_used} bytes, as by a partial copy"
            )
        return header

    def _walk(self) -> Iterator[tuple[int, int, int, int]]:
        """Yields (kind, first, used, offset of the items) of every chunk, checked to be inside."""
        offset, end = HEADER_BYTES, self.header.bytes_used
        while offset + CHUNK_BYTES <= end:
            kind, size, first, used, _ = CHUNK_HEADER.unpack_from(self._data, offset)
            if kind == 0 and size == 0:
                return  # reserved by a process that was killed before it filled the header
            if kind not in ITEM_BYTES or size < 4096 or size % 4096 or offset + size > end:
                raise self._damaged(f"no sound chunk at byte {offset}")
            if used * ITEM_BYTES[kind] + CHUNK_BYTES > size:
                raise self._damaged(f"the chunk at byte {offset} claims {used} items")
            yield kind, first, used, offset + CHUNK_BYTES
            offset += size

    def _items(self, kind: int, layout: struct.Struct) -> Iterator[tuple[int, int, tuple]]:
        """Yields (chunk.first, index, fields) of every valid item of one kind."""
        for chunk_kind, first, used, offset in self._chunks:
            if chunk_kind == kind:
                view = memoryview(self._data)[offset : offset + used * layout.size]
                for index, fields in enumerate(layout.iter_unpack(view)):
                    yield first, index, fields

    def locks(self) -> Iterator[Lock]:
        for first, index, f in self._items(LOCKS, LOCK_ENTRY):
            if f[1]:  # object 0: an entry reserved but not yet filled when the process was killed
                yield Lock(
                    first + index, f[0], f[1], f[2], f[3], f[4], f[5], f[9], *f[10:13], f[13:]
                )

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
        held = tuple(address for address in f[16:20] if address)
        name, seen = shown(_text(f[4])), Seen(*f[20:23])
        return Thread(index, *f[:4], name, *f[5:8], wait, held, seen, f[23], f[24], at)

    def rows(self) -> Iterator[Row]:
        """What threads waited, exactly; also in waits that are not over."""
        for thread, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] in KIND_NAMES:
                yield Row(thread, f[0], f[1], f[2], f[3], f[4], f[5:])
        for each in self.threads():
            wait = each.open
            if wait and wait.kind in KIND_NAMES:
                ticks = max(0, (wait.end or self.end_ticks) - wait.since)
                counts = [0] * 64
                counts[histogram.bucket(ticks, 64)] = 1
                yield Row(each.id, wait.lock, wait.kind, 1, ticks, ticks, tuple(counts))

    def calls(self) -> Iterator[tuple[int, int, int, int]]:
        """Thread, number of a system call, how often the thread was blocked in it, and ticks."""
        for thread, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] == CALL:
                yield thread, f[0], f[2], f[3]

    def last_arrivals(self) -> Iterator[tuple[int, int, int]]:
        """Thread, barrier's id, how often that thread came last there."""
        for thread, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] == CAME_LAST:
                yield thread, f[0], f[2]

    def releases(self) -> Iterator[Row]:
        """How often each thread released a lock while others waited, and how long that took."""
        for thread, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] == RELEASE:
                yield Row(thread, f[0], f[1], f[2], f[3], f[4], f[5:])

    def gaps(self, kind: int) -> Iterator[Row]:
        """OUTSIDE: how often and how long each thread worked between two of its sections of a lock,
        estimated from some; AWAY: the same of being in other waits or asleep between them; INSIDE:
        of sections that did not lose their processor."""
        for thread, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] == kind:
                yield Row(thread, f[0], f[1], f[2], f[3], f[4], f[5:])

    def holders(self) -> Iterator[tuple[int, int, dict[str, int]]]:
        """Thread, lock id; of how many of that thread's holds it is known whether they ran on, and
        how many did not (format.h's holder_count)."""
        for thread, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] == HOLDER:
                yield (
                    thread,
                    f[0],
                    {"watched": f[2], **dict(zip(HOLDER_COUNTS, f[5:], strict=False))},
                )

    def elisions(self) -> Iterator[tuple[int, dict[str, int]]]:
        """Lock id, and what became of its elided sections in one thread."""
        for _, _, f in self._items(ROWS, WAIT_ROW):
            if f[1] == ELISION:
                yield f[0], dict(zip(ELISION_COUNTS, f[5:], strict=False))

    def events(self, every: int = 1) -> Iterator[Event]:
        """All events; or one of each `every` in turn, chosen at random, its weight so much more."""
        choose = random.Random(every).randrange  # at random, since waits and holds may alternate
        block = 0
        wanted = choose(every)
        begin = 0
        for kind, thread, used, offset in self._chunks:
            if kind != EVENTS:
                continue
            while wanted < begin + used:
                f = EVENT.unpack_from(self._data, offset + (wanted - begin) * EVENT.size)
                if f[6] in (WAIT, HOLD) and f[1] >= f[0]:
                    yield Event(thread, *f[:5], f[5] * every, *f[6:])
                block += every
                wanted = block + choose(every)
            begin += used
        yield from self._open_events()

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
