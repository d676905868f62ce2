"""The locks of a record that matter, and how a policy can name them."""

import os
from collections import Counter
from dataclasses import dataclass

from syncopate.analysis import Analysis, Group
from syncopate.naming import is_runtime, is_wrapper
from syncopate.recordfile import CREATED, MUTEX, RWLOCK, Lock

LEAST_LOST = 0.001  # of all thread time: where less is lost, no lock can gain anything
LEAST_SHARE = 0.05  # of what is lost to locks: what is below cannot be told from noise
MOST_LOCKS = 4
MOST_SITES = 8  # of one group of locks
OPENMP_RUNTIMES = ("libgomp.so", "libomp.so", "libiomp5.so")


@dataclass
class HotLock:
    """Locks of one name in a record. `sites`: a policy's keys for them, one entry each."""

    name: str
    share: float  # of the time lost to locks
    lost_ns: int
    sites: list[dict[str, str]]
    object: int = MUTEX  # or RWLOCK


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
