"""Findings on unevenly split work: threads of an OpenMP team that wait for one which is at work for
longer, at a barrier or at the end of a region.

Of the time that they wait, only that counts for which the last one was at work longer than they.
Where it comes late since it had no processor, or waited for a lock, the split is not to blame.
Work is timed, not counted: a slower processor makes the same work longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from syncopate.base.terminal import in_sentence
from syncopate.base.units import count, duration, percent
from syncopate.records import lockfigures
from syncopate.records.lockfigures import CERTAIN, LIKELY, NEARLY_ALL, Reason

CAUSE = "imbalance"
LEAST = 0.05  # of these threads' time
LEAST_NS = 10_000_000  # of shorter ones a program's start makes as much, once
SAME = 0.75  # of that time: a thread for which others wait as much is the one with more work
# That comes last so often, or a few times have made nearly all of it, as where its processor stood
# still and nobody says so.
MOSTLY_LAST = 2 / 3
# Of how much each waits in the mean: where it is now this thread, now that one, shorter waits are
# no more than caches and the like make.
LEAST_BY_CHANCE_NS = 20_000
# Of what the others take: a processor whose core another one uses, too, as one of another virtual
# machine, may have half of it (0.2 at the same work, measured where nothing else was seen to run).
BY_SPEED = 1.0
OR_SPEED = (
    "; so much a slower processor makes, too, as one whose core other programs, or the host's other"
    " machines, use"
)
DO_SAME = (
    "split the work evenly: of a loop by schedule(dynamic), or by smaller chunks"
    " (schedule(static, N)); where it is one thread's by its nature (master, single), give the"
    " others something to do meanwhile (tasks)"
)
DO_CHANGING = (
    "let threads take work as they get done: of a loop by schedule(dynamic) or schedule(guided)"
)
DO_AT_BARRIER = "; or leave out the barrier (nowait), where what follows can do without it"


def of(results: dict, spare: float) -> list[dict]:
    """The findings, the worst first. `spare`: how many times as long the program could have run,
    had it all processors to itself."""
    found = [
        finding
        for lock in results["locks"]
        if _uneven(lock) and (finding := _finding(lock, results, spare))
    ]
    return sorted(found, key=lambda each: -each["lost_share"])


def _uneven(lock: dict) -> int:
    """Of the waiting there, what uneven work makes: that is timed apart, by threads' own times."""
    return min(_waited(lock), sum(each["uneven_ns"] for each in lock["work"]))


def _waited(lock: dict) -> int:
    of_ends = sum(each["others_waited_ns"] for each in lock["region_ends"])
    return of_ends if lock["region_ends"] else lock["waited_ns"]


def _finding(lock: dict, results: dict, spare: float) -> dict | None:
    total, uneven = results["thread_time_ns"], _uneven(lock)
    times = sum(each["last"] for each in lock["work"])
    if not total or uneven < max(LEAST_NS, LEAST * total) or not times:
        return None
    first = lock["work"][0]
    is_same = first["uneven_ns"] >= SAME * uneven
    threads = sum(each["times"] for each in lock["work"]) / times
    each_waits = uneven / (times * max(1, threads - 1))
    if first["last"] < MOSTLY_LAST * times if is_same else each_waits < LEAST_BY_CHANCE_NS:
        return None
    most = gain_at_most(uneven, threads, results, spare)
    if most < 1 + LEAST / 2:
        return None
    why = _same(lock, times) if is_same else _changing(lock, times, each_waits)
    may_be_speed = each_waits < BY_SPEED * (_mean(lock["work"]) - each_waits / threads)
    is_clear = not is_same or first["uneven_ns"] >= NEARLY_ALL * uneven
    sure = CERTAIN if is_clear and not may_be_speed else LIKELY
    split = "threads take unequally long" if may_be_speed else "work is unevenly split"
    do = (DO_SAME if is_same else DO_CHANGING) + DO_AT_BARRIER * (not lock["region_ends"])
    reason = Reason(CAUSE, why + OR_SPEED * may_be_speed, do, sure)
    where = "at the end of it" if lock["region_ends"] else "here"
    found = of_team(
        lock,
        results,
        Lost(uneven, f"{split}, and threads that are done wait {where}"),
        (most, "did all take as long" if may_be_speed else "were it evenly split"),
        reason,
    )
    return {
        **found,
        "why": [reason.why, *_besides(lock, uneven)],
        "seen": f"who comes last is counted, {_times(times)}; threads are timed without"
        " recorded waits, and without the time in which they had lost their processor",
    }


class Lost(NamedTuple):
    """Time that threads of a team lose at one place, in all, and to what."""

    ns: int
    what: str


def of_team(lock: dict, results: dict, lost: Lost, gain: tuple[float, str], reason: Reason) -> dict:
    """A finding on a place where threads of a team wait for each other. `gain`: how many times as
    fast the program is at most, and if what."""
    share, (most, condition) = lost.ns / results["thread_time_ns"], gain
    return {
        **{key: lock[key] for key in ("member", "declared", "called", "members")},
        "lock": lock["name"],
        "cost": f"{percent(share)} of {lockfigures.of_which_time(results)}"
        f" ({duration(lost.ns)}): {lost.what}",
        "lost_share": share,
        "lost_ns": lost.ns,
        "gain": f"at most {math.ceil(most * 10) / 10:.1f}x as fast, {condition} and all"
        " else the same",
        "may_be_meant": False,
        "gain_at_most": most,
        "causes": [reason.cause],
        "why": [reason.why],
        "do": [reason.do],
        "reasons": [reason._asdict()],
        "only_read": None,
        "predictions": [],
        "seen": "waits are counted, and timed",
    }


def gain_at_most(lost: int, threads: float, results: dict, spare: float) -> float:
    """How many times as fast the program could be, were so many threads never to lose that time."""
    elapsed, duration_ns = lost / max(1, threads), results["process"]["duration_ns"]
    # A damaged record's threads may have lost more than all.
    most = duration_ns / (duration_ns - elapsed) if elapsed < duration_ns else spare
    return min(most, spare) if threads > lockfigures.usable_processors(results) else most


def _times(times: int) -> str:
    return "once" if times == 1 else f"{count(times)} times"


def _mean(work: list[dict]) -> float:
    return sum(each["at_work_ns"] for each in work) / max(1, sum(each["times"] for each in work))


def _same(lock: dict, times: int) -> str:
    first, *others = lock["work"]
    of_all = f"{count(first['last'])} of {_times(times)}" if times > 1 else "this once"
    return (
        f"{in_sentence(first['thread'])} comes last, {of_all}: it takes {duration(_mean([first]))}"
        f" in the mean to get here, the others {duration(_mean(others))}"
    )


def _changing(lock: dict, times: int, each_waits: float) -> str:
    most = max(lock["work"], key=lambda each: each["last"])
    return (
        "it is now this thread that comes last, now that one: most often"
        f" {in_sentence(most['thread'])}, {count(most['last'])} of {_times(times)}; the last one"
        f" takes {duration(each_waits)} longer than the others in the mean"
    )


def _besides(lock: dict, uneven: int) -> Iterator[str]:
    waited = _waited(lock)
    if waited > uneven / NEARLY_ALL:
        yield (
            f"{duration(waited - uneven)} more of waiting there is for other reasons, as threads"
            " that had no processor or waited for locks"
        )
