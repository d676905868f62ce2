"""What a report says of its worst locks in sentences.

What each costs, what is to be gained at most, why (causes.py), what to do, and how sure that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from syncopate.base.terminal import in_sentence
from syncopate.base.units import count, duration, percent
from syncopate.records import (
    causes,
    holdlengths,
    imbalance,
    knowncalls,
    languagecauses,
    lockfigures,
    teamwaits,
)
from syncopate.records.lockfigures import BUSY_DO
from syncopate.records.naming import IN_ANOTHER_PLACE, is_runtime, without_starters
from syncopate.records.sectioncode import Facts

MOST_LOCKS = 3
LEAST_OF_LOST = 0.05  # of the time lost to all locks: beside a worse one less is worth no sentence
LEAST_OF_ALL = 0.001  # of all thread time
# Causes whose sentences say why waits are longer than holds.
WAITS_ARE_SAID = {"unknown", "busy", "crowded", "kept", "signalers", "starved", "gate"}
FAR_OFF = 0.02  # of all thread time: parts that add up to so much more are estimates too rough
HARDLY = 1.05
ROUNDING = 1e-6  # what is so near to a tenth is one


def of(results: dict, facts_of: Callable[[int], Facts | None]) -> list[dict]:
    """The findings on one record, the worst lock's first: docs/reference/report-schema.md.

    `facts_of` tells of a lock, by its index in results["locks"], what its sections' code does."""
    worst = max((lock["lost_ns"] for lock in results["locks"]), default=0)
    # Of a program that was killed unseen nobody knows for how long they kept it from going on.
    stuck = {name for each in results["deadlocks"] if each["certain"] for name in each["locks"]}
    worth = [
        (index, lock)
        for index, lock in enumerate(results["locks"])
        if lock["lost_ns"]
        and (
            lock["name"] in stuck
            or (
                lock["lost_ns"] >= min(LEAST_OF_LOST * results["lost_ns"], worst)
                and lock["lost_share"] >= LEAST_OF_ALL
            )
        )
    ]
    worth.sort(key=lambda each: -each[1]["lost_ns"])
    found, gates = [], []
    for index, lock in worth:
        finding = _finding(lock, results, facts_of(index))
        (gates if "gate" in finding["causes"] else found).append(finding)
        if len(found) == MOST_LOCKS:
            break
    found += imbalance.of(results, _spare(results)) + teamwaits.of(results, _spare(results))
    found.sort(key=lambda each: -each["lost_share"])
    return [*found, *gates][:MOST_LOCKS]


def on_purpose(results: dict) -> tuple[float, str]:
    """Of all thread time, the share that was lost to locks at which threads may be put aside on
    purpose, as far as findings tell, and the first of these locks."""
    kept = [found for found in results["findings"] if found["may_be_meant"]]
    return sum(found["lost_share"] for found in kept), kept[0]["called"] if kept else ""


def _finding(lock: dict, results: dict, facts: Facts | None) -> dict:
    reasons = causes.reasons(lock, results, facts)
    told = [reason.cause for reason in reasons]
    waits_are_said = not WAITS_ARE_SAID.isdisjoint(told)
    meant = holdlengths.may_be_meant(told, facts)
    is_open = bool(causes.open_waits(lock, results))
    is_unknown = is_open or "gate" in told or _mostly_in_vain(lock)
    most = None if is_unknown else gain_at_most(lock, results)
    if most is not None and most < HARDLY <= _spare(results):
        # There is nothing to gain; but elsewhere it may be otherwise.
        reasons = [each if BUSY_DO in each.do else each._replace(do="") for each in reasons]
    more = [] if is_open or waits_are_said else list(holdlengths.unexplained(lock))
    return {
        "lock": lock["name"],
        "member": lock["member"],
        "declared": lock["declared"],
        "called": called(lock),
        "members": lock["members"],
        "cost": _cost(lock, results),
        "lost_share": lock["lost_share"],
        "gain": _gain(most, told, lock, results, meant),
        "may_be_meant": meant,
        "gain_at_most": most,
        "causes": told,
        "why": [
            *(reason.why for reason in reasons),
            *more,
            *causes.worst_of_several(lock),
            *(_where(lock, results) if "signalers" not in told else ()),
        ],
        "do": list(dict.fromkeys(reason.do for reason in reasons if reason.do)),
        "reasons": [reason._asdict() for reason in reasons],
        "only_read": facts.only_read * facts.share if facts and facts.share else None,
        "predictions": [],
        "seen": _seen(lock, is_open, all(each.sure == lockfigures.CERTAIN for each in reasons)),
    }


def called(lock: dict) -> str:
    """A lock as its source calls it, where that is known, and what tells it from others."""
    if not lock["member"]:
        return lock["name"]
    at = lock["place"] if lock["named_by"] != "symbol" else ""
    if not at and IN_ANOTHER_PLACE in lock["name"].removeprefix(lock["site"]):
        at = lock["declared"] or lock["name"].rpartition(IN_ANOTHER_PLACE)[2]
    return lock["member"] + (f" at {at}" if at else "")


def gain_at_most(lock: dict, results: dict) -> float | None:
    """How many times as fast the program could be at most, were nobody ever to wait for this lock
    and all else the same: docs/internals/gain.md argues for it. None where it is not known what
    threads did."""
    account = results["account"]
    unknown = account["why_unexplained"] or not account["parts"].get("running")
    if unknown or account["too_much_ns"] > FAR_OFF * account["total_ns"]:
        return None
    duration_ns = results["process"]["duration_ns"]
    most = _times_as_fast(duration_ns, lock["lost_ns"])
    if not results["process"]["more_threads"]:
        most = min(most, _of_its_threads(lock, results))
    return max(1.0, min(most, _spare(results)))


def _of_its_threads(lock: dict, results: dict) -> float:
    """How many times as fast the thread would be that gains most of those who wait for the lock. It
    keeps what it did besides; its other waits, and those for a processor, may be for threads that
    wait for this lock, and shrink by no more than all these did."""
    delays = not lockfigures.others_had_processors(results)  # who would have them then, too
    labels = _who_wait_most(lock)
    return max(
        (
            _times_as_fast(
                lockfigures.life(each, results),
                min(lock["lost_ns"], each["waited_ns"] + delays * (each["runnable_ns"] or 0)),
            )
            for each in results["threads"]
            if labels is None or each["label"] in labels
        ),
        default=math.inf,
    )


def _who_wait_most(lock: dict) -> set[str] | None:
    """The fewest threads that have nine tenths of the time waited for it; None: too many to tell.
    Who waits once, and does something else all the time, says nothing of what the others gain."""
    found, seen = set(), 0
    for each in lock["by_thread"]:
        found.add(each["thread"])
        seen += each["waited_ns"]
        if seen >= lockfigures.NEARLY_ALL * lock["waited_ns"]:
            return found
    return None


def _times_as_fast(ns: int, without: int) -> float:
    """How many times as fast something is that took `ns`, without a part of that."""
    return ns / (ns - without) if without < ns else math.inf


def _spare(results: dict) -> float:
    """How many times as long the program could have run, had it all processors to itself."""
    there_is = lockfigures.usable_processors(results) * results["process"]["duration_ns"]
    running = results["account"]["parts"].get("running")
    return there_is / running if running else math.inf


def unexplained(lock: dict, results: dict) -> str:
    """That holds do not explain its waits; "" where they do, or waits are not over."""
    return "" if causes.open_waits(lock, results) else next(holdlengths.unexplained(lock), "")


def gain_in_words(most: float | None, results: dict) -> str:
    """The most that can be gained; "" where it is not known."""
    if most is None:
        return ""
    if most < HARDLY and _spare(results) < HARDLY:
        return "hardly anything: it keeps all processors busy as it is"
    if most < HARDLY:
        return "hardly anything: its threads spend far longer on other things than on these waits"
    up = math.ceil(most * 10 - ROUNDING) / 10
    return f"at most {up:.1f}x as fast, were nobody to wait for it and all else the same"


def _mostly_in_vain(lock: dict) -> bool:
    """Whether most waits ended without it: were there none, threads would do more than they did."""
    waits = sum(each["count"] for each in lockfigures.lost_waits(lock))
    return lock["in_vain"] > lockfigures.MOSTLY * waits


def _gain(most: float | None, told: list[str], lock: dict, results: dict, meant: bool) -> str:
    if "gate" in told:
        return "not known; nothing, if those who wait have no work meanwhile"
    if "open" not in told and _mostly_in_vain(lock):
        return "not known: most waits ended without it, and with it there would be more to do"
    words = gain_in_words(most, results)
    if meant and words and most >= HARDLY:
        words += "; nothing, if those who wait have no work meanwhile"
    return words


def _cost(lock: dict, results: dict) -> str:
    more_threads = results["process"]["more_threads"]
    waits = sum(each["count"] for each in lockfigures.lost_waits(lock))
    threads = lock["threads_lost"]
    of_all = lockfigures.of_which_time(results)
    return (
        f"{percent(lock['lost_share'])} of {of_all} ({duration(lock['lost_ns'])}):"
        f" {count(threads)} thread{'s' * (threads != 1)}{' or more' * more_threads} waited"
        f" {'once' if waits == 1 else f'{count(waits)} times'},{_in_vain(lock)}"
        f" {_how_long(lock, waits)}"
    )


def _how_long(lock: dict, waits: int) -> str:
    """How long its waits took: where one has most of their time, the mean of all is no wait's."""
    mean, others = lockfigures.mean_wait(lock), lockfigures.usual_wait(lock)
    if waits == 1:
        return duration(mean)
    if others == mean:
        return f"{duration(mean)} each in the mean"
    longest = duration(lockfigures.longest_wait(lock))
    if waits == 2:
        return f"{longest} and {duration(others)}"
    return f"{longest} once, and {duration(others)} each in the mean besides"


def _in_vain(lock: dict) -> str:
    """How many waits ended without the lock: their time limits did, or the thread gave up."""
    return f" {count(lock['in_vain'])} of these in vain," if lock["in_vain"] else ""


def _seen(lock: dict, is_open: bool, is_certain: bool) -> str:
    if is_open:
        return "waits are counted, also those that are not over at the end of the record"
    if not lock["counted"]:
        return "waits are counted; holds are not seen"
    hold = lock["hold"] or {}
    holds = hold.get("samples", 0)
    watched = lockfigures.watched(lock)["watched"]
    if not holds and not watched:
        return "waits are counted; how long it was held was not seen"
    taken, in_part = lock["acquisitions"], lock.get("counted_in_part", False)
    text = (
        f"waits are counted; of {count(taken)} hold{'s' * (taken != 1)}{' or more' * in_part}"
        f" {count(holds)} {'was' if holds == 1 else 'were'} timed"
    )
    if watched:
        text += f", {count(watched)} watched"
    if in_part:
        text += (
            "; the memory of such locks went to the next one without a call that destroys them"
            " (pthread_mutex_destroy), and their counts with it: they were taken more often, and"
            " the holds timed are mostly the first of each"
        )
    if max(watched, holds) < lockfigures.FEW_HOLDS:
        text += ": few" if is_certain else ": few, so the cause may be another; record for longer"
    return text


MOST_PASSING = 5  # functions that pass on the taking of a lock, or its release


def _where(lock: dict, results: dict) -> Iterator[str]:
    """Where it is released, where one stack has most of the time; of Java's locks, where their
    holders are meanwhile. A function that released it by its last act, a jump, may have left no
    return address: what is on the stack besides, run-time libraries, says nothing."""
    if results["process"]["recorder"] == "jvm":
        yield from _where_in_java(lock)
        return
    known = [stack for stack in lock["holders"] if stack["frames"]]
    unknown = sum(stack["share"] for stack in lock["holders"] if not stack["frames"])
    for stack in known[:1]:
        own = without_starters(stack["frames"][stack["wrapper_frames"] :])
        if stack["share"] >= lockfigures.MOSTLY * (1 - unknown) > 0 and not all(
            is_runtime(frame["module"]) for frame in own
        ):
            own = own[_released_for_others(own, lock["waiters"]) :]
            yield _called("it is held until ", own[:2])


def _released_for_others(own: list[dict], waiters: list[dict]) -> int:
    """How many of the innermost frames only release it for their caller, as a class Mutex does: up
    to the function that takes it, too, by others that take it for their caller. One that takes it
    itself is who holds it, whatever releases it for that one."""
    taken = [stack["frames"][stack["wrapper_frames"] :][:MOST_PASSING] for stack in waiters]
    taking = {_function(frame) for frames in taken for frame in frames}
    found = (at for at, frame in enumerate(own[:MOST_PASSING]) if _function(frame) in taking)
    return next(found, 0)


def _function(frame: dict) -> tuple[str, str]:
    return frame["function"].partition("+0x")[0], frame["module"]


def _where_in_java(lock: dict) -> Iterator[str]:
    for what, releases in ("who holds it is meanwhile in ", False), ("it is held until ", True):
        stacks = [x for x in lock["holders"] if languagecauses.releases_in_java(x) == releases]
        most = lockfigures.MOSTLY * sum(stack["share"] for stack in stacks)
        for stack in stacks[:1]:
            own = without_starters(stack["frames"][stack["wrapper_frames"] :])
            if own and stack["share"] >= most:
                yield _called(what, knowncalls.with_programs_own(own))


def _called(what: str, frames: list[dict]) -> str:
    return what + ", called by ".join(map(_place, frames))


def _place(frame: dict) -> str:
    file = frame["file"].rsplit("/", 1)[-1]
    line = f":{frame['line']}" if frame["line"] else ""
    return in_sentence(frame["function"]) + (f" ({file}{line})" if file else "")
