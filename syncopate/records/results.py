"""What a report says about one record, as plain data: docs/reference/report-schema.md describes it.

All times here are nanoseconds.
"""

from __future__ import annotations

import datetime
import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from syncopate.base.shown import shown
from syncopate.records import findings, histogram, languages, lockfigures, recordformat, waiting
from syncopate.records.account import Account, awaits_python, awaits_semlocks
from syncopate.records.analysis import Analysis
from syncopate.records.cpusamples import CpuSamples
from syncopate.records.difference import ways
from syncopate.records.innerwaits import InnerWaits
from syncopate.records.lockgroups import Group, is_for_signals
from syncopate.records.members import MOST_LOCKS, MOST_VARIABLES, Members, Named
from syncopate.records.naming import is_region, object_name, telling, telling_on, wrapper_frames
from syncopate.records.notes import Notes
from syncopate.records.openwaits import OpenWaits
from syncopate.records.sectioncode import SectionCode
from syncopate.records.teamfigures import TeamFigures
from syncopate.records.transactionsites import Sites
from syncopate.records.waitsums import Kind, OfThread, Sums
from syncopate.symbols.symbols import Frame

STACKS_KEPT = 5  # waiter and holder stacks told per lock
ADDRESSES_KEPT = 8
SHARED_KEPT = 1000  # objects told per lock, by which the same ones of other processes are found
THREADS_KEPT = 64  # told per lock: those that waited longest


def _is_of_interpreter(group: Group) -> bool:
    """Whether it has a better name than that of the member at which threads wait for it."""
    return bool(languages.interpreter(group.name.text))


def _call(lock: dict, named: Named | None) -> None:
    """Says what a row's locks are in the source, where that is known."""
    if named:
        lock["member"], lock["declared"] = named.name, named.declared
        lock["called"] = named.name if named.is_variable else findings.called(lock)


class Results:
    """What a report says about one record."""

    def __init__(self, analysis: Analysis):
        self.of = analysis
        self.notes = Notes(analysis)

    def thread_time(self) -> int:
        """The sum of all threads' lives, in ticks."""
        return sum(map(self.of.life, self.of.threads))

    def as_data(self) -> dict:
        """The report on this record as docs/reference/report-schema.md describes it."""
        total = self.thread_time()
        lost = sum(group.lost() for group in self.of.groups)
        groups = [group for group in self.of.groups if group.kinds or group.locks]
        pairs = [(self._lock(group, total), group) for group in groups]
        cost = waiting.cost(self.of)
        samples = CpuSamples(self.of).as_data()
        account, open_waits = Account(self.of, cost["states"], samples), OpenWaits(self.of)
        pairs.sort(key=lambda pair: (-pair[0]["lost_ns"], -pair[0]["waited_ns"], pair[0]["name"]))
        self._add_blockers(pairs[:MOST_LOCKS])
        code, members, inner = SectionCode(self.of), Members(self.of), InnerWaits(self.of)
        for lock, group in pairs[:MOST_LOCKS]:
            if lock["waited_ns"] and not _is_of_interpreter(group):
                _call(lock, members.name(group))
            open_waits.called[lock["name"]] = lock["called"]
            if lock["hold"] and (inside := inner.of(group)):
                lock["hold"]["waits_inside"] = inside._asdict()
            if lock["worst"]:
                lock["worst"]["called"] = members.one_of(group, self._worst_lock(group))
                lock["worst"]["told_by"] = self._told_by(group)
        for lock, group in pairs[MOST_LOCKS:MOST_VARIABLES]:
            if lock["waited_ns"] and not _is_of_interpreter(group):
                _call(lock, members.by_variable(group))
                open_waits.called[lock["name"]] = lock["called"]
        whole = not self.notes.has_more_threads() and not self.notes.has_only_openmp()
        nobody = [*open_waits.nobody_goes_on()] if whole else []
        found = {
            "file": shown(self.of.record.path),
            "process": self._process(),
            "notes": [*self.notes.all(), *nobody, *self.of.symbolizer.notes, *self.notes.hints()],
            "threads": [self._thread(thread.id, account) for thread in self.of.threads.values()],
            "thread_time_ns": self.of.ns(total),
            "lost_ns": self.of.ns(lost),
            "lost_share": lost / total if total else 0.0,
            "deadlocks": open_waits.deadlocks(),
            "open_waits": open_waits.as_data(),
            "account": account.as_data(),
            "cpu_samples": samples,
            "waiting": cost,
            "measured": waiting.measured(self.of.record.header.measured),
            "locks": [lock for lock, _ in pairs],
            "blocks": self._blocks(),
            "transactions": Sites(self.of).as_data(),
        }
        found["notes"] += filter(None, [awaits_python(found)])
        found["notes"] += [languages.NOTE_ON_SEMLOCKS] * awaits_semlocks(found)
        for lock in found["locks"]:
            lock["unexplained"] = findings.unexplained(lock, found)
        return {**found, "findings": findings.of(found, lambda at: code.facts(pairs[at][1]))}

    def _process(self) -> dict:
        header = self.of.record.header
        started = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        if header.start_realtime_ns < 1 << 62:  # a damaged time is not worth failing for
            started += datetime.timedelta(seconds=header.start_realtime_ns // 10**9)
        return {
            "id": header.process_id,
            "parent_id": header.parent_id,
            "executable": shown(header.executable),
            "command": header.command,
            "lock": header.lock,
            "wait": header.wait,
            "recorder": recordformat.name_of_recorder(header.recorder),
            "goroutines": self.notes.is_go,
            "tasks": self.notes.tasks.called if self.notes.tasks else "",
            "at_conditions": self.notes.at_conditions(),
            "more_threads": self.notes.has_more_threads(),
            "only_openmp": self.notes.has_only_openmp(),
            "replaced": self.notes.was_replaced(),
            "quiet_children": header.quiet_children,
            "is_full": bool(header.flags & (recordformat.DISK_FULL | recordformat.DESCRIPTOR_LOST)),
            "unseen_cpu_ns": self.notes.unseen_cpu_ns(),
            "processors": header.processors,
            "processor_limit": waiting.processor_limit(header.measured),
            "started": started.isoformat(),
            "duration_ns": self.of.since_start(self.of.end_ticks),
            "finished": bool(header.flags & recordformat.FINISHED),
            "cut_short": bool(header.flags & recordformat.DETACHED)
            or self.of.record.has_lost_its_recorder(),
            "capture_ns": self.of.ns(header.capture_ticks),
        }

    def _thread(self, index: int, account: Account) -> dict:
        thread = self.of.threads[index]
        counted = account.counted(thread)
        creator = telling(self.of.frames_of(thread.start_stack))
        return {
            "index": index,
            "id": thread.thread_id,
            "name": thread.name,
            "label": self.of.label(index),
            "created_in": f"{creator.function} ({creator.place()})" if creator else None,
            "start_ns": self.of.since_start(thread.start_ticks),
            "end_ns": self.of.since_start(thread.end_ticks) if thread.end_ticks else None,
            "lost_ns": self.of.ns(self.of.thread_lost[index]),
            "waited_ns": self.of.ns(self.of.thread_waited[index]),
            "ran_ns": counted[0] if counted else None,
            "runnable_ns": counted[1] if counted else None,
        }

    def _lock(self, group: Group, total: int) -> dict:
        acquisitions = sum(lock.acquisitions for lock in group.locks)
        acquisitions += group.elision["committed"]
        counted = self._counts_acquisitions() and acquisitions > 0
        acquisitions = max(acquisitions, group.got())
        lost = group.lost()
        waited = sum(kind.total for kind in group.kinds.values())
        waits = sum(kind.waits for kind in group.kinds.values())
        at_end = bool(group.locks) and is_region(group.locks[0])
        in_part = any(lock.flags & recordformat.IN_PART for lock in group.locks)
        by_thread = group.by_thread()
        return {
            "name": group.name.text,
            "named_by": group.name.by,
            "member": "",
            "declared": "",
            "called": group.name.text,
            "place": group.name.place,
            "site": group.name.site,
            "object": object_name(group.object, group.locks),
            "members": max(1, len(group.locks)),
            "addresses": [
                f"{lock.address:#x}" for lock in group.locks[:ADDRESSES_KEPT] if lock.address
            ],
            "shared": self._shared(group),
            "acquisitions": acquisitions,
            "contended": group.contended(),
            "in_vain": group.in_vain,
            "signaled_by_waiters_ns": self.of.ns(group.signaled_by_waiters),
            "open": group.open.waits,
            "contended_share": group.got() / acquisitions if counted and not in_part else None,
            "counted": counted,
            "counted_in_part": counted and in_part,
            "contended_releases": group.releases,
            "lost_ns": self.of.ns(lost),
            "lost_share": lost / total if total else 0.0,
            "waited_ns": self.of.ns(waited),
            "mean_wait_ns": self.of.ns(waited / waits) if waits else None,
            "worst": self._worst(group),
            "unexplained": "",
            "threads_waited": len(by_thread),
            "threads_lost": len(group.losers()),
            "by_thread": self._by_thread(by_thread),
            "waits": {name: self._waits(of, total) for name, of in sorted(group.kinds.items())},
            **TeamFigures(self.of, group.team, at_end).as_data(),
            "hold": self._hold(group),
            "elision": self._elision(group.elision),
            "speculation": self._speculation(group.speculation),
            "waiters": self._weighted(group.waiters),
            "holders": self._weighted(group.holders),
        }

    def _shared(self, group: Group) -> list[str]:
        """What its objects are in memory that processes share."""
        found = (self.of.shared_memory.identity(lock.address) for lock in group.locks)
        return list(itertools.islice(filter(None, found), SHARED_KEPT))

    def _counts_acquisitions(self) -> bool:
        """Whether the recorder sees locks being taken without waiting."""
        return self.of.record.header.recorder == recordformat.BY_PRELOAD

    def _worst(self, group: Group) -> dict | None:
        """Of several locks the one for which most time was lost."""
        if len(group.locks) < 2 or not (lost := group.lost()):
            return None
        lock = self._worst_lock(group)
        ticks = self.of.lock_lost[lock.id]
        return {
            "address": f"{lock.address:#x}",
            "called": "",
            "lost_ns": self.of.ns(ticks),
            "share": ticks / lost,
            "waits": self.of.lock_waits[lock.id],
            "taken": lock.acquisitions,
            "told_by": "",
        }

    def _worst_lock(self, group: Group) -> recordformat.Lock:
        return max(group.locks, key=lambda lock: self.of.lock_lost[lock.id])

    def _told_by(self, group: Group) -> str:
        """What tells the worst lock from those it is shown with: who first used it, or made it, or
        waited for it, where that was not all of them; else ""."""
        worst = self._worst_lock(group)
        stacks = {
            stack: telling_on(self.of.frames_of(stack)) for stack in {*map(_origin, group.locks)}
        }
        stacks = {stack: frames for stack, frames in stacks.items() if frames}
        if _origin(worst) not in stacks:
            return ""
        *inner, last = ways(stacks)[_origin(worst)].frames or [None]
        if not inner:
            return ""
        place = f" at {last.place()}" if last.file else ""
        if worst.flags & recordformat.CREATED:
            what = "made"
        else:
            what = "waited for" if worst.id in self.of.known_by_a_wait else "first used"
        return f"{what} by {last.function}{place}"

    def _by_thread(self, sums: dict[int, OfThread]) -> list[dict]:
        longest_first = heapq.nlargest(THREADS_KEPT, sums.items(), key=lambda each: each[1][1])
        return [
            {
                "thread": self.of.label(thread),
                "waits": waits,
                "waited_ns": self.of.ns(total),
                "max_ns": self.of.ns(largest),
            }
            for thread, (waits, total, largest) in longest_first
        ]

    def _waits(self, kind: Kind, all_threads: int) -> dict:
        def at(share: float) -> int | None:
            ticks = histogram.percentile(kind.histogram, share, kind.largest)
            return None if ticks is None else self.of.ns(ticks)

        return {
            "count": kind.waits,
            "total_ns": self.of.ns(kind.total),
            "share": kind.total / all_threads if all_threads else 0.0,
            "threads": len(kind.threads),
            "mean_ns": self.of.ns(kind.total / kind.waits) if kind.waits else None,
            "p50_ns": at(0.5),
            "p99_ns": at(0.99),
            "max_ns": self.of.ns(kind.largest),
            "histogram": self._buckets(kind.histogram, kind.largest),
        }

    def _buckets(self, counts: Sequence[int], largest: int) -> list[list[int]]:
        """[from ns, to ns, count] of every bucket that is not empty."""
        return [
            [self.of.ns(low), self.of.ns(high), count]
            for low, high, count in histogram.buckets(counts, largest)
        ]

    @staticmethod
    def _elision(counts: Counter[str]) -> dict | None:
        sections = {name: counts[name] for name in ("committed", "fell_back")}
        if not any(sections.values()):
            return None
        aborts = {
            name: counts[name] for name in recordformat.ELISION_COUNTS if name not in sections
        }
        attempts = sections["committed"] + sum(aborts.values())
        return {"attempts": attempts, **sections, "aborts": aborts}

    @staticmethod
    def _speculation(counts: Counter[str]) -> dict | None:
        if not any(counts.values()):
            return None
        trials = counts["trials"]
        return {
            **{name: counts[name] for name in ("runs", "whole", "left_out", "lines")},
            "aborts": {name: counts[name] for name in ("conflict", "capacity", "other")},
            "trials": trials,
            "gain": counts["gains"] / trials / 1000 - 1 if trials else None,
        }

    def _hold(self, group: Group) -> dict | None:
        if is_for_signals(group):  # what is between its wait and its post is nobody's hold
            return None
        samples = sum(lock.hold_samples for lock in group.locks)
        if not samples:
            return None
        merged = [0] * 46
        for lock in group.locks:
            if any(lock.hold_histogram):
                histogram.add(merged, lock.hold_histogram)
        if not any(merged):  # of a damaged record
            return None
        largest = max(lock.hold_max for lock in group.locks)
        p99 = histogram.percentile(merged, 0.99, largest)
        return {
            "samples": samples,
            "mean_ns": self.of.ns(sum(lock.hold_sum for lock in group.locks) / sum(merged)),
            "p99_ns": None if p99 is None else self.of.ns(p99),
            "max_ns": self.of.ns(largest),
            "histogram": self._buckets(merged, largest),
            "interrupted": self._interrupted(group),
            "waits_inside": None,
        }

    def _interrupted(self, group: Group) -> dict | None:
        counts = group.interrupted
        if not counts["watched"]:
            return None
        share = group.slept_ticks / group.held_ticks if group.held_ticks else None
        return {
            **{name: counts[name] for name in ("watched", *recordformat.HOLDER_COUNTS)},
            "slept_share": share,
            "kept_processor": self._kept_processor(group.kept_processor),
            "pages": self._pages(counts) if counts["of"] else None,
            "blockers": None,
        }

    def _kept_processor(self, of: Sums) -> dict | None:
        """How long watched holds were that did not lose the processor."""
        if not of.waits:
            return None
        return {"samples": of.waits, "mean_ns": self.of.ns(of.total / of.waits)}

    @staticmethod
    def _pages(counts: Mapping[str, int]) -> dict:
        """Of holds that new pages were counted in."""
        held, given = counts["held_ticks"], counts["given_ticks"]
        told = {name: counts[name] for name in recordformat.PAGES_COUNTS}
        return {**told, "share": min(1.0, given / held) if held else None}

    def _add_blockers(self, pairs: Sequence[tuple[dict, Group]]) -> None:
        """Of few locks: there may be a row for each thread and lock."""
        of_lock = {lock.id: at for at, (_, group) in enumerate(pairs) for lock in group.locks}
        watched: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        for thread, lock, counts in self.of.record.holders():
            if lock in of_lock:
                watched[of_lock[lock], self.of.thread_ids.get(thread, 0)].update(counts)
        for at, (lock, group) in enumerate(pairs):
            if lock["hold"] and lock["hold"]["interrupted"]:
                of = {thread: counts for (place, thread), counts in watched.items() if place == at}
                lock["hold"]["interrupted"]["blockers"] = self._blockers(group, of)

    @staticmethod
    def _blockers(group: Group, watched: Mapping[int, Counter[str]]) -> dict | None:
        """Of the fewest threads that held it for half of the time that others waited, or more, what
        became of their watched holds, as far as it is known who held it; None where that is not
        known of half of the time."""
        total, seen, found = sum(group.blocked_by.values()), 0.0, Counter()
        known = total - group.blocked_by[0]
        for holder, ticks in group.blocked_by.most_common():
            if seen >= lockfigures.MOSTLY * known:
                break
            if holder:
                seen += ticks
                found.update(watched.get(holder, {}))
        if known < lockfigures.MOSTLY * total or not found["watched"]:
            return None
        counts = {name: found[name] for name in ("watched", "preempted", "slept", "faulted")}
        return {"share": seen / total, **counts}

    def _weighted(self, stacks: Counter[int]) -> list[dict]:
        """The heaviest stacks; those that read alike are one."""
        total = sum(stacks.values())
        alike: Counter[tuple[Frame, ...]] = Counter()
        for stack, ticks in stacks.items():
            alike[tuple(self.of.frames_of(stack))] += ticks
        return [
            {
                "ns": self.of.ns(ticks),
                "share": ticks / total if total else 0.0,
                "wrapper_frames": wrapper_frames(frames),
                "frames": [frame.as_data() for frame in frames],
            }
            for frames, ticks in alike.most_common(STACKS_KEPT)
        ]

    def _blocks(self) -> list[dict]:
        return [
            {
                "waiter": self.of.label(waiter),
                "holder": self.of.holder_label(holder),
                "lock": lock,
                "ns": self.of.ns(ticks),
            }
            for (waiter, holder, lock), ticks in self.of.blocks.most_common()
            if ticks > 0
        ]


def _origin(lock: recordformat.Lock) -> int:
    """The stack that made it, or first used it, or waited for it where neither is known."""
    return lock.create_stack if lock.flags & recordformat.CREATED else lock.first_stack
