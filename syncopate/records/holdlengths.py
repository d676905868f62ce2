"""Why a lock costs what it costs, where nothing tells of its holders but how long they held it:
some holds are far longer than others, all are long, or they are many; or threads lack processors.
"""

from __future__ import annotations

from collections.abc import Iterator

from syncopate.base.terminal import in_sentence
from syncopate.base.units import about, count, duration, percent
from syncopate.records import knowncalls
from syncopate.records.lockfigures import (
    CERTAIN,
    FAR_LONGER,
    FEW_HOLDS,
    INNER_FRAMES,
    LIKELY,
    LIMIT_DO,
    LONG_HOLD_NS,
    MOSTLY,
    MUCH_LONGER,
    NEARLY_ALL,
    POSSIBLE,
    Reason,
    at_once,
    blocking,
    by_waits,
    calls_of,
    for_processors,
    functions_of,
    got,
    had_no_more,
    held,
    is_bound_by,
    may_call,
    mean_wait,
    named_calls,
    named_processors,
    no_exceptions,
    others_had_processors,
    rate,
    threads_wanting,
    undisturbed_hold,
    usable_processors,
    usual_hold,
    watched,
)
from syncopate.records.naming import is_runtime
from syncopate.records.recordformat import LOST_KINDS
from syncopate.records.sectioncode import Facts

_WAITS_FOR = {  # kinds of waits that one lock may have beside others
    "mutex": "waits for it by who comes to take it",
    "mutex_relock": "waits for it after a wait at a condition variable",
    "read": "waits for reading",
    "write": "waits for writing",
}
EXCLUSIVE = {"mutex", "mutex_relock", "spinlock", "condition"}  # kinds of waits of such locks
FEW_OF_LOST = 0.1  # of the time lost to a lock: what cannot be why
LONG_WAIT_NS = 1_000_000  # it is no queue of short sections
WORTH_SHARING_NS = 1_000  # shorter sections cost less than what a reader-writer lock costs more
SYSTEM_CALLS_NS = 5_000  # so long a few take that find all they need in memory
ALL_BUT_FEW = 0.98
READ_MOSTLY = 0.8  # of holds: then six of ten pairs can run together under a reader-writer lock
SLICE_NS = 4_000_000  # for so long a thread keeps its processor while others want it
SELDOM_HELD = 0.05  # of the time: so seldom that hardly ever two threads queue for it
TOO_MANY = 1.5  # threads that want to run, for each processor, in the mean


def may_be_meant(causes: list[str], facts: Facts | None) -> bool:
    """Whether threads may be put aside at the lock on purpose, as workers without work: where who
    holds it waits for requests; else not where the code of its sections was read, and does
    something."""
    if awaits_work(facts):
        return not {"sleeps", "input_output", "kept", "gate"}.isdisjoint(causes)
    does_something = facts and facts.share and facts.only_read < MOSTLY
    return "gate" in causes or ("kept" in causes and not does_something)


def awaits_work(facts: Facts | None) -> bool:
    """Whether most of a lock's sections, or of those that others wait for, wait for requests."""
    return any(
        knowncalls.awaits_work([call.function for call in calls_of(of, knowncalls.INPUT_OUTPUT)])
        and not calls_of(of, knowncalls.SLEEP)
        for of in ((facts, facts.of_blamed()) if facts else ())
    )


def kept(lock: dict, results: dict, facts: Facts | None) -> Iterator[Reason]:
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
    each = lock["lost_ns"] / lock["threads_lost"] / releases
    slices = SLICE_NS * max(1.0, threads_wanting(results) / usable_processors(results))
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
    total = max(1, sum(ns.values()))
    known = total - ns.pop("unknown", 0)
    if not ns or lock["threads_lost"] < 2:
        return ""
    holder = max(ns, key=lambda each: ns[each])
    share, mean = ns[holder] / total, mean_wait(lock)
    usual = usual_hold(lock["hold"])
    if ns[holder] < NEARLY_ALL * known or share < MOSTLY:
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
    if mean < MUCH_LONGER * usual * lock["threads_lost"]:
        return ""
    within_waits = results["waiting"]["states"]["preempted"]["ns"]
    if account["parts"].get("runnable", 0) + within_waits > FEW_OF_LOST * lock["lost_ns"]:
        return ""
    return (
        f"some holds are far longer than those timed ({duration(usual)} in the mean): waits last"
        f" {duration(mean)} each, while hardly any thread is without a processor"
    )


def crowded(lock: dict, results: dict) -> Iterator[Reason]:
    """More threads want to run than there are processors, and the lock is mostly free, but for
    holders that have none."""
    wanting = threads_wanting(results)
    if not lock["hold"] or wanting < TOO_MANY * usable_processors(results):
        return
    lost_it = watched(lock)["preempted"] > 0
    hold_ns = undisturbed_hold(lock) if lost_it else lock["hold"]["mean_ns"]
    share = held(lock, results, hold_ns)
    if share is None or is_bound_by(lock, results, hold_ns):
        return
    far_longer = mean_wait(lock) >= MUCH_LONGER * hold_ns
    if not _beyond_holds(lock) and not (share < SELDOM_HELD and far_longer):
        return
    why = (
        f"{wanting:.1f} threads want to run in the mean, on {named_processors(results)}; it is held"
        f" {about(share)} of the time ({duration(hold_ns)} in the mean"
        f"{', but for holders without one' * lost_it}): who could take it, or hand it on, has no"
        " processor"
    )
    limited = had_no_more(results)
    if others_had_processors(results) and not limited:
        yield Reason("busy", f"{why}, which other programs have", for_processors(results), LIKELY)
        return
    fewer = f"run fewer threads than the {at_once(results)}: about as many as processors"
    yield Reason("crowded", why, LIMIT_DO if limited else fewer, LIKELY)


def _is_busy_elsewhere(results: dict) -> bool:
    """Whether threads were without a processor for longer than they had one, though there were
    not more of them than processors: other programs had those."""
    parts = results["account"]["parts"]
    few = threads_wanting(results) < TOO_MANY * results["process"]["processors"]
    return few and parts.get("runnable", 0) > parts.get("running", 0) > 0


def _who_had(results: dict) -> str:
    return "a limit kept from it" if had_no_more(results) else "other programs had"


def _beyond_holds(lock: dict) -> bool:
    """Whether waits are longer than all who wait together could make them by the usual holds."""
    usual = usual_hold(lock["hold"])
    return mean_wait(lock) >= MUCH_LONGER * lock["threads_lost"] * usual or any(unexplained(lock))


def by_length(lock: dict, results: dict, facts: Facts | None) -> list[Reason]:
    hold = lock["hold"]
    if not hold:
        why = f"{holds_unseen(lock, results)}{at_most(lock, results)}"
        if by_code := [*_by_code(lock, facts, why)]:
            return by_code
        return [Reason("unknown", why, _see_holds(lock, results), CERTAIN)]
    if hold["mean_ns"] >= LONG_HOLD_NS:
        return [_long(lock, results, facts)]
    often = rate(lock, results)
    share = held(lock, results)
    took = f"a hold takes {duration(hold['mean_ns'])} in the mean"
    short = f"a hold is short ({duration(hold['mean_ns'])} in the mean)"
    found = [*_beside(results, facts), *_readers(lock, facts)]
    if _beyond_holds(lock) and not is_bound_by(lock, results):
        far = f"{short}, there {often}, and waits are far longer"
        far += f" ({duration(mean_wait(lock))}): "
        if _is_busy_elsewhere(results):
            return [
                *found,
                Reason(
                    "busy",
                    f"{far}{_who_had(results)} the processors that its threads wanted",
                    for_processors(results),
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
    alone = [*_allocates_alone(lock, facts, short)] or [*_writes_or_reads(lock, facts, took)]
    too = [] if alone else [*_allocates_too(lock, facts)]
    calls = "" if alone or too else _calls_to_allocate(facts)
    return [
        *found,
        *alone,
        Reason(
            "often",
            f"{short}, but there {often}{_held(share)}{calls}",
            "take it less often (a part for each thread, several steps in one section), or split"
            f" it{', or allocate before it is taken' * bool(calls)}; `syncopate tune` tries other"
            " locks",
            by_waits(lock),
        ),
        *too,
    ]


def beside_preemption(lock: dict, results: dict, facts: Facts | None) -> Iterator[Reason]:
    """What the code of its sections tells besides, where holders lose the processor: of holds that
    keep it."""
    if not lock["hold"]:
        return
    usual = undisturbed_hold(lock)
    without = lock | {"hold": lock["hold"] | {"mean_ns": usual}}
    where = f"({duration(usual)} in the mean where its holder keeps the processor)"
    if usual >= LONG_HOLD_NS:
        yield from _long_by_code(without, facts, f"a hold is long {where}")
        return
    yield from _beside(results, facts)
    yield from _readers(without, facts)
    short = f"a hold is short {where}"
    alone = [*_allocates_alone(without, facts, short)]
    took = f"a hold takes {where[1:-1]}"
    yield from alone or _writes_or_reads(without, facts, took)
    yield from () if alone else _allocates_too(without, facts)


def _by_code(lock: dict, facts: Facts | None, why: str) -> Iterator[Reason]:
    """Waits that are long, where holds are not seen: what every way through the section calls."""
    for kind in (knowncalls.SLEEP, knowncalls.INPUT_OUTPUT):
        calls = calls_of(facts, kind)
        if calls and kind in facts.slow and mean_wait(lock) >= LONG_HOLD_NS:
            cause, do = blocking(kind, functions_of(calls))
            why += f"; its section always calls {named_calls(calls)}, and waits last"
            yield Reason(cause, f"{why} {duration(mean_wait(lock))} in the mean", do, LIKELY)
            return


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


def at_most(lock: dict, results: dict) -> str:
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


def _see_holds(lock: dict, results: dict) -> str:
    """What shows how long it is held; "" where nothing does."""
    if results["process"]["recorder"] != "kernel" or lock["shared"]:
        return ""  # of what processes share the library sees no more
    inner = [
        frame
        for stack in lock["waiters"]
        for frame in stack["frames"][:INNER_FRAMES]
        if is_runtime(frame["module"])  # it acts on no program that has these linked in
    ]
    posix = ("pthread_", "sem_wait", "sem_timedwait", "sem_clockwait")
    if not any(name in frame["function"] for frame in inner for name in posix):
        return ""
    return "start the program by `syncopate record`, without --kernel, which sees how long"


def _held(share: float | None) -> str:
    return "" if share is None or share > 1 else f": it is held {about(share)} of the time"


def _long(lock: dict, results: dict, facts: Facts | None) -> Reason:
    """A hold that takes long, and what its code does meanwhile."""
    runs = ", and who holds it mostly runs" * _holders_run(lock, results)
    long = f"a hold is long: {duration(lock['hold']['mean_ns'])} in the mean{runs}"
    long += _held(held(lock, results))
    for reason in _long_by_code(lock, facts, long):
        return reason
    return Reason(
        "long",
        long + may_call(calls_of(facts, knowncalls.INPUT_OUTPUT)),
        "move work out of the section, or split the lock where threads want different data",
        by_waits(lock),
    )


def _long_by_code(lock: dict, facts: Facts | None, long: str) -> Iterator[Reason]:
    """What a section's code does for so long."""
    if calls := no_exceptions(facts, calls_of(facts, knowncalls.INPUT_OUTPUT)):
        yield Reason(
            "input_output",
            f"{long}; its section calls {named_calls(calls)}",
            f"copy what is to be read or written, and call {functions_of(calls)} after the release,"
            " or in a thread of its own",
            LIKELY,
        )
        return
    calls = calls_of(facts, knowncalls.ALLOCATION)
    if any(call.looped for call in calls):
        yield _allocates(f"{long}; its section calls {named_calls(calls)} again and again", LIKELY)
        return
    for reason in _readers(lock, facts):
        yield reason._replace(why=f"{long}, and {reason.why}")


def _allocates(why: str, sure: str) -> Reason:
    do = "allocate before it is taken and free after it is released, or keep a pool"
    return Reason("allocates", why, do, sure)


def _allocates_alone(lock: dict, facts: Facts | None, short: str) -> Iterator[Reason]:
    """What a short hold is spent on where its code does hardly anything else."""
    calls = calls_of(facts, knowncalls.ALLOCATION)
    if calls and facts.allocating * facts.share >= MOSTLY:
        yield _allocates(
            f"{short}, and its section does little but call {named_calls(calls)}", LIKELY
        )


def _writes_or_reads(lock: dict, facts: Facts | None, took: str) -> Iterator[Reason]:
    """A hold that is no long one, but far longer than a few system calls need, and makes some."""
    calls = no_exceptions(facts, calls_of(facts, knowncalls.INPUT_OUTPUT))
    if calls and lock["hold"]["mean_ns"] >= SYSTEM_CALLS_NS:
        _, do = blocking(knowncalls.INPUT_OUTPUT, functions_of(calls))
        why = f"its section calls {named_calls(calls)}, and {took}"
        yield Reason("input_output", why, do, LIKELY)


def _allocates_too(lock: dict, facts: Facts | None) -> Iterator[Reason]:
    """What a short hold that takes more than a lock does may be spent on."""
    calls = calls_of(facts, knowncalls.ALLOCATION)
    if lock["hold"]["mean_ns"] >= WORTH_SHARING_NS and any(call.looped for call in calls):
        yield _allocates(f"its section calls {named_calls(calls)} again and again", POSSIBLE)


def _calls_to_allocate(facts: Facts | None) -> str:
    """What a short section calls for memory, as the end of a sentence; whether it does so each time
    is not certain where there are ways without."""
    kinds = (knowncalls.ALLOCATION, knowncalls.PERHAPS_ALLOCATION)
    calls = [call for kind in kinds for call in calls_of(facts, kind)]
    if calls and knowncalls.ALLOCATION in facts.slow:
        return f"; its section calls {named_calls(calls)}"
    return may_call(calls)


def _holders_run(lock: dict, results: dict) -> bool:
    """Whether most of many holds were seen to run on, and threads ran for long enough for that, as
    far as that is known."""
    share, ran = held(lock, results) or 0.0, results["account"]["parts"].get("running")
    took = min(share, 1.0) * results["process"]["duration_ns"]
    return watched(lock)["watched"] >= FEW_HOLDS and (ran is None or ran >= MOSTLY * took)


def _readers(lock: dict, facts: Facts | None) -> Iterator[Reason]:
    """Sections that only read keep each other out."""
    if facts is None or lock["hold"]["mean_ns"] < WORTH_SHARING_NS:
        return
    # Of a hold that was not read, or whose release was not seen, nobody knows.
    only_read = facts.only_read * facts.share
    why = f"in {percent(only_read)} of the holds whose place is known the code writes nothing that"
    why += " others see"
    do = "let these take a reader-writer lock for reading (std::shared_mutex), so that they run"
    least = READ_MOSTLY
    if lock["object"] == "rwlock":
        # Holds for reading are among them: who writes, too, is not who waits.
        if "read" in lock["waits"]:
            return
        why += ", and all who wait for it want it for writing"
        do = "let these take it for reading (std::shared_lock), so that they run"
        least = ALL_BUT_FEW
    if only_read >= least:
        yield Reason("readers", why, f"{do} together", LIKELY)


def _beside(results: dict, facts: Facts | None) -> Iterator[Reason]:
    """What threads write in the line of the lock without holding it: it moves between processors,
    where there are several."""
    if results["process"]["processors"] == 1:
        return
    for write in (facts.beside if facts else [])[:1]:
        place = f" ({write.place})" if write.place else ""
        yield Reason(
            "false_sharing",
            f"threads write {write.variable}{place} again and again without holding it, and that"
            " lies in its cache line: each such write takes the line from who takes or releases"
            " the lock",
            f"put {write.variable} on a cache line of its own (alignas(64))",
            LIKELY,
        )


def unexplained(lock: dict) -> Iterator[str]:
    """Waits that are longer than all who wait together could make them by the holds seen."""
    hold = lock["hold"]
    if not hold or not hold["samples"]:
        return
    kinds = {kind: waits for kind, waits in lock["waits"].items() if kind in LOST_KINDS}
    for kind, waits in kinds.items():
        mean = waits["mean_ns"] or 0
        if mean > hold["max_ns"] * max(1, lock["threads_lost"]):
            which = _WAITS_FOR.get(kind, "waits of one kind") if len(kinds) > 1 else "waits"
            yield (
                f"{which} ({duration(mean)} in the mean) are longer than holds explain (the longest"
                f" seen: {duration(hold['max_ns'])}): others took it several times meanwhile, a"
                " longer hold was not seen, or threads that could go on had no processor"
            )
            return
