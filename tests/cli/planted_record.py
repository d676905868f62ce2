"""Records of eight threads that wait for one kind of lock, for a cause that is planted in each."""

import json

from conftest import run_cli
from make_record import RecordBuilder

MS, US = 1_000_000, 1000
INSIDE = 20  # format.h's wait_kind: how long holds took


class Planted:
    """A record of eight threads that wait for one kind of lock, and why."""

    def __init__(self, cpu: int = 0):
        self.builder = RecordBuilder(0, 1000 * MS)
        self.threads = [self.builder.thread(10 + n, f"w{n}", cpu=cpu) for n in range(8)]
        self.stack = self.builder.stack(0xA000, 0xF000)

    def lock(self, holds=(), acquisitions=1000, create=0) -> int:
        return self.builder.lock(
            0x9000 + 64 * len(self.builder.locks), 1, acquisitions, create, self.stack, holds
        )

    def waits(self, lock, each, times=10, kind=1) -> None:
        for thread in self.threads:
            self.builder.row(thread, lock, kind, [each] * times)

    def findings(self, folder, *options) -> list[dict]:
        record = self.builder.write(folder / "rec")
        done = run_cli("report", "--json", *options, record)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["records"][0]["findings"]


def sleeps(of: Planted) -> None:
    lock = of.lock([5 * MS] * 66)
    of.waits(lock, 5 * MS)
    of.builder.holder(0, lock, 66, [0, 0, 66])


def sleeps_seldom(of: Planted) -> None:
    """Many threads hold it for a moment; one sleeps in its own few holds, which are its time."""
    lock = of.lock([30] * 900 + [3 * MS] * 60)
    of.waits(lock, 3 * MS)
    for thread in of.threads[1:]:
        of.builder.holder(thread, lock, 128, [0, 0, 0])
        of.builder.gaps(thread, lock, INSIDE, [30] * 128)
    of.builder.holder(0, lock, 96, [0, 0, 48])
    of.builder.gaps(0, lock, INSIDE, [40] * 48 + [3 * MS] * 48)


def preempted(of: Planted) -> None:
    lock = of.lock([3 * US] * 60)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 60, [12, 15, 2])


def preempted_seldom(of: Planted) -> None:
    lock = of.lock([300] * 60, acquisitions=1_000_000)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 100_000, [20, 22, 2])


def unexplained(of: Planted) -> None:
    lock = of.lock([300] * 60)
    of.waits(lock, 3 * MS)


def relock(of: Planted) -> None:
    lock = of.lock([3 * US] * 60)
    of.waits(lock, 9 * MS, kind=2)
    of.waits(lock, 1 * MS)


def uneven(of: Planted) -> None:
    locks = [of.lock([3 * US] * 20, create=of.stack) for _ in range(64)]
    for number, lock in enumerate(locks):
        of.waits(lock, 9 * MS if number == 17 else 10 * US)


def long(of: Planted) -> None:
    lock = of.lock([250 * US] * 60)
    of.waits(lock, 1 * MS)
    of.builder.holder(0, lock, 60, [1, 1, 2])


def often(of: Planted) -> None:
    lock = of.lock([300] * 60, acquisitions=2_000_000)
    of.waits(lock, 2 * US, times=1000)


def unknown(of: Planted) -> None:
    of.waits(of.lock(), 1 * MS)
