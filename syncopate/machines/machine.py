"""What the kernel and the C library say about this machine."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterator
from typing import NamedTuple


class Finding(NamedTuple):
    """One thing found; `state` is good, info, warn (worse than it could be) or bad (in the way)."""

    name: str
    value: str
    state: str
    meaning: str


def read(path: str) -> str | None:
    """A small file's text without the last newline; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def hardware() -> list[Finding]:
    nodes = _node_count()
    many = "locks that know nodes (cohort, hierarchical) can pay" if nodes > 1 else (
        "one memory node: locks made for several have nothing to gain"
    )  # fmt: skip
    return [
        Finding("processor", _processor(), "info", "timings hold for this model only"),
        _cores(),
        _quota(),
        Finding("memory nodes", str(nodes), "info", many),
        _virtual(),
    ]


def system() -> list[Finding]:
    glibc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    huge = read("/sys/kernel/mm/transparent_hugepage/enabled")
    return [
        Finding(
            "kernel",
            platform.release(),
            "info",
            "Linux 7.0 preempts differently: programs that spin can lose much",
        ),
        Finding(
            "C library",
            glibc or "not glibc",
            "good" if glibc else "bad",
            "the preload library takes its locks' place"
            if glibc
            else "the preload library needs glibc",
        ),
        Finding(
            "huge pages",
            _bracketed(huge) if huge else "not known",
            "info",
            "transparent huge pages change memory use, not locking",
        ),
        _perf(),
    ]


def limits() -> list[Finding]:
    return [
        _limit("locked memory", resource.RLIMIT_MEMLOCK, "recording locks no memory", 1024),
        _limit("processes", resource.RLIMIT_NPROC, "threads count as processes"),
        _limit("open files", resource.RLIMIT_NOFILE, "a record takes one descriptor", low=64),
    ]


def _processor() -> str:
    for line in (read("/proc/cpuinfo") or "").splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.machine()


def _cores() -> Finding:
    usable, present = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    name = "processors"
    if usable == 1:
        return Finding(name, "1 usable", "warn", "spinning cannot pay: use waits that park")
    value = str(usable) if usable == present else f"{usable} of {present} usable"
    meaning = "more runnable threads than this: avoid locks that `syncopate list` warns of"
    return Finding(name, value, "good" if usable == present else "info", meaning)


def processor_limit(process: int | str = "self") -> float | None:
    """How many processors' time the control groups of a process leave it: the least of its own and
    of those above it (version 2; else version 1); None: no limit, or not known."""
    limits = []
    for line in (read(f"/proc/{process}/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            limits += [
                limit for group in _upwards(path) if (limit := _quota_of(controllers, group))
            ]
    return min(limits, default=None)


def _upwards(path: str) -> Iterator[str]:
    while path not in {"/", ""}:
        yield path
        path = os.path.dirname(path)
    yield ""


def _quota_of(controllers: str, group: str) -> float | None:
    """Of one control group. `controllers`: "" for version 2."""
    if not controllers:
        amount, _, period = (read(f"/sys/fs/cgroup{group}/cpu.max") or "").partition(" ")
    else:
        amount = read(f"/sys/fs/cgroup/cpu{group}/cpu.cfs_quota_us") or ""
        period = read(f"/sys/fs/cgroup/cpu{group}/cpu.cfs_period_us") or ""
    if not amount.isdigit() or not period.isdigit() or not int(period):
        return None
    return int(amount) / int(period)


def _quota() -> Finding:
    """The least CPU quota of our control group and those above it."""
    limit = processor_limit()
    if limit is None:
        return Finding("CPU quota", "none", "good", "threads run whenever a processor is free")
    quota = f"{limit:.2f} processors"
    meaning = "threads are stopped when it is used up, also while they hold a lock: long waits"
    return Finding("CPU quota", quota, "warn", meaning)


def _node_count() -> int:
    try:
        names = os.listdir("/sys/devices/system/node")
    except OSError:
        return 1
    return max(1, sum(name[4:].isdigit() for name in names if name.startswith("node")))


def _virtual() -> Finding:
    if "hypervisor" in (read("/proc/cpuinfo") or ""):
        meaning = "the host can stop a lock's holder; timings vary, and CPU features may be hidden"
        return Finding("virtual machine", "yes", "info", meaning)
    return Finding("virtual machine", "no", "good", "nobody but this kernel stops threads")


def _perf() -> Finding:
    level = read("/proc/sys/kernel/perf_event_paranoid")
    free = level is not None and (int(level) <= 1 or os.geteuid() == 0)
    return Finding(
        "perf_event_paranoid",
        level or "not known",
        "info",
        "perf(1) may measure beside us"
        if free
        else "perf(1) may not measure; recording needs none",
    )


def _bracketed(choices: str) -> str:
    """The chosen one of "always [madvise] never"."""
    return choices.partition("[")[2].partition("]")[0] or choices


def _limit(name: str, which: int, meaning: str, low: int = 256) -> Finding:
    soft, hard = resource.getrlimit(which)

    def text(value: int) -> str:
        return "unlimited" if value == resource.RLIM_INFINITY else f"{value:,}"

    if soft != resource.RLIM_INFINITY and soft < low:
        return Finding(name, text(soft), "warn", f"{meaning}; this is little: see `ulimit`")
    shown = text(soft) if soft == hard else f"{text(soft)} (at most {text(hard)})"
    return Finding(name, shown, "info", meaning)
