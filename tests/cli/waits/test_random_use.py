"""What a record says of random programs that know how often each lock was taken, and how long the
calls took that did it: as often, and no longer."""

import signal
from typing import NamedTuple

import pytest
from conftest import compile_c, run_cli
from language_support import KNOWN

from syncopate.records.recordfile import Record
from syncopate.records.recordformat import (
    KIND_NAMES,
    LOST_KINDS,
    MUTEX,
    RWLOCK,
    SEMAPHORE,
    SPINLOCK,
)

SHORT, LONG = 8, 80
EXIT, AT_ONCE, BY_SIGNAL, BY_THREADS = range(4)
LOCKS = ("", "auto", "mcs")
LOST = {kind for kind, name in KIND_NAMES.items() if name in {*LOST_KINDS, "semaphore"}}
# Acquisitions that a killed process has not told of; of a reader-writer lock's, each thread.
UNTOLD = 256
MOST_THREADS = 8
CLOCKS = 1.001  # two clocks' rates


class Use(NamedTuple):
    process: int
    address: int
    kind: str
    taken: int
    ns: int | None


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random_use")
    source = (KNOWN / "random_use.c").read_text(encoding="utf-8")
    return compile_c(source, folder / "random_use", "-O2", "-pthread", "-Wall", "-Wextra")


def truth(text: str) -> list[Use]:
    rows = (line.split() for line in text.splitlines())
    return [
        Use(int(process), int(address, 16), kind, int(taken), None if ns == "-" else int(ns))
        for process, address, kind, taken, ns in rows
    ]


def check(uses: list[Use], folder, ending: int) -> None:
    records = {record.header.process_id: record
               for record in (Record(str(path)) for path in folder.glob("r*"))}  # fmt: skip
    parent = uses[-1].process
    for use in uses:
        record = records[use.process]
        locks = {lock.id: lock for lock in record.locks() if lock.address == use.address
                 and lock.object in (MUTEX, RWLOCK, SEMAPHORE, SPINLOCK)}  # fmt: skip
        taken = sum(lock.acquisitions for lock in locks.values())
        waits = [row.wait_sum for row in record.rows() if row.lock in locks and row.kind in LOST]
        if use.process != parent:  # and those of its parent's since these were counted last
            assert use.taken <= taken < use.taken + UNTOLD, use
        elif ending == BY_SIGNAL:
            most = UNTOLD * (MOST_THREADS if use.kind == "rwlock" else 1)
            assert use.taken - most < taken <= use.taken, use
        else:
            assert taken == use.taken, use
        if use.ns is not None:
            assert sum(waits) * record.ns_per_tick <= use.ns * CLOCKS, use


@pytest.mark.sampled(6)
@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=() if n < SHORT else pytest.mark.long) for n in range(LONG)]
)
def test_counts_and_times_are_those_of_the_program(program, tmp_path, seed, lock):
    ending, how = seed % 4, ["--lock", lock] if lock else []
    command = [program, seed, ending]
    done = run_cli("record", "-q", *how, "-o", tmp_path / "r", "--", *command)
    assert done.stderr == ""
    assert done.returncode == (-signal.SIGTERM if ending == BY_SIGNAL else 0)
    uses = truth(done.stdout)
    assert sum(use.taken for use in uses) > 100
    check(uses, tmp_path, ending)
