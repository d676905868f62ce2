"""Reads a record and adds it up: locks into groups of one name, waits into who blocked whom.

Rows (exact sums and histograms per thread, lock and kind) give every number about waits; sampled
events give stacks and holders, scaled so that they add up to the rows. All times here are ticks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from syncopate.records import histogram, languages, parked, recordformat, teams
from syncopate.records.blame import Holds, most_holds
from syncopate.records.difference import holding_functions, pairs_of
from syncopate.records.lockgroups import Group
from syncopate.records.naming import (
    BEYOND,
    Name,
    is_barrier_place,
    is_ours,
    is_ours_module,
    is_place,
    is_runtime,
    is_wrapper,
    name_locks,
    telling,
    wrapper_frames,
)
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import CAME_LAST, FUTEX, KIND_NAMES, LOST_KINDS, Event
from syncopate.records.sharedmemory import SharedMemory
from syncopate.symbols.names import Names
from syncopate.symbols.symbols import Frame, Symbolizer

PROGRESS_EVERY = 65536  # events
# Of a condition variable's signals, where it may be a lock of the program's: others may come from
# threads that always got it at once.
BY_WAITERS = 0.5
_LOST = {number for number, name in KIND_NAMES.items() if name in LOST_KINDS}
ONE_AT_A_TIME = (recordformat.MUTEX, recordformat.SPINLOCK)  # has such a lock
MOST_ROWS = 500_000  # that are kept, until they are added up
MOST_EVENTS = 200_000  # of more, as many are chosen: they are samples, and seconds to read


def _time_of_longest(row: recordformat.Row, part: float) -> float:
    """The ticks of the longest `part` of a row's waits or holds, by its histogram."""
    buckets = list(histogram.buckets(row.histogram, row.wait_max))
    left = part * sum(count for _, _, count in buckets)
    whole = found = 0.0
    for low, high, count in reversed(buckets):
        each, taken = (low + high) / 2, min(left, count)
        whole += each * count
        found += each * taken
        left -= taken
    return row.wait_sum * found / whole if whole else 0.0


class Analysis:
    """One record, added up. Construction reads everything."""

    def __init__(
        self,
        record: Record,
        progress: Callable[[str], None] = lambda text: None,
        symbolizer: Symbolizer | None = None,
        with_events: bool = True,
        names: Names | None = None,
    ):
        """`symbolizer`: one for the same maps, which remembers; `names`: what tells names, one of
        several records. Without events, which are most of a record, there are no stacks of waiters
        and holders, and nobody blocks anybody."""
        self.record = record
        header = record.header
        self.symbolizer = symbolizer or Symbolizer(
            record.maps(), header.start_realtime_ns, record.stand_ins, names
        )
        self.shared_memory = SharedMemory(record.maps())
        self.stacks = record.stacks()
        self._frames: dict[int, list[Frame]] = {}  # by stack id, as frames_of() answered
        self.threads = {thread.id: thread for thread in record.threads()}
        self.thread_ids = {thread.id: thread.thread_id for thread in self.threads.values()}
        # Of a number that the kernel gave twice, the first thread that had it.
        self._by_thread_id = {known: thread for thread, known in reversed(self.thread_ids.items())}
        self._labels: dict[int, str] = {}
        self.waits: dict[int, list[Event]] = defaultdict(list)  # by lock id
        self.holds: dict[int, list[Event]] = defaultdict(list)
        self.end_ticks = record.end_ticks
        self.read_every = 1  # of so many short events, one was read
        if with_events:
            self._read_events(progress)
        locks = self._retell()
        self.ns_per_tick = record.ns_per_tick
        progress("naming locks")
        self.known_by_a_wait: set[int] = set()  # locks, of which nobody saw who first used them
        self.groups, self.group_of = self._make_groups(locks)
        # By lock and kind of wait: of all threads, exactly, [waits, ticks].
        self.row_sums: dict[tuple[int, int], list[int]] = {}
        # The ticks of each thread, of those with sampled waits.
        self._of_thread: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        for lock, waits in self.waits.items():
            for wait in waits:
                self._of_thread[lock, wait.wait][wait.thread] = 0
        self._waiters: dict[int, set[int]] = defaultdict(set)  # of condition variables: threads
        self.thread_lost: Counter[int] = Counter()
        self.thread_waited: Counter[int] = Counter()  # of whatever kind
        self.lock_lost: Counter[int] = Counter()  # by lock id
        self.lock_waits: Counter[int] = Counter()  # of those that were lost
        self._read_rows()
        self._leave_out_unused()
        progress("joining waits and holders")
        self.blocks: Counter[tuple[int, int, str]] = Counter()  # (waiter, holder id, lock name)
        self._join()

    def ns(self, ticks: float) -> int:
        return round(ticks * self.ns_per_tick)

    def life(self, thread: int) -> int:
        """For how many ticks it was there, as far as it was recorded."""
        of = self.threads.get(thread)
        return max(0, (of.end_ticks or self.end_ticks) - of.start_ticks) if of else 0

    def since_start(self, ticks: int) -> int:
        return self.ns(max(0, ticks - self.record.header.start_ticks))

    def frames_of(self, stack: int) -> list[Frame]:
        """The frames of a stack id, innermost first, without those of the preload library.

        A function that ends by a jump to the lock call, as one does whose last act is to unlock,
        has left no return address: the call that entered it names it.
        """
        if stack not in self._frames:
            addresses = self.stacks.get(stack, ())
            innermost = self._innermost(addresses)
            target = None if innermost is None else self.symbolizer.entered(innermost)
            frames: list[Frame] = []
            for address in addresses:
                if target is not None and address == innermost:
                    frames += self._left(target)
                    target = None
                frames += [each for each in self.symbolizer.frames(address) if not is_ours(each)]
            self._frames[stack] = frames
        return self._frames[stack]

    def _left(self, entry: int) -> list[Frame]:
        """The function that begins there and is no longer on the stack, if it is the program's."""
        left = self.symbolizer.frames(entry + 1)[-1]
        name = left.function.removesuffix("+0x0")
        if is_wrapper(name) or is_runtime(left.module) or is_ours(left):
            return []
        return [left._replace(function=name)]

    def _innermost(self, addresses: Sequence[int]) -> int | None:
        """The innermost return address outside of the preload library; of the kernel's view, which
        sees the C library's calls, too, outside of that."""
        by_kernel = self.record.header.recorder == recordformat.BY_KERNEL
        is_inner = is_runtime if by_kernel else is_ours_module
        for address in addresses:
            code = self.symbolizer.code(address)
            if code is None or not is_inner(code[0]):
                return address
        return None

    def label(self, thread: int) -> str:
        """What to call a thread: its name and kernel id."""
        if thread not in self._labels:
            entry = self.threads.get(thread)
            name = f"{entry.name or 'thread'}/{entry.thread_id}" if entry else f"thread #{thread}"
            self._labels[thread] = name
        return self._labels[thread]

    def holder_label(self, thread_id: int) -> str:
        if thread_id in self._by_thread_id:
            return self.label(self._by_thread_id[thread_id])
        return f"thread/{thread_id}" if thread_id else "unknown"

    def _retell(self) -> list[recordformat.Lock]:
        """Locks of languages are told apart in the record, and in the events read of it. Returns
        the locks that there are then."""
        locks = list(self.record.locks())
        if not self.symbolizer.has_module("python") and not any(
            x.object in (FUTEX, recordformat.SEMAPHORE, recordformat.CONDITION) for x in locks
        ):
            return locks
        self._resolve_stacks()
        retold = languages.of(
            locks,
            self.symbolizer,
            lambda lock: [wait.stack for wait in self.waits.get(lock, ())],
            lambda lock: [hold.stack for hold in self.holds.get(lock, ())],
            self.frames_of,
        )
        parked_at, parked_for = parked.of(
            [lock for lock in locks if lock.id not in retold or lock.object == FUTEX],
            lambda lock: self.waits.get(lock, ()),
            lambda lock: self.holds.get(lock, ()),
            self.frames_of,
        )
        self.record.retell(retold, parked_at, parked_for)
        for lock in {*retold, *parked_at}:
            for events in (self.waits, self.holds):
                for event in events.pop(lock, ()):
                    told = self.record.retold(event)
                    events[told.lock].append(told)
        return list(self.record.locks())

    def _resolve_stacks(self, more: Sequence[int] = ()) -> None:
        """Names all code, and `more`, at once."""
        addresses = [*more]
        addresses += [address for stack in self.stacks.values() for address in stack]
        innermost = {self._innermost(stack) for stack in self.stacks.values()} - {None}
        addresses += [to + 1 for to in map(self.symbolizer.entered, innermost) if to is not None]
        self.symbolizer.resolve(addresses)

    def _read_events(self, progress: Callable[[str], None]) -> None:
        chosen = self.record.choose(MOST_EVENTS)
        self.read_every, end = chosen.every, self.end_ticks
        for count, event in enumerate(self.record.events(chosen)):
            if count % PROGRESS_EVERY == PROGRESS_EVERY - 1:
                progress(f"read {count + 1:,} events")
            if event.wait == CAME_LAST:
                continue
            if event.thread < 0:  # it has only been seen to hold locks
                self.thread_ids[event.thread] = -event.thread
            into = self.waits if event.kind == recordformat.WAIT else self.holds
            into[event.lock].append(event)
            if event.end > end:
                end = event.end
        self.end_ticks = end

    def _make_groups(
        self, known: Sequence[recordformat.Lock]
    ) -> tuple[list[Group], dict[int, Group]]:
        self._resolve_stacks([lock.address for lock in known if is_place(lock)])
        locks = [self._with_first_stack(lock) for lock in known]
        names = name_locks(locks, self.symbolizer, self.frames_of, self._holding_functions(locks))
        groups: dict[tuple, Group] = {}
        group_of: dict[int, Group] = {}
        for lock in locks:
            name = names[lock.id]
            key = (*name.identity(), lock.object)
            group = groups.get(key)
            if group is None:  # there may be a million locks in it
                group = groups[key] = Group(name, lock.object)
            group.locks.append(lock)
            group_of[lock.id] = group
        return list(groups.values()), group_of

    def _with_first_stack(self, lock: recordformat.Lock) -> recordformat.Lock:
        """The lock; with the stack of a wait, where neither its making nor its first use was
        captured: it has no other name. Of what a program makes in numbers most are not."""
        if lock.create_stack or lock.first_stack:
            return lock
        stack = next((wait.stack for wait in self.waits.get(lock.id, ()) if wait.stack), 0)
        frame = telling(self.frames_of(stack))
        if frame is None or (not frame.module and lock.object != FUTEX):
            return lock  # code without a name is no better than the lock's address
        self.known_by_a_wait.add(lock.id)
        return lock._replace(first_stack=stack)

    def _holding_functions(self, locks: list[recordformat.Lock]) -> set[tuple[str, str]]:
        """The functions that were seen to take and to release a lock that has no better name than
        its first use."""
        found: set[tuple[str, str]] = set()
        for lock in locks:
            if lock.id == 0 or lock.flags & recordformat.CREATED or not lock.first_stack:
                continue
            acquiring = {lock.first_stack} | {wait.stack for wait in self.waits.get(lock.id, ())}
            releasing = {hold.stack for hold in self.holds.get(lock.id, ())}
            frames_of = self._own_frames_of
            if lock.object == FUTEX:  # the innermost function is that of the lock itself
                frames_of = self._outside_of_lock
            pairs = pairs_of(acquiring - {0}, releasing - {0}, frames_of)
            found |= holding_functions(pairs)
        return found

    def _own_frames_of(self, stack: int) -> list[Frame]:
        frames = self.frames_of(stack)
        return frames[wrapper_frames(frames) :]

    def _outside_of_lock(self, stack: int) -> list[Frame]:
        return self._own_frames_of(stack)[1:]

    def group(self, lock: int) -> Group:
        """The group of a lock id; an id that the record does not describe gets one of its own."""
        if lock not in self.group_of:
            by, text = ("address", f"lock #{lock}") if lock else ("overflow", BEYOND)
            group = Group(Name(text, by, ""), 0)
            self.groups.append(group)
            self.group_of[lock] = group
        return self.group_of[lock]

    def _read_rows(self) -> None:
        some: dict[tuple[int, int], list] = defaultdict(list)  # by lock and kind: row, thread, ...
        count = 0
        for thread, rows in self.record.plain_rows():
            locks, kinds, _, totals, *_ = zip(*rows)
            ticks = sum(totals)
            self.thread_waited[thread] += ticks
            if not _LOST.issuperset(kinds):
                ticks = sum(total for kind, total in zip(kinds, totals) if kind in _LOST)
            self.thread_lost[thread] += ticks
            for of, row in zip(zip(locks, kinds), rows):
                into = some[of]
                into.append(row)
                into.append(thread)
            count += len(rows)
            if count >= MOST_ROWS:
                self._add_rows(some)
                some.clear()
                count = 0
        self._add_rows(some)
        for (lock, kind), (waits, total) in self.row_sums.items():
            if KIND_NAMES[kind] in LOST_KINDS:
                self.lock_lost[lock] += total
                self.lock_waits[lock] += waits
        teams.read(self.record, lambda lock: self.group(lock).team)
        self._read_holders()
        for row in self.record.releases():
            self.group(row.lock).releases += row.waits
        for lock, times in self.record.in_vain():
            self.group(lock).in_vain += times
        self._read_signals()
        self._read_open()
        for lock, counts in self.record.elisions():
            self.group(lock).elision.update(counts)
        for lock, counts in self.record.speculations():
            self.group(lock).speculation.update(counts)

    def _add_rows(self, some: dict[tuple[int, int], list]) -> None:
        for (lock, kind), rows in some.items():
            threads = rows[1::2]
            _, _, waits, totals, largest, packed = zip(*rows[::2])
            group = self.group(lock)
            of_kind = group.kinds[KIND_NAMES[kind]]
            count, ticks = of_kind.add_rows(threads, waits, totals, largest, packed)
            exact = self.row_sums.setdefault((lock, kind), [0, 0])
            exact[0] += count
            exact[1] += ticks
            sampled = self._of_thread.get((lock, kind), ())
            for thread, total in zip(threads, totals) if sampled else ():
                if thread in sampled:
                    sampled[thread] += total
            if kind == recordformat.WaitKind.CONDITION:
                self._waiters[lock].update(thread for thread, n in zip(threads, waits) if n)
            if group.locks and is_barrier_place(group.locks[0]):
                for thread, total in zip(threads, totals):
                    group.team.arrivals[thread][0] += total

    def _read_signals(self) -> None:
        """Tells condition variables whose waiters signal them, as they do where threads wait for
        each other's leave, from those at which others give them something to do."""
        signals: dict[int, Counter[int]] = defaultdict(Counter)
        for thread, lock, times in self.record.signals():
            signals[lock][thread] += times
        for lock in self.record.locks() if signals else ():
            by, theirs = signals[lock.id], self._waiters[lock.id]
            both = theirs & by.keys()
            many = sum(by[thread] for thread in both) >= BY_WAITERS * lock.signals
            if many and 2 * len(both) >= len(theirs) >= 2:
                _, ticks = self.row_sums[lock.id, recordformat.WaitKind.CONDITION]
                self.group(lock.id).signaled_by_waiters += ticks

    def _read_open(self) -> None:
        for thread in self.record.threads():
            wait = thread.open
            if wait and not wait.end and KIND_NAMES.get(wait.kind) in LOST_KINDS:
                of = self.group(wait.lock).open
                of.waits += 1
                of.total += max(0, self.end_ticks - wait.since)

    def _leave_out_unused(self) -> None:
        """Objects that were made and never used: most kinds tell nothing until then. (Of a process
        that was killed the first uses may not be counted.)"""
        if not self.record.header.flags & recordformat.ENDED:
            return
        used = []
        for group in self.groups:
            known = group.kinds or group.elision or group.speculation or group.team.arrivals
            if not known:
                group.locks = [lock for lock in group.locks if self._is_used(lock)]
            if known or group.locks:
                used.append(group)
        self.groups = used

    def _is_used(self, lock: recordformat.Lock) -> bool:
        return bool(lock.acquisitions or lock.id in self.waits or lock.id in self.holds)

    def _read_holders(self) -> None:
        slept: dict[tuple[int, int], float] = {}
        for thread, lock, counts in self.record.holders():
            self.group(lock).interrupted.update(counts)
            slept[thread, lock] = counts["slept"] / max(1, counts["watched"])
        for row in self.record.gaps(recordformat.INSIDE):
            if (row.thread, row.lock) in slept:
                group = self.group(row.lock)
                group.held_ticks += row.wait_sum
                group.kept_processor.waits += row.waits
                group.kept_processor.total += row.wait_sum
                group.slept_ticks += _time_of_longest(row, slept[row.thread, row.lock])

    def _join(self) -> None:
        """Who waited where, and for whom: by samples, scaled so that those of each thread add up to
        what it waited. What threads waited that have no sample is laid to all."""
        most = most_holds(sum(map(len, self.waits.values())))
        for lock, waits in self.waits.items():
            group = self.group(lock)
            sampled: Counter[tuple[int, int]] = Counter()
            for wait in waits:
                sampled[wait.wait, wait.thread] += (wait.end - wait.start) * wait.weight
            exact = {
                (kind, thread): self._of_thread[lock, kind][thread] or ticks
                for (kind, thread), ticks in sampled.items()
            }
            unsampled = self._unsampled(lock, exact)
            tell = waits if self._tell_who_had_it(group) else ()
            holds = Holds(self.holds.get(lock, ()), self.thread_ids, most, tell)
            for wait in waits:
                of = wait.wait, wait.thread
                if not sampled[of]:
                    continue
                scale = wait.weight * exact[of] / sampled[of]
                of_all = scale * unsampled[wait.wait]
                group.waiters[wait.stack] += (wait.end - wait.start) * of_all
                if KIND_NAMES.get(wait.wait) not in LOST_KINDS:
                    continue
                for part in holds.blame(wait):
                    group.holders[part.stack] += part.ticks * of_all
                    group.blocked_by[part.holder] += part.ticks * of_all
                    key = (part.waiter, part.holder, group.name.text)
                    self.blocks[key] += part.ticks * scale

    def _tell_who_had_it(self, group: Group) -> bool:
        """Whether waits say who had the lock as they began, and got it as they ended: the kernel's
        view may know who woke a waiter alone."""
        is_inside = self.record.header.recorder == recordformat.BY_PRELOAD
        return is_inside and group.object in ONE_AT_A_TIME and not group.in_vain

    def _unsampled(self, lock: int, exact: dict[tuple[int, int], int]) -> dict[int, float]:
        """By kind of wait: a lock's waiting over that of the threads that have samples, whose ticks
        are given by (kind, thread)."""
        sums: Counter[int] = Counter()
        for (kind, _), ticks in exact.items():
            sums[kind] += ticks
        found = {}
        for kind, ticks in sums.items():
            _, of_all = self.row_sums.get((lock, kind), (0, 0))
            found[kind] = of_all / ticks if of_all and ticks else 1
        return found
