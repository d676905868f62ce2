"""What waiting cost: processor time and wake-ups, and joules where a meter told them.

Some waits are chosen, when they begin, to become events; for these the recorder asks the kernel
how long the thread had a processor and how often it left it. A lock's exact waiting time is shared
out as those of its waits that were chosen; long ones, which become events chosen or not, as long
ones that were chosen. Joules are a meter's, and only a meter's.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict

from syncopate.base.shown import shown
from syncopate.base.units import duration, several
from syncopate.records.analysis import Analysis
from syncopate.records.recordformat import AWAKE_KINDS, BY_KERNEL, KIND_NAMES, Event

LONG_NS = 1_000_000  # src/record/rows.h: long_wait()
NUMBERS = ("seconds", "user_seconds", "system_seconds")


def measured(text: str) -> dict | None:
    """What `syncopate record` measured beside the program; None where it did not, or is damaged."""
    try:
        found = json.loads(text)
        return {
            **{name: float(found[name]) for name in NUMBERS},
            "meters": [
                {
                    "name": shown(str(m["name"])),
                    "source": shown(str(m["source"])),
                    "joules": float(m["joules"]),
                }
                for m in found["meters"]
            ],
            "rejected": [
                {"name": shown(str(each["name"])), "why": shown(str(each["why"]))}
                for each in found["rejected"]
            ],
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def processor_limit(text: str) -> float | None:
    """How many processors' time a limit left the process, as `syncopate record` has noted."""
    try:
        found = float(json.loads(text)["processor_limit"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if 0 < found < math.inf else None


class _Sums:
    """Over all events of one lock and kind, long or short, and over those of which the kernel was
    asked; events weigh as much as those that they stand for."""

    __slots__ = ("all_ticks", "all_waits", "asked", "on_processor", "parked", "preemptions",
                 "sleeps", "ticks", "waits")  # fmt: skip

    def __init__(self):
        self.all_waits = self.all_ticks = self.asked = self.waits = self.ticks = 0
        self.on_processor = self.parked = self.sleeps = self.preemptions = 0

    def add(self, event: Event, delay: float) -> None:
        """`delay`: for how many ticks its thread had no processor, in all its life."""
        weight, ticks = event.weight, event.end - event.start
        self.all_waits += weight
        self.all_ticks += weight * ticks
        if not event.on_processor:
            return
        self.asked += 1
        off = max(0, ticks - event.on_processor)
        left = max(1, event.sleeps + event.preemptions)
        preempted = min(off * event.preemptions / left, delay)
        self.parked += round(weight * (off - preempted)) if event.sleeps else 0
        self.waits += weight
        self.ticks += weight * ticks
        self.on_processor += weight * event.on_processor
        self.sleeps += weight * event.sleeps
        self.preemptions += weight * event.preemptions


def cost(analysis: Analysis) -> dict:
    """The `waiting` of docs/reference/report-schema.md."""
    sums: dict[tuple[int, int], tuple[_Sums, _Sums]] = defaultdict(lambda: (_Sums(), _Sums()))
    least = LONG_NS / analysis.record.ns_per_tick
    delays = {
        index: thread.delay_ns / analysis.record.ns_per_tick
        for index, thread in analysis.threads.items()
        if thread.cpu_ns
    }
    for lock, events in analysis.waits.items():
        for event in events:
            delay = delays.get(event.thread, math.inf)
            sums[lock, event.wait][event.end - event.start >= least].add(event, delay)
    exact = {
        (lock, kind): each
        for (lock, kind), each in analysis.row_sums.items()
        if KIND_NAMES[kind] not in AWAKE_KINDS
    }
    return _summed(analysis, sums, exact)


def _summed(analysis: Analysis, found: dict, exact: dict) -> dict:
    awake = parked = preempted = unknown = wake_ups = preemptions = 0.0
    for key, (waits, ticks) in exact.items():
        parts = found[key]
        all_waits = sum(sums.all_waits for sums in parts)
        all_ticks = sum(sums.all_ticks for sums in parts)
        if not all_ticks:
            unknown += ticks
            continue
        for sums in parts:
            mine = ticks * sums.all_ticks / all_ticks
            if not sums.ticks:
                unknown += mine
                continue
            share, sleeping = (of / sums.ticks for of in (sums.on_processor, sums.parked))
            awake += share * mine
            parked += sleeping * mine
            preempted += (1 - share - sleeping) * mine
            times = waits * sums.all_waits / all_waits / sums.waits
            wake_ups += sums.sleeps * times
            preemptions += sums.preemptions * times
    if analysis.record.header.recorder == BY_KERNEL:  # which sees sleeps only
        parked, awake, preempted, unknown = parked + awake + preempted + unknown, 0.0, 0.0, 0.0
    by_state = {
        _awake_state(analysis): awake,
        "parked": parked,
        "preempted": preempted,
        "unknown": unknown,
    }
    return {
        "states": {
            name: {"ns": analysis.ns(ticks), "ticks": round(ticks)}
            for name, ticks in by_state.items()
        },
        "wake_ups": round(wake_ups),
        "preemptions": round(preemptions),
        "sampled": sum(sums.asked for parts in found.values() for sums in parts),
    }


def _awake_state(analysis: Analysis) -> str:
    """What a thread does that waits and keeps its processor, by the strategy it ran with.

    The monitor strategy spins on machines without its instruction, which a record does not tell.
    """
    return "monitor" if analysis.record.header.wait == "monitor" else "spinning"


# ---- as sentences ----


def sentences(results: dict) -> list[str]:
    """What a person is told: `waiting` and `measured` of one record."""
    return [*_waiting_sentences(results["waiting"]), *_measured_sentences(results["measured"])]


def _waiting_sentences(cost: dict) -> list[str]:
    if not cost["sampled"]:
        return []
    states = [
        f"{duration(state['ns'])} {name}" for name, state in cost["states"].items() if state["ns"]
    ]
    awake = next(iter(cost["states"].values()))["ticks"]
    ticks = f"{several(awake, 'tick')} of the clock on a processor, " if awake else ""
    return [
        f"Waiting: about {', '.join(states)}; {ticks}{several(cost['wake_ups'], 'wake-up')}"
        f" (from {several(cost['sampled'], 'wait')})"
    ]


def _measured_sentences(found: dict | None) -> list[str]:
    if found is None:
        return []
    lines = [
        f"Processor time: {found['user_seconds']:.2f} s user, {found['system_seconds']:.2f} s"
        f" system, within {found['seconds']:.2f} s"
    ]
    if found["meters"]:
        told = ", ".join(
            f"{m['name']} {m['joules']:.2f} J ({m['source']})" for m in found["meters"]
        )
        return [*lines, f"Energy of the whole machine meanwhile: {told}"]
    why = "; ".join(f"{each['name']} {each['why']}" for each in found["rejected"])
    return [*lines, "Energy: no meter works here" + (f" ({why})" if why else "")]
