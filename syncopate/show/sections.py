"""The tables of a report's text: which locks each has, and what stands above it."""

from __future__ import annotations

from syncopate.records.recordformat import LOST_KINDS

SECTIONS = {
    "mutex": "Mutexes",
    "rwlock": "Reader-writer locks",
    "spinlock": "Spin locks",
    "condition": "Condition variables (mostly for something to do: not counted as lost to locks)",
    "condition_lock": "Condition variables that their waiters signal (perhaps locks of the"
    " program's own: not counted as lost)",
    "barrier": "Barriers (waiting for the slowest: not lost to locks)",
    "turn": "Turns of loops' iterations (`ordered`: not lost to locks)",
    "tasks": "Waits for tasks, where threads had none to run (not lost to locks)",
    "futex_lock": "Locks of the program's own (futexes: who wakes a waiter waits there as well)",
    "semaphore_lock": "Semaphores used as locks",
    "futex": "The program's own futexes (signals, barriers, or locks that are not told from those)",
    "semaphore": "Semaphores that other threads post (mostly signals: not counted as lost)",
    "thread": "Threads that others waited for to end (not lost to locks)",
    "yield": "Calls of sched_yield, as of loops that wait: maybe locks of the program's own",
    "unknown": "Locks that the record does not describe",
}
AT_CONDITIONS = "Condition variables (waiting for something to do, or for {}'s own locks)"
# Where the record does not tell who has taken a semaphore: from the kernel, of Java's.
UNKNOWN_TAKERS = {
    "semaphore": "Semaphores that other threads post (signals, or locks: not told apart)"
}
LOST = ("mutex", "rwlock", "spinlock", "futex_lock", "semaphore_lock")


def title_of(section: str, process: dict) -> str:
    """What stands above a section's table."""
    title = SECTIONS[section]
    if section == "condition" and process["at_conditions"]:
        return AT_CONDITIONS.format(process["at_conditions"])
    return UNKNOWN_TAKERS.get(section, title) if process["recorder"] in ("kernel", "jvm") else title


def of_section(locks: list[dict], section: str) -> list[dict]:
    """The locks of one section. A semaphore or futex is in one of two or in both, with the waits
    that belong there; one that nobody waited for is no lock as far as one can tell."""
    kind = section.removesuffix("_lock")
    if kind == "condition":
        return [
            lock
            for lock in locks
            if lock["object"] == kind
            and _is_signaled_by_waiters(lock) == (section == "condition_lock")
        ]
    if kind not in ("semaphore", "futex"):
        return [lock for lock in locks if lock["object"] == section]
    found = []
    for lock in locks:
        if lock["object"] == kind:
            as_lock = section != kind
            waits = {k: of for k, of in lock["waits"].items() if (k in LOST_KINDS) == as_lock}
            if waits or not (as_lock or lock["waits"]):
                found.append(lock | {"waits": waits})
    return found


def _is_signaled_by_waiters(lock: dict) -> bool:
    """Of most of what threads waited there."""
    own = lock["signaled_by_waiters_ns"]
    return bool(own) and 2 * own >= lock["waited_ns"]
