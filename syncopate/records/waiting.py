"""What waiting cost: processor time and wake-ups, and joules where a meter told them.

Some waits are chosen, when they begin, to become events; for these the recorder asks the kernel
how long the thread had a processor and how often it left it. A lock's exact waiting time is shared
out as those of its waits that were chosen; long ones, which become events chosen or not, as long
ones that were chosen. Joules are a meter's, and only a meter's.
"""

import json
from collections import Counter, defaultdict

from syncopate.base.shown import shown
from syncopate.base.units import count, duration
from syncopate.records.analysis import Analysis
from syncopate.records.recordformat import AWAKE_KINDS, KIND_NAMES, Event

LONG_NS = 1_000_000  # src/record/waits.cpp: long_wait()
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


def cost(analysis: Analysis) -> dict:
    """The `waiting` of docs/reference/report-schema.md."""
    sums: dict[tuple[int, int], dict[bool, Counter[str]]] = defaultdict(
        lambda: {False: Counter(), True: Counter()}
    )
    for lock, events in analysis.waits.items():
        for event in events:
            is_long = analysis.ns(event.end - event.start) >= LONG_NS
            _add(sums[lock, event.wait][is_long], event)
    exact = {
        (lock, kind): sums
        for (lock, kind), sums in analysis.record.row_sums().items()
        if KIND_NAMES[kind] not in AWAKE_KINDS
    }
    return _summed(analysis, sums, exact)


def _add(sums: Counter[str], event: Event) -> None:
    """To the sums over all events ("all ..."), and over those of which the kernel was asked."""
    ticks = event.end - event.start
    sums["all waits"] += event.weight
    sums["all ticks"] += event.weight * ticks
    if not event.on_processor:
        return
    sums["asked"] += 1
    off = max(0, ticks - event.on_processor)
    left = max(1, event.sleeps + event.preemptions)
    sums["parked"] += event.weight * off * event.sleeps // left
    sums["waits"] += event.weight
    sums["ticks"] += event.weight * ticks
    sums["on_processor"] += event.weight * event.on_processor
    sums["sleeps"] += event.weight * event.sleeps
    sums["preemptions"] += event.weight * event.preemptions


def _summed(analysis: Analysis, found: dict, exact: dict) -> dict:
    awake = parked = preempted = unknown = wake_ups = preemptions = 0.0
    for key, (waits, ticks) in exact.items():
        parts = found[key].values()
        all_waits, all_ticks = (sum(p[name] for p in parts) for name in ("all waits", "all ticks"))
        if not all_ticks:
            unknown += ticks
            continue
        for sums in parts:
            mine = ticks * sums["all ticks"] / all_ticks
            if not sums["ticks"]:
                unknown += mine
                continue
            share, sleeping = (sums[name] / sums["ticks"] for name in ("on_processor", "parked"))
            awake += share * mine
            parked += sleeping * mine
            preempted += (1 - share - sleeping) * mine
            times = waits * sums["all waits"] / all_waits / sums["waits"]
            wake_ups += sums["sleeps"] * times
            preemptions += sums["preemptions"] * times
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
        "sampled": sum(sums["asked"] for parts in found.values() for sums in parts.values()),
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
    return [
        f"Waiting: about {', '.join(states)}; {count(awake)} ticks of the clock on a processor,"
        f" {count(cost['wake_ups'])} wake-ups (from {count(cost['sampled'])} waits)"
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
