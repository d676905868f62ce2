"""Why a lock costs what it costs, where who holds it has no processor: a time slice ends in the
section; or the holder is served worse than others; or all are, as there are too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from syncopate.base.terminal import in_sentence
from syncopate.base.units import about, count, duration, percent, several
from syncopate.records.holdlengths import crowded
from syncopate.records.lockfigures import (
    FAR_LONGER,
    FEW_HOLDS,
    LIKELY,
    LIMIT_DO,
    LONG_HOLD_NS,
    MOSTLY,
    MUCH_LONGER,
    POSSIBLE,
    Reason,
    at_once,
    by_share,
    for_processors,
    had_no_more,
    life,
    lost_waits,
    named_processors,
    others_had_processors,
    undisturbed_hold,
    usable_processors,
    usual_wait,
    watched,
)

OFTEN_PREEMPTED = 0.1  # of holds: each keeps everybody out for a time slice
FEW_TIMES = 4  # as long as others, or less: holds that are long by themselves
ALIKE = 1.05  # counts of what is done together: threads may be between the two in the end
# Of holds: who calls sched_yield there loses the processor unless nobody else wants it (in 0.7 to 1
# of them, measured; in 0.1 where the others sleep), who calls it after the release in hardly any.
# A time slice ends in far fewer of short holds.
GIVEN_UP, GIVEN_UP_OF_SHORT = 0.25, 0.05
AS_OTHERS = 0.25  # of what others get of processors: who gets less is served worse than they


def preempted(lock: dict, results: dict) -> Iterator[Reason]:
    of = watched(lock)
    so_long = _makes_waits(lock) or _makes_holds(lock)
    seldom = of["preempted"] < OFTEN_PREEMPTED * of["watched"] and not so_long
    too_few = of["watched"] < FEW_HOLDS or seldom
    if too_few or of["preempted"] < FEW_HOLDS:
        told = list(_unserved(lock, results))
        if told or too_few:
            yield from told
            return
        if undisturbed_hold(lock) < LONG_HOLD_NS and (crowd := [*crowded(lock, results)]):
            yield from crowd
            return
    # Who wakes another thread, or is woken, is often taken off for a moment; what it sleeps between
    # is longer.
    if of["slept"] >= max(MOSTLY * of["watched"], of["preempted"]):
        return
    if given_up := _gives_it_up(lock, results):
        yield given_up
        return
    threads = at_once(results)
    fewer = f"run fewer threads than the {threads} on {named_processors(results)}, or " * (
        threads > usable_processors(results)
    )
    if others_had_processors(results):
        fewer = f"{for_processors(results)}, or "
    yield Reason(
        "preempted",
        f"who holds it loses the processor: in {count(of['preempted'])} of"
        f" {several(of['watched'], 'hold')} seen{so_long}",
        f"{fewer}shorten the section, so that a time slice seldom ends in it",
        by_share(of["preempted"], of["watched"]) if of["preempted"] >= FEW_HOLDS else POSSIBLE,
    )


def _gives_it_up(lock: dict, results: dict) -> Reason | None:
    """Its holders call sched_yield(): no time slice ends in so many holds, and there is a place
    that calls it as often as the lock is taken."""
    of, taken = watched(lock), lock["acquisitions"]
    least = GIVEN_UP_OF_SHORT if undisturbed_hold(lock) < LONG_HOLD_NS else GIVEN_UP
    if of["preempted"] < least * of["watched"] or lock["members"] > 1:
        return None
    for row in results["locks"]:
        times = row["waits"].get("yield", {"count": 0})["count"]
        if taken <= ALIKE * times and times <= ALIKE * taken:
            return Reason(
                "yields",
                f"who holds it gives the processor to others: {in_sentence(row['name'])} calls"
                f" sched_yield as often as it is taken, and in {count(of['preempted'])} of"
                f" {several(of['watched'], 'hold')} seen the holder lost the processor",
                "call sched_yield after the release",
                LIKELY,
            )
    return None


def is_long_by_itself(lock: dict) -> bool:
    """Whether few holds lose the processor, and most of the mean is there without: of long work a
    part is interrupted on any busy machine."""
    of, hold = watched(lock), lock["hold"]
    if not hold or not FEW_HOLDS <= of["preempted"] < MOSTLY * of["watched"]:
        return False
    usual = undisturbed_hold(lock)
    return usual >= max(LONG_HOLD_NS, MOSTLY * hold["mean_ns"]) and not _makes_waits(lock)


def _makes_holds(lock: dict) -> str:
    """Where the few holds that lose the processor are most of the time that it is held, and no
    other ones are long, or not a quarter of that: says so; else ""."""
    of, hold = watched(lock), lock["hold"]
    if not hold or not of["preempted"] or hold["mean_ns"] < LONG_HOLD_NS:
        return ""
    usual = undisturbed_hold(lock)
    share = 1 - (1 - of["preempted"] / of["watched"]) * usual / hold["mean_ns"]
    if usual >= max(LONG_HOLD_NS, hold["mean_ns"] / FEW_TIMES) or share < MOSTLY:
        return ""
    return (
        f", which are {about(share)} of the time that it is held: others take {duration(usual)} in"
        " the mean"
    )


def _makes_waits(lock: dict) -> str:
    """Of a short section few holds are preempted. Where these are as many as there were waits, and
    waits are far longer than holds, they are what was waited for: says so; else ""."""
    of, hold = watched(lock), lock["hold"]
    waits = sum(each["count"] for each in lost_waits(lock))
    if not hold or not of["preempted"] or not waits:
        return ""
    # Of few it is told where they alone make the holds long in the mean.
    usual, few = undisturbed_hold(lock), of["preempted"] < FEW_HOLDS
    if few and hold["mean_ns"] < max(LONG_HOLD_NS, FAR_LONGER * usual):
        return ""
    mean = usual_wait(lock)
    of_all = of["preempted"] / of["watched"] * lock["acquisitions"]
    if mean < MUCH_LONGER * usual or of_all < MOSTLY * waits:
        return ""
    return (
        f", about {count(round(of_all))} of all; waits take {duration(mean)}, other holds"
        f" {duration(usual)} in the mean"
    )


def _unserved(lock: dict, results: dict) -> Iterator[Reason]:
    """Few holds, in which its holder has no processor for long: as one of low priority does."""
    found = unserved(lock, results)
    if not found or found.kept_ns < MOSTLY * lock["by_thread"][0]["waited_ns"]:
        return
    if is_served_as_others(found.holders, results) and (crowd := [*crowded(lock, results)]):
        yield from crowd
        return
    one = len(found.holders) == 1
    who = in_sentence(found.holders[0]) if one else f"{count(len(found.holders))} threads"
    leave = "let other threads and programs leave it a processor: "
    if had_no_more(results):
        leave = f"{LIMIT_DO}; else: "
    elif others_had_processors(results):
        leave = (
            "let other programs leave it a processor, or raise a limit (cpu.max of a control"
            " group) that keeps it from one; else: "
        )
    yield Reason(
        "preempted",
        f"{who}, which {'has' if one else 'have'} it for {percent(found.share)} of the time that"
        f" {in_sentence(found.waiter)} waits, {'has' if one else 'have'} no processor for"
        f" {duration(found.without_ns)} of {duration(found.kept_ns)} or longer",
        f"{leave}the same priority for all who take it (of real-time threads, a mutex of"
        " PTHREAD_PRIO_INHERIT), or fewer that run",
        LIKELY,
    )


class Unserved(NamedTuple):
    """Who kept another thread waiting, and had no processor meanwhile."""

    holders: list[str]  # labels
    waiter: str  # the one that waited longest
    share: float  # of its wait, that which was for these
    kept_ns: int  # so long was that
    without_ns: int  # of that, so long at least they had no processor


def unserved(lock: dict, results: dict) -> Unserved | None:
    """The fewest threads that have half of the longest waiter's time, if they cannot have had a
    processor, nor slept, for half of that: they lived for too short a time besides."""
    if not lock["by_thread"]:
        return None
    waiter = lock["by_thread"][0]["thread"]
    kept: dict[str, int] = {}
    for each in results["blocks"]:
        if (each["lock"], each["waiter"]) == (lock["name"], waiter):
            kept[each["holder"]] = kept.get(each["holder"], 0) + each["ns"]
    lives = {each["label"]: each for each in results["threads"]}
    total, seen, without, holders = sum(kept.values()), 0, 0, []
    for holder, ns in sorted(kept.items(), key=lambda each: -each[1]):
        known = lives.get(holder)
        if seen >= MOSTLY * total or not known or known["runnable_ns"] is None:
            break
        seen += ns
        without += max(0, ns - (life(known, results) - known["runnable_ns"]))
        holders.append(holder)
    if not holders or seen < MOSTLY * total or without < MOSTLY * seen:
        return None
    return Unserved(holders, waiter, seen / total, seen, without)


def is_served_as_others(holders: list[str], results: dict) -> bool:
    """Whether these had processors, of the time that they did not wait, like most other threads."""
    served = {True: [], False: []}
    for thread in results["threads"]:
        wanted = life(thread, results) - thread["waited_ns"]
        if thread["runnable_ns"] is not None and wanted > 0:
            share = max(0.0, 1 - thread["runnable_ns"] / wanted)
            served[thread["label"] in holders].append(share)
    if not served[True] or not served[False]:
        return False
    return median(served[True]) >= AS_OTHERS * median(served[False])
