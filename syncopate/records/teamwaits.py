"""Findings on a team's threads that wait for tasks, and have none to run, or for their turn in a
loop (OpenMP's `ordered`).
"""

from __future__ import annotations

from typing import NamedTuple

from syncopate.base.terminal import in_sentence
from syncopate.base.units import count, duration
from syncopate.records import imbalance
from syncopate.records.imbalance import LEAST, LEAST_NS, Lost
from syncopate.records.lockfigures import CERTAIN, Reason


class _Kind(NamedTuple):
    """What threads wait for at places of one kind, by `object` of results["locks"]."""

    cause: str
    what: str
    condition: str
    do: str


KINDS = {
    "tasks": _Kind(
        "tasks",
        "threads wait for tasks to be done, and have none to run meanwhile",
        "had all threads always a task to run",
        "let there be more tasks than threads at any time, each short beside the whole, and the"
        " longest made first; where one thread makes them, more slowly than others run them, let"
        " several make them (taskloop, or tasks that make tasks), or each be larger",
    ),
    "turn": _Kind(
        "turns",
        "threads wait until it is their iteration's turn",
        "had nobody to wait for a turn",
        "keep in the ordered part only what needs the order, or collect results and do that part"
        " behind the loop; where that part is short, let turns change often: schedule(static, 1) or"
        " schedule(dynamic, 1), as a larger chunk's turn lasts until all of it is done",
    ),
}
# Where waits are shorter in the mean, there are tasks: a runtime may take as long to hand one out.
SHORT_NS = 20_000
SMALL = _Kind(
    "small_tasks",
    "threads wait between tasks, which are so small that to make them, to hand them out, and to"
    " record that, takes much of the time",
    "did that take none",
    "let each task do more: make none below some size (an `if` or `final` clause, or a test before"
    " the task), and taskloop with a larger grainsize",
)
CAUSES = frozenset(kind.cause for kind in (*KINDS.values(), SMALL))


def of(results: dict, spare: float) -> list[dict]:
    """The findings, in no order. `spare`: how many times as long the program could have run, had it
    all processors to itself."""
    found = (
        _finding(lock, KINDS[lock["object"]], results, spare)
        for lock in results["locks"]
        if lock["object"] in KINDS
    )
    return [each for each in found if each]


def _finding(lock: dict, kind: _Kind, results: dict, spare: float) -> dict | None:
    waited, total = lock["waited_ns"], results["thread_time_ns"]
    if not total or waited < max(LEAST_NS, LEAST * total):
        return None
    most = imbalance.gain_at_most(waited, len(results["threads"]), results, spare)
    if most < 1 + LEAST / 2:
        return None
    if lock["object"] == "tasks" and waited < SHORT_NS * times(lock):
        kind = SMALL
    reason = Reason(kind.cause, _who(lock), kind.do, CERTAIN)
    return imbalance.of_team(lock, results, Lost(waited, kind.what), (most, kind.condition), reason)


def times(lock: dict) -> int:
    return sum(each["count"] for each in lock["waits"].values())


def _who(lock: dict) -> str:
    threads = sorted(lock["by_thread"], key=lambda each: -each["waited_ns"])
    most = f"{in_sentence(threads[0]['thread'])} {duration(threads[0]['waited_ns'])}"
    if len(threads) == 1:
        return f"it is one thread that waits here: {most}"
    return f"{count(len(threads))} threads wait here, most of them {most}"
