"""Why a lock costs what it costs, and what to do: told from the numbers of a record, and from what
the code of its sections may do (sectioncode.py).

Every reason says how sure it is: "certain" is counted, seen at nearly every hold, or read from the
program's code; "likely" is what the numbers fit; "possible" is one of several explanations, or told
from few holds. No cause is told that the record does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from syncopate.base.terminal import in_sentence
from syncopate.base.units import about, count, duration, percent
from syncopate.records import knowncalls
from syncopate.records.recordformat import LOST_KINDS
from syncopate.records.sectioncode import Call, Facts

EXCLUSIVE = {"mutex", "mutex_relock", "spinlock", "condition"}  # kinds of waits of such locks
CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
FEW_HOLDS = FEW_WAITS = 10  # fewer were seen: what they say is by chance
MOSTLY, NEARLY_ALL = 0.5, 0.9
OFTEN_PREEMPTED = 0.1  # of holds: each keeps everybody out for a time slice
MUCH_LONGER = 100  # waits than holds: even a queue of all threads does not make that
LONG_HOLD_NS = 20_000  # a sleep and a wake-up cost as much: shorter sections are waited out
FEW_OF_LOST = 0.1  # of the time lost to a lock: what cannot be why
LONG_WAIT_NS = 1_000_000  # it is no queue of short sections
WORTH_SHARING_NS = 1_000  # shorter sections cost less than what a reader-writer lock costs more
READ_MOSTLY = 0.8  # of holds: then six of ten pairs can run together under a reader-writer lock
MANY_ALIKE = 4  # locks; with fewer, one has most of the time by chance
BUSY_DO = "record on a machine that has nothing else to do"
UNEVEN = 4  # times as much of the time as an even share; of few locks one has twice that by chance
SLICE_NS = 4_000_000  # for so long a thread keeps its processor while others want it
FAR_LONGER = 10  # than all slices that a thread may have to wait for
TOGETHER = 1.2  # holds at one time, in the mean: so many only readers have
SELDOM_HELD = 0.05  # of the time: so seldom that hardly ever two threads queue for it
TOO_MANY = 1.5  # threads that want to run, for each processor, in the mean
FOR_SURE = 1.2  # times a bound that is made of estimates
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


def reasons(lock: dict, results: dict, facts: Facts | None) -> list[Reason]:
    """Why this lock costs so much, the most telling first; never none."""
    is_gate = facts is not None and facts.empty >= NEARLY_ALL
    if waits := open_waits(lock, results):
        return [_stuck(lock, waits, results), *([_gate(facts)] if is_gate else [])]
    if is_gate:
        return [_gate(facts)]
    if inside := _inside_of_c_library(lock):
        return [Reason(*_SAID_OF_C_LIBRARY[inside], CERTAIN)]
    if of_java := [*_in_java(lock, results)]:
        return [*of_java, *_uneven(lock)]
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
    found = [
        *_starves(lock, results),
        *_sleeps(lock, facts),
        *_relocks(lock),
        *_preempted(lock, results),
        *_uneven(lock),
    ]
    if not {reason.cause for reason in found} - {"uneven"}:
        found += _kept(lock, results, facts)
    told = {reason.cause for reason in found}
    if not told - {"uneven"}:
        found += [*_crowded(lock, results)] or _by_length(lock, results, facts)
    return found


def releases_in_java(stack: dict) -> bool:
    """Whether a holder's stack is that of a release, as of java.util.concurrent; else it is where
    the holder was while another thread waited."""
    return any(knowncalls.is_release_in_java(frame["function"]) for frame in stack["frames"])


def _in_java(lock: dict, results: dict) -> Iterator[Reason]:
    """What holders of Java's monitors are in while others wait, as the VM tells."""
    if results["process"]["recorder"] != "jvm":
        return
    kinds: dict[str, float] = {}
    named: dict[str, str] = {}
    for stack in lock["holders"]:
        inner = stack["frames"][0]["function"] if stack["frames"] else ""
        kind = knowncalls.kind_in_java(inner)
        if kind and not releases_in_java(stack):
            kinds[kind] = kinds.get(kind, 0.0) + stack["share"]
            named.setdefault(kind, inner)
    for kind, share in kinds.items():
        if share >= MOSTLY:
            cause, why, do = _JAVA_SAID[kind]
            yield Reason(
                cause,
                f"who holds it {why} for {percent(share)} of the time that others wait, in"
                f" {named[kind]}",
                do,
                LIKELY,
            )


def _inside_of_c_library(lock: dict) -> str | None:
    """What a lock is for that only the C library's own functions wait for, as the kernel sees."""
    shares: dict[str | None, float] = {}
    for stack in lock["waiters"]:
        inner = [frame["function"] for frame in stack["frames"][:INNER_FRAMES]]
        kind = knowncalls.inside_of_c_library(inner)
        shares[kind] = shares.get(kind, 0.0) + stack["share"]
    return next((kind for kind, share in shares.items() if kind and share >= NEARLY_ALL), None)


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
_JAVA_SAID = {
    knowncalls.SLEEP: (
        "sleeps",
        "sleeps",
        "sleep after the release, or wait() on the monitor, which releases it",
    ),
    knowncalls.INPUT_OUTPUT: (
        "input_output",
        "reads or writes",
        "copy what is to be read or written, and do that after the release, or in a thread of its"
        " own",
    ),
    knowncalls.WAIT: ("waits", "waits", "release it before what waits there, or hold that shorter"),
}


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


def lost_waits(lock: dict) -> list[dict]:
    """The waits that are lost to it, by kind."""
    return [waits for kind, waits in lock["waits"].items() if kind in LOST_KINDS]


def got(lock: dict) -> int:
    """How many of these ended with the lock."""
    return max(0, sum(each["count"] for each in lost_waits(lock)) - lock["in_vain"])


def mean_wait(lock: dict) -> float:
    waits = sum(each["count"] for each in lost_waits(lock))
    return sum(each["total_ns"] for each in lost_waits(lock)) / max(1, waits)


def watched(lock: dict) -> dict:
    """What is known of sampled holds that did not run on."""
    nothing = {"watched": 0, "preempted": 0, "preemptions": 0, "slept": 0, "slept_share": None}
    return (lock["hold"] or {}).get("interrupted") or nothing


def held(lock: dict, results: dict) -> float | None:
    """The share of the program's time in which it was held, as far as few holds that were timed
    tell of all: it may come out above 1. Of several locks, the worst one's. None where no hold was
    timed."""
    passed = results["process"]["duration_ns"]
    taken = lock["acquisitions"] if lock["members"] == 1 else (lock["worst"] or {}).get("taken")
    if not lock["hold"] or not passed or taken is None:
        return None
    return taken * lock["hold"]["mean_ns"] / passed


def is_bound_by(lock: dict, results: dict) -> bool:
    """Whether the lock is held for so much of the time that threads have to queue for it; or would
    be, had the program its processors for itself: by the share of holds in its running time."""
    share = held(lock, results)
    if share is None:
        return False
    account = results["account"]
    running = account["parts"].get("running", 0)
    passed = results["process"]["duration_ns"]
    if account["why_unexplained"] and running < passed:  # little of it is known
        running = 0
    together = min(results["process"]["processors"], lock["threads_waited"] + 1)
    return max(share, share * passed / running * together if running else 0.0) >= MOSTLY


def open_waits(lock: dict, results: dict) -> list[dict]:
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


def _stuck(lock: dict, waits: list[dict], results: dict) -> Reason:
    """By deadlock, as far as that is known; else only that they wait."""
    one = len(waits) == 1
    why = f"{count(len(waits))} thread{' waits' if one else 's wait'} for it still"
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


def _by_share(part: int, whole: int) -> str:
    """How sure a cause is that was seen at `part` of `whole` holds."""
    if whole < FEW_HOLDS:
        return POSSIBLE
    return CERTAIN if part >= NEARLY_ALL * whole else LIKELY


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
    why = f"who holds it sleeps: in {count(of['slept'])} of {count(of['watched'])} holds seen"
    if mostly:
        why += _mean(lock)
        sure = _by_share(of["slept"], of["watched"])
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
    known = facts._replace(calls=[*facts.blamed]) if facts and not mostly else facts
    kinds = (knowncalls.SLEEP, knowncalls.INPUT_OUTPUT, knowncalls.WAIT)
    calls = [call for kind in kinds for call in _calls(known, kind)]
    if not calls:
        yield Reason(
            "sleeps",
            why,
            "move what it waits for there (a sleep, input or output, another lock) out of the"
            " section",
            sure,
        )
        return
    named = _named(calls)
    first = _functions([call for call in calls if call.kind == calls[0].kind])
    cause, do = {
        knowncalls.SLEEP: (
            "sleeps",
            f"sleep after the release ({first}), or wait at a condition variable, which"
            " releases the lock",
        ),
        knowncalls.INPUT_OUTPUT: (
            "input_output",
            f"copy what is to be read or written, and call {first} after the release,"
            " or in a thread of its own",
        ),
        knowncalls.WAIT: (
            "waits",
            f"release it before the call of {first}, or hold that for shorter",
        ),
    }[calls[0].kind]
    yield Reason(cause, f"{why}; its section calls {named}", do, sure)


def _sleeping_blockers(lock: dict) -> dict | None:
    """Where few holds of many are those that others wait for: what is known of these threads'
    holds, if they sleep in them."""
    of = watched(lock).get("blockers")
    if not of or of["slept"] < MOSTLY * of["watched"] or mean_wait(lock) < LONG_HOLD_NS:
        return None
    return of


def _calls(facts: Facts | None, kind: str) -> list[Call]:
    """What most of the sections call of this kind."""
    calls = facts.calls if facts else []
    return [call for call in calls if call.kind == kind and call.share >= MOSTLY]


def _functions(calls: list[Call]) -> str:
    names = list(dict.fromkeys(call.function for call in calls))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _named(calls: list[Call]) -> str:
    """The functions, and where they are called."""
    places = list(dict.fromkeys(call.place for call in calls[:MOST_NAMED] if call.place))
    return _functions(calls) + (f" ({', '.join(places)})" if places else "")


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
        yield Reason(
            "relock",
            f"threads that a condition variable woke wait for it: {count(relock['count'])} of"
            f" {count(waits)} waits",
            "wake as many threads as can go on (notify_one), and release the mutex before",
            CERTAIN,
        )


def _preempted(lock: dict, results: dict) -> Iterator[Reason]:
    of = watched(lock)
    if of["watched"] < FEW_HOLDS:
        return
    so_long = _as_long_as_slices(lock)
    if of["preempted"] < OFTEN_PREEMPTED * of["watched"] and not so_long:
        return
    threads, processors = at_once(results), results["process"]["processors"]
    fewer = f"run fewer threads than the {threads} on {processors} processors, or " * (
        threads > processors
    )
    if others_had_processors(results):
        fewer = f"{BUSY_DO}, or "
    yield Reason(
        "preempted",
        f"who holds it loses the processor: in {count(of['preempted'])} of"
        f" {count(of['watched'])} holds seen{so_long}",
        f"{fewer}shorten the section, so that a time slice seldom ends in it",
        _by_share(of["preempted"], of["watched"]),
    )


def _as_long_as_slices(lock: dict) -> str:
    """Of a short section few holds are preempted. Where these are as many as there were waits, and
    waits are far longer than holds, they are what was waited for: says so; else ""."""
    of, hold = watched(lock), lock["hold"]
    waits = sum(each["count"] for each in lost_waits(lock))
    if not hold or of["preempted"] < FEW_HOLDS or not waits:
        return ""
    mean = mean_wait(lock)
    of_all = of["preempted"] / of["watched"] * lock["acquisitions"]
    if mean < MUCH_LONGER * hold["mean_ns"] or of_all < MOSTLY * waits:
        return ""
    return (
        f", about {count(round(of_all))} of all; waits are as long as time slices"
        f" ({duration(mean)}), not as holds ({duration(hold['mean_ns'])})"
    )


def _of_worst(lock: dict) -> str:
    """Which one of several locks has most of the time, and what tells it from the others."""
    worst = lock["worst"]
    by = f" ({worst['told_by']})" if worst["told_by"] else ""
    return (
        f"one of its {count(lock['members'])} locks, {worst['address']}{by}, has"
        f" {percent(worst['share'])} of that"
    )


def worst_of_several(lock: dict) -> Iterator[str]:
    """The same, where it is no cause."""
    if lock["worst"] and not any(_uneven(lock)):
        yield _of_worst(lock)


def _uneven(lock: dict) -> Iterator[Reason]:
    worst = lock["worst"]
    if not worst or worst["waits"] < FEW_WAITS:  # one long wait has most of the time by chance
        return
    even = 1 / lock["members"]
    if lock["members"] >= MANY_ALIKE and worst["share"] >= max(MOSTLY, UNEVEN * even):
        yield Reason(
            "uneven",
            _of_worst(lock),
            "spread what they guard more evenly (another hash, the hot part split again)",
            CERTAIN,
        )


def may_be_meant(causes: list[str], facts: Facts | None) -> bool:
    """Whether threads may be put aside at the lock on purpose, as workers without work: not where
    the code of its sections was read, and does something."""
    does_something = facts and facts.share and facts.only_read < MOSTLY
    return "gate" in causes or ("kept" in causes and not does_something)


def _kept(lock: dict, results: dict, facts: Facts | None) -> Iterator[Reason]:
    """Few holds are so long that hardly any of them was timed. That they are is told by how seldom
    the lock was released while others waited: then they waited for the holder, unless for a
    processor, and not for longer than all others' slices."""
    hold, releases = lock["hold"], lock["contended_releases"]
    if not hold or not releases:
        return
    do = "let its holder release it before what takes so long"
    if may_be_meant(["kept"], facts):
        do += ", unless threads are put aside with it on purpose, as workers without work"
    if why := _kept_by_one(lock, results) or _kept_by_somebody(lock, results):
        yield Reason("kept", why, do, LIKELY)
        return
    each = lock["lost_ns"] / lock["threads_waited"] / releases
    slices = SLICE_NS * max(1.0, _wanting(results) / results["process"]["processors"])
    if each < MUCH_LONGER * hold["mean_ns"] or each < FAR_LONGER * slices:
        return
    yield Reason(
        "kept",
        f"some holds are far longer than those timed ({duration(hold['mean_ns'])} in the mean):"
        f" while others waited it was released {count(releases)} time{'s' * (releases != 1)} only,"
        f" which makes {duration(each)} each, or more",
        do,
        LIKELY,
    )


def _kept_by_one(lock: dict, results: dict) -> str:
    """All others wait for one thread, and for far longer than anybody is known to hold it: would
    they wait for a processor, or for whoever lost one, it would be for each other."""
    ns: dict[str, int] = {}
    for block in results["blocks"]:
        if block["lock"] == lock["name"]:
            ns[block["holder"]] = ns.get(block["holder"], 0) + block["ns"]
    if not ns or lock["threads_waited"] < 2:
        return ""
    holder = max(ns, key=lambda each: ns[each])
    share, mean = ns[holder] / max(1, sum(ns.values())), mean_wait(lock)
    usual = usual_hold(lock["hold"])
    if holder == "unknown" or share < NEARLY_ALL:
        return ""
    if mean < MUCH_LONGER * usual or mean < LONG_WAIT_NS:
        return ""
    return (
        f"some holds are far longer than those timed ({duration(usual)} in the mean): for"
        f" {percent(share)} of the time others wait for one thread, {in_sentence(holder)},"
        f" {duration(mean)} each"
    )


def _kept_by_somebody(lock: dict, results: dict) -> str:
    """The lock is mostly free by the holds that were timed, and yet it is waited for far longer
    than a queue of all takes, while hardly any thread lacks a processor: then holds were long."""
    account, mean = results["account"], mean_wait(lock)
    share, usual = held(lock, results), usual_hold(lock["hold"])
    if account["why_unexplained"] or share is None or share >= MOSTLY or mean < LONG_WAIT_NS:
        return ""
    if mean < MUCH_LONGER * usual * lock["threads_waited"]:
        return ""
    within_waits = results["waiting"]["states"]["preempted"]["ns"]
    if account["parts"].get("runnable", 0) + within_waits > FEW_OF_LOST * lock["lost_ns"]:
        return ""
    return (
        f"some holds are far longer than those timed ({duration(usual)} in the mean): waits last"
        f" {duration(mean)} each, while hardly any thread is without a processor"
    )


def _crowded(lock: dict, results: dict) -> Iterator[Reason]:
    """More threads want to run than there are processors, and the lock is mostly free."""
    wanting = _wanting(results)
    processors = results["process"]["processors"]
    share = held(lock, results)
    if wanting < TOO_MANY * processors or share is None or is_bound_by(lock, results):
        return
    far_longer = mean_wait(lock) >= MUCH_LONGER * lock["hold"]["mean_ns"]
    if not _beyond_holds(lock) and not (share < SELDOM_HELD and far_longer):
        return
    why = (
        f"{wanting:.1f} threads want to run in the mean, on {processors} processors; it is held"
        f" {about(share)} of the time ({duration(lock['hold']['mean_ns'])} in the mean):"
        " who could take it, or hand it on, has no processor"
    )
    if others_had_processors(results):
        yield Reason("busy", f"{why}, which other programs have", BUSY_DO, LIKELY)
        return
    yield Reason(
        "crowded",
        why,
        f"run fewer threads than the {at_once(results)}: about as many as processors",
        LIKELY,
    )


def _wanting(results: dict) -> float:
    """How many threads had a processor or could have run, in the mean."""
    parts = results["account"]["parts"]
    passed = results["process"]["duration_ns"]
    ran = parts.get("running", 0) + parts.get("runnable", 0)
    return ran / passed if passed else 0.0


def at_once(results: dict) -> int:
    """The most threads that there were at one time."""
    changes = [(thread["start_ns"], 1) for thread in results["threads"]]
    changes += [
        (thread["end_ns"], -1) for thread in results["threads"] if thread["end_ns"] is not None
    ]
    found = alive = 0
    for _, change in sorted(changes):  # at one time, ends first
        alive += change
        found = max(found, alive)
    return found


def others_had_processors(results: dict) -> bool:
    """Whether threads were without a processor for longer, for the time that they had one, than as
    many threads can be by themselves, be it that all keep to one processor."""
    parts = results["account"]["parts"]
    by_themselves = max(0, at_once(results) - 1)
    running = parts.get("running", 0)
    return parts.get("runnable", 0) > FOR_SURE * running * max(by_themselves, NEVER) > 0


def _is_busy_elsewhere(results: dict) -> bool:
    """Whether threads were without a processor for longer than they had one, though there were
    not more of them than processors: other programs had those."""
    parts = results["account"]["parts"]
    few = _wanting(results) < TOO_MANY * results["process"]["processors"]
    return few and parts.get("runnable", 0) > parts.get("running", 0) > 0


def _beyond_holds(lock: dict) -> bool:
    """Whether waits are longer than all who wait together could make them by the usual holds."""
    usual = usual_hold(lock["hold"])
    return mean_wait(lock) >= MUCH_LONGER * lock["threads_waited"] * usual or any(unexplained(lock))


def usual_hold(hold: dict) -> float:
    """The mean of all but the longest holds in a hundred: of few that are timed, one in which a
    time slice was lost makes the mean of all."""
    left = UNUSUAL_FROM * sum(held for _, _, held in hold["histogram"])
    total = seen = 0.0
    for least, most, held in hold["histogram"]:
        now = min(held, left - seen)
        total, seen = total + now * (least + most) / 2, seen + now
    return min(hold["mean_ns"], total / seen) if seen else hold["mean_ns"]


def _by_length(lock: dict, results: dict, facts: Facts | None) -> list[Reason]:
    hold = lock["hold"]
    if not hold:
        why = f"{holds_unseen(lock, results)}{_at_most(lock, results)}"
        return [Reason("unknown", why, _see_holds(lock, results), CERTAIN)]
    if hold["mean_ns"] >= LONG_HOLD_NS:
        return [_long(lock, results, facts)]
    seconds = results["process"]["duration_ns"] / 1e9
    rate = count(round(lock["acquisitions"] / seconds)) if seconds else "many"
    share = held(lock, results)
    short = f"a hold is short ({duration(hold['mean_ns'])} in the mean)"
    found = [*_beside(lock, facts), *_readers(lock, facts)]
    if _beyond_holds(lock) and not is_bound_by(lock, results):
        far = f"{short}, there are {rate} a second, and waits are far longer"
        far += f" ({duration(mean_wait(lock))}): "
        if _is_busy_elsewhere(results):
            return [
                *found,
                Reason(
                    "busy",
                    f"{far}other programs had the processors that its threads wanted",
                    BUSY_DO,
                    LIKELY,
                ),
            ]
        return [
            *found,
            Reason(
                "unknown",
                f"{far}threads that could go on had no processor, or some holds were long",
                "`syncopate tune` tries others",
                POSSIBLE,
            ),
        ]
    return [
        *found,
        Reason(
            "often",
            f"{short}, but there are {rate} a second{_held(share)}",
            "take it less often (a part for each thread, several steps in one section), or split"
            " it; `syncopate tune` tries other locks",
            LIKELY,
        ),
    ]


def holds_unseen(lock: dict, results: dict) -> str:
    """Why nothing is known of how long it was held."""
    recorder = results["process"]["recorder"]
    if _is_a_place(lock):
        return (
            "threads are put aside, each at a futex or semaphore of its own: waits at this line are"
            " one row, whichever lock each was for; how often that was taken, and how long it was"
            " held, is not seen"
        )
    if recorder == "kernel":
        return "how often it was taken, and how long it was held, is not seen from the kernel"
    if recorder == "jvm":
        return "how often it was taken, and how long it was held, a Java VM does not tell"
    if not lock["counted"]:
        return "how often it was taken, and how long it was held, is not seen of such locks"
    return "how long it was held was not seen"


def _at_most(lock: dict, results: dict) -> str:
    """How long it is held in the mean at most: those who waited had it one after the other. Says
    nothing of locks that several threads may have together, or that may (semaphores, futexes), of
    several locks, and where a wait is not longer either."""
    waits = got(lock)
    within = results["process"]["duration_ns"]
    if not EXCLUSIVE.issuperset(lock["waits"]) or lock["members"] > 1 or waits < FEW_HOLDS:
        return ""
    if _is_a_place(lock):
        return ""
    if within >= lock["lost_ns"]:
        return ""
    with_it = " with it" * bool(lock["in_vain"])
    return (
        f"; {duration(within / waits)} in the mean at most: {count(waits)} waits ended{with_it}"
        f" within {duration(within)}"
    )


def _is_a_place(lock: dict) -> bool:
    """Whether no object is known, but where threads wait (parked.py)."""
    return not lock["addresses"] and lock["named_by"] == "first use"


def _is_of_signalers(lock: dict) -> bool:
    """Whether those who signal at a condition variable wait within it, which is all that functions
    of condition variables wait for as for a mutex."""
    inner = (frame for stack in lock["waiters"] for frame in stack["frames"][:INNER_FRAMES])
    functions = (
        {frame["function"].lstrip("_") for frame in inner} if "mutex" in lock["waits"] else {}
    )
    return any(
        name.startswith(("pthread_cond_signal", "pthread_cond_broadcast")) for name in functions
    )


def _see_holds(lock: dict, results: dict) -> str:
    """What shows how long it is held; "" where nothing does."""
    if results["process"]["recorder"] != "kernel":
        return ""
    inner = [frame for stack in lock["waiters"] for frame in stack["frames"][:INNER_FRAMES]]
    posix = ("pthread_", "sem_wait", "sem_timedwait", "sem_clockwait")
    if not any(name in frame["function"] for frame in inner for name in posix):
        return ""
    return "start the program by `syncopate record`, without --kernel, which sees how long"


def _held(share: float | None) -> str:
    return "" if share is None or share > 1 else f": it is held {about(share)} of the time"


def _long(lock: dict, results: dict, facts: Facts | None) -> Reason:
    """A hold that takes long, and what its code does meanwhile."""
    runs = ", and who holds it mostly runs" if watched(lock)["watched"] else ""
    long = f"a hold is long: {duration(lock['hold']['mean_ns'])} in the mean{runs}"
    long += _held(held(lock, results))
    if calls := _calls(facts, knowncalls.INPUT_OUTPUT):
        return Reason(
            "input_output",
            f"{long}; its section calls {_named(calls)}",
            f"copy what is to be read or written, and call {_functions(calls)} after the release,"
            " or in a thread of its own",
            LIKELY,
        )
    calls = _calls(facts, knowncalls.ALLOCATION)
    if any(call.looped for call in calls):
        return Reason(
            "allocates",
            f"{long}; its section calls {_named(calls)} again and again",
            "allocate before it is taken and free after it is released, or keep a pool",
            LIKELY,
        )
    for reason in _readers(lock, facts):
        return reason._replace(why=f"{long}, and {reason.why}")
    return Reason(
        "long",
        long,
        "move work out of the section, or split the lock where threads want different data",
        LIKELY,
    )


def _readers(lock: dict, facts: Facts | None) -> Iterator[Reason]:
    """Sections that only read keep each other out."""
    long_enough = lock["hold"]["mean_ns"] >= WORTH_SHARING_NS
    if facts is None or lock["object"] == "rwlock" or not long_enough:
        return
    if facts.only_read * facts.share >= READ_MOSTLY:
        yield Reason(
            "readers",
            f"in {percent(facts.only_read)} of its holds the code writes nothing that others see",
            "let these take a reader-writer lock for reading (std::shared_mutex), so that they run"
            " together",
            LIKELY,
        )


def _beside(lock: dict, facts: Facts | None) -> Iterator[Reason]:
    """What threads write in the lock's cache line without holding it."""
    for write in (facts.beside if facts else [])[:1]:
        place = f" ({write.place})" if write.place else ""
        yield Reason(
            "false_sharing",
            f"threads write {write.variable}{place} in a loop without holding it, and that lies in"
            " its cache line: each such write takes the line from who takes or releases the lock",
            f"put {write.variable} on a cache line of its own (alignas(64))",
            LIKELY,
        )


def unexplained(lock: dict) -> Iterator[str]:
    """Waits that are longer than all who wait together could make them by the holds seen."""
    hold = lock["hold"]
    if not hold or not hold["samples"]:
        return
    for waits in lost_waits(lock):
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
