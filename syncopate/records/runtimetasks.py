"""What run-time libraries run on threads and put aside without the kernel: that such tasks wait for
each other is in no record, and a report says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Tasks(NamedTuple):
    """What a program's run-time library runs on threads, and puts aside without the kernel."""

    called: str
    without: str  # what a report adds to the time lost to locks
    note: str


GOROUTINES = Tasks(
    "goroutines",
    ", without what goroutines wait for each other, which is not seen here",
    "a Go program: goroutines that wait for each other do so outside of the kernel; its own"
    " profiles have them, `go tool pprof http://HOST/debug/pprof/mutex`, once it has called"
    " runtime.SetMutexProfileFraction (and .../block, SetBlockProfileRate)",
)
VIRTUAL_THREADS = Tasks(
    "virtual threads",
    ", without what virtual threads wait for each other, which is not seen here",
    "Java's virtual threads wait outside of the VM's own threads: for java.util.concurrent that is"
    " not recorded, for monitors (synchronized) in part, as of the threads that carry them;"
    " `jcmd PID Thread.dump_to_file FILE` shows where each one is",
)
TOKIO = Tasks(
    "tasks of tokio",
    ", without what tasks of tokio wait for each other, which is not seen here",
    "tokio: its tasks wait for each other, as at a tokio::sync::Mutex, outside of any thread: that"
    " is not seen here; tokio-console shows it",
)
ASYNCIO = Tasks(
    "tasks of asyncio",
    ", without what tasks of asyncio, where it runs some, wait for each other",
    "Python's asyncio is loaded: its tasks wait for each other, as at an asyncio.Lock, within one"
    " thread: that is not seen here; asyncio.all_tasks() and print_stack() show where they are",
)
HASKELL = Tasks(
    "threads of Haskell",
    ", without what threads of Haskell wait for each other, which is not seen here",
    "a Haskell program: its threads wait for each other, as at an MVar or in STM, outside of the"
    " kernel: that is not seen here; its event log has it (+RTS -l, and ThreadScope)",
)
ERLANG = Tasks(
    "processes of Erlang",
    ", without what processes of Erlang wait for each other, which is not seen here",
    "Erlang's processes wait for each other's messages outside of any thread: that is not seen"
    " here; observer and erlang:process_info show it, and lcnt the virtual machine's own locks",
)
TASKS = {
    each.called: each for each in (GOROUTINES, VIRTUAL_THREADS, TOKIO, ASYNCIO, HASKELL, ERLANG)
}
MARK_OF_HASKELL = b"using the GHCRTS environment variable"  # said by its run-time
ERLANGS_MACHINE = "beam.smp"
MARK_OF_TOKIO = b"must be called from the context of a Tokio"  # said where there is no run-time
VIRTUAL = "virtual threads"  # a line of the agent in a Java VM (products/jvm)
UNBLOCKS_VIRTUAL = "VirtualThread-u"  # a thread of such a VM, as far as the kernel keeps names
_ASYNCIO = re.compile(r"/_asyncio(\.[\w.-]+)?\.so$")
MARK_OF_GO = b"\xff Go buildinf:"  # of what `go version -m` reads


def loads_asyncio(lines: Iterable[str]) -> bool:
    """Whether one of these lines of what is mapped is of Python's asyncio."""
    return any(_ASYNCIO.search(line) for line in lines)
