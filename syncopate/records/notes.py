"""What a report says of a record as a whole, beside its numbers: what is missing in it, and what is
not to be seen by its recorder or in such a program.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re

from syncopate.base.errors import Failure
from syncopate.base.shown import shown
from syncopate.base.units import duration, several
from syncopate.records import histogram, javawaits, languages, recordformat, runtimetasks
from syncopate.records.analysis import Analysis
from syncopate.records.naming import is_ours_module, is_region_of_gnu
from syncopate.records.recordfile import Record
from syncopate.records.waitsums import Kind

FEW_STACKS = 0.01  # of those that were to be copied: so many fewer change nothing
# Of a process's processor time, in threads that are not recorded: less is how threads end.
MUCH_UNSEEN, LEAST_UNSEEN_MS = 0.05, 10
# Run-times for OpenMP, in a line of a process's memory; what is much at their futexes, of all time.
OPENMP = re.compile(r"\blib(gomp|i?omp5?)(?=(-[-.\w]+)?\.so\b)", re.ASCII)
AT_FUTEX, MUCH_AT_OPENMP, FEW_LOOKS = {"futex", "futex_lock"}, 0.05, 3

# Where keeping libgomp's teams may help: many starts and ends of regions (two for each), that take
# part of the time, and mostly for themselves: who waits that long at an end waits for work.
MANY_REGION_WAITS = 2000
LEAST_AT_REGIONS = 0.05
SHORT_REGION_WAIT_NS = 100_000


class Notes:
    """Of one record. Also what of these the report says in its numbers."""

    def __init__(self, analysis: Analysis):
        self.of = analysis

    def all(self) -> list[str]:
        flags = self.of.record.header.flags
        notes = []
        if flags & recordformat.DETACHED:
            notes.append("the recording ended, and the program went on")
        elif not flags & recordformat.FINISHED:
            notes.append(self._without_an_end())
        if lack := recordformat.lack_of_room(flags):
            notes.append(f"{lack}: what happened afterwards is missing")
        if flags & recordformat.DESCRIPTOR_LOST:
            notes.append("the program closed the record's descriptor: later events are missing")
        if without := self.of.record.header.without_record():
            notes.append(f"{without}; name a file (-o) where these may make others beside it")
        if quiet := self.of.record.header.quiet_children:
            notes.append(
                f"{quiet:,} forked {'process' if quiet == 1 else 'processes'} came to nothing that"
                f" is recorded, as waits, and so {'has' if quiet == 1 else 'have'} no record"
            )
        if flags & recordformat.TABLE_FULL:
            notes.append("more locks than the record's table holds: the rest is counted together")
        if self.has_more_threads():
            notes.append(
                f"{recordformat.SEPARATE_THREADS:,} threads or more: later ones are told together"
                " with ones that had ended, and not counted"
            )
        if self.has_only_openmp():
            notes.append(
                "OpenMP's waits alone are recorded, of threads that came to one of its barriers,"
                " locks or tasks, or start a region; other threads and waits are not in here"
            )
        if flags & recordformat.TASK_WAITS_UNTOLD:
            notes.append(
                "OpenMP's tasks have more functions than the recorder can tell apart: from the"
                " first such task on, waits for tasks (`taskwait`, `taskgroup`, at barriers) are"
                " not in here"
            )
        if self.of.record.header.is_without_proc():
            notes.append(
                "/proc was not there: what the program is called, what lies where in its memory and"
                " how long its threads had no processor are not known"
            )
        if flags & recordformat.SAMPLED:
            notes.append("some events were thinned out: sums are exact, stacks weighted samples")
        if self.of.read_every > 1:
            notes.append(
                f"{self.of.record.event_count():,} events were recorded; of those shorter than 1 ms"
                f" one in {self.of.read_every} was read: sums are exact, stacks weighted samples"
            )
        notes += javawaits.notes(self.of.record.maps().splitlines())
        notes += self._of_unseen_threads()
        return notes + self._of_kernel() + self._of_others() + self._of_openmp() + self._regions()

    def has_more_threads(self) -> bool:
        """Whether there may have been more threads than have entries: later
        ones share those of threads that ended, but in the JVM's record."""
        by_jvm = self.of.record.header.recorder == recordformat.BY_JVM
        return not by_jvm and len(self.of.threads) >= recordformat.SEPARATE_THREADS

    def unseen_cpu_ns(self) -> int:
        """Processor time of threads that are not recorded, where that is more than little."""
        header = self.of.record.header
        unseen = header.unseen_cpu_ms * 1_000_000
        seen = sum(thread.cpu_ns for thread in self.of.threads.values())
        little = self.has_only_openmp() or unseen < MUCH_UNSEEN * (seen + unseen)
        return 0 if little or header.unseen_cpu_ms < LEAST_UNSEEN_MS else unseen

    def _of_unseen_threads(self) -> list[str]:
        unseen = self.unseen_cpu_ns()
        if not unseen:
            return []
        return [
            f"{duration(unseen)} of processor time went to threads that are not in here, as a"
            " program makes that calls the kernel for them, or asks for pthread_create by name:"
            " `syncopate record --kernel` sees them, and what they wait for"
        ]

    def has_only_openmp(self) -> bool:
        return bool(self.of.record.header.flags & recordformat.ONLY_OPENMP)

    def _without_an_end(self) -> str:
        """What became of a program that did not end by itself while it was recorded."""
        record, became = self.of.record, self._became()
        if record.header.flags & recordformat.REPLACED:
            other = f", whose record is {became}" if became else ""
            return f"the program became another one by exec{other}"
        if record.header.flags & recordformat.GAVE_UP:
            return (
                "the recorder stopped by itself, since a thread that had one of its locks did not"
                " release it: what came after is missing; counts may lag by up to 255 per lock"
            )
        if record.header.flags & recordformat.KILLED:
            return "a signal ended the program"
        if record.has_lost_its_recorder():
            return (
                "the recorder ended before the recording: it was killed, or failed; what came after"
                f" the first {duration(self.of.ns(record.end_ticks - record.header.start_ticks))}"
                " is missing"
            )
        there = record.runs or record.is_of_a_running_program()
        state = "still runs" if there else "was killed, or ended unseen, as by exec"
        if became:
            state = f"became another one by exec, whose record is {became}"
        by_kernel = record.header.recorder == recordformat.BY_KERNEL
        lag = "" if by_kernel else "; counts may lag by up to 255 per lock"
        known = record.runs or record.header.ended_monotonic_ns
        until = "" if known else ", and times are until its last wait: its end was not seen"
        return f"the program {state}{lag}{until}"

    def was_replaced(self) -> bool:
        """Whether the process became another program by exec, and went on without this record."""
        flags = self.of.record.header.flags
        return bool(flags & recordformat.REPLACED) or (
            not flags & recordformat.FINISHED and bool(self._became())
        )

    def _became(self) -> str:
        """The record of the program that the process became by exec, which lies beside its own; ""
        where there is none."""
        path, known = self.of.record.path, self.of.record.header
        ending = f".{known.process_id}"
        of_child, _, number = path.rpartition(f"{ending}.")
        paths = [path + ending, path + ".1" if path.endswith(ending) else ""]
        if of_child and number.isdigit():
            paths.append(f"{of_child}{ending}.{int(number) + 1}")
        for each in filter(os.path.isfile, paths):
            with contextlib.suppress(Failure, OSError):
                header = Record(each).header
                if header.process_id == known.process_id and (
                    header.start_monotonic_ns > known.start_monotonic_ns
                ):
                    return shown(each)
        return ""

    def _of_kernel(self) -> list[str]:
        """What the recorder outside of the process cannot see."""
        header = self.of.record.header
        if header.recorder != recordformat.BY_KERNEL:
            return []
        spinning = (
            ", and how long they were held are not seen; spinning is, where its code is recognized"
            if self.of.record.cpu_samples()
            else ", how long they were held, and spinning are not seen"
        )
        notes = [
            "seen from the kernel: a wait is one sleep at a futex; how often locks were taken"
            f" without sleeping{spinning}"
        ]
        if self.at_conditions() == "Java":
            notes.append(
                "a JVM: its monitors are among the condition variables, Java's code has no names;"
                " `syncopate record` without --kernel tells of Java's own locks"
            )
        if any(map(is_ours_module, self.of.record.maps().splitlines())):
            notes.append(
                "it runs with Syncopate's library, whose mutexes and condition variables are among"
                " the program's own futexes and locks here; `syncopate record -- PROGRAM` tells"
                " them apart"
            )
        if not self.of.record.maps():
            notes.append(
                "it had ended when its recorder was to read what it had mapped: places have no"
                " names, and whether a futex is a mutex's, a semaphore's or of its own is not known"
            )
        if header.lost_waits:
            notes.append(
                f"{several(header.lost_waits, 'event')} (waits, beginnings and ends of threads)"
                " came faster than could be kept, of all processes that were watched together:"
                f" {duration(self.of.ns(header.lost_ticks))} of waiting is missing"
            )
        wanted = header.lost_stacks + header.copied_stacks
        if header.lost_stacks > FEW_STACKS * wanted:
            notes.append(
                f"of {wanted:,} stacks of waiters, and of who woke them, {header.lost_stacks:,}"
                " came faster than they could be read, in all processes that were watched: sums"
                " are exact; places, and what a futex is, are told from the others"
            )
        return notes

    def at_conditions(self) -> str:
        header = self.of.record.header
        if header.recorder == recordformat.BY_JVM:
            return ""
        return languages.at_conditions(header.executable, self.of.record.maps().splitlines())

    def _of_others(self) -> list[str]:
        """Locks that are made of what is no lock."""
        by_kernel = self.of.record.header.recorder == recordformat.BY_KERNEL
        tasks = self.tasks
        if tasks == runtimetasks.GOROUTINES:
            return [tasks.note]
        return [*([tasks.note] if tasks else []), *self._of_conditions(by_kernel)]

    def _of_conditions(self, by_kernel: bool) -> list[str]:
        language = self.at_conditions()
        if language and not (by_kernel and language == "Java"):  # of which more is said
            return [languages.note_on(language)]
        # PostgreSQL's: they end by a signal that epoll tells of.
        header = self.of.record.header
        if os.path.basename(header.executable) != "postgres":
            return []
        among = "input and output" if by_kernel else "calls that are not recorded"
        return [
            "PostgreSQL: its processes wait for rows and tables as they wait for clients, in"
            f" epoll_wait: that is among {among} here; pg_stat_activity tells it"
            " (wait_event_type Lock)"
        ]

    @functools.cached_property
    def tasks(self) -> runtimetasks.Tasks | None:
        """What the program runs on its threads, and waits without them; None: nothing is known of
        such."""
        if self.is_go:
            return runtimetasks.GOROUTINES
        record = self.of.record
        lines = record.maps().splitlines()
        carries = any(
            t.name.startswith(runtimetasks.UNBLOCKS_VIRTUAL) for t in self.of.threads.values()
        )
        if carries or runtimetasks.VIRTUAL in lines:
            return runtimetasks.VIRTUAL_THREADS
        if runtimetasks.loads_asyncio(lines):
            return runtimetasks.ASYNCIO
        executable, holds = record.header.executable, self.of.symbolizer.holds
        if os.path.basename(executable) == runtimetasks.ERLANGS_MACHINE:
            return runtimetasks.ERLANG
        if holds(executable, runtimetasks.MARK_OF_TOKIO):
            return runtimetasks.TOKIO
        return runtimetasks.HASKELL if holds(executable, runtimetasks.MARK_OF_HASKELL) else None

    @functools.cached_property
    def is_go(self) -> bool:
        """Whether threads wait in Go's runtime, which tells its functions by tables of its own; or,
        where that is not seen, whether Go's linker wrote the program."""
        header = self.of.record.header
        if header.recorder == recordformat.BY_KERNEL:
            return any(group.name.text.startswith("runtime.") for group in self.of.groups)
        return self.of.symbolizer.holds(header.executable, runtimetasks.MARK_OF_GO)

    def hints(self) -> list[str]:
        """How to get names for the locks that were waited for and have none."""
        modules = set()
        for group in self.of.groups:
            if group.kinds and group.name.module:
                modules.add(group.name.module)
        hint = self.of.symbolizer.hint(modules)
        return [hint] if hint else []

    def _of_openmp(self) -> list[str]:
        """Which recorder has the waits of a run-time for OpenMP, which calls the kernel by itself,
        where threads may have spent much of their time in these."""
        header, lines = self.of.record.header, self.of.record.maps().splitlines()
        runtime = next((found[0] for line in lines if (found := OPENMP.search(line))), None)
        if runtime is None or self.has_only_openmp():
            return []
        share = header.looks_at_futex / header.looks if header.looks >= FEW_LOOKS else 0.0
        if header.recorder == recordformat.BY_KERNEL:
            waited = sum(
                kind.total
                for group in self.of.groups
                for name, kind in group.kinds.items()
                if name in AT_FUTEX and group.name.module.rpartition("/")[2].startswith(runtime)
            )
            share = waited / max(1, sum(map(self.of.life, self.of.threads)))
        if share < MUCH_AT_OPENMP:
            return []
        return [
            f"OpenMP: its run-time ({runtime}) waits at futexes of its own; `syncopate record"
            " --omp` tells at which barriers, tasks and locks; the rest is mostly threads of a team"
            " that wait for the next parallel region"
        ]

    def _regions(self) -> list[str]:
        """What would help a program that spends its time where libgomp starts and ends regions."""
        waits = Kind()
        for group in self.of.groups:
            if group.locks and is_region_of_gnu(group.locks[0]):
                waits.add_all(group.kinds["barrier"])
        # Who starts one waits there; its other threads are not seen to.
        passed = sum(map(self.of.life, waits.threads))
        if waits.waits < MANY_REGION_WAITS or waits.total < LEAST_AT_REGIONS * passed:
            return []
        # Starts are short; so this is the median of the ends.
        usual = histogram.percentile(waits.histogram, 0.75, waits.largest) or 0.0
        if self.of.ns(usual) > SHORT_REGION_WAIT_NS:
            return []
        several = len(waits.threads) > 1
        whose = f" of the {len(waits.threads):,} threads that start them" * several
        return [
            f"{waits.total / passed:.0%} of the time{whose} passed where {waits.waits // 2:,}"
            " parallel regions start and end: try `syncopate run --omp-regions kept`"
        ]
