"""Where the time of a program's threads went: parts that add up to the sum of their lives.

Waits are exact. The kernel counts, for each thread, its processor time and how long it could have
run but had no processor; both also pass within waits, and that part is estimated from those waits
of which the kernel was asked (waiting.py); time without a processor that would be more than what
its thread's waits leave was within these, too, and so was processor time, of waits that poll. What
is left is time asleep in calls that are not
recorded. Where the kernel's counts are not known, as of a killed process since `record` last looked
at it, nobody can tell these apart, and the rest is unexplained.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from syncopate.base.since import zip_equal
from syncopate.base.terminal import in_sentence
from syncopate.base.units import duration, percent
from syncopate.records import (
    cpusamples,
    findings,
    javawaits,
    languages,
    openwaits,
    recordformat,
    runtimetasks,
)
from syncopate.records.analysis import Analysis
from syncopate.records.recordformat import AWAKE_KINDS, KIND_NAMES, LOST_KINDS, Thread

LATE_NS = 10_000_000  # what the kernel counts of a thread that runs is so late, at most: a tick
LARGE = 0.02  # of all thread time: what is worth a line
FEW_LOOKS = 3  # that found something: fewer may be by chance
MOST_UNSEEN = 0.2  # of all thread time: what may hide waits for locks that are not recorded
# System calls of x86-64 by number, as a record of the kernel's view has them; others that block are
# input and output, or wait for some. select() and poll() of no files are nanosleep() and pause().
STATE_OF_CALL = {35: "sleeping", 230: "sleeping", 61: "child", 247: "child", 24: "runnable"}
# mmap, mprotect, munmap, brk, mremap, madvise, mlock and its kin, mbind, migrate_pages, move_pages,
# process_madvise: all change the map of a process's memory, or what lies there.
STATE_OF_CALL |= dict.fromkeys((9, 10, 11, 12, 25, 28, 149, 150, 151, 152, 325, 329), "memory")
STATE_OF_CALL |= dict.fromkeys((237, 256, 279, 440), "memory")
# ptrace; clone, vfork and clone3, of which vfork waits for exec; exit and exit_group.
STATE_OF_CALL |= {101: "child", 56: "child", 58: "child", 435: "child"}
STATE_OF_CALL |= {60: "ending", 231: "ending"}
# fcntl and flock; membarrier, prctl, sched_setscheduler, sched_setaffinity, perf_event_open,
# seccomp, bpf, unshare and setns; restart_syscall, where what it goes on with began before.
STATE_OF_CALL |= {72: "file_locks", 73: "file_locks", 219: "resumed"}
STATE_OF_CALL |= dict.fromkeys((324, 157, 144, 203, 298, 317, 321, 272, 308), "kernel")
# pause, rt_sigsuspend and rt_sigtimedwait; semop, semtimedop, msgsnd and msgrcv.
STATE_OF_CALL |= dict.fromkeys((34, 130, 128), "signals")
STATE_OF_CALL |= dict.fromkeys((65, 220, 69, 70), "system_v")
# no_call, stopped and other_call of kernel_events.h.
STATE_OF_CALL |= {(1 << 32) - 1: "faults", (1 << 32) - 2: "stopped", (1 << 32) - 3: "other_calls"}
FAR_MORE = 2.0  # more than what looks leave out: of other processes
# Parts that may hide locks which processes share.
SHARED = ("futex", "semaphore", "system_v", "file_locks")
# Parts that may hide others; who spins on a crowded machine is mostly without a processor.
UNSEEN = ("futex", "unseen_futex", "yield", "spinning", "running", "runnable", "elsewhere",
          "unexplained", "signals", "system_v", "file_locks", "other_calls")  # fmt: skip


class Part(NamedTuple):
    """One line of the account."""

    state: str
    ns: int


BETWEEN_REGIONS = (  # instead, of an OpenMP program's threads
    "asleep at futexes that are not recorded, by looks at them: as threads of a team do between"
    " parallel regions, or at locks that are none of OpenMP's; `record --kernel` tells"
)
AT_BARRIERS = {"turn": "turns (`ordered`)", "tasks": "tasks"}  # counted with barriers
WHAT = {
    "locks": "waiting for locks",
    "condition": "waiting at condition variables",
    "barrier": "waiting at barriers",
    "futex": "waiting at futexes of its own that others wake (signals, or locks)",
    "unseen_futex": "asleep at futexes that are not recorded, by looks at them: the C library's"
    " own locks (of streams, of malloc), or a run-time's; `record --kernel` tells",
    "semaphore": "waiting for semaphores that other threads, or processes, post",
    "join": "waiting for threads to end",
    "yield": "in sched_yield(), as loops that wait are: maybe locks of the program's own",
    "spinning": "spinning until memory changes, or for a time",
    "running": "running: working, or spinning in code that is not recorded",
    "runnable": "able to run, but without a processor",
    "io": "blocked in input and output, or until there is some",
    "memory": "blocked in calls that map or release memory (mmap, madvise, munmap, ...)",
    "sleeping": "asleep for a time that it chose",
    "child": "waiting for processes to end, or to run another program",
    "file_locks": "waiting for locks of files, as processes share",
    "signals": "waiting for signals",
    "system_v": "waiting at semaphores or message queues of System V, as processes share",
    "faults": "blocked in page faults, which wait for memory, its map, or what is on disk",
    "stopped": "stopped, by a signal or a debugger",
    "ending": "blocked in calls that end a thread or the process",
    "kernel": "blocked in calls that wait for all processors (membarrier, sched_setaffinity, ...)",
    "other_calls": "blocked in calls of 32-bit code, which are not told apart",
    "resumed": "in a call that goes on after a signal, and began before the recording",
    "elsewhere": "in calls that are not recorded (sleep, input, output, the C library's locks,"
    " ...), or blocked in page faults",
    "unexplained": "unexplained",
}


class Account:
    """The account of one record. `states`: what threads did in waits, as waiting.cost() says."""

    def __init__(self, analysis: Analysis, states: dict[str, dict], samples: dict | None = None):
        """`samples`: where threads ran, as cpusamples.py tells."""
        self.of = analysis
        self.states = states
        self._spinning = samples["spinning"] / samples["count"] if samples else 0.0
        self.runs = analysis.record.runs

    def as_data(self) -> dict:
        """The `account` of docs/reference/report-schema.md."""
        threads = list(self.of.threads.values())
        total = sum(self._life(thread) for thread in threads)
        waits = self._waits()
        known = [self.counted(thread) for thread in threads]
        lives = sum(self._life(thread) for thread, each in zip_equal(threads, known) if each)
        cpu = sum(each[0] for each in known if each)
        delay = sum(each[1] for each in known if each)
        unseen = 0
        if self._ended_unseen():
            unseen, cpu = self._since_the_last_look(threads, cpu)
        why = None
        if lives < total:
            why = self._why_unknown()
            measured = self._measured_cpu()
            # More than its threads lived is of the programs that it became by exec, too.
            if measured is not None and not lives and measured <= total:
                cpu = measured
        if self.of.record.header.flags & (recordformat.DISK_FULL | recordformat.DESCRIPTOR_LOST):
            why = why or "the record could not grow any more: waits that came later are not in it"
        if self.of.record.header.is_without_proc():
            why = why or "/proc was not there, which tells how long threads had no processor"
        running, runnable = self._outside_waits(cpu, delay)
        waits |= self._calls()
        rest = total - sum(waits.values()) - running - runnable
        # Who is woken may be without a processor until the wait ends, which nobody measured.
        too_much = running + runnable - self._room_outside_waits(threads, known)
        within_waits = min(runnable, max(0, -rest, too_much))
        runnable, rest = runnable - within_waits, rest + within_waits
        polled = min(running, max(0, -rest, too_much - within_waits), self._may_have_polled(waits))
        running, rest = running - polled, rest + polled
        if -max(LARGE * total, LATE_NS) <= rest < 0:  # the only estimates here give way
            fits = max(0.0, 1 + rest / max(1, running + runnable))
            running, runnable, rest = int(running * fits), int(runnable * fits), 0
        spinning = round(running * self._spinning)
        parts = {**waits, "spinning": spinning, "running": running - spinning, "runnable": runnable}
        why = self._divide(max(0, rest), parts, why, unseen)
        return {
            "total_ns": total,
            "parts": {state: ns for state, ns in parts.items() if ns},
            "too_much_ns": max(0, -rest),
            "signaled_by_waiters_ns": self.of.ns(
                sum(group.signaled_by_waiters for group in self.of.groups)
            ),
            "why_unexplained": why if parts.get("unexplained") else None,
        }

    def _divide(self, rest: int, parts: dict, why: str | None, unseen: int) -> str | None:
        """Adds the rest to the parts. Returns why some of it is unexplained."""
        last = "elsewhere" if why is None and not self._by_kernel() else "unexplained"
        if why is None and min(rest, unseen):
            why, parts["unexplained"] = self._why_unseen(), min(rest, unseen)
            rest -= parts["unexplained"]
        outside = parts["running"] + parts["spinning"] + parts["runnable"] + rest
        futex = min(rest, self._at_unseen_futexes(outside)) if rest else 0
        parts["unseen_futex"] = futex
        parts[last] = parts.get(last, 0) + rest - futex
        return why

    def _by_kernel(self) -> bool:
        return self.of.record.header.recorder == recordformat.BY_KERNEL

    def _life(self, thread: Thread) -> int:
        end = thread.end_ticks or self.of.end_ticks
        return self.of.ns(max(0, end - thread.start_ticks))

    def _waits(self) -> dict[str, int]:
        sums: dict[str, int] = {}
        for (_, kind), (_, ticks) in self.of.row_sums.items():
            name = KIND_NAMES[kind]
            state = "locks" if name in LOST_KINDS else name
            sums[state] = sums.get(state, 0) + ticks
        return {state: self.of.ns(sums[state]) for state in WHAT if state in sums}

    def _calls(self) -> dict[str, int]:
        """Where the kernel saw threads blocked in other system calls."""
        sums: dict[str, int] = {}
        for _, call, _, ticks in self.of.record.calls():
            state = STATE_OF_CALL.get(call, "io")
            sums[state] = sums.get(state, 0) + self.of.ns(ticks)
        return sums

    def _outside_waits(self, cpu: int, delay: int) -> tuple[int, int]:
        """Of processor time and of time without one, how much passed outside of waits. Whoever
        tries again and again is never asleep, and was not asked which of both it had."""
        awake = next(iter(self.states.values()))["ns"]
        running, runnable = max(0, cpu - awake), max(0, delay - self.states["preempted"]["ns"])
        sums = self.of.row_sums.items()
        tried = self.of.ns(sum(t for (_, kind), (_, t) in sums if KIND_NAMES[kind] in AWAKE_KINDS))
        left = max(0, running + runnable - tried) / max(1, running + runnable)
        return round(running * left), round(runnable * left)

    def _room_outside_waits(self, threads: list[Thread], known: list) -> int:
        """How long threads can have been awake outside of waits at most: what one of them had of
        a processor, or of time without one, beyond what its own waits leave of its life was within
        these, however long others are asleep outside of theirs."""
        room = 0
        for thread, counted in zip_equal(threads, known):
            outside = max(0, self._life(thread) - self.of.ns(self.of.thread_waited[thread.id]))
            is_certain = counted and (thread.end_ticks or self._is_whole())
            room += min(outside, sum(counted)) if is_certain else outside
        return room

    def _may_have_polled(self, waits: dict[str, int]) -> int:
        """How long threads can have been running in waits that poll, for locks and at barriers, at
        most, beyond what is estimated of it: short waits are many, and few of them are asked."""
        awake = next(iter(self.states.values()))["ns"]
        return max(0, waits.get("locks", 0) + waits.get("barrier", 0) - awake)

    def counted(self, thread: Thread) -> tuple[int, int] | None:
        """Processor time, and time without one, as the kernel counts them; None: not known."""
        cpu, delay = thread.cpu_ns, thread.delay_ns  # also of others whose entry it has
        if not thread.end_ticks and not self._is_whole():
            now = None
            if self.runs:
                now = openwaits.times_of(self.of.record.header.process_id, thread)
            more = now or (thread.looked_cpu_ns, thread.looked_delay_ns)
            cpu, delay = cpu + more[0], delay + more[1]
        return (cpu, delay) if cpu else None

    def _is_whole(self) -> bool:
        """Whether the recorder has written what the kernel counts for threads that run."""
        ended = recordformat.FINISHED | recordformat.DETACHED
        return bool(self.of.record.header.flags & ended) or self._by_kernel()

    def _at_unseen_futexes(self, outside: int) -> int:
        """Of the time that passed outside of recorded waits, what threads slept at futexes."""
        header = self.of.record.header
        if not FEW_LOOKS <= header.looks_at_futex <= header.looks:  # damaged ones, too
            return 0
        return round(outside * header.looks_at_futex / header.looks)

    def _ended_unseen(self) -> bool:
        """Whether the process ended, and nobody counted for its threads in that moment."""
        was_replaced = self.of.record.header.flags & recordformat.REPLACED
        return not (self._is_whole() or self.runs or was_replaced)

    def _since_the_last_look(self, threads: list[Thread], cpu: int) -> tuple[int, int]:
        """Of a process that was killed: thread time of which nobody knows what passed in it, and
        its processor time in the end."""
        measured, in_the_end = self._measured_cpu(), cpu
        if cpu and measured is not None and cpu < measured <= FAR_MORE * cpu:
            in_the_end = measured
        gaps = sum(map(self._since_seen, threads))
        return max(0, gaps - (in_the_end - cpu)), in_the_end

    def _since_seen(self, thread: Thread) -> int:
        """How long before its end, or before a wait that was not over, `record` looked last."""
        record, wait = self.of.record, thread.open
        until = wait.since if wait and not wait.end else self.of.end_ticks
        looked = record.header.start_ticks + thread.looked_after_ms * 1e6 / record.ns_per_tick
        seen = max(thread.start_ticks, round(looked))
        return 0 if thread.end_ticks else self.of.ns(max(0, until - seen))

    def _measured_cpu(self) -> int | None:
        from syncopate.records.waiting import measured

        found = measured(self.of.record.header.measured)
        if found is None:
            return None
        return round((found["user_seconds"] + found["system_seconds"]) * 1e9)

    def _why_unseen(self) -> str:
        longest = max(map(self._since_seen, self.of.threads.values()))
        return (
            "the recorder did not see the process end, and it is not known whether its threads ran,"
            f" slept or had no processor in the last {duration(longest)}"
        )

    def _why_unknown(self) -> str:
        if self.of.record.header.flags & recordformat.FINISHED:
            return (
                "a thread ended together with the process, and what the kernel counts for it went"
                " with it: running without being recorded, asleep, or without a processor"
            )
        return (
            "the recorder did not see the process end, and what the kernel counts for each thread"
            " went with it: running without being recorded, asleep, or without a processor"
        )


def lines(results: dict) -> list[str]:
    """The account as a report's first screen has it: one line for each large part."""
    account = results["account"]
    total = account["total_ns"]
    if not total:
        return []
    large = [(state, ns) for state, ns in account["parts"].items() if ns >= LARGE * total]
    small = sum(ns for _, ns in account["parts"].items()) - sum(ns for _, ns in large)
    large.sort(key=lambda part: -part[1])
    found = [
        f"{percent(ns / total):>7}  {duration(ns):>8}  {_what(state, results)}"
        for state, ns in large
    ]
    if small:
        found.append(f"{percent(small / total):>7}  {duration(small):>8}  all else")
    if account["too_much_ns"] > LARGE * total:
        found.append(
            f"These add up to {duration(account['too_much_ns'])} more than the threads lived:"
            " the parts within waits are estimates"
        )
    if account["why_unexplained"] and account["parts"]["unexplained"] >= LARGE * total:
        found.append(f"Unexplained, since {account['why_unexplained']}")
    return found


def _what(state: str, results: dict) -> str:
    if state == "unseen_futex" and results["process"]["only_openmp"]:
        return BETWEEN_REGIONS
    seen = {lock["object"] for lock in results.get("locks", ())} if state == "barrier" else ()
    also = [text for each, text in AT_BARRIERS.items() if each in seen]
    if state in ("running", "spinning"):
        return (WHAT[state] if state == "spinning" else _running(results)) + cpusamples.where(
            results, state
        )
    return WHAT[state] + "".join(f", and for {text}" for text in also)


def _running(results: dict) -> str:
    """What threads did that ran, as far as it is known where."""
    samples = results.get("cpu_samples")
    if not samples:
        return WHAT["running"]
    if samples["unread"] >= cpusamples.MANY * samples["count"]:
        return "running: working, or spinning: its code, or much of it, cannot be read here"
    return "running: working, or spinning in ways that are not recognized"


def perhaps_other(results: dict) -> str:
    """What a report adds to the time lost to locks: what of that may be meant, and where locks of
    the program's own may be."""
    return _perhaps_less(results) + _perhaps_more(results)


def _perhaps_less(results: dict) -> str:
    share, called = findings.on_purpose(results)
    if share < LARGE:
        return ""
    return (
        f", of that {percent(share)} where threads may be put aside on purpose, as at"
        f" {in_sentence(called)}"
    )


def _perhaps_more(results: dict) -> str:
    tasks = runtimetasks.TASKS.get(results["process"]["tasks"])
    if tasks == runtimetasks.GOROUTINES:
        return tasks.without
    if waits_for_rows(results):
        return ", without waits for rows and tables, which are not told from those for clients"
    account = results["account"]
    states = ["futex", "unseen_futex", "yield"]
    if semaphores_may_be_locks(results):
        states.append("semaphore")
    without = (tasks.without if tasks else "") + javawaits.SAID * awaits_locks(results)
    if results["process"]["is_full"]:
        without += ", without what came after the record could not grow"
    if results["process"]["unseen_cpu_ns"]:
        without += ", without those of its threads that are not recorded"
    own = sum(account["parts"].get(state, 0) for state in states)
    own += _at_own_conditions(results)
    own += cpusamples.spins_as_locks(results)[0]
    if own < LARGE * account["total_ns"] or not own or not account["total_ns"]:
        return without
    share = percent(own / account["total_ns"])
    # Who spins has a processor, or could run: nobody knows for which it does.
    awake = sum(account["parts"].get(state, 0) for state in ("running", "runnable"))
    otherwise = " otherwise, or while without a processor" * bool(results.get("cpu_samples"))
    spins = f", beside any that spin{otherwise}" * (awake >= LARGE * account["total_ns"])
    return (
        f", and perhaps to locks of its own: up to {share} more{_most_of_it(results, own, states)}"
        f"{spins}{without}"
    )


def _most_of_it(results: dict, own: int, states: list[str]) -> str:
    """Where half of that or more was."""
    found = []
    for lock in results["locks"]:
        at_own = sum(waits["total_ns"] for kind, waits in lock["waits"].items() if kind in states)
        found.append((at_own + _at_own_condition(lock, results), lock))
    found = [(ns, lock["called"]) for ns, lock in found]
    found.append(cpusamples.spins_as_locks(results))
    most, called = max(found, key=lambda each: each[0])
    return f", most of it at {in_sentence(called)}" if most >= own / 2 and called else ""


def _at_own_conditions(results: dict) -> int:
    """What threads waited for condition variables that may be locks of the program's own: of its
    language, or those whose waiters signal them."""
    account = results["account"]
    if results["process"]["at_conditions"]:
        return account["parts"].get("condition", 0)
    return account["signaled_by_waiters_ns"]


def _at_own_condition(lock: dict, results: dict) -> int:
    """The same of one."""
    if results["process"]["at_conditions"]:
        waits = lock["waits"].get("condition")
        return waits["total_ns"] if waits else 0
    return lock["signaled_by_waiters_ns"]


def waits_for_rows(results: dict) -> bool:
    """Whether it is PostgreSQL, whose processes wait for these by other calls than locks do."""
    return os.path.basename(results["process"]["executable"]) == "postgres"


def awaits_locks(results: dict) -> bool:
    """Whether much of the time went into waits of Java's that are perhaps for locks, in part."""
    waited = javawaits.with_the_lock_again(results)
    return waited > 0 and waited >= LARGE * results["account"]["total_ns"]


def semaphores_may_be_locks(results: dict) -> bool:
    """Whether the record does not tell who has taken one: the kernel and Java's VM do not, nor do
    other processes."""
    by_library = results["process"]["recorder"] not in ("kernel", "jvm")
    return not by_library or len(results["threads"]) == 1


def awaits_python(results: dict) -> str:
    """What to say where much of the time went into waits of Python's that are perhaps for locks:
    those of its semaphores are made of what signals are made of."""
    if results["process"]["recorder"] == "kernel":  # there all of these are perhaps locks
        return ""
    by_site = {languages.LOCK_NAME: 0, languages.SEMAPHORE_NAME: 0}
    for lock in results["locks"]:
        site = lock["site"]
        if site.startswith(languages.SEMAPHORE_NAME):
            site = languages.SEMAPHORE_NAME
        if site in by_site and "semaphore" in lock["waits"]:
            by_site[site] += lock["waits"]["semaphore"]["total_ns"]
    least = max(1, LARGE * results["account"]["total_ns"])
    if sum(by_site.values()) < least:
        return ""
    of_semaphores = by_site[languages.SEMAPHORE_NAME] >= by_site[languages.LOCK_NAME]
    return languages.NOTE_ON_SEMAPHORES if of_semaphores else languages.NOTE_ON_PYTHON


def awaits_semlocks(results: dict) -> bool:
    """Whether much of it was lost to locks of Python's multiprocessing, which its queues have."""
    found = (lock["lost_ns"] for lock in results["locks"] if lock["site"] == languages.SHARED_NAME)
    return (lost := sum(found)) > 0 and lost >= LARGE * results["account"]["total_ns"]


def unseen(results: dict) -> float:
    """Of all thread time, what passed where there may be locks that are not recorded. A thread
    alone waits for nobody but other processes, by what they share."""
    account = results["account"]
    is_alone = len(results["threads"]) == 1 and not results["process"]["unseen_cpu_ns"]
    states = SHARED if is_alone else UNSEEN
    if semaphores_may_be_locks(results):
        states += tuple({"semaphore"} - {*states})
    ns = sum(account["parts"].get(state, 0) for state in states)
    ns += _at_own_conditions(results)
    return ns / account["total_ns"] if account["total_ns"] else 0.0


def is_explained(results: dict) -> bool:
    """Whether what is recorded tells where most of the time of several threads went."""
    process = results["process"]
    if process["tasks"] or process["unseen_cpu_ns"] or waits_for_rows(results):
        return False
    if process["is_full"]:
        return False
    if awaits_locks(results) or awaits_python(results):
        return False
    return unseen(results) <= MOST_UNSEEN
