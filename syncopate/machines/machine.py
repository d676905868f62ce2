"""What the kernel and the C library say about this machine."""

from __future__ import annotations

import glob
import os
import platform
import resource
from collections.abc import Iterator
from typing import NamedTuple

from syncopate.machines import perfevents

NODES = "/sys/devices/system/node"
NODE_LOCKS = ("cna", "hmcs")
CONTROL_GROUPS = ("/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/cpu")  # versions 2 and 1
HOSTS = ("/proc/device-tree/hypervisor", "/sys/hypervisor/type")


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
    return [
        Finding("processor", _processor(), "info", "timings hold for this model only"),
        _cores(),
        _quota(),
        _nodes(),
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
    if limit is None and not any(os.path.exists(path) for path in CONTROL_GROUPS):
        return Finding("CPU quota", "not known", "info", "no control groups can be seen here")
    if limit is None:
        return Finding("CPU quota", "none", "good", "threads run whenever a processor is free")
    quota = f"{limit:.2f} processors"
    if limit >= len(os.sched_getaffinity(0)):
        return Finding("CPU quota", quota, "good", "no less than there are: it is not used up")
    meaning = "threads are stopped when it is used up, also while they hold a lock: long waits"
    return Finding("CPU quota", quota, "warn", meaning)


def _nodes() -> Finding:
    """Memory nodes with a processor that we may use: threads are on no other."""
    usable = os.sched_getaffinity(0)
    name, found = "memory nodes", 0
    for place in glob.glob(f"{NODES}/node[0-9]*/cpulist"):
        found += not usable.isdisjoint(perfevents.numbers(read(place) or ""))
    if found > 1:
        meaning = f"locks that know nodes ({', '.join(NODE_LOCKS)}; in C++ only) can pay"
        return Finding(name, f"{found} usable", "info", meaning)
    meaning = "one memory node: locks made for several have nothing to gain"
    return Finding(name, "1", "info", meaning)


def _virtual() -> Finding:
    name, lines = "virtual machine", (read("/proc/cpuinfo") or "").splitlines()
    flags = next((line.split() for line in lines if line.startswith("flags")), None)
    if "hypervisor" in (flags or ()) or any(map(os.path.exists, HOSTS)):
        meaning = "the host can stop a lock's holder; timings vary, and CPU features may be hidden"
        return Finding(name, "yes", "info", meaning)
    if flags is None:  # of x86 alone: other processors tell of no host
        return Finding(name, "not known", "info", "a host, if there is one, can stop threads")
    return Finding(name, "no", "good", "nobody but this kernel stops threads")


def _perf() -> Finding:
    level = read("/proc/sys/kernel/perf_event_paranoid") or "not known"
    may, what = perfevents.allowed()
    meaning = "perf(1) may measure beside us" if may else "perf(1) may not measure here"
    value = f"{what} (perf_event_paranoid: {level})"
    return Finding("perf events", value, "info", f"{meaning}; recording needs none")


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
