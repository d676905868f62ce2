"""The locks and barriers of a record that matter, and how a policy can name them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from syncopate.records.analysis import Analysis
from syncopate.records.lockgroups import Group
from syncopate.records.naming import is_runtime, is_wrapper
from syncopate.records.recordformat import BARRIER, CREATED, MUTEX, RWLOCK, Lock

LEAST_LOST = 0.001  # of all thread time: where less is lost, no lock can gain anything
LEAST_SHARE = 0.05  # of what is lost to locks: what is below cannot be told from noise
USE_NS = 50  # of a lock and its release, about, where nobody waits
LEAST_USING = 0.01  # of all thread time: where locks are used less, cheaper ones gain nothing
LEAST_AT_BARRIER = 0.05  # of all thread time: most of such waits is for work, not for waking
MOSTLY = 0.5  # of its life
MOST_LOCKS = 4
MOST_BARRIERS = 2
MOST_SITES = 8  # of one group of locks
OPENMP_RUNTIMES = ("libgomp.so", "libomp.so", "libiomp5.so")


@dataclass
class HotLock:
    """Locks of one name in a record. `sites`: a policy's keys for them, one entry each."""

    name: str
    share: float  # of the time lost to locks; of a barrier: of all thread time
    lost_ns: int
    sites: list[dict[str, str]]
    object: int = MUTEX  # or RWLOCK, BARRIER


def hot_locks(analysis: Analysis, program: str) -> list[HotLock]:
    """The mutexes and reader-writer locks that most is lost to and that a policy for `program` can
    name, worst first.

    The record may be another program's, one that `program` has started.
    """
    total = sum(group.lost() for group in analysis.groups)
    found = []
    for group in sorted(analysis.groups, key=Group.lost, reverse=True):
        if not total or group.lost() < LEAST_SHARE * total or len(found) == MOST_LOCKS:
            break
        if group.object not in (MUTEX, RWLOCK):
            continue
        sites = _sites(analysis, group, program)
        if sites:
            share = group.lost() / total
            lost = analysis.ns(group.lost())
            found.append(HotLock(group.name.text, share, lost, sites, group.object))
    return found


def are_used_much(analysis: Analysis, thread_time: int) -> bool:
    """Whether taking and releasing locks, without any wait, costs enough to be worth a search: in
    a record, waits are those of our locks, and the program's own may cost more. `thread_time` in
    nanoseconds."""
    uses = sum(lock.acquisitions for group in analysis.groups for lock in group.locks)
    return uses * USE_NS >= LEAST_USING * thread_time > 0


def threads_at_once(analysis: Analysis) -> int:
    """The most threads that there were at one time, without those that hardly did more than wait
    for others to end: they want no processor."""
    waited: Counter[int] = Counter()
    for group in analysis.groups:
        for thread, (_, ticks, _) in group.by_thread().items() if "join" in group.kinds else ():
            waited[thread] += ticks
    changes = []
    for index, thread in analysis.threads.items():
        life = analysis.life(index)
        if waited[index] < MOSTLY * life:
            changes += [(thread.start_ticks, 1), (thread.start_ticks + life, -1)]
    found = alive = 0
    for _, change in sorted(changes):  # at one time, ends first
        alive += change
        found = max(found, alive)
    return found


def hot_barriers(analysis: Analysis, program: str, thread_time: int) -> list[HotLock]:
    """The barriers of pthread that threads are at for long, and that a policy can name by the place
    that creates them; longest first. `thread_time` in nanoseconds."""
    found = []
    waited = [(_at_barrier(each), each) for each in analysis.groups if each.object == BARRIER]
    for ticks, group in sorted(waited, key=lambda each: each[0], reverse=True)[:MOST_BARRIERS]:
        spent = analysis.ns(ticks)
        sites = [site for site in _sites(analysis, group, program) if "used" not in site]
        if sites and spent >= LEAST_AT_BARRIER * thread_time:
            found.append(HotLock(group.name.text, spent / thread_time, spent, sites, BARRIER))
    return found


def _at_barrier(group: Group) -> int:
    return group.kinds["barrier"].total if "barrier" in group.kinds else 0


def is_openmp(analysis: Analysis) -> bool:
    maps = analysis.record.maps()
    return any(name in maps for name in OPENMP_RUNTIMES)


def _sites(analysis: Analysis, group: Group, program: str) -> list[dict[str, str]]:
    seen: Counter[tuple[tuple[str, str], ...]] = Counter()
    for lock in group.locks:
        if lock.id == 0:
            return []  # all that the record's table had no room for
        site = _of_variable(analysis, group, lock) or _of_code(analysis, lock)
        if site:
            if site["module"] == os.path.realpath(program):
                del site["module"]
            seen[tuple(site.items())] += 1
    return [dict(site) for site, _ in seen.most_common(MOST_SITES)]


def _of_variable(analysis: Analysis, group: Group, lock: Lock) -> dict[str, str] | None:
    variable = analysis.symbolizer.variable(lock.address)
    if variable is None:
        return None
    symbol, offset, module = variable
    if group.name.text.endswith("[]"):
        name = symbol
    else:
        name = symbol + (f"+{offset:#x}" if offset else "")
    return _entry(analysis, "variable", name, module, by_symbol="+0x" not in symbol)


def _of_code(analysis: Analysis, lock: Lock) -> dict[str, str] | None:
    """By the function that made it, or first used it: the innermost that is the program's own."""
    if lock.id in analysis.known_by_a_wait:
        return None  # whose first use may have been elsewhere: no entry would find it
    made = lock.create_stack if lock.flags & CREATED else 0
    for address in analysis.stacks.get(made or lock.first_stack, ()):
        site = analysis.symbolizer.code_site(address)
        if site is None:
            return None
        name, module, by_symbol = site
        if is_runtime(module) or is_wrapper(name):
            continue
        return _entry(analysis, "created" if made else "used", name, module, by_symbol)
    return None


def _entry(
    analysis: Analysis, kind: str, name: str, module: str, by_symbol: bool
) -> dict[str, str]:
    entry = {kind: name, "module": module}
    build = None if by_symbol else analysis.symbolizer.build_id(module)
    if build:
        entry["build_id"] = build
    return entry
