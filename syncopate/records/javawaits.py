"""Java's Object.wait() and Condition.await(): both end only when the thread has its lock again, and
neither the VM nor a stack tells since when it waits for that, rather than to be notified."""

from __future__ import annotations

import re

_AWAITS = re.compile(
    r"java\.lang\.Object\.wait\w*|"
    r"java\.util\.concurrent\.locks\.Abstract\w+Synchronizer\$Condition(Object|Node)\.\w+",
    re.ASCII,
)
_CLEANER = "java.lang.ref.ReferenceQueue.remove"  # a thread of the VM's own libraries waits there
_INNER_FRAMES = 10

SAID = (
    ", without what threads that were notified wait for the lock within Object.wait() and await()"
)

OUTSIDE = "Outside of Object.wait() and await(), which end when the thread has its lock again"

# Lines of the agent in a VM that ran before (products/jvm/before.cpp).
_UNASKED = "no waits before at monitors"
NOTE_ON_UNASKED = (
    "Java: this VM is without java.management: threads that waited for a monitor (synchronized)"
    " before the recording are not seen, as in a deadlock; `jcmd PID Thread.print` shows them"
)


def notes(lines: list[str]) -> list[str]:
    """What cannot be seen, by the lines of a record."""
    return [NOTE_ON_UNASKED] if _UNASKED in lines else []


def with_the_lock_again(results: dict) -> int:
    """How long threads waited so that some of that may have been for a lock, in nanoseconds."""
    if results["process"]["recorder"] != "jvm":
        return 0
    return sum(
        lock["waits"]["condition"]["total_ns"]
        for lock in results["locks"]
        if "condition" in lock["waits"] and any(map(_awaits, lock["waiters"]))
    )


def _awaits(stack: dict) -> bool:
    names = [frame["function"] for frame in stack["frames"][:_INNER_FRAMES]]
    return _CLEANER not in names and any(map(_AWAITS.fullmatch, names))
