"""What the reasons for a lock's cost have in common (causes.py, holdlengths.py): how sure one is,
and the figures of a lock and of its program that they are told from.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from syncopate.base.units import count
from syncopate.records import knowncalls
from syncopate.records.recordformat import HOLDER_COUNTS, LOST_KINDS
from syncopate.records.sectioncode import Call, Facts

CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
FEW_HOLDS = FEW_WAITS = 10  # fewer were seen: what they say is by chance
MOSTLY, NEARLY_ALL = 0.5, 0.9
MUCH_LONGER = 100  # waits than holds: even a queue of all threads does not make that
LONG_HOLD_NS = 20_000  # a sleep and a wake-up cost as much: shorter sections are waited out
BUSY_DO = "record on a machine that has nothing else to do"
LIMIT_DO = "raise the limit on its control group's processor time (cpu.max), or run fewer threads"
USED_UP = 0.8  # of a limit, in the mean
FAR_LONGER = 10  # than all slices that a thread may have to wait for
FOR_SURE = 1.2  # times a bound that is made of estimates
IDLE = 0.01  # of its life: a thread that is up for less is idle
NEVER = 0.1  # of its running time a thread is without a processor, also where there are enough
UNUSUAL_FROM = 0.99  # of the holds, the shortest first
INNER_FRAMES = 4  # of a stack: those of the C library
MOST_NAMED = 4  # functions in one sentence


class Reason(NamedTuple):
    """One cause of a lock's cost."""

    cause: str  # as docs/reference/report-schema.md lists them
    why: str
    do: str  # "" where nothing can be advised
    sure: str  # CERTAIN, LIKELY or POSSIBLE


def lost_waits(lock: dict) -> list[dict]:
    """The waits that are lost to it, by kind."""
    return [waits for kind, waits in lock["waits"].items() if kind in LOST_KINDS]


def got(lock: dict) -> int:
    """How many of these ended with the lock."""
    without = lock["in_vain"] + lock.get("open", 0)  # not in older JSON
    return max(0, sum(each["count"] for each in lost_waits(lock)) - without)


def mean_wait(lock: dict) -> float:
    waits = sum(each["count"] for each in lost_waits(lock))
    return sum(each["total_ns"] for each in lost_waits(lock)) / max(1, waits)


def longest_wait(lock: dict) -> int:
    return max((each["max_ns"] for each in lost_waits(lock)), default=0)


def usual_wait(lock: dict) -> float:
    """The mean of its waits; of all but the longest, where that one has most of their time."""
    waits = sum(each["count"] for each in lost_waits(lock))
    total, longest = sum(each["total_ns"] for each in lost_waits(lock)), longest_wait(lock)
    if waits < 2 or longest <= MOSTLY * total:
        return mean_wait(lock)
    return (total - longest) / (waits - 1)


def watched(lock: dict) -> dict:
    """What is known of sampled holds that did not run on."""
    nothing = dict.fromkeys(("watched", *HOLDER_COUNTS), 0) | {"slept_share": None, "pages": None}
    return (lock["hold"] or {}).get("interrupted") or nothing


def held(lock: dict, results: dict, hold_ns: float | None = None) -> float | None:
    """The share of the program's time in which it was held, as far as few holds that were timed
    tell of all, by their mean or by another: it may come out above 1. Of several locks, the worst
    one's. None where no hold was timed."""
    passed, times = results["process"]["duration_ns"], taken(lock)
    if not lock["hold"] or not passed or times is None:
        return None
    return times * (hold_ns or lock["hold"]["mean_ns"]) / passed


def taken(lock: dict) -> int | None:
    """How often it was taken; of several locks, the worst one."""
    return lock["acquisitions"] if lock["members"] == 1 else (lock["worst"] or {}).get("taken")


def rate(lock: dict, results: dict) -> str:
    """That in a second, as a part of a sentence: "are 1,200 a second"."""
    seconds, times = results["process"]["duration_ns"] / 1e9, taken(lock)
    if times is None:
        times = lock["acquisitions"]
    found = f"are {count(round(times / seconds)) if seconds else 'many'} a second"
    found += " or more" * lock.get("counted_in_part", False)
    return found + " at the worst one" * (times < lock["acquisitions"])


def is_bound_by(lock: dict, results: dict, hold_ns: float | None = None) -> bool:
    """Whether the lock is held for so much of the time that threads have to queue for it; or would
    be, had the program its processors for itself: by the share of holds in its running time."""
    share = held(lock, results, hold_ns)
    if share is None:
        return False
    account = results["account"]
    running = account["parts"].get("running", 0)
    passed = results["process"]["duration_ns"]
    if account["why_unexplained"] and running < passed:  # little of it is known
        running = 0
    together = min(usable_processors(results), lock["threads_lost"] + 1)
    return max(share, share * passed / running * together if running else 0.0) >= MOSTLY


def undisturbed_hold(lock: dict) -> float:
    """The mean of its holds without those that lost the processor. Where it was not taken of the
    others alone, as many are left out as of those watched, twice over, since few were: the longest
    ones."""
    of = watched(lock)
    if kept_it := of.get("kept_processor"):
        return min(lock["hold"]["mean_ns"], kept_it["mean_ns"])
    disturbed = 2 * of["preempted"] / of["watched"] if of["watched"] else 0.0
    return usual_hold(lock["hold"], min(UNUSUAL_FROM, 1 - min(disturbed, MOSTLY)))


def calls_of(facts: Facts | None, kind: str) -> list[Call]:
    """What most of the sections call of this kind."""
    calls = facts.calls if facts else []
    return [call for call in calls if call.kind == kind and call.share >= MOSTLY]


def no_exceptions(facts: Facts | None, calls: list[Call]) -> list[Call]:
    """Of these calls those of kinds that every way through the section calls, or called in a loop.
    What is called on some ways alone may be what is done when something has failed."""
    return [call for call in calls if facts and (call.kind in facts.slow or call.looped)]


def may_call(calls: list[Call]) -> str:
    """What a section calls on some of its ways, as the end of a sentence; "" where nothing."""
    return f"; its section may call {named_calls(calls)}" if calls else ""


def blocking(kind: str, functions: str) -> tuple[str, str]:
    """The cause, and what to do, where a section calls these, of a kind that waits."""
    return {
        knowncalls.SLEEP: (
            "sleeps",
            f"sleep after the release ({functions}), or wait at a condition variable, which"
            " releases the lock",
        ),
        knowncalls.INPUT_OUTPUT: (
            "input_output",
            f"copy what is to be read or written, and call {functions} after the release,"
            " or in a thread of its own",
        ),
        knowncalls.WAIT: (
            "waits",
            f"release it before the call of {functions}, or hold that for shorter",
        ),
    }[kind]


def functions_of(calls: list[Call]) -> str:
    names = list(dict.fromkeys(call.function for call in calls))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def named_calls(calls: list[Call]) -> str:
    """The functions, and where they are called."""
    places = list(dict.fromkeys(call.place for call in calls[:MOST_NAMED] if call.place))
    return functions_of(calls) + (f" ({', '.join(places)})" if places else "")


def threads_wanting(results: dict) -> float:
    """How many threads had a processor or could have run, in the mean."""
    parts = results["account"]["parts"]
    passed = results["process"]["duration_ns"]
    ran = parts.get("running", 0) + parts.get("runnable", 0)
    return ran / passed if passed else 0.0


def at_once(results: dict) -> int:
    """The most threads that there were at one time, without those that hardly did more than wait
    for others to end, or sleep: they want no processor."""
    joined: Counter[str] = Counter()
    for lock in results["locks"]:
        for each in lock["by_thread"] if set(lock["waits"]) == {"join"} else ():
            joined[each["thread"]] += each["waited_ns"]
    threads = [
        thread
        for thread in results["threads"]
        if joined[thread.get("label", "")] <= MOSTLY * life(thread, results)  # not in older JSON
        and not _is_idle(thread, results)
    ]
    changes = [(thread["start_ns"], 1) for thread in threads]
    changes += [(each["end_ns"], -1) for each in threads if each["end_ns"] is not None]
    found = alive = 0
    for _, change in sorted(changes):  # at one time, ends first
        alive += change
        found = max(found, alive)
    return found


def _is_idle(thread: dict, results: dict) -> bool:
    """Whether it hardly ever ran, could have run, or waited for a lock, as far as that is known."""
    ran = thread.get("ran_ns")
    if ran is None or thread["runnable_ns"] is None:
        return False
    return ran + thread["runnable_ns"] + thread["lost_ns"] < IDLE * life(thread, results)


def usable_processors(results: dict) -> float:
    """How many processors' time there is for its threads in all."""
    process = results["process"]
    limit = process.get("processor_limit")  # older JSON has none
    return process["processors"] if limit is None else min(process["processors"], limit)


def named_processors(results: dict) -> str:
    """The same in words: "2 processors"."""
    usable = usable_processors(results)
    if usable == results["process"]["processors"]:
        return f"{usable} processor{'s' * (usable != 1)}"
    return f"{usable:.2f} processors, which a limit leaves it"


def is_limited(results: dict) -> bool:
    return usable_processors(results) < results["process"]["processors"]


def had_no_more(results: dict) -> bool:
    """Whether a limit kept its threads from processors: it used all that this leaves."""
    if not is_limited(results):
        return False
    there_was = usable_processors(results) * results["process"]["duration_ns"]
    return results["account"]["parts"].get("running", 0) >= USED_UP * there_was


def for_processors(results: dict) -> str:
    """What to do where its threads could not have the processors that there are."""
    if had_no_more(results):
        return LIMIT_DO
    return BUSY_DO + ", and without a limit on processor time (cpu.max)" * is_limited(results)


def others_had_processors(results: dict) -> bool:
    """Whether threads were without a processor for longer, for the time that they had one, than as
    many threads can be by themselves, be it that all keep to one processor."""
    parts = results["account"]["parts"]
    by_themselves = max(0, at_once(results) - 1)
    running = parts.get("running", 0)
    return parts.get("runnable", 0) > FOR_SURE * running * max(by_themselves, NEVER) > 0


def of_which_time(results: dict) -> str:
    """Of what shares are that are told of all its threads."""
    return "these threads' time" if results["process"]["only_openmp"] else "all thread time"


def life(thread: dict, results: dict) -> int:
    """How long it was there, as far as it was recorded."""
    end = results["process"]["duration_ns"] if thread["end_ns"] is None else thread["end_ns"]
    return end - thread["start_ns"]


def usual_hold(hold: dict, unusual_from: float = UNUSUAL_FROM) -> float:
    """The mean of all but the longest holds in a hundred: of few that are timed, one in which a
    time slice was lost makes the mean of all."""
    left = unusual_from * sum(held for _, _, held in hold["histogram"])
    total = seen = 0.0
    for least, most, held in hold["histogram"]:
        now = min(held, left - seen)
        total, seen = total + now * (least + most) / 2, seen + now
    return min(hold["mean_ns"], total / seen) if seen else hold["mean_ns"]


def by_waits(lock: dict) -> str:
    """How sure a cause is that fits its waits as a whole."""
    waits = sum(each["count"] for each in lost_waits(lock))
    return LIKELY if waits >= FEW_WAITS else POSSIBLE


def by_share(part: int, whole: int) -> str:
    """How sure a cause is that was seen at `part` of `whole` holds."""
    if whole < FEW_HOLDS:
        return POSSIBLE
    return CERTAIN if part >= NEARLY_ALL * whole else LIKELY
