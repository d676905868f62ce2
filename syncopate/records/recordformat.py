"""The layout of record files: src/record/format.h and transaction_format.h in Python.

A test compiles those headers and compares every size and offset with what stands here.
"""

from __future__ import annotations

import enum
import os
import struct
from typing import NamedTuple

MAGIC = b"SYNCREC1"
BUNDLE_MAGIC = b"PK\x03\x04"  # of a bundle of records (bundle.py)
VERSION = 3
HEADER_BYTES = 4096
FIRST_BYTES = 160 * 1024  # without room for these, the library starts no record
CHUNK_BYTES = 64
SEPARATE_THREADS = 2048  # later ones share entries with those that ended (threads.cpp)
LOCKS, THREADS, ROWS, EVENTS, STACKS, MAPS = range(1, 7)
SITES, SITE_ROWS, CONFLICTS, UNSAFE_CALLS = range(7, 11)  # of transactions
CPU_SAMPLES = 11
TRANSACTIONS = "transactions"  # Header.wait of a record of transactions
MUTEX, RWLOCK, SPINLOCK, CONDITION, BARRIER, FUTEX, SEMAPHORE, THREAD, YIELD = range(1, 10)
WAIT, HOLD = 1, 2
FINISHED, DISK_FULL, DESCRIPTOR_LOST, TABLE_FULL, SAMPLED = 1, 2, 4, 8, 16
SIZE_LIMITED, SPACE_LIMITED, DETACHED, REPLACED, GAVE_UP = 32, 64, 128, 256, 512
GROWTH_REFUSED = 4096
ONLY_OPENMP, KILLED, TASK_WAITS_UNTOLD = 1024, 2048, 8192
ENDED = FINISHED | DETACHED | REPLACED | KILLED  # nothing is missing that happened before
BY_PRELOAD, BY_KERNEL, BY_JVM = range(3)  # Header.recorder
RECORDERS = ("preload", "kernel", "jvm")  # their names
CREATED, DESTROYED, USED_AS_LOCK, IN_PART = 1, 2, 4, 8  # Lock.flags

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
    23: "futex_lock",
}


class WaitKind(enum.IntEnum):
    """wait_kind, of those that are waits and more than numbers here."""

    MUTEX, RELOCK, READ, WRITE, CONDITION, FUTEX, SEMAPHORE, JOIN, SEMAPHORE_LOCK, FUTEX_LOCK = (
        1,
        2,
        3,
        4,
        6,
        8,
        13,
        14,
        16,
        23,
    )


ELISION = 9  # of wait_kind: no wait, but counts in the places of the histogram
CAME_LAST = 10  # of wait_kind: no wait, but how often the thread was the last at a barrier
RELEASE = 11  # of wait_kind: no wait, but how long contended releases took, as waking does
HOLDER = 12  # of wait_kind: no wait, but whether sampled holds ran on: HOLDER_COUNTS
OUTSIDE = 18  # of wait_kind: no wait, but how long threads worked between two sections
AWAY = 19  # of wait_kind: of these, how long they waited elsewhere or slept
INSIDE = 20  # of wait_kind: no wait, but how long holds took that were not interrupted
CALL = 21  # of wait_kind: no lock, but blocked in the system call whose number stands for it
SPECULATION = 22  # of wait_kind: no wait, but runs ahead of a lock: SPECULATION_COUNTS
IN_VAIN = 24  # of wait_kind: no wait, but how many waits ended without the lock
AT_WORK = 25  # of wait_kind: no wait, but how long a thread was at work before a barrier
MORE_WORK = 26  # of wait_kind: of the last there, how long others waited since it had more to do
SIGNALS = 27  # of wait_kind: no wait, but how often waiters of a condition variable were woken
HOLDER_COUNTS = ("preempted", "preemptions", "slept", "faulted")  # in the places of the histogram
PAGES_COUNTS = ("of", "paged", "given")  # behind these: of new pages
SIDE_COUNTS = ("reading", "other")  # ... and of all: for reading or not; older records have neither
ELISION_COUNTS = (
    "committed",
    "fell_back",
    "conflict",
    "capacity",
    "lock_held",
    "explicit",
    "other",
)
SPECULATION_COUNTS = (
    "runs",
    "whole",
    "conflict",
    "capacity",
    "other",
    "left_out",
    "lines",
    "trials",
    "gains",
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
LOST_KINDS = {
    "mutex",
    "mutex_relock",
    "read",
    "write",
    "spinlock",
    "trylock",
    "semaphore_lock",
    "futex_lock",
}
AWAKE_KINDS = {"trylock", "yield"}  # in which a thread never sleeps
TIMED, HAS_OWNER, BEGAN_BEFORE = 1, 2, 4  # OpenWait.flags
OPEN_CALLERS = 1 << 31  # stack ids from here on: of the call site alone, by thread

FILE_HEADER = struct.Struct("<8sIIQIIQQQQQII32s32s512s2048sQ1280sQQIIQQQQIIIIII")
CHUNK_HEADER = struct.Struct("<IIIIQ")
LOCK_ENTRY = struct.Struct("<QBBHIIIQQQQQQ46I")
THREAD_ENTRY = struct.Struct("<IIQQ16sQQQQQQIIIIIIQQ4QQQIIQ")
WAIT_ROW = struct.Struct("<IIQQQ64I")
PACKED_ROW = struct.Struct("<IIQQQ256s")  # the same, without a look at its histogram,
ROW_KIND = struct.Struct("<4xI280x")  # and its kind
ROW_HISTOGRAM = struct.Struct("<64I")
EVENT = struct.Struct("<QQIIIHBBQII")
STACK_ENTRY = struct.Struct("<QII30Q")
SITE_ENTRY = struct.Struct("<QI20x")
SITE_ROW = struct.Struct("<QIIQQQQ10Q4QQQQQQQQII32x")
CONFLICT_ROW = struct.Struct("<QIIIIQ32x")
CPU_SAMPLE = struct.Struct("<QII")
UNSAFE_ROW = struct.Struct("<QQIIQQ24x")
ITEM_BYTES = {LOCKS: 256, THREADS: 192, ROWS: 288, EVENTS: 48, STACKS: 256, MAPS: 1}
ITEM_BYTES |= {SITES: 32, SITE_ROWS: 256, CONFLICTS: 64, UNSAFE_CALLS: 64, CPU_SAMPLES: 16}
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
BYTES_USED = struct.Struct("<Q")  # file_header::bytes_used
BYTES_USED_AT = struct.calcsize("<8sII")
COMMAND_BYTES = 2048
COMMAND_AT = struct.calcsize("<8sIIQIIQQQQQII32s32s512s")  # file_header::command
MEASURED_AT = FILE_HEADER.size - MEASURED.size - 80
ENDED_AT = FILE_HEADER.size - 72  # file_header::ended_monotonic_ns
LOOKS = struct.Struct("<II")  # file_header::looks, looks_at_futex
LOOKS_AT = FILE_HEADER.size - LOOKS.size - 16
SEEN = struct.Struct("<QQI")  # thread_entry::seen_since and what follows
SEEN_AT = THREAD_ENTRY.size - SEEN.size - 12  # that far from its end
LOOKED, LOOKED_AT = struct.Struct("<IQQ"), 108  # open_wait::seen_after_ms and what follows
NAME_AT, NAME_BYTES = 24, 16  # thread_entry::name
GIVES_UP_AFTER_NS = 100_000_000  # without another try: tries.cpp
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
    lost_stacks: int = 0  # that were to be copied, and were not; and those that were
    copied_stacks: int = 0
    looks: int = 0  # at threads that were in no recorded wait; and those that slept at a futex
    looks_at_futex: int = 0
    unrecorded_children: int = 0  # that could not make a file; and the errno value of the last
    unrecorded_error: int = 0
    quiet_children: int = 0  # forked ones that came to nothing that is recorded, and have no file
    unseen_cpu_ms: int = 0  # processor time of threads that have no entry

    def is_without_proc(self) -> bool:
        """Whether /proc was not there, from which the library has what it tells of its process."""
        return self.recorder == BY_PRELOAD and not (self.executable or any(self.command))

    def without_record(self) -> str | None:
        """Which forked children have no record though they had something to record, and why."""
        number = self.unrecorded_children
        if not number:
            return None
        which = "one forked process has" if number == 1 else f"{number} forked processes have"
        return f"{which} no record: {os.strerror(self.unrecorded_error)}"


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
    places: int = 0  # lock_entry.reserved: where the object keeps its identity and its count
    destroyed_ticks: int = 0  # DESTROYED: when
    signals: int = 0  # of a condition variable: lock_entry.acquisitions


class OpenWait(NamedTuple):
    """open_wait: what a thread waits for; end 0: still, or tried again just before the end."""

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
    looked_cpu_ns: int = 0  # as `record` saw them last; 0: it did not look
    looked_delay_ns: int = 0
    looked_after_ms: int = 0  # when: after the record's start


class Row(NamedTuple):
    """wait_row, and the thread (its index) that waited."""

    thread: int
    lock: int
    kind: int
    waits: int
    wait_sum: int
    wait_max: int
    packed: bytes  # its histogram, as it is in the file

    @property
    def histogram(self) -> tuple[int, ...]:
        """How many waits were of which length, by histogram.bucket()."""
        return ROW_HISTOGRAM.unpack(self.packed)


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


def name_of_recorder(number: int) -> str:
    """Of Header.recorder."""
    return RECORDERS[number] if number < len(RECORDERS) else RECORDERS[BY_PRELOAD]


def lack_of_room(flags: int) -> str | None:
    """Why the record could not grow; nothing where it could."""
    if not flags & DISK_FULL:
        return None
    if flags & SIZE_LIMITED:
        return "the record had reached the limit on a file's size (ulimit -f)"
    if flags & SPACE_LIMITED:
        return "the record's part of the address space was used up (ulimit -v)"
    if flags & GROWTH_REFUSED:
        return "the program was no longer allowed the calls by which the record grows (a sandbox)"
    return "the disk was full"
