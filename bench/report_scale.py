#!/usr/bin/env python3
"""How `syncopate report` fares with large records: ten million events, ten thousand locks.

    bench/report_scale.py                              about three minutes, 500 MB on disk
    bench/report_scale.py --events 1000000 --locks 100
    bench/report_scale.py --threads 2000 --rows 200

Writes a made-up record, reports on it as text, as JSON and as a page, and opens the page in
Chromium: processor time, memory and size of each, and how long the page takes to load, to sort, to
filter and to draw its timeline anew. Exit status: 0; 1 when something fails.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from interleaved import ROOT, table

sys.path.insert(0, str(ROOT / "tests" / "cli"))
from make_record import EVENTS, RecordBuilder

EVENT = struct.Struct("<QQIIIHBBQII")
A_CHUNK = 100_000  # events
WAIT, HOLD, MUTEX_WAIT = 1, 2, 1
SPACING = 1000  # ns between two events of a thread
PATIENCE = 300_000  # milliseconds that a browser may take


def events(thread: int, first: int, count: int, locks: int, begin: int) -> bytes:
    """A chunk's events: waits and holds in turn, spread over all locks, some popular."""
    packed = bytearray(EVENT.size * count)
    for index in range(count):
        number = first + index
        mixed = number * 2654435761 + thread * 40503 & 0xFFFFFFFF
        lock = mixed % (locks if number % 2 else max(1, locks // 100)) + 1
        start, length = begin + number * SPACING, 100 + mixed % 5000
        kind = WAIT if number % 3 else HOLD
        wait = MUTEX_WAIT if kind == WAIT else 0
        EVENT.pack_into(
            packed, index * EVENT.size, start, start + length, lock, lock % 500 + 1, 0, 1, kind,
            wait, 0, 0, 0,
        )  # fmt: skip
    return bytes(packed)


def write(path: Path, o: argparse.Namespace) -> None:
    by_thread = o.events // o.threads
    builder = RecordBuilder(start=1_000_000, end=1_000_000 + (by_thread + 10) * SPACING)
    stacks = [builder.stack(0x100000 + 16 * n, 0xF000) for n in range(max(500, o.locks))]
    for number in range(o.locks):
        builder.lock(0x900000 + 64 * number, acquisitions=1000, create=stacks[number], holds=[200])
    for thread in range(o.threads):
        builder.thread(100 + thread, f"worker-{thread}")
        for lock in range(thread % 7 + 1, o.locks + 1, max(7, o.locks // o.rows)):
            builder.row(thread, lock, MUTEX_WAIT, [400, 5000])
        for first in range(0, by_thread, A_CHUNK):
            count = min(A_CHUNK, by_thread - first)
            packed = events(thread, first, count, o.locks, builder.start)
            builder.chunks.append(builder.chunk(EVENTS, thread, [packed], used=count))
    builder.write(path)


def report(path: Path, *options: str) -> list[str]:
    """A row: what was asked, processor seconds, peak memory, size of the output."""
    output = path.with_name("output")
    command = [sys.executable, "-m", "syncopate", "report", str(path), *options]
    with open(output, "wb") as file:
        process = subprocess.Popen(
            command, stdout=file, cwd=path.parent, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"report_scale: {' '.join(command)} failed")
    # Of a process that was started by a larger one the kernel tells that one's memory.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = "at most " * (used.ru_maxrss <= own) + megabytes(used.ru_maxrss * 1024)
    seconds = used.ru_utime + used.ru_stime
    page = path.with_name(options[1]) if len(options) > 1 else output
    size = page.stat().st_size
    return [" ".join(options) or "text", f"{seconds:.1f} s", memory, megabytes(size)]


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def in_browser(page: Path) -> list[tuple[str, float]]:
    """Seconds of what a reader does with the page."""
    from playwright.sync_api import sync_playwright

    steps = []

    def timed(what: str, act) -> None:
        begun = time.monotonic()
        act()
        steps.append((what, time.monotonic() - begun))

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False
        )
        shown = browser.new_page()
        shown.set_default_timeout(PATIENCE)
        timed("load", lambda: shown.goto(f"file://{page}"))
        timed("sort", lambda: shown.click('[data-key="acquisitions"]'))
        timed("filter", lambda: shown.fill("#filter", "0x1200"))
        shown.focus("#timeline")
        timed("zoom into the timeline", lambda: shown.keyboard.press("+"))
        browser.close()
    return steps


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--locks", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rows", type=int, default=1429, help="locks that each thread waits for")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="syncopate-scale-") as folder:
        path = Path(folder) / "large.rec"
        print(f"report_scale: writing {o.events:,} events", file=sys.stderr)
        writer = multiprocessing.get_context("fork").Process(target=write, args=(path, o))
        writer.start()
        writer.join()
        if writer.exitcode:
            return 1
        size = megabytes(path.stat().st_size)
        print(f"{o.events:,} events, {o.locks:,} locks, {o.threads} threads: {size}")
        rows = [report(path), report(path, "--json"), report(path, "--html", "page.html")]
        print(table(rows, ["report", "processor time", "most memory", "size"]))
        for what, seconds in in_browser(Path(folder) / "page.html"):
            print(f"the page in Chromium: {what}: {seconds:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
