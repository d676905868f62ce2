"""The consistent executions of small programs by C++20's axioms, counted one by one.

Independent of the explored machine, which it refutes where they differ: here every assignment of
reads to writes and every modification order is a candidate, and the axioms of the standard (in the
words of RC11: Lahav, Vafeiadis, Kang, Hur & Dreyer, PLDI 2017) decide. Programs are straight lines:

    W x 1 rel    R x acq    X x 1 acq_rel (an exchange)    F sc
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

ACQUIRES = ("acq", "acq_rel", "sc")
RELEASES = ("rel", "acq_rel", "sc")


@dataclass(frozen=True)
class Event:
    index: int
    thread: int  # -1: the initial value
    kind: str  # W, R, X, F
    place: str  # the variable
    value: int  # written
    order: str

    @property
    def reads(self) -> bool:
        return self.kind in "RX"

    @property
    def writes(self) -> bool:
        return self.kind in "WX"


def events_of(threads: list[list[str]]) -> list[Event]:
    lines = [(t, line.split()) for t, thread in enumerate(threads) for line in thread]
    places = sorted({words[1] for _, words in lines if words[0] != "F"})
    found = [Event(i, -1, "W", place, 0, "rlx") for i, place in enumerate(places)]
    for thread, words in lines:
        value = int(words[2]) if words[0] in "WX" else 0
        place = "" if words[0] == "F" else words[1]
        found.append(Event(len(found), thread, words[0], place, value, words[-1]))
    return found


def closed(pairs: set[tuple[int, int]], size: int) -> list[list[bool]]:
    """The transitive closure."""
    reaches = [[False] * size for _ in range(size)]
    for a, b in pairs:
        reaches[a][b] = True
    for k in range(size):
        for i in range(size):
            if reaches[i][k]:
                reaches[i] = [x or y for x, y in zip(reaches[i], reaches[k], strict=True)]
    return reaches


def pairs_of(reaches: list[list[bool]]) -> set[tuple[int, int]]:
    return {(a, b) for a, row in enumerate(reaches) for b, is_set in enumerate(row) if is_set}


def is_cyclic(pairs: set[tuple[int, int]], size: int) -> bool:
    reaches = closed(pairs, size)
    return any(reaches[i][i] for i in range(size))


class Candidate:
    """One assignment of reads to writes, and one modification order of each variable."""

    def __init__(self, events, source, orders):
        self.events, self.source, self.orders = events, source, orders
        self.size = len(events)
        self.rf = {(w, r) for r, w in source.items()}
        self.mo = {
            (a, b) for order in orders.values() for i, a in enumerate(order) for b in order[i + 1 :]
        }
        self.rb = {(r, later) for r, w in source.items() for a, later in self.mo if a == w}
        self.rb = {(a, b) for a, b in self.rb if a != b}
        self.po = {
            (a.index, b.index)
            for a in events
            for b in events
            if a.thread == b.thread >= 0 and a.index < b.index
        }
        self.first = {
            (a.index, b.index) for a in events for b in events if a.thread < 0 <= b.thread
        }
        self.sw = self.synchronizes()
        self.hb = closed(self.po | self.first | self.sw, self.size)
        self.eco = closed(self.rf | self.mo | self.rb, self.size)

    def release_sequence(self, head: int) -> set[int]:
        """Since C++20: through read-modify-writes only."""
        found, last = {head}, head
        while True:
            following = [
                r for r, w in self.source.items() if w == last and self.events[r].kind == "X"
            ]
            if not following or following[0] in found:  # (a cycle is not coherent)
                return found
            last = following[0]
            found.add(last)

    def synchronizes(self) -> set[tuple[int, int]]:
        found = set()
        for head in (e for e in self.events if e.writes and e.thread >= 0):
            releasing = [head] if head.order in RELEASES else []
            releasing += [
                f
                for f in self.events
                if f.kind == "F" and f.order in RELEASES and (f.index, head.index) in self.po
            ]
            sequence = self.release_sequence(head.index)
            for read, write in self.source.items():
                if write not in sequence:
                    continue
                acquiring = [self.events[read]] if self.events[read].order in ACQUIRES else []
                acquiring += [
                    f
                    for f in self.events
                    if f.kind == "F" and f.order in ACQUIRES and (read, f.index) in self.po
                ]
                found |= {(a.index, b.index) for a in releasing for b in acquiring}
        return {(a, b) for a, b in found if self.events[a].thread != self.events[b].thread}

    def is_coherent(self) -> bool:
        for a in range(self.size):
            if self.eco[a][a] or self.hb[a][a]:
                return False
            if any(self.hb[a][b] and self.eco[b][a] for b in range(self.size)):
                return False
        for read, write in self.source.items():
            if self.events[read].kind != "X":
                continue
            order = self.orders[self.events[read].place]
            if order.index(read) != order.index(write) + 1:
                return False
        return True

    def from_thin_air(self) -> bool:
        """A cycle of program order and reads-from: load buffering."""
        return is_cyclic(self.po | self.rf, self.size)

    def strongly_before(self) -> set[tuple[int, int]]:
        is_sc = [e.order == "sc" for e in self.events]
        found = self.po | self.first | {(a, b) for a, b in self.sw if is_sc[a] and is_sc[b]}
        before = self.po | self.first
        for a, b in before:
            for c, d in self.po:
                if self.hb[b][c]:
                    found.add((a, d))
        return pairs_of(closed(found, self.size))

    def has_order_s(self, of_execution: bool) -> bool:
        """[atomics.order] paragraph 4. of_execution: S has to fit an order of execution, in which
        a thread's operations follow each other, and reads what they read from."""
        events = self.events
        is_sc = [e.order == "sc" for e in events]
        fences = [e.index for e in events if e.kind == "F" and e.order == "sc"]
        before = self.strongly_before()
        needed = {(a, b) for a, b in before if is_sc[a] and is_sc[b]}
        if of_execution:
            needed |= self.po | self.first | self.rf
        for a, b in pairs_of(self.eco):
            left = ([a] if is_sc[a] else []) + [f for f in fences if self.hb[f][a]]
            right = ([b] if is_sc[b] else []) + [f for f in fences if self.hb[b][f]]
            needed |= {(x, y) for x in left for y in right}
        return not is_cyclic(needed, self.size)

    def outcome(self) -> tuple[int, ...]:
        """What was read, in the program's order, and the variables in the end."""
        read = [self.events[self.source[e.index]].value for e in self.events if e.reads]
        last = [self.events[order[-1]].value for _, order in sorted(self.orders.items())]
        return (*read, *last)


def candidates(threads: list[list[str]]) -> Iterator[Candidate]:
    events = events_of(threads)
    writes: dict[str, list[int]] = {}
    for e in events:
        if e.writes:
            writes.setdefault(e.place, []).append(e.index)
    reads = [e for e in events if e.reads]
    orders = [
        [(place, (first, *rest)) for rest in permutations(others)]
        for place, (first, *others) in writes.items()
    ]
    for chosen in product(*orders):
        for sources in product(*([w for w in writes[r.place] if w != r.index] for r in reads)):
            source = {r.index: w for r, w in zip(reads, sources, strict=True)}
            yield Candidate(events, source, dict(chosen))


@dataclass
class Counted:
    graphs: int  # consistent executions
    outcomes: set[tuple[int, ...]]
    thin_air: set[tuple[int, ...]]  # outcomes that only load buffering gives
    other_s: set[tuple[int, ...]]  # of outcomes, those that need an S of no order of execution


def count(threads: list[list[str]]) -> Counted:
    found = Counted(0, set(), set(), set())
    for c in candidates(threads):
        if not c.is_coherent():
            continue
        if not c.has_order_s(of_execution=False):
            continue
        if c.from_thin_air():
            found.thin_air.add(c.outcome())
        else:
            found.graphs += 1
            of_execution = c.has_order_s(of_execution=True)
            (found.outcomes if of_execution else found.other_s).add(c.outcome())
    found.other_s -= found.outcomes
    found.outcomes |= found.other_s
    found.thin_air -= found.outcomes
    return found
