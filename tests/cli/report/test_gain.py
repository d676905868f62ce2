"""What a report says could be gained at most, against programs of which that is known: made ones
that a small model of threads runs with the lock and without it."""

import heapq
import random
from collections import Counter, defaultdict, deque

import pytest

from syncopate.records import findings

MS = 1_000_000
FAR_MORE_PROCESSORS = 10**6
LOCK = "lock"


class Program:
    """Threads that do one thing after the other: ("work", ns), ("take", name), ("release", name),
    ("put", name), ("get", name), ("meet", number of threads); each in the order in which it
    comes. `without`: a lock that is not there."""

    def __init__(self, threads, without=None):
        self.threads = [[each for each in ops if each[1] != without] for ops in threads]
        self.free, self.there, self.met = defaultdict(lambda: True), Counter(), []
        self.queues = defaultdict(deque)
        self.at = [0] * len(threads)  # what each does next
        self.since = {}  # when the wait of a thread began
        self.waited = [Counter() for _ in threads]  # by what for
        self.ends = [0] * len(threads)
        self.todo = [(0, number) for number in range(len(threads))]
        while self.todo:
            self.step(*heapq.heappop(self.todo))
        assert not self.since, "a thread waits for ever"
        self.ran = max(self.ends)

    def step(self, now, thread):
        if self.at[thread] == len(self.threads[thread]):
            self.ends[thread] = now
            return
        what, of = self.threads[thread][self.at[thread]]
        self.at[thread] += 1
        goes_on = getattr(self, what)(now, thread, of)
        if goes_on is not None:
            heapq.heappush(self.todo, (goes_on, thread))

    def work(self, now, thread, ns):
        return now + ns

    def take(self, now, thread, name):
        if self.free[name]:
            self.free[name] = False
            return now
        return self.wait(now, thread, name)

    def release(self, now, thread, name):
        self.free[name] = not self.wake(now, name)
        return now

    def get(self, now, thread, name):
        if self.there[name]:
            self.there[name] -= 1
            return now
        return self.wait(now, thread, name)

    def put(self, now, thread, name):
        if not self.wake(now, name):
            self.there[name] += 1
        return now

    def meet(self, now, thread, threads):
        if len(self.queues["meet"]) < threads - 1:
            return self.wait(now, thread, "meet")
        while self.wake(now, "meet"):
            pass
        return now

    def wait(self, now, thread, name):
        self.since[thread] = now
        self.queues[name].append(thread)

    def wake(self, now, name):
        if not self.queues[name]:
            return False
        thread = self.queues[name].popleft()
        self.waited[thread][name] += now - self.since.pop(thread)
        heapq.heappush(self.todo, (now, thread))
        return True

    def results(self):
        """As a report has them."""
        names = [f"t/{number}" for number in range(len(self.threads))]
        lost = [waited[LOCK] for waited in self.waited]
        by_thread = [
            {"thread": n, "waited_ns": ns} for n, ns in zip(names, lost, strict=True) if ns
        ]
        by_thread.sort(key=lambda each: -each["waited_ns"])
        lock = {"object": "mutex", "lost_ns": sum(lost), "waited_ns": sum(lost),
                "threads_lost": len(by_thread), "by_thread": by_thread[:64],
                "waits": {"mutex": {}}}  # fmt: skip
        threads = [
            {"label": name, "start_ns": 0, "end_ns": end, "waited_ns": sum(waited.values()),
             "runnable_ns": 0}
            for name, end, waited in zip(names, self.ends, self.waited, strict=True)
        ]  # fmt: skip
        waits = sum(sum(waited.values()) for waited in self.waited)
        parts = {"running": 1, "locks": sum(lost), "condition": waits - sum(lost),
                 "elsewhere": sum(self.ends) - waits}  # fmt: skip
        account = {"parts": parts, "total_ns": sum(self.ends), "too_much_ns": 0,
                   "why_unexplained": None}  # fmt: skip
        process = {"processors": FAR_MORE_PROCESSORS, "duration_ns": self.ran,
                   "more_threads": False}  # fmt: skip
        return lock, {"account": account, "process": process, "threads": threads, "locks": [lock]}


def section(ns, name=LOCK):
    return [("take", name), ("work", ns), ("release", name)]


# Threads, and how many of them, the first ones, do what the program is for: others go on
# for as long as these do.
SHAPES = {
    "sections alone": ([section(MS) * 50] * 4, 4),
    "others sleep": ([section(MS) * 50] * 4 + [[("work", 200 * MS)]] * 30, 4),
    "who takes items works for long": (
        [[*section(2 * MS), ("put", "q")] * 50] * 4 + [[("get", "q"), ("work", 800_000)] * 100] * 2,
        6,
    ),
    "it is taken within another": (
        [[("take", "outer"), *section(100_000), ("release", "outer"), ("work", MS)] * 12] * 8
        + [section(5 * MS) * 40],
        8,
    ),
    "one keeps it from another": ([section(MS) * 20, section(5 * MS) * 20], 1),
    "more threads than are told": ([section(20 * MS)] * 90, 90),
    "phases": ([[*section(MS), ("meet", 4), ("work", 500_000), ("meet", 4)] * 20] * 4, 4),
    "a timer takes it, too": (
        [section(MS) * 50] * 4 + [[("work", 9 * MS), *section(1000)] * 20],
        4,
    ),
}


def check(threads, counting):
    """The bound that is told is one. Returns it, and what is gained."""
    program, other = Program(threads), Program(threads, without=LOCK)
    lock, results = program.results()
    told = findings.gain_at_most(lock, results)
    gained = max(program.ends[:counting]) / max(other.ends[:counting])
    assert gained <= told * 1.000001, (gained, told)
    return told, gained


@pytest.mark.parametrize("shape", SHAPES)
def test_no_more_is_gained_than_is_said(shape):
    """Where nobody waits for the lock, the program is no faster than that; of threads that do
    nothing else, the bound is what they gain."""
    told, gained = check(*SHAPES[shape])
    if shape in ("sections alone", "others sleep"):
        assert told == pytest.approx(gained)


def made(dice):
    """Threads of random work, some in the lock, some in another one, with items between them."""
    threads = []
    for _ in range(dice.randint(2, 7)):
        ops = []
        for _ in range(dice.randint(1, 12)):
            inside = section(dice.randint(1, 20) * 100_000)
            kind = dice.choice(("work", "lock", "lock", "other", "both"))
            ops += {
                "work": [("work", dice.randint(1, 40) * 100_000)],
                "lock": inside,
                "other": section(dice.randint(1, 20) * 100_000, "other"),
                "both": [("take", "other"), *inside, ("release", "other")],
            }[kind]
        threads.append(ops)
    # Items go from a thread to one after it, so that nobody waits for ever.
    for _ in range(dice.randint(0, 12)):
        giver = dice.randrange(len(threads) - 1)
        taker = dice.randrange(giver + 1, len(threads))
        name = f"{giver} to {taker}"
        threads[giver].append(("put", name))
        threads[giver].append(("work", dice.randint(0, 9) * 100_000))
        threads[taker].append(("get", name))
        threads[taker] += section(dice.randint(1, 9) * 100_000)
    return threads


@pytest.mark.parametrize("seed", range(20))
def test_no_more_is_gained_in_random_programs(seed):
    dice = random.Random(seed)
    for _ in range(50):
        threads = made(dice)
        check(threads, len(threads))
