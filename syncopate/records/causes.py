"""Why a lock costs what it costs, and what to do: told from the numbers of a record, and from what
the code of its sections may do (sectioncode.py).

Every reason says how sure it is: "certain" is counted, seen at nearly every hold, or read from the
program's code; "likely" is what the numbers fit; "possible" is one of several explanations, or told
from few holds. No cause is told that the record does not show.
"""

from __future__ import annotations

from collections.abc import Iterator

from syncopate.base.terminal import in_sentence
from syncopate.base.units import count, duration, percent, several
from syncopate.records import knowncalls, languagecauses, languages
from syncopate.records.holdlengths import (
    awaits_work,
    beside_preemption,
    by_length,
    crowded,
    kept,
)
from syncopate.records.lockfigures import (
    CERTAIN,
    FAR_LONGER,
    FEW_HOLDS,
    FEW_WAITS,
    INNER_FRAMES,
    LIKELY,
    LONG_HOLD_NS,
    MOSTLY,
    NEARLY_ALL,
    POSSIBLE,
    Reason,
    blocking,
    by_share,
    calls_of,
    functions_of,
    held,
    lost_waits,
    may_call,
    mean_wait,
    named_calls,
    no_exceptions,
    watched,
)
from syncopate.records.naming import UNKNOWN_CALLER
from syncopate.records.preemption import is_long_by_itself, preempted
from syncopate.records.recordformat import LOST_KINDS
from syncopate.records.sectioncode import Facts

MANY_ALIKE = 4  # locks; with fewer, one has most of the time by chance
UNEVEN = 4  # times as much of the time as an even share; of few locks one has twice that by chance
TOGETHER = 1.2  # holds at one time, in the mean: so many only readers have
_SAID_OF_C_LIBRARY = {
    knowncalls.ALLOCATION: (
        "malloc",
        "it is a lock inside the C library, of one of malloc's arenas: threads that allocate or"
        " free at one time wait for each other",
        "allocate less often while threads run (a pool for each), or use an allocator that keeps"
        " more for each thread (jemalloc, tcmalloc)",
    ),
    knowncalls.INPUT_OUTPUT: (
        "stream",
        "it is a lock inside the C library, of a stream (FILE) that threads use at one time",
        "write or read more at once (a buffer for each thread), or give each thread a stream of its"
        " own",
    ),
}


def reasons(lock: dict, results: dict, facts: Facts | None) -> list[Reason]:
    """Why this lock costs so much, the most telling first; never none."""
    is_gate = facts is not None and facts.empty >= NEARLY_ALL and not any(_starves(lock, results))
    if waits := open_waits(lock, results):
        may_open = is_gate and not _never_ends(lock, waits, results)
        return [_stuck(lock, waits, results), *([_gate(facts)] if may_open else [])]
    return [*_of_what_ended(lock, results, facts, is_gate), *_overtaken(lock, results)]


def _of_what_ended(lock: dict, results: dict, facts: Facts | None, is_gate: bool) -> list[Reason]:
    """Why waits for it last, as those that are over and the holds seen tell."""
    if is_gate:
        return [_gate(facts)]
    if inside := _inside_of_c_library(lock):
        return [Reason(*_SAID_OF_C_LIBRARY[inside], CERTAIN)]
    if of_java := [*languagecauses.in_java(lock, results)]:
        return [*of_java, *_uneven(lock)]
    if of_interpreter := languages.interpreter(lock["name"]):
        return [languagecauses.of_interpreter(of_interpreter, lock, results)]
    if _is_of_signalers(lock):
        return [
            Reason(
                "signalers",
                "it is a part of a condition variable: who signals waits there for others who"
                " signal, and until threads that were woken before have gone on",
                "signal less often; `syncopate run` has condition variables without that wait",
                CERTAIN,
            )
        ]
    without = [*preempted(lock, results)]
    by_code = [*beside_preemption(lock, results, facts)] if without else []
    besides = without if is_long_by_itself(lock) else []
    found = [
        *_starves(lock, results),
        *(inside := [*_waits_inside(lock, results)]),
        *([] if inside and _sleeps_to_wait(lock) else _sleeps(lock, facts)),
        *_relocks(lock),
        *_new_pages(lock, facts),
        *(each for each in without if each not in besides),
        *_uneven(lock),
    ]
    if not {reason.cause for reason in found} - {"uneven"}:
        found += kept(lock, results, facts)
    told = {reason.cause for reason in found}
    if not told - {"uneven"}:
        found += [*crowded(lock, results)] or by_length(lock, results, facts)
    told = {reason.cause for reason in found}
    return [*found, *(each for each in by_code if each.cause not in told), *besides]


def _inside_of_c_library(lock: dict) -> str | None:
    """What a lock is for that only the C library's own functions wait for, as the kernel sees."""
    shares: dict[str | None, float] = {}
    for stack in lock["waiters"]:
        inner = [frame["function"] for frame in stack["frames"][:INNER_FRAMES]]
        kind = knowncalls.inside_of_c_library(inner)
        shares[kind] = shares.get(kind, 0.0) + stack["share"]
    return next((kind for kind, share in shares.items() if kind and share >= NEARLY_ALL), None)


def _gate(facts: Facts) -> Reason:
    at = f": {facts.empty_at}" if facts.empty_at else ""
    return Reason(
        "gate",
        f"who waits for it releases it at once, having done nothing with it{at}. It is a gate that"
        " its holder keeps shut: what is waited for is what it does meanwhile, or that there is"
        " something to do",
        "",
        CERTAIN,
    )


def open_waits(lock: dict, results: dict) -> list[dict]:
    """The waits for it that are not over, where most of the time went into them; none where others
    had it after each of these began: then it is let go of, and not why they wait."""
    waits = _unfinished(lock, results)
    return [] if all(each["holds_since"] for each in waits) else waits


def _overtaken(lock: dict, results: dict) -> Iterator[Reason]:
    """Most of the time went into waits that are not over, while others took it."""
    waits = _unfinished(lock, results)
    if waits and all(each["holds_since"] for each in waits):
        one, most = len(waits) == 1, max(each["holds_since"] for each in waits)
        yield Reason(
            "open",
            f"{count(len(waits))} thread{' waits' if one else 's wait'} for it still, and others"
            f" have taken it since: {several(most, 'time')} seen",
            "",
            CERTAIN,
        )


def _unfinished(lock: dict, results: dict) -> list[dict]:
    waits = [
        each
        for each in results["open_waits"]
        if each["lock"] == lock["name"]
        and each["kind"] in LOST_KINDS
        and each["kind"] in lock["waits"]
    ]
    waited = sum(each["waited_ns"] for each in waits)
    return waits if waits and waited >= MOSTLY * lock["lost_ns"] else []


def _never_ends(lock: dict, waits: list[dict], results: dict) -> bool:
    """Whether it is certain that nobody will let go of it."""
    holders = (holder for wait in waits for holder in wait["holders"])
    return any(holder["ended"] or holder["left_behind"] for holder in holders) or any(
        deadlock["certain"] and lock["name"] in deadlock["locks"]
        for deadlock in results["deadlocks"]
    )


def _stuck(lock: dict, waits: list[dict], results: dict) -> Reason:
    """By deadlock, as far as that is known; else only that they wait."""
    one = len(waits) == 1
    why = f"{count(len(waits))} thread{' waits' if one else 's wait'} for it still"
    for holder in (each for wait in waits for each in wait["holders"] if each["ended"]):
        return Reason(
            "open",
            f"{why}: {in_sentence(holder['thread'])}, which had it, has ended",
            "let its threads release it before they end, or make it robust (PTHREAD_MUTEX_ROBUST)",
            CERTAIN if holder["certain"] else LIKELY,
        )
    for holder in (each for wait in waits for each in wait["holders"] if each["left_behind"]):
        return Reason(
            "open",
            f"{why}: {in_sentence(holder['thread'])} had it when this process was forked, and is"
            " not in it",
            "let the child of a process with other threads do no more than exec, or take the lock"
            " before each fork and release it after (pthread_atfork)",
            CERTAIN,
        )
    kinds = {each["thread"]: each["kind"] for each in results["open_waits"]}
    for deadlock in results["deadlocks"]:
        if lock["name"] not in deadlock["locks"]:
            continue
        do = "let all threads take these locks in one order"
        if len(deadlock["threads"]) == 1:
            do = "let no thread take it again that holds it, or make it recursive"
        known = all(kinds.get(thread) in LOST_KINDS for thread in deadlock["threads"])
        sure, what = (CERTAIN, "it is part of a deadlock")
        if not deadlock["certain"]:
            sure, what = LIKELY, "as in a deadlock, if who held it then holds it still"
        return Reason("open", f"{why}: {what}", do if known else "", sure)
    return Reason("open", why, "", CERTAIN)


def _sleeps(lock: dict, facts: Facts | None) -> Iterator[Reason]:
    of = watched(lock)
    share = of["slept_share"] or 0.0  # of the time that it is held
    mostly = of["slept"] >= MOSTLY * of["watched"]
    if not of["watched"]:
        return
    # By chance one, two or none of few such holds are among those that were seen: who keeps others
    # waiting is known from all waits.
    blockers = None if mostly else _sleeping_blockers(lock)
    if not (mostly or blockers or share >= MOSTLY):
        return
    why = f"who holds it sleeps: in {count(of['slept'])} of {several(of['watched'], 'hold')} seen"
    if mostly:
        why += _mean(lock)
        sure = by_share(of["slept"], of["watched"])
    elif blockers:
        why = (
            f"who holds it for {percent(blockers['share'])} of the time that others wait sleeps"
            f" meanwhile: in {count(blockers['slept'])} of {count(blockers['watched'])} of their"
            " holds seen"
        )
        sure = LIKELY if blockers["watched"] >= FEW_HOLDS else POSSIBLE
    else:
        why += f", and these have {percent(share)} of the time that it is held"
        sure = LIKELY if of["slept"] >= FEW_HOLDS else POSSIBLE
    known = facts.of_blamed() if facts and not mostly else facts
    if (faults := _faults(blockers or of)) is not None:
        why += faults.why
        # A hold that sleeps in any case may wait for a page besides, as a program's first ones do.
        if not known or knowncalls.SLEEP not in known.slow:
            yield faults._replace(why=why, sure=sure)
            return
    kinds = (knowncalls.SLEEP, knowncalls.INPUT_OUTPUT, knowncalls.WAIT)
    perhaps = [call for kind in kinds for call in calls_of(known, kind)]
    # Nobody sleeps for a time because something has failed.
    asleep = [call for call in perhaps if call.kind == knowncalls.SLEEP]
    calls = [*dict.fromkeys([*asleep, *no_exceptions(known, perhaps)])]
    if awaits_work(known):
        yield Reason(
            "sleeps",
            f"{why}{may_call(perhaps)}: who waits for requests there lets others wait for it",
            "let threads wait for requests without it, if they lack these otherwise (accept() and"
            " EPOLLEXCLUSIVE let one through by themselves)",
            sure,
        )
        return
    if not calls:
        yield Reason(
            "sleeps",
            why + may_call(perhaps),
            "move what it waits for there (a sleep, input or output, another lock, a change of the"
            " memory's map) out of the section",
            sure,
        )
        return
    named = named_calls(calls)
    first = functions_of([call for call in calls if call.kind == calls[0].kind])
    cause, do = blocking(calls[0].kind, first)
    yield Reason(cause, f"{why}; its section calls {named}", do, sure)


def _waits_inside(lock: dict, results: dict) -> Iterator[Reason]:
    """Most of the time that it is held goes into waits for one other lock, or for another one of
    this row: seen, not read from code."""
    of = (lock["hold"] or {}).get("waits_inside")
    if not of or of["share"] < MOSTLY:
        return
    # These holds are those that others waited for and whose beginning is known, which is so of who
    # waited for it himself. But all waits for the other one together are known: while one thread
    # waits there, all others wait here at most.
    inner = [each for each in results["locks"] if each["name"] == of["name"]]
    explained = sum(each["lost_ns"] for each in inner) * lock["threads_lost"]
    if inner and explained < MOSTLY * lock["lost_ns"]:
        return
    taken = (
        f"that takes {percent(of['share'])} of the time of the holds that others waited for, in"
        f" {count(of['holds'])} of {count(of['samples'])} seen"
    )
    sure = LIKELY if of["holds"] >= FEW_HOLDS else POSSIBLE
    if of["name"] == lock["name"]:
        yield Reason(
            "waits",
            f"who holds one of these {count(lock['members'])} locks waits for another of them"
            f" meanwhile: {taken}",
            "release one before the next is taken, where what they guard allows that, or hold each"
            " for shorter",
            sure,
        )
        return
    other = in_sentence(inner[0]["called"] if inner else of["name"])
    yield Reason(
        "waits",
        f"who holds it waits for {other} meanwhile: {taken}",
        f"hold {other} for shorter (what is said of that helps here, too), or take it before or"
        " after this one, not inside",
        sure,
    )


def _sleeps_to_wait(lock: dict) -> bool:
    """Whether most of the holds that slept waited for another lock, so that they sleep for nothing
    else. Where that other one has a row of its own, what its holders do stands there."""
    of, inside = watched(lock), lock["hold"]["waits_inside"]
    if inside["name"] != lock["name"] or not of["slept"]:
        return True
    slept = of["slept"] / of["watched"]
    return slept - inside["holds"] / inside["samples"] < MOSTLY * slept


def _faults(seen: dict) -> Reason | None:
    """What it sleeps for is pages, where that is counted of half of these holds or more."""
    faulted = seen.get("faulted", 0)
    if not faulted or faulted < MOSTLY * seen["slept"]:
        return None
    return Reason(
        "faults",
        f"; in {count(faulted)} of these for pages that are not in memory, and are read from disk"
        " or swap",
        "touch these pages before it takes the lock, or keep them in memory (mlock, more of it)",
        "",
    )


def _new_pages(lock: dict, facts: Facts | None) -> Iterator[Reason]:
    """The kernel gives pages while it is held: memory that is new, or was given back before."""
    of = watched(lock).get("pages")
    if not of or (of["share"] or 0.0) < MOSTLY or of["paged"] < MOSTLY * of["of"]:
        return
    why = (
        f"who holds it touches new memory: in {count(of['paged'])} of"
        f" {several(of['of'], 'hold')} seen the kernel gives it pages,"
        f" {count(round(of['given'] / of['paged']))} each, which takes most of the time that it is"
        " held, by what one page took when the recording began"
    )
    if calls := calls_of(facts, knowncalls.ALLOCATION):
        why += f"; its section calls {named_calls(calls)}"
    yield Reason(
        "new_pages",
        why,
        "allocate and touch that memory before it is taken, or keep it for the next time (a pool;"
        " of malloc, a higher M_MMAP_THRESHOLD and M_TRIM_THRESHOLD)",
        LIKELY if of["of"] >= FEW_HOLDS else POSSIBLE,
    )


def _sleeping_blockers(lock: dict) -> dict | None:
    """Where few holds of many are those that others wait for: what is known of these threads'
    holds, if they sleep in them."""
    of = watched(lock).get("blockers")
    if not of or of["slept"] < MOSTLY * of["watched"] or mean_wait(lock) < LONG_HOLD_NS:
        return None
    return of


def _starves(lock: dict, results: dict) -> Iterator[Reason]:
    """Readers hold it all the time, one beside the other, so that writers find it taken."""
    hold, write = lock["hold"], lock["waits"].get("write")
    if lock["object"] != "rwlock" or not write or not hold:
        return
    if (held(lock, results) or 0.0) < TOGETHER or write["total_ns"] < MOSTLY * lock["lost_ns"]:
        return
    if write["mean_ns"] < FAR_LONGER * hold["max_ns"]:
        return
    yield Reason(
        "starved",
        "who takes it for writing waits while others take it for reading again and again:"
        f" {duration(write['mean_ns'])} in the mean, where the longest hold seen took"
        f" {duration(hold['max_ns'])}",
        "let writers go first (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, or `prefer` in a"
        " policy of `syncopate run`), or readers pause",
        LIKELY,
    )


def _relocks(lock: dict) -> Iterator[Reason]:
    relock = lock["waits"].get("mutex_relock")
    if relock and relock["total_ns"] >= MOSTLY * lock["lost_ns"]:
        waits = sum(each["count"] for each in lost_waits(lock))
        one = relock["threads"] == 1
        yield Reason(
            "relock",
            f"{'one thread' if one else 'threads'} that a condition variable woke"
            f" wait{'s' * one} for it: {count(relock['count'])} of {several(waits, 'wait')}",
            "release the mutex before that thread is woken, and wake no others with it"
            if one
            else "wake as many threads as can go on (notify_one, where all are woken), and release"
            " the mutex before",
            CERTAIN,
        )


def _of_worst(lock: dict) -> str:
    """Which one of several locks has most of the time, and what tells it from the others."""
    worst = lock["worst"]
    by = f" ({worst['told_by']})" if worst["told_by"] else ""
    return (
        f"one of its {count(lock['members'])} locks, {worst['called'] or worst['address']}{by},"
        f" has {percent(worst['share'])} of that"
    )


def worst_of_several(lock: dict) -> Iterator[str]:
    """The same, where it is no cause."""
    if lock["worst"] and not any(_uneven(lock)):
        yield _of_worst(lock)


def _uneven(lock: dict) -> Iterator[Reason]:
    worst = lock["worst"]
    if not worst or worst["waits"] < FEW_WAITS:  # one long wait has most of the time by chance
        return
    if lock["name"].endswith(f"({UNKNOWN_CALLER})"):
        return  # that one function made them is all that they are known to have in common
    even = 1 / lock["members"]
    if lock["members"] >= MANY_ALIKE and worst["share"] >= max(MOSTLY, UNEVEN * even):
        yield Reason(
            "uneven",
            _of_worst(lock),
            "spread what they guard more evenly (another hash, the hot part split again)",
            CERTAIN,
        )


def _is_of_signalers(lock: dict) -> bool:
    """Whether those who signal at a condition variable wait within it, which is all that functions
    of condition variables wait for as for a mutex."""
    inner = (frame for stack in lock["waiters"] for frame in stack["frames"][:INNER_FRAMES])
    functions = {knowncalls.plain_of_c_library(frame["function"]) for frame in inner}
    return "mutex" in lock["waits"] and any(
        name.startswith(("pthread_cond_signal", "pthread_cond_broadcast")) for name in functions
    )


def _mean(lock: dict) -> str:
    return f", {duration(lock['hold']['mean_ns'])} each in the mean" if lock["hold"] else ""
