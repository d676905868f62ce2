"""Writes record files byte by byte, from the format's description, for tests of what reads them.

Times are ticks; a builder's clock makes one tick one nanosecond unless told otherwise.
"""

import itertools
import struct
from pathlib import Path

LOCKS, THREADS, ROWS, EVENTS, STACKS, MAPS = range(1, 7)
CPU_SAMPLES = 11


def bucket(ticks: int, buckets: int = 64) -> int:
    """The recorder's histogram bucket, as format.h defines it."""
    if ticks < 64:
        return 0
    log = ticks.bit_length() - 1
    return min(2 * log + (ticks >> (log - 1) & 1) - 12, buckets - 1)


def spread(values: list[int], buckets: int) -> list[int]:
    counts = [0] * buckets
    for value in values:
        counts[bucket(value, buckets)] += 1
    return counts


class RecordBuilder:
    """Collects what a record should hold, then writes it; each is of a recording of its own."""

    begun = itertools.count(1_790_000_000 * 10**9)  # ns

    def __init__(self, start: int = 1_000_000, end: int = 2_000_000):
        self.started = next(self.begun)
        self.start, self.end = start, end
        self.ns_per_tick = 1
        self.ticks_per_second = 0  # as of records that did not say it
        self.flags = 1
        self.lock_name, self.wait_name = "futex", "park"
        self.command = ["/usr/bin/server", "--threads", "2"]
        self.chunks: list[bytes] = []
        self.locks: list[bytes] = []
        self.threads: list[bytes] = []
        self.stacks: list[bytes] = []
        self.rows: dict[int, list[bytes]] = {}
        self.events: dict[int, list[bytes]] = {}
        # Address, how often a thread ran there, and in the kernel, called from there.
        self.cpu_samples: list[tuple[int, int, int]] = []
        self.maps = ""
        self.measured = ""
        self.version = 3
        self.ended = 0  # monotonic ns
        self.recorder = 0  # 0: in the process, 1: the kernel's view, 2: a Java VM
        self.magic = b"SYNCREC1"
        self.lost = (0, 0, 0, 0)  # waits and their ticks; stacks, and those that were copied
        self.looks = (0, 0)  # at threads in no recorded wait; that found them at a futex

    def lock(self, address, object_kind=1, acquisitions=0, create=0, first=0, holds=()) -> int:
        """Adds a lock; returns its id, from 1 on."""
        flags = 1 if create else 0
        self.locks.append(
            struct.pack(
                "<QBBHIIIQQQQQQ46I", address, object_kind, 0, flags, create, first, 0, 0, 0,
                acquisitions, len(holds), sum(holds), max(holds, default=0), *spread(holds, 46),
            )
        )  # fmt: skip
        return len(self.locks)

    def thread(
        self,
        thread_id,
        name="worker",
        start=None,
        end=None,
        stack=0,
        cpu=0,
        delay=0,
        handle=0,
        waits=(0, 0, 0, 0, 0, 0, 0, 0),
        reads=(),
        seen=(0, 0, 0),
        looked=(0, 0, 0),
    ) -> int:
        """Adds a thread; returns its index, from 0 on. `waits`: open_wait, `seen`: who was seen,
        `looked`: after how many ms what was counted, of processor time and of time without."""
        start = self.start if start is None else start
        end = self.end if end is None else end
        self.threads.append(
            struct.pack(
                "<IIQQ16sQQQQQQIIIIIIQQ4QQQI12x",
                thread_id,
                stack,
                start,
                end,
                name.encode(),
                cpu,
                delay,
                handle,
                *waits,
                *looked,
                *reads,
                *[0] * (4 - len(reads)),
                *seen,
            )
        )
        return len(self.threads) - 1

    def stack(self, *addresses: int) -> int:
        """Adds a call stack, innermost return address first; returns its id, from 1 on."""
        padded = [*addresses, *[0] * (30 - len(addresses))]
        self.stacks.append(struct.pack("<QII30Q", len(self.stacks), len(addresses), 0, *padded))
        return len(self.stacks)

    def row(self, thread: int, lock: int, kind: int, waits: list[int]) -> None:
        packed = struct.pack(
            "<IIQQQ64I", lock, kind, len(waits), sum(waits), max(waits), *spread(waits, 64)
        )
        self.rows.setdefault(thread, []).append(packed)

    def gaps(self, thread: int, lock: int, kind: int, times: list[int], weight: int = 16) -> None:
        """Times between a thread's sections (18: at work, 19: elsewhere) or within them (20)."""
        counts = [weight * count for count in spread(times, 64)]
        sums = (weight * len(times), weight * sum(times), max(times))
        self.rows.setdefault(thread, []).append(
            struct.pack("<IIQQQ64I", lock, kind, *sums, *counts)
        )

    def releases(self, thread: int, lock: int, times: int) -> None:
        """How often a thread released a lock while others waited."""
        self.row(thread, lock, 11, [100] * times)

    def in_vain(self, thread: int, lock: int, times: int) -> None:
        """How many of a thread's waits for a lock ended without it."""
        packed = struct.pack("<IIQQQ64I", lock, 24, times, 0, 0, *[0] * 64)
        self.rows.setdefault(thread, []).append(packed)

    def elision(self, thread: int, lock: int, counts: list[int]) -> None:
        """What became of a thread's elided sections of a lock, by format.h's elision_count."""
        padded = [*counts, *[0] * (64 - len(counts))]
        packed = struct.pack("<IIQQQ64I", lock, 9, counts[0] + counts[1], 0, 0, *padded)
        self.rows.setdefault(thread, []).append(packed)

    def speculation(self, thread: int, lock: int, counts: list[int]) -> None:
        """What became of a thread's runs ahead of a lock, by format.h's speculation_count."""
        padded = [*counts, *[0] * (64 - len(counts))]
        packed = struct.pack("<IIQQQ64I", lock, 22, 1, 0, 0, *padded)
        self.rows.setdefault(thread, []).append(packed)

    def holder(self, thread: int, lock: int, watched: int, counts: list[int]) -> None:
        """How many of a thread's holds were watched, and by format.h's holder_count the rest."""
        padded = [*counts, *[0] * (64 - len(counts))]
        packed = struct.pack("<IIQQQ64I", lock, 12, watched, 0, 0, *padded)
        self.rows.setdefault(thread, []).append(packed)

    def event(
        self, thread, kind, lock, start, end, stack=0, holder=0, weight=1, wait=0, used=(0, 0, 0)
    ) -> None:
        numbers = (start, end, lock, stack, holder, weight, kind, wait, *used)
        packed = struct.pack("<QQIIIHBBQII", *numbers)
        self.events.setdefault(thread, []).append(packed)

    def wait(
        self, thread, lock, start, end, stack=0, holder=0, weight=1, kind=1, used=(0, 0, 0)
    ) -> None:
        """`used`: ticks on a processor, sleeps, preemptions; (0, 0, 0): not known."""
        self.event(thread, 1, lock, start, end, stack, holder, weight, kind, used)

    def hold(self, thread, lock, start, end, stack=0, weight=1) -> None:
        self.event(thread, 2, lock, start, end, stack, 0, weight, 0)

    def chunk(self, kind: int, first: int, items: list[bytes], used: int | None = None) -> bytes:
        body = b"".join(items)
        size = (64 + len(body) + 4095) // 4096 * 4096
        header = struct.pack("<IIIIQ40x", kind, size, first, used or len(items), self.start)
        return (header + body).ljust(size, b"\0")

    def build(self) -> bytes:
        chunks = list(self.chunks)
        if self.locks:
            chunks.append(self.chunk(LOCKS, 1, self.locks))
        if self.threads:
            chunks.append(self.chunk(THREADS, 0, self.threads))
        if self.stacks:
            chunks.append(self.chunk(STACKS, 1, self.stacks))
        chunks += [self.chunk(ROWS, thread, rows) for thread, rows in self.rows.items()]
        chunks += [self.chunk(EVENTS, thread, events) for thread, events in self.events.items()]
        if self.cpu_samples:
            items = [struct.pack("<QII", *each) for each in self.cpu_samples]
            chunks.append(self.chunk(CPU_SAMPLES, 0, items))
        if self.maps:
            text = self.maps.encode()
            chunks.append(self.chunk(MAPS, 0, [text], used=len(text)))
        body = b"".join(chunks)
        elapsed = (self.end - self.start) * self.ns_per_tick
        header = struct.pack(
            "<8sIIQIIQQQQQII32s32s512s2048sQ1280sQQII4Q2I",
            self.magic, self.version, 4096, 4096 + len(body), 4242, 4241, self.start, 10**9,
            self.started, self.end, 10**9 + elapsed,
            self.flags, 2, self.lock_name.encode(), self.wait_name.encode(),
            self.command[0].encode(), "\0".join(self.command).encode(), 0,
            self.measured.encode(), self.ticks_per_second, self.ended,
            self.recorder, 0, *self.lost, *self.looks,
        )  # fmt: skip
        return header.ljust(4096, b"\0") + body

    def write(self, path: Path) -> Path:
        path.write_bytes(self.build())
        return path
