"""Several processes in one view: the tree that they are, and the locks that cost most in all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

MOST_LOCKS = 20


def of(records: list[dict]) -> dict:
    """The `processes` of docs/reference/report-schema.md."""
    lost = sum(results["lost_ns"] for results in records)
    total = sum(results["thread_time_ns"] for results in records)
    numbers = {id(results): number for number, results in enumerate(records)}
    return {
        "thread_time_ns": total,
        "lost_ns": lost,
        "lost_share": lost / total if total else 0.0,
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
        "locks": _locks(records, total),
    }


def in_order(records: list[dict]) -> Iterator[tuple[int, dict]]:
    """(depth, record), parents before their children, otherwise as they were named."""
    known = {results["process"]["id"] for results in records}
    children: dict[int, list[dict]] = defaultdict(list)
    first = []
    for results in records:
        parent = results["process"]["parent_id"]
        if parent in known and parent != results["process"]["id"]:
            children[parent].append(results)
        else:
            first.append(results)
    seen: set[int] = set()
    todo = [(0, results) for results in reversed(first)]
    while todo:
        depth, results = todo.pop()
        seen.add(id(results))
        yield depth, results
        # A process that has called exec() has several records: its children stand below the first.
        below = children.pop(results["process"]["id"], [])
        todo += [(depth + 1, child) for child in reversed(below)]
    for results in records:  # those that are each other's parents, as of reused numbers
        if id(results) not in seen:
            yield 0, results


def _worst(results: dict) -> str | None:
    lock = max(results["locks"], key=lambda lock: lock["lost_ns"], default=None)
    return lock["called"] if lock and lock["lost_ns"] else None


def _locks(records: list[dict], total: int) -> list[dict]:
    """Locks of one name, place and kind are one entry, in whatever processes they are."""
    found: dict[tuple, dict] = {}
    for results in records:
        for lock in results["locks"]:
            if not lock["lost_ns"]:
                continue
            key = lock["name"], lock["place"], lock["object"]
            entry = found.setdefault(
                key,
                {
                    "name": lock["name"],
                    "called": lock["called"],
                    "place": lock["place"],
                    "object": lock["object"],
                    "processes": 0,
                    "members": 0,
                    "acquisitions": 0,
                    "contended": 0,
                    "lost_ns": 0,
                },
            )
            entry["processes"] += 1
            for each in ("members", "contended", "lost_ns"):
                entry[each] += lock[each]
            entry["acquisitions"] += lock["acquisitions"] if lock["counted"] else 0
    ranked = sorted(found.values(), key=lambda entry: -entry["lost_ns"])[:MOST_LOCKS]
    return [{**each, "lost_share": each["lost_ns"] / total if total else 0.0} for each in ranked]
