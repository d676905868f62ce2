"""Several processes in one view: the tree that they are, and the locks that cost most in all."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

MOST_LOCKS = 20


def of(records: list[dict], is_chosen: Callable[[str], object] = bool) -> dict:
    """The `processes` of docs/reference/report-schema.md. `records` are whole: what a report leaves
    out of one counts here. `is_chosen`: of a name, whether `locks` has such."""
    lost = sum(results["lost_ns"] for results in records)
    total = sum(results["thread_time_ns"] for results in records)
    numbers = {id(results): number for number, results in enumerate(records)}
    return {
        "count": how_many([results["process"] for results in records]),
        "thread_time_ns": total,
        "lost_ns": lost,
        "lost_share": lost / total if total else 0.0,
        "quiet": sum(results["process"]["quiet_children"] for results in records),
        "tree": [
            {
                "record": numbers[id(results)],
                "depth": depth,
                "id": results["process"]["id"],
                "command": results["process"]["command"],
                "threads": len(results["threads"]),
                "more_threads": results["process"]["more_threads"],
                "duration_ns": results["process"]["duration_ns"],
                "lost_ns": results["lost_ns"],
                "lost_share": results["lost_share"],
                "worst": _worst(results),
            }
            for depth, results in in_order(records)
        ],
        "locks": [each for each in _locks(records, total) if is_chosen(each["name"])][:MOST_LOCKS],
    }


def in_order(records: list[dict]) -> Iterator[tuple[int, dict]]:
    """(depth, record), parents before their children, otherwise as they were named. A process that
    has called exec() has several records: they stand together, its children below the last."""
    left = Counter(results["process"]["id"] for results in records)
    known = set(left)
    children: dict[int, list[dict]] = defaultdict(list)
    first = []
    for results in records:
        parent = results["process"]["parent_id"]
        if parent in known and parent != results["process"]["id"]:
            children[parent].append(results)
        else:
            first.append(results)
    seen: set[int] = set()
    todo = [(0, results) for results in reversed(_together(first))]
    while todo:
        depth, results = todo.pop()
        seen.add(id(results))
        yield depth, results
        process = results["process"]["id"]
        left[process] -= 1
        below = [] if left[process] else _together(children.pop(process, []))
        todo += [(depth + 1, child) for child in reversed(below)]
    for results in records:  # those that are each other's parents, as of reused numbers
        if id(results) not in seen:
            yield 0, results


def _together(records: list[dict]) -> list[dict]:
    """Those of one process one after the other."""
    of: dict[int, list[dict]] = defaultdict(list)
    for results in records:
        of[results["process"]["id"]].append(results)
    return [results for alike in of.values() for results in alike]


def how_many(processes: list[dict]) -> int:
    """How many processes these records are of: one that has called exec() has several, and those
    of other machines, or containers, may have the same number."""
    alike: dict[int, dict[int, bool]] = defaultdict(dict)
    for process in processes:
        alike[process["id"]][id(process)] = process["replaced"]
    return sum(max(1, sum(not each for each in of.values())) for of in alike.values())


def _worst(results: dict) -> str | None:
    lock = max(results["locks"], key=lambda lock: lock["lost_ns"], default=None)
    return lock["called"] if lock and lock["lost_ns"] else None


def _locks(records: list[dict], total: int) -> list[dict]:
    """Locks of one name, place and kind are one entry, in whatever processes they are; and what
    lies in memory that they share is one, whatever each of them calls it."""
    found: dict[tuple, list[tuple[dict, dict]]] = {}  # rows of one entry, by all that tells them
    for process, lock in _that_cost(records):
        keys = [(lock["name"], lock["place"], lock["object"])]
        shared = [(lock["object"], identity) for identity in lock["shared"]]
        keys += [each for each in shared if each not in found or _overlap(found[each], process)]
        entry = found.get(keys[0], [])
        for each in keys:
            if each in found and found[each] is not entry:
                entry = _joined(found, entry, found[each])
        entry.append((process, lock))
        found |= dict.fromkeys(keys, entry)
    distinct = {id(rows): rows for rows in found.values()}
    entries = [_entry(rows, total) for rows in distinct.values()]
    return sorted(entries, key=lambda entry: -entry["lost_ns"])


def _joined(found: dict[tuple, list], one: list, other: list) -> list:
    """Two entries that are one."""
    other += one
    found |= {key: other for key, rows in found.items() if rows is one}
    return other


def _that_cost(records: list[dict]) -> Iterator[tuple[dict, dict]]:
    for results in records:
        for lock in results["locks"]:
            if lock["lost_ns"]:
                yield results["process"], lock


def _overlap(rows: list[tuple[dict, dict]], process: dict) -> bool:
    """Whether one of these ran while the process did: else a number of its memory may be another
    machine's, or of another time."""
    begin, end = _life(process)
    lives = [_life(other) for other, _ in rows]
    return any(first <= end and begin <= last for first, last in lives)


def _life(process: dict) -> tuple[float, float]:
    """In seconds since the epoch; a start is told in whole ones."""
    begin = datetime.datetime.fromisoformat(process["started"]).timestamp()
    return begin, begin + 1 + process["duration_ns"] / 1e9


def _own(locks: list[dict]) -> str:
    """That each process has these for itself; "" where not even their memory is known: of what has
    no name, and of a place where threads are put aside, for whatever lock."""
    known = all(lock["addresses"] and not lock["name"].startswith("0x") for lock in locks)
    return "own" if known else ""


def _entry(rows: list[tuple[dict, dict]], total: int) -> dict:
    """One of `locks`, of the locks in these rows."""
    locks = sorted((lock for _, lock in rows), key=lambda lock: -lock["lost_ns"])
    first, lost = locks[0], sum(lock["lost_ns"] for lock in locks)
    called = dict.fromkeys(lock["called"] for lock in locks)
    objects = {identity for lock in locks for identity in lock["shared"]}
    own = sum(lock["members"] for lock in locks if not lock["shared"])
    return {
        "name": first["name"],
        "called": first["called"],
        "also_called": [each for each in called if each != first["called"]],
        "place": first["place"],
        "object": first["object"],
        "processes": how_many([process for process, _ in rows]),
        "shared": sorted(objects),
        "in_memory": "shared" if objects else _own(locks),
        "members": len(objects) + own,
        "acquisitions": sum(lock["acquisitions"] for lock in locks if lock["counted"]),
        "counted_in_part": any(lock.get("counted_in_part", False) for lock in locks),
        "contended": sum(lock["contended"] for lock in locks),
        "lost_ns": lost,
        "lost_share": lost / total if total else 0.0,
    }
