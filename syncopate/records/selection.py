"""Which locks a report shows, and in which order."""

from __future__ import annotations

import re
from collections.abc import Callable

from syncopate.base.errors import BAD_USE, Failure


def _worst(lock: dict, field: str) -> float:
    return max((waits[field] or 0 for waits in lock["waits"].values()), default=0)


def _hold(lock: dict) -> float:
    return lock["hold"]["mean_ns"] if lock["hold"] else 0


SORTS = {
    "lost": lambda lock: (lock["lost_ns"], lock["waited_ns"]),
    "contended": lambda lock: lock["contended"],
    "share": lambda lock: lock["contended_share"] or 0.0,
    "acquisitions": lambda lock: lock["acquisitions"],
    "mean": lambda lock: _worst(lock, "mean_ns"),
    "p99": lambda lock: _worst(lock, "p99_ns"),
    "max": lambda lock: _worst(lock, "max_ns"),
    "hold": _hold,
    "threads": lambda lock: lock["threads_waited"],
}


def matcher(pattern: str | None) -> Callable:
    """What tells whether a lock's name matches `pattern`; without one, all do."""
    try:
        return re.compile(pattern or "").search
    except re.error as error:
        raise Failure(f"--lock: '{pattern}' is no regular expression: {error}", BAD_USE) from None


def select(results: dict, sort: str, pattern: str | None, top: int | None) -> dict:
    """The results with only the locks whose names match `pattern`, sorted, at most `top` a kind.

    Totals stay those of the whole record. "hidden" counts the locks that `top` left out.
    """
    locks = results["locks"]
    blocks = results["blocks"]
    if pattern is not None:
        matches = matcher(pattern)
        locks = [lock for lock in locks if matches(lock["name"])]
        blocks = [block for block in blocks if matches(block["lock"])]
    locks = sorted(locks, key=SORTS[sort], reverse=True)
    names = {lock["name"] for lock in locks}
    findings = [each for each in results["findings"] if each["lock"] in names]
    kept, seen = [], {}
    for lock in locks:
        seen[lock["object"]] = seen.get(lock["object"], 0) + 1
        if top is None or seen[lock["object"]] <= top:
            kept.append(lock)
    return {
        **results,
        "locks": kept,
        "blocks": blocks,
        "findings": findings,
        "hidden": len(locks) - len(kept),
    }
