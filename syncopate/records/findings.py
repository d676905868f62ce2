"""What a report says of its worst locks in sentences: what each costs, why, and what to do.

Each cause is told from numbers of the record alone, and says how many holds or waits it is told
from. Where nothing tells why, that is said.
"""

from collections.abc import Iterator

from syncopate.base.units import count, duration, percent
from syncopate.records.naming import without_starters
from syncopate.records.recordfile import LOST_KINDS

MOST_LOCKS = 3
LEAST_OF_LOST = 0.05  # of the time lost to all locks: the next ones are not worth a sentence
LEAST_OF_ALL = 0.001  # of all thread time
FEW_HOLDS = 10  # fewer were seen: what they say is by chance
MOSTLY = 0.5
OFTEN_PREEMPTED = 0.1  # of holds: each keeps everybody out for a time slice
MUCH_LONGER = 100  # waits than holds: even a queue of all threads does not make that
LONG_HOLD_NS = 20_000  # a sleep and a wake-up cost as much: shorter sections are waited out
MANY_ALIKE = 4  # locks; with fewer, one has most of the time by chance


def of(results: dict) -> list[dict]:
    """The findings on one record, the worst lock's first: docs/report-schema.md."""
    lost = [lock for lock in results["locks"] if lock["lost_ns"]]
    lost.sort(key=lambda lock: -lock["lost_ns"])
    worth = [
        lock
        for lock in lost[:MOST_LOCKS]
        if lock["lost_ns"] >= LEAST_OF_LOST * results["lost_ns"]
        and lock["lost_share"] >= LEAST_OF_ALL
    ]
    return [_finding(lock, results) for lock in worth]


def _finding(lock: dict, results: dict) -> dict:
    causes = list(_causes(lock, results))
    said = any(cause == "unknown" for cause, _, _ in causes)
    return {
        "lock": lock["name"],
        "members": lock["members"],
        "cost": _cost(lock),
        "causes": [cause for cause, _, _ in causes],
        "why": [
            *(why for _, why, _ in causes),
            *(() if _open(lock, results) or said else _unexplained(lock)),
            *_where(lock),
        ],
        "do": list(dict.fromkeys(do for _, _, do in causes if do)),
        "seen": _seen(lock, results),
    }


def _lost_waits(lock: dict) -> list[dict]:
    return [waits for kind, waits in lock["waits"].items() if kind in LOST_KINDS]


def _mean_wait(lock: dict) -> float:
    waits = sum(each["count"] for each in _lost_waits(lock))
    return sum(each["total_ns"] for each in _lost_waits(lock)) / max(1, waits)


def _cost(lock: dict) -> str:
    waits = sum(each["count"] for each in _lost_waits(lock))
    mean = _mean_wait(lock)
    threads = lock["threads_waited"]
    return (
        f"{percent(lock['lost_share'])} of all thread time ({duration(lock['lost_ns'])}):"
        f" {count(threads)} thread{'s' * (threads != 1)} waited {count(waits)} times,"
        f" {duration(mean)} each"
    )


def _seen(lock: dict, results: dict) -> str:
    if _open(lock, results):
        return "waits are counted, also those that are not over at the end of the record"
    hold = lock["hold"] or {}
    holds = hold.get("samples", 0)
    watched = _watched(lock)["watched"]
    text = f"waits are counted; of {count(lock['acquisitions'])} holds {count(holds)} were timed"
    if watched:
        text += f", {count(watched)} watched"
    if max(watched, holds) < FEW_HOLDS:
        text += ": few, so the cause may be another; record for longer"
    return text


def _watched(lock: dict) -> dict:
    nothing = {"watched": 0, "preempted": 0, "preemptions": 0, "slept": 0}
    return (lock["hold"] or {}).get("interrupted") or nothing


def _causes(lock: dict, results: dict) -> Iterator[tuple[str, str, str]]:
    """(cause, why in words, what to do), the most telling first; never none."""
    if waits := _open(lock, results):
        yield _stuck(lock, waits, results)
        return
    found = [*_sleeps(lock), *_relocks(lock), *_preempted(lock, results), *_uneven(lock)]
    yield from found
    if not any(cause in ("sleeps", "relock", "preempted") for cause, _, _ in found):
        yield _by_length(lock, results)


def _open(lock: dict, results: dict) -> list[dict]:
    """The waits for it that are not over, where most of the time went into them."""
    waits = [
        each
        for each in results["open_waits"]
        if each["lock"] == lock["name"]
        and each["kind"] in LOST_KINDS
        and each["kind"] in lock["waits"]
    ]
    waited = sum(each["waited_ns"] for each in waits)
    return waits if waits and waited >= MOSTLY * lock["lost_ns"] else []


def _stuck(lock: dict, waits: list[dict], results: dict) -> tuple[str, str, str]:
    """By deadlock, as far as that is certain; else only that they wait."""
    one = len(waits) == 1
    why = f"{count(len(waits))} thread{' waits' if one else 's wait'} for it still"
    kinds = {each["thread"]: each["kind"] for each in results["open_waits"]}
    for deadlock in results["deadlocks"]:
        if not deadlock["certain"] or lock["name"] not in deadlock["locks"]:
            continue
        do = "let all threads take these locks in one order"
        if len(deadlock["threads"]) == 1:
            do = "let no thread take it again that holds it, or make it recursive"
        known = all(kinds.get(thread) in LOST_KINDS for thread in deadlock["threads"])
        return "open", f"{why}: it is part of a deadlock", do if known else ""
    return "open", why, ""


def _sleeps(lock: dict) -> Iterator[tuple[str, str, str]]:
    of = _watched(lock)
    if of["watched"] and of["slept"] >= MOSTLY * of["watched"]:
        yield (
            "sleeps",
            f"who holds it sleeps: in {count(of['slept'])} of {count(of['watched'])}"
            f" holds seen{_mean(lock)}",
            "move what it waits for there (a sleep, input or output, another lock) out of the"
            " section",
        )


def _relocks(lock: dict) -> Iterator[tuple[str, str, str]]:
    relock = lock["waits"].get("mutex_relock")
    if relock and relock["total_ns"] >= MOSTLY * lock["lost_ns"]:
        waits = sum(each["count"] for each in _lost_waits(lock))
        yield (
            "relock",
            f"threads that a condition variable woke wait for it: {count(relock['count'])} of"
            f" {count(waits)} waits",
            "wake as many threads as can go on (notify_one), and release the mutex before",
        )


def _preempted(lock: dict, results: dict) -> Iterator[tuple[str, str, str]]:
    of = _watched(lock)
    if of["watched"] < FEW_HOLDS:
        return
    so_long = _as_long_as_slices(lock)
    if of["preempted"] < OFTEN_PREEMPTED * of["watched"] and not so_long:
        return
    threads, processors = len(results["threads"]), results["process"]["processors"]
    fewer = f"run fewer threads than the {threads} on {processors} processors, or " * (
        threads > processors
    )
    yield (
        "preempted",
        f"who holds it loses the processor: in {count(of['preempted'])} of"
        f" {count(of['watched'])} holds seen{so_long}",
        f"{fewer}shorten the section, so that a time slice seldom ends in it",
    )


def _as_long_as_slices(lock: dict) -> str:
    """Of a short section few holds are preempted. Where these are as many as there were waits, and
    waits are far longer than holds, they are what was waited for: says so; else ""."""
    of, hold = _watched(lock), lock["hold"]
    waits = sum(each["count"] for each in _lost_waits(lock))
    if not hold or of["preempted"] < FEW_HOLDS or not waits:
        return ""
    mean = _mean_wait(lock)
    of_all = of["preempted"] / of["watched"] * lock["acquisitions"]
    if mean < MUCH_LONGER * hold["mean_ns"] or of_all < MOSTLY * waits:
        return ""
    return (
        f", about {count(round(of_all))} of all; waits are as long as time slices"
        f" ({duration(mean)}), not as holds ({duration(hold['mean_ns'])})"
    )


def _uneven(lock: dict) -> Iterator[tuple[str, str, str]]:
    worst = lock["worst"]
    if worst and lock["members"] >= MANY_ALIKE and worst["share"] >= MOSTLY:
        yield (
            "uneven",
            f"one of its {count(lock['members'])} locks, {worst['address']}, has"
            f" {percent(worst['share'])} of that",
            "spread what they guard more evenly (another hash, the hot part split again)",
        )


def _by_length(lock: dict, results: dict) -> tuple[str, str, str]:
    hold = lock["hold"]
    if not hold:
        return "unknown", "how long it was held was not seen", ""
    if hold["mean_ns"] >= LONG_HOLD_NS:
        return (
            "long",
            f"a hold is long: {duration(hold['mean_ns'])} in the mean, and who holds it"
            " mostly runs",
            "move work out of the section, or split the lock where threads want different data",
        )
    seconds = results["process"]["duration_ns"] / 1e9
    rate = count(round(lock["acquisitions"] / seconds)) if seconds else "many"
    short = f"a hold is short ({duration(hold['mean_ns'])} in the mean)"
    mean = _mean_wait(lock)
    if any(_unexplained(lock)) or mean >= MUCH_LONGER * lock["threads_waited"] * hold["mean_ns"]:
        return (
            "unknown",
            f"{short}, there are {rate} a second, and waits are far longer ({duration(mean)}):"
            " threads that could go on had no processor, or some holds were long",
            "`syncopate tune` tries others",
        )
    return (
        "often",
        f"{short}, but there are {rate} a second",
        "take it less often (a part for each thread, several steps in one section), or split it;"
        " `syncopate tune` tries other locks",
    )


def _unexplained(lock: dict) -> Iterator[str]:
    """Waits that are longer than all who wait together could make them by the holds seen."""
    hold = lock["hold"]
    if not hold or not hold["samples"]:
        return
    for waits in _lost_waits(lock):
        mean = waits["mean_ns"] or 0
        if mean > hold["max_ns"] * max(1, lock["threads_waited"]):
            yield (
                f"waits ({duration(mean)} in the mean) are longer than holds explain (the longest"
                f" seen: {duration(hold['max_ns'])}): others took it several times meanwhile, a"
                " longer hold was not seen, or threads that could go on had no processor"
            )
            return


def _mean(lock: dict) -> str:
    return f", {duration(lock['hold']['mean_ns'])} each in the mean" if lock["hold"] else ""


def _where(lock: dict) -> Iterator[str]:
    """Where it is released, where one stack has most of the time."""
    for stack in lock["holders"][:1]:
        own = without_starters(stack["frames"][stack["wrapper_frames"] :])
        if own and stack["share"] >= MOSTLY:
            yield "it is held until " + ", called by ".join(map(_place, own[:2]))


def _place(frame: dict) -> str:
    file = frame["file"].rsplit("/", 1)[-1]
    return frame["function"] + (f" ({file}:{frame['line']})" if file else "")
