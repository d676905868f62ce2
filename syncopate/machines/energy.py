"""Energy meters of this machine: RAPL by powercap, else perf's events of energy.

A meter counts what the whole machine, or a part of it, uses; nothing tells a program's share. One
that exists may still not work (virtual machines offer counters that stand still): one that has not
advanced in the end is rejected, with the reason. What no meter can tell is never estimated in
joules.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Union

from syncopate.base.units import duration
from syncopate.machines import perfevents

ROOT_VARIABLE = "SYNCOPATE_SYSFS"  # another place than /sys, for tests


class Reading(NamedTuple):
    """What a meter has counted between start and end."""

    name: str
    source: str
    joules: float


class Rejected(NamedTuple):
    name: str
    why: str


class PowercapMeter:
    """One zone of powercap: a counter in microjoules that begins again at its range."""

    source = "powercap"

    def __init__(self, name: str, zone: Path):
        """Throws OSError or ValueError where the zone cannot be read."""
        self.name = name
        self._counter = zone / "energy_uj"
        self._range = int((zone / "max_energy_range_uj").read_text())
        self._last = self._read()
        self._total = 0

    def _read(self) -> int:
        return int(self._counter.read_text())

    def joules(self) -> float:
        """Since the meter was made. Requires: less than a range was used since the last call."""
        now = self._read()
        passed = now - self._last
        self._total += passed if passed >= 0 else passed + self._range
        self._last = now
        return self._total * 1e-6

    def close(self) -> None:
        """Nothing is held open."""


class PerfCounter:
    """A counter of perf, of a whole processor. Making one throws OSError."""

    def __init__(self, kind: int, config: int, processor: int):
        number = perfevents.OPEN.get(os.uname().machine)
        if number is None:
            raise OSError(0, "not supported on this architecture")
        size = 64  # of the first version of struct perf_event_attr
        attributes = struct.pack("IIQ", kind, size, config).ljust(size, b"\0")
        call = ctypes.CDLL(None, use_errno=True).syscall
        self._file = call(number, attributes, -1, processor, -1, perfevents.CLOSE_ON_EXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def read(self) -> int:
        return struct.unpack("Q", os.read(self._file, 8))[0]

    def close(self) -> None:
        os.close(self._file)


class PerfMeter:
    """One event of perf's power unit, of all packages together: 64-bit counters with the kernel's
    own scale."""

    source = "perf"

    def __init__(self, name: str, event: Path, unit: Path, counter=PerfCounter):
        """Throws OSError or ValueError where the event cannot be opened."""
        self.name = name
        self._scale = float(event.with_name(event.name + ".scale").read_text())
        config = int(event.read_text().strip().removeprefix("event="), 16)
        kind = int((unit / "type").read_text())
        self._counters: list = []
        try:
            for processor in sorted(perfevents.numbers((unit / "cpumask").read_text().strip())):
                self._counters.append(counter(kind, config, processor))
            self._begin = self._read()
        except (OSError, ValueError):
            self.close()
            raise

    def _read(self) -> int:
        return sum(counter.read() for counter in self._counters)

    def joules(self) -> float:
        """Since the meter was made."""
        return (self._read() - self._begin) * self._scale

    def close(self) -> None:
        for counter in self._counters:
            counter.close()


Meter = Union[PowercapMeter, PerfMeter]


def sysfs() -> Path:
    return Path(os.environ.get(ROOT_VARIABLE) or "/sys")


def find_meters(root: Path, counter=PerfCounter) -> tuple[list[Meter], list[Rejected]]:
    """The meters that can be read, and those that are there and cannot.

    perf's are taken only where powercap has none: both read the same counters.
    """
    meters: list[Meter] = []
    rejected: list[Rejected] = []

    def add(name: str, make: Callable[[], Meter]) -> None:
        try:
            meters.append(make())
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            rejected.append(Rejected(name, f"cannot be read: {why}"))

    for name, zone in powercap_zones(root / "class" / "powercap"):
        add(f"powercap {name}", lambda n=name, z=zone: PowercapMeter(n, z))
    if not meters:
        unit = root / "bus" / "event_source" / "devices" / "power"
        for event in sorted(unit.glob("events/energy-*")):
            if "." not in event.name:  # energy-pkg.scale and energy-pkg.unit are its properties
                name = event.name
                add(f"perf {name}", lambda n=name, e=event: PerfMeter(n, e, unit, counter))
    return meters, rejected


def powercap_zones(folder: Path) -> list[tuple[str, Path]]:
    """Zones with a counter: "package-0", and its parts as "package-0/core"."""
    zones = []
    for zone in sorted(folder.glob("*:*")):
        if zone.name.startswith("intel-rapl-mmio"):
            continue  # the same counters by another way
        try:
            name = (zone / "name").read_text().strip()
            if zone.name.count(":") == 2:
                above = folder / zone.name.rpartition(":")[0]
                name = f"{(above / 'name').read_text().strip()}/{name}"
        except OSError:
            name = zone.name
        if (zone / "energy_uj").exists():
            zones.append((name, zone))
    return zones


class Session:
    """The meters of one recording, from construction to finish()."""

    def __init__(self, root: Path | None = None, counter=PerfCounter):
        self._began = time.monotonic()
        self._meters, self.rejected = find_meters(root or sysfs(), counter)

    @classmethod
    def without_meters(cls) -> Session:
        """For a recording that began where there is none."""
        session = cls.__new__(cls)
        session._began, session._meters, session.rejected = 0.0, [], []
        return session

    def sample(self) -> None:
        """To be called every few seconds: counters wrap around within minutes at full power."""
        for meter in self._meters:
            with contextlib.suppress(OSError, ValueError):  # finish() will tell
                meter.joules()

    def finish(self) -> dict:
        """`meters` (name, source, joules) and `rejected` (name, why). Closes the meters."""
        readings = []
        for meter in self._meters:
            name = f"{meter.source} {meter.name}"
            try:
                joules = meter.joules()
                if joules > 0:
                    readings.append(Reading(meter.name, meter.source, round(joules, 6))._asdict())
                else:
                    passed = duration((time.monotonic() - self._began) * 1e9)
                    self.rejected.append(Rejected(name, f"stood still for {passed}"))
            except (OSError, ValueError):
                self.rejected.append(Rejected(name, "could not be read at the end"))
            meter.close()
        return {"meters": readings, "rejected": [each._asdict() for each in self.rejected]}
