"""The first screen: sentences on the worst locks, from records whose causes are known."""

import json
import re
import subprocess

import pytest
from conftest import compile_c, run_cli
from make_record import RecordBuilder

from syncopate.base.terminal import in_sentence, shortened
from syncopate.base.units import about
from syncopate.records import causes, findings, holdlengths, preemption
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.sectioncode import Beside, Call, Facts, SectionCode

MS, US = 1_000_000, 1000
INSIDE = 20  # format.h's wait_kind: how long holds took
YIELD, YIELDING = 9, 17  # object_kind and wait_kind of calls of sched_yield()
ACTS = {
    "sleeps": "move what it waits for there",
    "sleeps_seldom": "move what it waits for there",
    "preempted": "run fewer threads than the 8 on 2 processors",
    "preempted_seldom": "run fewer threads than the 8 on 2 processors",
    "relock": "wake as many threads as can go on",
    "uneven": "spread what they guard more evenly",
    "long": "move work out of the section",
    "often": "take it less often",
    "unknown": None,
    "unexplained": "`syncopate tune` tries others",
}


LOOPING = Facts(1.0, [Call("operator new", "allocation", "a.cpp:1", True, 1.0)], 0.0, [])
WRITING = Facts(1.0, [Call("write", "input or output", "a.cpp:1", False, 1.0)], 0.0, [],
                slow=("input or output",))  # fmt: skip
WRITTEN = Beside("counter", "a.cpp:2")


class Planted:
    """A record of eight threads that wait for one kind of lock, and why."""

    def __init__(self):
        self.builder = RecordBuilder(0, 1000 * MS)
        self.threads = [self.builder.thread(10 + n, f"w{n}") for n in range(8)]
        self.stack = self.builder.stack(0xA000, 0xF000)

    def lock(self, holds=(), acquisitions=1000, create=0) -> int:
        return self.builder.lock(
            0x9000 + 64 * len(self.builder.locks), 1, acquisitions, create, self.stack, holds
        )

    def waits(self, lock, each, times=10, kind=1) -> None:
        for thread in self.threads:
            self.builder.row(thread, lock, kind, [each] * times)

    def findings(self, folder, *options) -> list[dict]:
        record = self.builder.write(folder / "rec")
        done = run_cli("report", "--json", *options, record)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["records"][0]["findings"]


def sleeps(of: Planted) -> None:
    lock = of.lock([5 * MS] * 66)
    of.waits(lock, 5 * MS)
    of.builder.holder(0, lock, 66, [0, 0, 66])


def sleeps_seldom(of: Planted) -> None:
    """Many threads hold it for a moment; one sleeps in its own few holds, which are its time."""
    lock = of.lock([30] * 900 + [3 * MS] * 60)
    of.waits(lock, 3 * MS)
    for thread in of.threads[1:]:
        of.builder.holder(thread, lock, 128, [0, 0, 0])
        of.builder.gaps(thread, lock, INSIDE, [30] * 128)
    of.builder.holder(0, lock, 96, [0, 0, 48])
    of.builder.gaps(0, lock, INSIDE, [40] * 48 + [3 * MS] * 48)


def preempted(of: Planted) -> None:
    lock = of.lock([3 * US] * 60)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 60, [12, 15, 2])


def preempted_seldom(of: Planted) -> None:
    lock = of.lock([300] * 60, acquisitions=1_000_000)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 100_000, [20, 22, 2])


def unexplained(of: Planted) -> None:
    lock = of.lock([300] * 60)
    of.waits(lock, 3 * MS)


def relock(of: Planted) -> None:
    lock = of.lock([3 * US] * 60)
    of.waits(lock, 9 * MS, kind=2)
    of.waits(lock, 1 * MS)


def uneven(of: Planted) -> None:
    locks = [of.lock([3 * US] * 20, create=of.stack) for _ in range(64)]
    for number, lock in enumerate(locks):
        of.waits(lock, 9 * MS if number == 17 else 10 * US)


def long(of: Planted) -> None:
    lock = of.lock([250 * US] * 60)
    of.waits(lock, 1 * MS)
    of.builder.holder(0, lock, 60, [1, 1, 2])


def often(of: Planted) -> None:
    lock = of.lock([300] * 60, acquisitions=2_000_000)
    of.waits(lock, 2 * US, times=1000)


def unknown(of: Planted) -> None:
    of.waits(of.lock(), 1 * MS)


@pytest.mark.parametrize(
    "plant",
    [
        sleeps,
        sleeps_seldom,
        preempted,
        preempted_seldom,
        relock,
        uneven,
        long,
        often,
        unknown,
        unexplained,
    ],
    ids=lambda f: f.__name__,
)
def test_the_planted_cause_is_told_first(tmp_path, plant):
    of = Planted()
    plant(of)
    found = of.findings(tmp_path)
    cause = {
        "sleeps_seldom": "sleeps",
        "preempted_seldom": "preempted",
        "unexplained": "unknown",
    }
    assert found[0]["causes"][0] == cause.get(plant.__name__, plant.__name__), found
    act = ACTS[plant.__name__]
    assert (found[0]["do"] or [None])[0] == act or found[0]["do"][0].startswith(act)


def test_one_long_wait_at_one_of_many_locks_is_by_chance(tmp_path):
    of = Planted()
    for number in range(64):
        lock = of.lock([3 * US] * 20, create=of.stack)
        waits = [9 * MS] if number == 17 else [10 * US]
        of.builder.row(of.threads[number % 8], lock, 1, waits)
    (found,) = of.findings(tmp_path)
    assert "uneven" not in found["causes"]
    assert any(text.startswith("one of its 64 locks, ") for text in found["why"])


@pytest.mark.parametrize(("watched", "cause"), [(0, "kept"), (1, "sleeps"), (12, "sleeps")])
def test_one_thread_holds_it_long_and_others_for_moments(tmp_path, watched, cause):
    """Hardly any of its holds is timed, and in the mean of all they do not show."""
    of = Planted()
    lock = of.lock([300] * 600, acquisitions=12_000)
    saver = of.builder.thread(100, "saver")
    of.builder.row(saver, lock, 1, [US])
    for thread in of.threads[:3]:
        of.builder.row(thread, lock, 1, [30 * MS] * 8)
        of.builder.holder(thread, lock, 100, [0, 0, 0])
        for number in range(8):
            begin = of.builder.start + number * 40 * MS
            of.builder.wait(thread, lock, begin, begin + 30 * MS, of.stack, holder=100)
    of.builder.releases(saver, lock, 8)
    if watched:
        of.builder.holder(saver, lock, watched, [0, 0, watched])
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause]
    assert "far longer than those timed" in found["why"][0] or "sleeps meanwhile" in found["why"][0]
    assert found["reasons"][0]["sure"] == ("possible" if watched == 1 else "likely")


@pytest.mark.parametrize(
    ("functions", "cause"),
    [
        (["futex_wait", "__GI___lll_lock_wait_private", "__GI___libc_malloc", "body"], "malloc"),
        (["__lll_lock_wait_private", "_int_free", "__GI___libc_free", "body"], "malloc"),
        (["futex_wait", "__GI___lll_lock_wait_private", "__flockfile", "body"], "stream"),
        (["__lll_lock_wait_private", "_IO_fputs@@GLIBC_2.2.5", "log_line", "main"], "stream"),
        (["__lll_lock_wait", "___pthread_mutex_lock", "malloc", "body"], "unknown"),  # another's
        (["futex_wait", "malloc", "body"], "unknown"),
    ],
)
def test_locks_inside_the_c_library(functions, cause):
    waits = {"mutex": {"count": 20, "total_ns": 200 * MS, "mean_ns": 10 * MS, "max_ns": 10 * MS}}
    frame = {"file": "", "line": 0, "module": "", "inlined": False}
    lock = {
        "name": "x", "object": "mutex", "waits": waits, "lost_ns": 200 * MS, "hold": None,
        "members": 1, "worst": None, "counted": False, "in_vain": 0, "addresses": ["0x1"],
        "shared": [],
        "named_by": "address", "threads_lost": 2, "contended_releases": 0, "acquisitions": 0,
        "waiters": [{"share": 1.0, "frames": [{**frame, "function": f} for f in functions]}],
        "holders": [], "by_thread": [],
    }  # fmt: skip
    process = {"recorder": "kernel", "duration_ns": 1000 * MS, "processors": 2}
    results = {"open_waits": [], "process": process, "account": {"parts": {}}}
    assert [reason.cause for reason in causes.reasons(lock, results, None)] == [cause]


@pytest.mark.parametrize(("runnable", "cause"), [(5, "kept"), (300, "often")])
def test_long_waits_for_a_lock_that_is_mostly_free_are_for_long_holds(tmp_path, runnable, cause):
    """By one thread, for another, which never waits; unless they may be for a processor."""
    of = Planted()
    of.builder.threads.clear()
    of.builder.thread(100, cpu=20 * MS, delay=runnable * MS)
    lock = of.lock([30] * 600, acquisitions=200_000)
    of.builder.row(0, lock, 1, [20 * MS] * 12)
    of.builder.releases(0, lock, 12)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause], found
    if cause == "kept":
        assert "while hardly any thread is without a processor" in found["why"][0]


@pytest.mark.parametrize(
    ("watched", "ran", "is_said"), [(0, 0, False), (60, 0, True), (9, 0, False), (60, 40, False)]
)
def test_that_holders_run_is_said_where_they_were_watched(tmp_path, watched, ran, is_said):
    """Many of them; and not where all threads together ran for less than half of that."""
    of = Planted()
    of.builder.threads.clear()
    for number in range(8):
        of.builder.thread(10 + number, cpu=ran * MS // 8)
    lock = of.lock([250 * US] * 60)
    of.waits(lock, 1 * MS)
    if watched:
        of.builder.holder(0, lock, watched, [0, 0, 2])
    (found,) = of.findings(tmp_path)
    assert found["causes"] == ["long"]
    assert ("mostly runs" in found["why"][0]) == is_said


@pytest.mark.parametrize(("preempted", "causes"), [(8, ["long", "preempted"]), (40, ["preempted"])])
def test_long_work_that_is_interrupted_is_long_work(tmp_path, preempted, causes):
    """A time slice is lost in some of its holds, as on any busy machine: most of it is there
    without. Not where half of them lose one: then nobody knows how long they would be."""
    of = Planted()
    lock = of.lock([3 * MS] * (66 - preempted) + [7 * MS] * preempted)
    of.waits(lock, 5 * MS)
    of.builder.holder(0, lock, 66, [preempted + 4, preempted + 4, 0])
    (found,) = of.findings(tmp_path)
    assert found["causes"] == causes


def one_that_is_kept(runnable, slept=0, holders=("low",), share=1.0) -> tuple[dict, dict]:
    """A thread that waits for 800 of 1000 ms, a share of that for these."""
    lives = [(each, runnable, 0) for each in holders] + [("high", 0, 800 * MS)]
    threads = [
        {"label": label, "start_ns": 0, "end_ns": None, "waited_ns": waited, "runnable_ns": ns}
        for label, ns, waited in lives
    ]
    each = round(800 * MS * share / len(holders))
    blocks = [{"waiter": "high", "holder": h, "lock": "x", "ns": each} for h in holders]
    blocks.append({"waiter": "high", "holder": "unknown", "lock": "x", "ns": 800 * MS - each})
    blocks += [{"waiter": "other", "holder": "low", "lock": "x", "ns": 900 * MS},
               {"waiter": "high", "holder": "other", "lock": "y", "ns": 900 * MS}]  # fmt: skip
    waits = [{"thread": "high", "waited_ns": 800 * MS}]
    seen = {"watched": 60, "preempted": 1, "preemptions": 1, "slept": slept, "slept_share": None}
    lock = {"name": "x", "object": "mutex", "by_thread": waits, "threads_lost": 1, "waits": {},
            "acquisitions": 60, "members": 1, "hold": {"mean_ns": 9 * MS,
            "histogram": [[9 * MS, 9 * MS, 60]], "interrupted": seen}}  # fmt: skip
    process = {"duration_ns": 1000 * MS, "processors": 2}
    results = {"blocks": blocks, "threads": threads, "process": process, "locks": []}
    return lock, results | {"account": {"parts": {}, "why_unexplained": None}}


@pytest.mark.parametrize(
    ("runnable", "told"), [(1000, True), (601, True), (599, False), (0, False), (None, False)]
)
def test_a_holder_that_has_no_processor(runnable, told):
    """For half of the wait or longer, however little it did besides: all else of its 1000 ms may
    have been in the hold."""
    lock, results = one_that_is_kept(runnable if runnable is None else runnable * MS)
    found = [*preemption.preempted(lock, results)]
    assert [reason.cause for reason in found] == ["preempted"] * told
    for reason in found:
        lacked = "800 ms" if runnable == 1000 else "401 ms"
        assert "low, which has it for 100.0 % of the time that high waits, has no" in reason.why
        assert f"no processor for {lacked} of 800 ms or longer" in reason.why
        assert "the same priority for all who take it" in reason.do


@pytest.mark.parametrize(("runnable", "by_others"), [(500 * MS, True), (60 * MS, False)])
def test_a_holder_that_a_limit_keeps_from_processors(runnable, by_others):
    """Its threads alone cannot have kept each other waiting for so long."""
    lock, results = one_that_is_kept(1000 * MS)
    results["account"]["parts"] = {"running": 100 * MS, "runnable": runnable}
    (found,) = preemption.preempted(lock, results)
    assert ("a limit" in found.do and "cpu.max of a control group" in found.do) == by_others
    assert found.do.startswith("let other threads and programs") != by_others


@pytest.mark.parametrize(("share", "told"), [(0.6, True), (0.4, False)])
def test_who_is_not_known_to_hold_it_says_nothing(share, told):
    lock, results = one_that_is_kept(1000 * MS, share=share)
    assert bool([*preemption.preempted(lock, results)]) == told


def test_many_holders_for_a_moment_each_may_have_run():
    """Each lacks a processor for most of its life, which may be outside of its short holds."""
    lock, results = one_that_is_kept(800 * MS, holders=[f"w{n}" for n in range(8)])
    assert not [*preemption.preempted(lock, results)]


@pytest.mark.parametrize(("locks", "is_uneven"), [(4, False), (8, True)])
def test_of_few_locks_one_has_half_of_the_time_by_chance(tmp_path, locks, is_uneven):
    of = Planted()
    for number in range(locks):
        lock = of.lock([3 * US] * 20, create=of.stack)
        of.builder.row(of.threads[0], lock, 1, [(locks - 1 if number == 1 else 1) * MS] * 20)
    (found,) = of.findings(tmp_path)
    assert ("uneven" in found["causes"]) == is_uneven


def test_running_time_that_is_known_of_some_threads_bounds_nothing(tmp_path):
    """A lock that is hardly ever held, in a program of which one thread's running time is known."""
    of = Planted()
    of.builder.thread(100, cpu=5 * MS, delay=0)
    lock = of.lock([US] * 300, acquisitions=6000)
    of.waits(lock, 1 * MS)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == ["unknown"]
    assert "waits are far longer" in found["why"][0]


def test_of_a_deadlock_nothing_else_is_told(tmp_path):
    of = Planted()
    locks = [of.lock([300] * 60, create=of.builder.stack(0xB000 + n, 0xF000)) for n in range(2)]
    for number in range(2):
        other = 1 - number
        since, holder_since, holder = (100 + number) * MS, (100 + other) * MS, 200 + other
        wait = (since, 0, 0xA000, locks[number], 1, holder, 0, 2)
        of.builder.thread(200 + number, end=0, waits=wait, seen=(since, holder_since, holder))
    found = of.findings(tmp_path)
    assert len(found) == 2
    for each in found:
        assert each["causes"] == ["open"]
        assert each["why"] == ["1 thread waits for it still: it is part of a deadlock"]
        assert each["do"] == ["let all threads take these locks in one order"]
        assert each["seen"].startswith("waits are counted, also those that are not over")


@pytest.mark.parametrize("since", [100 * MS, 900 * MS])
def test_a_lock_that_others_took_meanwhile_is_not_what_waits_hang_at(tmp_path, since):
    """Of a program that was stopped, or one whose waiters starve: why holds are long is told."""
    of = Planted()
    lock = of.lock([5 * MS] * 66)
    of.builder.holder(0, lock, 66, [0, 0, 66])
    of.builder.row(of.threads[0], lock, 1, [5 * MS])
    for number in range(66):
        of.builder.hold(0, lock, (number + 2) * 10 * MS, (number + 2) * 10 * MS + 5 * MS, of.stack)
    of.builder.thread(200, end=0, waits=(since, 0, 0xA000, lock, 1, 0, 0, 2))
    (found,) = of.findings(tmp_path)
    if since > 800 * MS:  # nobody took it since
        assert found["causes"] == ["open"]
        assert found["why"][0] == "1 thread waits for it still"
        return
    assert found["causes"] == ["sleeps", "open"]
    assert found["why"][1].startswith("1 thread waits for it still, and others have taken it since")
    assert found["do"][0].startswith("move what it waits for there")


def test_what_it_costs(tmp_path):
    of = Planted()
    sleeps(of)
    (found,) = of.findings(tmp_path)
    assert found["cost"] == (
        "5.0 % of all thread time (400 ms): 8 threads waited 80 times, 5.00 ms each in the mean"
    )
    assert found["why"] == ["who holds it sleeps: in 66 of 66 holds seen, 5.00 ms each in the mean"]
    assert found["seen"] == "waits are counted; of 1,000 holds 66 were timed, 66 watched"


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ([400], "1 thread waited once, 400 ms"),
        ([100, 100], "1 thread waited 2 times, 100 ms each in the mean"),
        ([101, 2], "1 thread waited 2 times, 101 ms and 2.00 ms"),
        ([90, 30, 30, 30], "1 thread waited 4 times, 45.0 ms each in the mean"),
        (
            [436, *[2] * 69],
            "1 thread waited 70 times, 436 ms once, and 2.00 ms each in the mean besides",
        ),
    ],
)
def test_a_wait_that_has_most_of_the_time_is_told_apart(tmp_path, waits, said):
    """Of one that lasted for a whole run and many of a moment, the mean is neither's."""
    of = Planted()
    of.builder.row(of.threads[0], of.lock([US] * 40), 1, [each * MS for each in waits])
    (found,) = of.findings(tmp_path)
    assert found["cost"].endswith(said)


def test_waits_that_no_hold_explains_are_said_to_be(tmp_path):
    of = Planted()
    of.waits(of.lock([25_900] * 40), 105 * MS, times=1)
    (found,) = of.findings(tmp_path)
    assert found["why"][1].startswith(
        "waits (105 ms in the mean) are longer than holds explain (the longest seen: 25.9 us)"
    )
    of = Planted()
    of.waits(of.lock([30 * MS] * 40), 105 * MS, times=1)
    (found,) = of.findings(tmp_path)
    assert len(found["why"]) == 1


def test_a_lock_in_the_tables_alone_has_its_waits_explained_there(tmp_path):
    of = Planted()
    for number, (hold, waits) in enumerate([(400 * MS, 6), (25_900, 1)]):
        stack = of.builder.stack(0xB000 + number, 0xF000)
        lock = of.builder.lock(0x9000 + number, 1, 100, 0, stack, [hold] * 40)
        of.waits(lock, 100 * MS if number == 0 else 4 * MS, times=waits)
    record = of.builder.write(tmp_path / "rec")
    (found,) = of.findings(tmp_path)
    assert found["lock"] == "0xb000"
    text = re.sub(r"\s+", " ", run_cli("report", record).stdout)
    said = "waits (4.00 ms in the mean) are longer than holds explain (the longest seen: 25.9 us)"
    assert text.count(said) == 1
    assert text.index(said) > text.index("Who waited, and who held it")


def test_few_holds_that_are_far_longer_than_those_timed(tmp_path):
    """As of a thread that puts others aside with a lock: of its thousands of holds, three last for
    a second, and none of these is timed."""
    of = Planted()
    of.builder.end = 4000 * MS
    lock = of.lock([US] * 300, acquisitions=15_000)
    of.builder.row(of.threads[0], lock, 1, [1000 * MS] * 3)
    of.builder.releases(of.threads[1], lock, 4)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == ["kept"]
    assert found["why"][0].endswith(
        "it was released 4 times only, which makes 750 ms each, or more"
    )
    assert found["do"][0].startswith("let its holder release it before what takes so long, unless")
    assert found["may_be_meant"]
    text = " ".join(run_cli("report", tmp_path / "rec").stdout.split())
    assert "% where threads may be put aside on purpose" in text
    assert not any("no processor" in text for text in found["why"])


@pytest.mark.parametrize(("hold", "cause"), [(50 * US, "crowded"), (2 * MS, "long")])
def test_a_lock_that_is_hardly_ever_held_is_no_long_one(tmp_path, hold, cause):
    """Where waits are far longer, and threads lack processors, these are what was waited for."""
    of = Planted()
    for thread in range(8):
        of.builder.thread(100 + thread, cpu=200 * MS, delay=500 * MS)
    lock = of.lock([hold] * 40, acquisitions=200)
    of.builder.row(of.threads[0], lock, 1, [12 * MS] * 30)
    of.builder.row(of.threads[1], lock, 1, [12 * MS] * 2)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause]


def test_one_hold_that_lost_its_time_slice_is_not_how_long_holds_are(tmp_path):
    """Of few that are timed it makes the mean of all, and waits look as if holds explained them."""
    of = Planted()
    for thread in range(8):
        of.builder.thread(100 + thread, cpu=200 * MS, delay=500 * MS)
    lock = of.lock([US] * 299 + [4 * MS], acquisitions=6000)
    of.builder.row(of.threads[0], lock, 1, [2 * MS] * 30)
    of.builder.row(of.threads[1], lock, 1, [2 * MS] * 30)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == ["crowded"]


@pytest.mark.parametrize(("delay", "cause"), [(400, "crowded"), (950, "busy")])
def test_processors_that_others_have_are_no_reason_for_fewer_threads(tmp_path, delay, cause):
    """Of eight threads, each can run for an eighth of the time, even if all keep to one."""
    of = Planted()
    of.builder.threads.clear()
    for thread in range(8):
        of.builder.thread(100 + thread, cpu=50 * MS if delay == 950 else 200 * MS, delay=delay * MS)
    lock = of.lock([US] * 300, acquisitions=6000)
    of.builder.row(0, lock, 1, [MS] * 30)
    of.builder.row(1, lock, 1, [MS] * 30)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause]
    assert found["do"][0].startswith("run fewer" if cause == "crowded" else "record on a machine")


def test_holders_that_other_programs_preempt(tmp_path):
    of = Planted()
    of.builder.threads.clear()
    for thread in range(8):
        of.builder.thread(100 + thread, cpu=50 * MS, delay=900 * MS)
    lock = of.lock([3 * US] * 60)
    of.builder.row(0, lock, 1, [3 * MS] * 80)
    of.builder.holder(0, lock, 60, [12, 15, 2])
    (found,) = of.findings(tmp_path)
    assert found["causes"] == ["preempted"]
    assert found["do"][0].startswith("record on a machine that has nothing else to do, or shorten")


@pytest.mark.parametrize("by", ["preempted", "crowded", "one without"])
@pytest.mark.parametrize(
    ("limit", "do"),
    [
        (0.5, "raise the limit on its control group's processor time (cpu.max)"),
        (1.9, "record on a machine that has nothing else to do, and without a limit on processor"),
        (2, "record on a machine that has nothing else to do"),
        (None, "record on a machine that has nothing else to do"),
    ],
)
def test_a_limit_on_processor_time_is_not_other_programs(tmp_path, limit, do, by):
    """The threads have run for half a second of the record's second."""
    of = Planted()
    of.builder.threads.clear()
    of.builder.measured = json.dumps({"processor_limit": limit} if limit else {})
    for thread in range(3):
        of.builder.thread(100 + thread, cpu=160 * MS, delay=820 * MS)
    lock = of.lock([3 * US] * 60)
    for thread in range(3):
        of.builder.row(thread, lock, 1, [3 * MS] * 5)
    if by == "preempted":
        of.builder.holder(0, lock, 60, [12, 15, 2])
    if by == "one without":
        start = of.builder.start + 100 * MS
        of.builder.wait(1, lock, start, start + 800 * MS, of.stack, holder=100)
    (found,) = of.findings(tmp_path)
    first = found["do"][0]
    assert first.startswith(do)
    assert ("without a limit" in first) == (limit == 1.9)
    text = run_cli("report", tmp_path / "rec").stdout
    assert ("which a limit leaves it" in text) == (limit in {0.5, 1.9})


@pytest.mark.parametrize(
    ("holder_runs", "slices_lost", "cause"),
    [(95, 0, "crowded"), (95, 1, "crowded"), (2, 0, "preempted")],
    ids=["all_alike", "one_hold_seen_that_lost_its_slice", "holder_of_low_priority"],
)
def test_a_holder_that_has_no_processor_in_a_crowd(tmp_path, holder_runs, slices_lost, cause):
    """It is the crowd where all are served alike, and the holder's where that is served worse."""
    of = Planted()
    of.builder.threads.clear()
    for n in range(10):
        ran = holder_runs if n == 0 else 95
        waits = 200 if n == 1 else 0
        of.builder.thread(10 + n, f"w{n}", cpu=ran * MS, delay=(1000 - waits - ran) * MS)
    lock = of.lock([US] * 300 + [40 * MS] * slices_lost, acquisitions=30_000)
    of.builder.row(1, lock, 1, [100 * MS] * 2)
    of.builder.row(2, lock, 1, [10 * MS])
    for begin in (100, 300):
        start = of.builder.start + begin * MS
        of.builder.wait(1, lock, start, start + 100 * MS, of.stack, holder=10)
    if slices_lost:
        of.builder.holder(0, lock, 300, [1, 1, 0])
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause]
    assert found["do"][0].startswith("run fewer" if cause == "crowded" else "let other threads")


def test_threads_are_as_many_as_there_were_at_one_time(tmp_path):
    of = Planted()
    for number in range(40):
        of.builder.thread(100 + number, start=number * 10 * MS, end=(number + 1) * 10 * MS)
    preempted(of)
    (found,) = of.findings(tmp_path)
    assert found["do"][0].startswith("run fewer threads than the 9 on 2 processors")


@pytest.mark.parametrize(
    ("recorder", "said"),
    [(0, "of such locks"), (1, "from the kernel"), (2, "a Java VM does not tell")],
)
def test_locks_whose_holds_nobody_sees(tmp_path, recorder, said):
    """No number of theirs is made up, and no advice is that they will be seen another time."""
    of = Planted()
    of.builder.recorder = recorder
    counted = 0 if recorder == 0 else 80  # the others count waits there
    lock = of.lock(acquisitions=counted)
    of.waits(lock, 50 * MS)
    record = of.builder.write(tmp_path / "rec")
    (found,) = of.findings(tmp_path)
    assert said in found["why"][0]
    assert found["why"][0].endswith("12.5 ms in the mean at most: 80 waits ended within 1.00 s")
    assert found["seen"] == "waits are counted; holds are not seen"
    done = run_cli("report", "--json", record)
    (told,) = json.loads(done.stdout)["records"][0]["locks"]
    assert (told["counted"], told["contended_share"], told["contended"]) == (False, None, 80)
    text = run_cli("report", record, environ={"COLUMNS": "200"}).stdout
    row = re.search(r"^lock .*\n(.*)$", text[text.index("Mutexes") :], re.M)[1].split()
    assert row[5:7] == ["-", "-"], text


@pytest.mark.parametrize(
    ("facts", "meant"),
    [
        (None, True),
        (Facts(0.0, [], 0.0, []), True),
        (Facts(1.0, [], 1.0, []), True),
        (Facts(1.0, [], 0.0, []), False),
    ],
)
def test_waits_of_sections_that_do_something_are_not_meant(facts, meant):
    assert holdlengths.may_be_meant(["kept"], facts) == meant
    assert holdlengths.may_be_meant(["gate"], facts)
    assert not holdlengths.may_be_meant(["often"], facts)


@pytest.mark.parametrize(("preempted", "told"), [(40, False), (60, True)])
def test_holders_that_sleep_are_not_said_to_lose_the_processor(tmp_path, preempted, told):
    """Who wakes another is often taken off for a moment; not where more lose it than sleep."""
    of = Planted()
    lock = of.lock([3 * MS] * 60)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 60, [preempted, 90, 50])
    (found,) = of.findings(tmp_path)
    assert found["causes"][0] == "sleeps"
    assert ("preempted" in found["causes"]) == told


def test_advice_names_those_calls_that_it_is_about():
    seen = {"watched": 60, "preempted": 0, "preemptions": 0, "slept": 60, "slept_share": 1.0}
    lock = {"object": "mutex", "hold": {"mean_ns": 2 * MS, "interrupted": seen}}
    calls = [("pthread_mutex_lock", "wait"), ("usleep", "sleep")]
    facts = Facts(1.0, [Call(*each, "", False, 1.0) for each in calls], 0.0, [], slow=["wait"])
    (reason,) = causes._sleeps(lock, facts)
    assert "its section calls usleep, pthread_mutex_lock" in reason.why
    assert reason.do.startswith("sleep after the release (usleep), or wait at")


@pytest.mark.parametrize("sleeps", [True, False])
@pytest.mark.parametrize(
    ("kind", "always", "looped", "cause"),
    [("input or output", True, False, "input_output"), ("input or output", False, True,
     "input_output"), ("input or output", False, False, None), ("wait", False, False, None),
     ("wait", True, False, "waits")],
)  # fmt: skip
def test_what_is_called_on_some_ways_alone_is_not_what_is_waited_for(
    sleeps, kind, always, looped, cause
):
    """It may be what is done when something has failed, as a message is written then."""
    seen = {"watched": 60, "preempted": 0, "preemptions": 0, "slept": 60 if sleeps else 0}
    seen["slept_share"] = 1.0 if sleeps else 0.0
    hold = {"mean_ns": 3 * MS, "interrupted": seen}
    lock = {"object": "mutex", "hold": hold, "waits": {}, "members": 1, "acquisitions": 60}
    process = {"duration_ns": 1000 * MS, "processors": 2}
    calls = [Call("tells", kind, "a.c:7", looped, 1.0)]
    facts = Facts(1.0, calls, 0.0, [], slow=[kind] * always)
    results = {"process": process, "account": {"parts": {}, "why_unexplained": "", "total_ns": 1}}
    if sleeps:
        (reason,) = causes._sleeps(lock, facts)
    else:
        reason = holdlengths._long(lock, results, facts)
    by_input = cause == "input_output" or sleeps
    assert reason.cause == ((by_input and cause) or ("sleeps" if sleeps else "long"))
    assert ("tells" in reason.do) == (reason.cause == cause)
    assert ("its section may call tells (a.c:7)" in reason.why) == (
        reason.cause != cause and (sleeps or kind != "wait")
    )


@pytest.mark.parametrize("slept_share", [None, 0.02, 0.99])
@pytest.mark.parametrize("blockers", [None, {"share": 0.98, "watched": 2, "slept": 2}])
def test_few_holds_that_sleep_are_told_alike_however_many_of_them_were_seen(slept_share, blockers):
    """By what blocks others, where that is known; what is called is that of the blockers, too."""
    seen = {"watched": 280, "preempted": 0, "preemptions": 0, "slept": 2}
    seen |= {"slept_share": slept_share, "blockers": blockers}
    waits = {"mutex": {"count": 20, "total_ns": 300 * MS}}
    lock = {"object": "mutex", "hold": {"mean_ns": MS, "interrupted": seen}, "waits": waits}
    calls = [
        Call(name, kind, "", False, 1.0) for name, kind in (("fsync", "io"), ("usleep", "sleep"))
    ]
    facts = Facts(1.0, calls[:1], 0.0, [], blamed=calls[1:])
    found = [*causes._sleeps(lock, facts)]
    assert len(found) == (blockers is not None or slept_share == 0.99)
    for reason in found:
        told = "sleeps meanwhile: in 2 of 2 of their" if blockers else "2 of 280 holds seen, and"
        assert told in reason.why
        assert "its section calls usleep" in reason.why
        assert reason.do.startswith("sleep after the release (usleep), or wait at")


@pytest.mark.parametrize(("taken", "starved"), [(1000, True), (150, False)])
def test_writers_that_readers_keep_out(tmp_path, taken, starved):
    """Three readers hold it all the time, one beside the other; or it is held for half of it."""
    of = Planted()
    lock = of.builder.lock(0x9000, 2, taken, 0, of.stack, [3 * MS] * 60)
    of.builder.row(of.threads[0], lock, 4, [400 * MS] * 2)
    for thread in of.threads[1:4]:
        of.builder.row(thread, lock, 3, [100 * US])
    (found,) = of.findings(tmp_path)
    assert ("starved" in found["causes"]) == starved
    # Who waits does nothing with it: nobody keeps it shut for that.
    results = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"][0]
    empty = Facts(1.0, [], 1.0, [], empty=1.0)
    causes_too = [each.cause for each in causes.reasons(results["locks"][0], results, empty)]
    assert ("gate" in causes_too) == (not starved), causes_too
    if starved:
        assert found["why"][0].startswith("who takes it for writing waits while others take it")
        assert found["do"][0].startswith("let writers go first")


@pytest.mark.parametrize("recorder", [0, 1])
def test_waits_in_vain_have_taken_nothing(tmp_path, recorder):
    """Of 80 waits 60 end by their time limits: the other 20 have held it one after the other."""
    of = Planted()
    of.builder.recorder = recorder
    lock = of.lock(acquisitions=25 * (recorder == 0))
    of.waits(lock, 50 * MS)
    for thread, times in zip(of.threads, [10] * 6 + [0, 0], strict=True):
        of.builder.in_vain(thread, lock, times)
    record = of.builder.write(tmp_path / "rec")
    (found,) = of.findings(tmp_path)
    assert (
        "8 threads waited 80 times, 60 of these in vain, 50.0 ms each in the mean" in found["cost"]
    )
    said = "50.0 ms in the mean at most: 20 waits ended with it within 1.00 s"
    assert found["why"][0].endswith(said)
    (told,) = json.loads(run_cli("report", "--json", record).stdout)["records"][0]["locks"]
    assert (told["contended"], told["in_vain"]) == (80, 60)
    assert (told["acquisitions"], told["contended_share"]) == [(25, 0.8), (20, None)][recorder]


def test_functions_in_sentences_have_no_arguments(tmp_path):
    name = (
        "a::Shard::Shard(unsigned long, std::function<b::Status (void const*, void**)> const&)+0x7d"
        " > (anonymous namespace)::Mutex::operator()(bool)+0x2c"
    )
    assert in_sentence(name) == (
        "a::Shard::Shard+0x7d > (anonymous namespace)::Mutex::operator()+0x2c"
    )
    assert in_sentence("Table<int, Hash<int> >::lock") == "Table<int, Hash<int> >::lock"
    assert in_sentence("f(int) (its caller is not known)") == "f (its caller is not known)"


def test_a_small_share_is_told_in_words(tmp_path):
    of = Planted()
    lock = of.lock([300] * 59 + [30 * US])
    of.waits(lock, 200 * US, times=6)
    (found,) = of.findings(tmp_path)
    assert found["why"][0].endswith(
        "there are 1,000 a second: it is held less than 0.1 % of the time"
    )
    assert (about(0), about(0.0004), about(0.001)) == (
        "about 0.0 %",
        "less than 0.1 %",
        "about 0.1 %",
    )


@pytest.mark.parametrize(
    ("running", "io", "said"),
    [
        (195, 0, "it keeps all processors busy as it is"),
        (30, 800, "its threads spend far longer on other things than on these waits"),
    ],
)
def test_why_hardly_anything_is_gained(running, io, said):
    """By processors that are busy with it, or by threads that hardly wait: which one, is said."""
    parts = {"running": running, "io": io, "locks": 10}
    account = {"parts": parts, "total_ns": sum(parts.values()), "too_much_ns": 0}
    account["why_unexplained"] = None
    process = {"processors": 2, "duration_ns": 100, "more_threads": False}
    each = {"label": "w", "start_ns": 0, "end_ns": None, "waited_ns": 2, "runnable_ns": 0}
    results = {"account": account, "process": process, "threads": [each], "locks": []}
    waits = [{"thread": "w", "waited_ns": 2}]
    most = findings.gain_at_most({"lost_ns": 2, "waited_ns": 2, "by_thread": waits}, results)
    assert findings.gain_in_words(most, results) == f"hardly anything: {said}"


@pytest.mark.parametrize(("threads", "most"), [(2, 2), (40, 4)])
def test_what_other_programs_take_they_would_take_then_too(threads, most):
    """A processor that 40 threads take from each other is another matter."""
    parts = {"running": 10, "runnable": 30, "locks": 100, "elsewhere": 60}
    account = {"parts": parts, "total_ns": 200, "too_much_ns": 0, "why_unexplained": None}
    alive = [
        {"label": f"w{n}", "start_ns": 0, "end_ns": None, "waited_ns": 50, "runnable_ns": 25}
        for n in range(threads)
    ]
    process = {"processors": 2, "duration_ns": 100, "more_threads": False}
    results = {"account": account, "process": process, "threads": alive, "locks": []}
    waits = [{"thread": f"w{n}", "waited_ns": 50} for n in range(threads)]
    lock = {"lost_ns": 50 * threads, "waited_ns": 50 * threads, "by_thread": waits}
    assert findings.gain_at_most(lock, results) == most


def test_of_more_threads_than_have_entries_not_each_is_known():
    """Then the lives of those who wait are not known either, and only the rest tells."""
    parts = {"running": 10, "locks": 50, "elsewhere": 40}
    account = {"parts": parts, "total_ns": 100, "too_much_ns": 0, "why_unexplained": None}
    each = {"label": "w", "start_ns": 0, "end_ns": None, "waited_ns": 50, "runnable_ns": 0}
    process = {"processors": 1, "duration_ns": 100, "more_threads": False}
    results = {"account": account, "process": process, "threads": [each], "locks": []}
    lock = {"lost_ns": 100, "waited_ns": 50, "by_thread": [{"thread": "w", "waited_ns": 50}]}
    assert findings.gain_at_most(lock, results) == 2
    process["more_threads"] = True
    assert findings.gain_at_most(lock, results) == 10


@pytest.mark.parametrize(("most", "said"), [(1.84, "1.9x"), (1.8, "1.8x"), (2.01, "2.1x")])
def test_a_bound_is_rounded_up(most, said):
    account = {"parts": {"running": 1}}
    process = {"processors": 9, "duration_ns": 100}
    words = findings.gain_in_words(most, {"account": account, "process": process})
    assert words.startswith(f"at most {said} as fast")


def test_of_several_locks_the_worst_is_told_apart(tmp_path):
    """Also where they are few, and by who uses it where that is known."""
    of = Planted()
    of.builder.maps = "a000-f000 r-xp 0000a000 08:01 1 /gone/app\n"
    stacks = [of.builder.stack(0xA001, 0xB001 + n, 0xF000) for n in range(2)]
    for number, stack in enumerate(stacks):
        lock = of.builder.lock(0x9000 + 64 * number, 1, 100, 0, stack, [250 * US] * 40)
        of.waits(lock, [1, 9][number] * MS)
        of.builder.hold(of.threads[0], lock, 10, 20, stack)
    (found,) = of.findings(tmp_path)
    assert found["members"] == 2
    told = "one of its 2 locks, 0x9040 (first used by app+0xb001), has 90.0 % of that"
    assert told in found["why"]
    text = run_cli("report", tmp_path / "rec").stdout
    assert "90.0 % of it at one of the 2: 0x9040, first used by app+0xb001" in text


def test_few_holds_are_said_to_be_few(tmp_path):
    of = Planted()
    lock = of.lock([5 * MS] * 3)
    of.waits(lock, 5 * MS)
    of.builder.holder(0, lock, 3, [0, 0, 3])
    assert of.findings(tmp_path)[0]["seen"].endswith(
        "3 were timed, 3 watched: few, so the cause may be another; record for longer"
    )


def test_the_worst_come_first_and_the_rest_is_left_to_the_tables(tmp_path):
    of = Planted()
    for each in (1, 30, 20, 25, 22):
        lock = of.builder.lock(0x9000 + each, 1, 100, 0, of.builder.stack(0xB000 + each), [US] * 20)
        of.waits(lock, each * 100 * US)
    assert [found["lock"] for found in of.findings(tmp_path)] == ["0xb01e", "0xb019", "0xb016"]
    assert [found["lock"] for found in of.findings(tmp_path, "--lock", "b019")] == ["0xb019"]
    assert Planted().findings(tmp_path) == []


SLEEPER = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void flush(void) {
  pthread_mutex_lock(&log_lock);
  usleep(1000);
  pthread_mutex_unlock(&log_lock);
  usleep(100);
}
static void* work(void* x) { for (int i = 0; i < 40; i++) flush(); return x; }
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""


def test_a_program_that_sleeps_under_its_lock(tmp_path):
    program = compile_c(SLEEPER, tmp_path / "prog", "-g", "-O1", "-pthread")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    text = run_cli("report", tmp_path / "rec").stdout
    first = text[text.index("What costs most") :].partition("\n\n")[0]
    assert re.search(r"^log_lock: [\d.]+ % of all thread time .*: 4 threads waited", first, re.M)
    assert re.search(r"^  why: who holds it sleeps: in (\d+) of \1 holds seen", first, re.M)
    assert re.search(r"^  why: it is held until flush \(<stdin>:\d+\)", first, re.M)
    assert "  do: sleep after the release (usleep), or wait at a condition variable" in first
    whole = re.sub(r"\s+", " ", first)
    assert re.search(r"its section calls usleep \(<stdin>:7\) \((certain|likely)\)", whole), first
    assert "gain: at most" in first


YIELDER = """
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* x) {
  for (int i = 0; i < 600; i++) {
    pthread_mutex_lock(&turn);
    sched_yield();
    pthread_mutex_unlock(&turn);
  }
  return x;
}
int main(void) {
  pthread_t t[8];
  for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
}
"""


def test_a_program_that_yields_under_its_lock(tmp_path):
    """What its holders lose is no time slice, however many threads or other programs there are."""
    program = compile_c(YIELDER, tmp_path / "prog", "-g", "-O1", "-pthread")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"][0]
    first = found["findings"][0]
    assert (first["lock"], first["causes"][0]) == ("turn", "yields"), first
    assert "work at <stdin>:8 calls sched_yield as often as it is taken" in first["why"][0]
    assert first["do"][0] == "call sched_yield after the release"


@pytest.mark.parametrize(
    ("name", "width", "said"),
    [
        ("table_lock", 10, "table_lock"),
        ("a::get(std::map<int, int>&) at a.cc:10", 20, "a::get at a.cc:10"),
        ("a::b<c<int>, d>::get() at a.cc:10 x64", 21, None),
        (
            "Database::Database() at db.cc:16 > Mutex::Mutex():11",
            30,
            "Database::Da…e at db.cc:16 > …",
        ),
        ("(anonymous namespace)::lock at a.cc:1", 36, "(anonymous namesp…e)::lock at a.cc:1"),
        ("operator()(int) at a.cc:1", 21, "operator() at a.cc:1"),
    ],
)
def test_names_are_shortened_where_they_tell_least(name, width, said):
    got = shortened(name, width)
    assert len(got) <= width
    assert said is None or got == said
    if " x" in name:
        assert got.endswith(" x64")


def test_columns_that_have_no_room_are_named(tmp_path):
    of = Planted()
    long(of)
    record = of.builder.write(tmp_path / "rec")
    narrow = run_cli("report", record, environ={"COLUMNS": "80"}).stdout
    wide = run_cli("report", record, environ={"COLUMNS": "200"}).stdout
    (said,) = re.findall(r"no room for: (.*?)\s+\(a\s+wider", narrow)
    assert said.split(", ")[-1] == "hold max"
    titles = re.search(r"^lock .*$", wide, re.M)[0]
    assert all(title in titles for title in said.split(", "))
    assert "no room for" not in wide


def reader_sections(kind: str, only_read: float, holds: int = 3 * US) -> list[str]:
    """The causes told of sections that write nothing in so many of their holds."""
    waits = {kind: {"count": 20, "total_ns": 20 * MS, "mean_ns": MS, "max_ns": MS}}
    lock = {"object": "mutex" if kind == "mutex" else "rwlock", "waits": waits}
    lock["hold"] = {"mean_ns": holds}
    return [each.do for each in holdlengths._readers(lock, Facts(1.0, [], only_read, []))]


def test_readers_that_take_a_reader_writer_lock_for_writing():
    (do,) = reader_sections("mutex", 0.9)
    assert do.startswith("let these take a reader-writer lock for reading")
    (do,) = reader_sections("write", 1.0)
    assert do.startswith("let these take it for reading (std::shared_lock)")
    # Holds of readers are among those that were read; and what is this short gains nothing.
    assert reader_sections("write", 0.9) == reader_sections("read", 1.0) == []
    assert reader_sections("write", 1.0, 300) == []


@pytest.mark.parametrize(("looped", "hold", "told"), [(True, 6 * US, True), (True, 300, False),
                                                      (False, 6 * US, False)])  # fmt: skip
def test_short_sections_that_allocate_again_and_again(looped, hold, told):
    waits = {"mutex": {"count": 400, "total_ns": 1600 * hold, "mean_ns": 4 * hold}}
    waits["mutex"]["max_ns"] = 4 * hold
    held = {"mean_ns": hold, "max_ns": hold, "samples": 60, "histogram": [[hold, hold, 60]]}
    lock = {"object": "mutex", "hold": held, "waits": waits, "threads_lost": 4,
            "acquisitions": 10**5, "counted": True, "lost_ns": 1600 * hold,
            "contended_releases": 0, "members": 1}  # fmt: skip
    account = {"parts": {"running": 1000 * MS}, "total_ns": 1000 * MS, "why_unexplained": None}
    results = {"process": {"duration_ns": 1000 * MS, "processors": 2}, "account": account}
    facts = Facts(1.0, [Call("operator new", "allocation", "a.cpp:1", looped, 1.0)], 0.0, [])
    found = holdlengths.by_length(lock, results, facts)
    assert [each.cause for each in found] == ["often", *(["allocates"] if told else [])]
    assert not told or found[1].why == "its section calls operator new (a.cpp:1) again and again"

    alone = holdlengths.by_length(lock, results, facts._replace(allocating=0.6))
    assert [each.cause for each in alone] == ["allocates", "often"]
    assert alone[0].why.endswith("its section does little but call operator new (a.cpp:1)")
    few = holdlengths.by_length(lock, results, facts._replace(allocating=0.4))
    assert few == found


def short_section(*calls: Call, slow: tuple = ()) -> holdlengths.Reason:
    held = {"mean_ns": 80, "max_ns": 90, "samples": 60, "histogram": [[80, 80, 60]]}
    waits = {"mutex": {"count": 400, "total_ns": 120_000, "mean_ns": 300, "max_ns": 400}}
    lock = {"object": "mutex", "hold": held, "waits": waits, "threads_lost": 4,
            "acquisitions": 10**7, "counted": True, "lost_ns": 120_000,
            "contended_releases": 0, "members": 1}  # fmt: skip
    account = {"parts": {"running": 1000 * MS}, "total_ns": 1000 * MS, "why_unexplained": None}
    results = {"process": {"duration_ns": 1000 * MS, "processors": 2}, "account": account}
    (found,) = holdlengths.by_length(lock, results, Facts(1.0, [*calls], 0.0, [], slow=slow))
    assert found.cause == "often"
    return found


@pytest.mark.parametrize("kind", ["allocation", "perhaps allocation"])
def test_what_a_short_section_calls_for_memory_is_named(kind):
    """Whether it does so each time is not certain."""
    found = short_section(Call("std::string::_M_append", kind, "a.cpp:1", False, 1.0))
    assert found.why.endswith("; its section may call std::string::_M_append (a.cpp:1)")
    assert ", or allocate before it is taken" in found.do
    seldom = short_section(Call("operator new", kind, "a.cpp:1", False, 0.3))
    assert "call" not in seldom.why
    assert "allocate" not in seldom.do
    other = short_section(Call("pwrite", "input or output", "a.cpp:1", False, 1.0))
    assert "call" not in other.why


def test_what_a_short_section_always_calls_for_memory_is_said_so():
    found = short_section(
        Call("operator new", "allocation", "a.cpp:1", False, 1.0), slow=("allocation",)
    )
    assert found.why.endswith("; its section calls operator new (a.cpp:1)")


CONTAINERS = {
    "map": ("std::map<int, int> t;", "t[k] = k; t.erase(k - 3);"),
    "unordered_map": ("std::unordered_map<int, int> t;", "t[k] = k; t.erase(k - 3);"),
    "string": ("std::string t;", "t.append(k % 9, 'x'); if (t.size() > 99) t.assign(1, 'y');"),
    "list": ("std::list<int> t;", "t.push_back(k); if (t.size() > 9) t.pop_front();"),
    "vector": (
        "std::vector<int> t;",
        "t.push_back(k); if (t.size() > 99) std::vector<int>().swap(t);",
    ),
    "nothing": ("long t;", "t += k;"),
}
FILLS = """
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include <unistd.h>
std::mutex lock;
VARIABLE
std::atomic<bool> has_it;
__attribute__((noinline)) void put(int k) {
  std::lock_guard<std::mutex> guard(lock);
  STEPS
  if (k == 0) {  // until others wait for it
    has_it = true;
    usleep(200000);
  }
}
void use(int n) {
  while (n != 0 && !has_it) usleep(1000);
  for (int i = 0; i < 20; ++i) put(n * 1000000 + i);
}
int main() {
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) threads.emplace_back(use, n);
  for (auto& each : threads) each.join();
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_memory_of_containers_is_seen_in_the_code(tmp_path, container, compiler):
    """In what the library's templates become, and in what it has compiled itself."""
    variable, steps = CONTAINERS[container]
    (tmp_path / "fills.cpp").write_text(FILLS.replace("VARIABLE", variable).replace("STEPS", steps))
    program = tmp_path / "fills"
    command = [compiler, "-O2", "-g", "-o", program, tmp_path / "fills.cpp", "-pthread"]
    subprocess.run(command, check=True)
    run_cli("record", "-q", "-o", tmp_path / "r", "--", program)
    analysis = Analysis(Record(str(tmp_path / "r")))
    (group,) = [each for each in analysis.groups if each.name.text == "lock"]
    facts = SectionCode(analysis).facts(group)
    assert facts and facts.share > 0.5
    memory = {"allocation", "perhaps allocation"} & {call.kind for call in facts.calls}
    assert bool(memory) == (container != "nothing")
    assert not any("basic_string<" in call.function for call in facts.calls)


@pytest.mark.parametrize(
    ("kind", "always", "each", "cause"),
    [("sleep", True, 3 * MS, "sleeps"), ("input or output", True, 3 * MS, "input_output"),
     ("sleep", False, 3 * MS, "unknown"), ("sleep", True, 3 * US, "unknown"),
     ("allocation", True, 3 * MS, "unknown"), ("wait", True, 3 * MS, "unknown")],
)  # fmt: skip
def test_holds_that_are_not_seen_by_what_their_code_calls(kind, always, each, cause):
    """Where every way through the section does, and waits are as long as such calls."""
    waits = {"mutex": {"count": 100, "total_ns": 100 * each, "mean_ns": each, "max_ns": each}}
    lock = {"object": "mutex", "hold": None, "waits": waits, "threads_lost": 4, "in_vain": 0,
            "addresses": ["0x9000"], "named_by": "symbol", "members": 1, "lost_ns": 100 * each,
            "waiters": [], "shared": []}  # fmt: skip
    results = {"process": {"duration_ns": 90 * each, "processors": 2, "recorder": "kernel"}}
    calls = [Call("does_it", kind, "a.c:1", False, 1.0)]
    facts = Facts(1.0, calls, 0.0, [], slow=[kind] if always else [])
    (found,) = holdlengths.by_length(lock, results, facts)
    assert found.cause == cause
    assert found.why.startswith("how often it was taken, and how long it was held, is not seen")
    if cause != "unknown":
        assert "its section always calls does_it (a.c:1), and waits last 3.00 ms" in found.why
        assert found.sure == "likely" and "does_it" in found.do


@pytest.mark.parametrize(("most", "spare", "advised"),
                         [(1.02, 1.6, False), (1.02, 1.01, True), (1.3, 1.6, True),
                          (None, 1.6, True)])  # fmt: skip
def test_where_nothing_is_to_be_gained_nothing_is_advised(
    tmp_path, monkeypatch, most, spare, advised
):
    """But where threads keep all processors busy, waiting may be what they are busy with."""
    monkeypatch.setattr(findings, "gain_at_most", lambda *_: most)
    monkeypatch.setattr(findings, "_spare", lambda _: spare)
    of = Planted()
    often(of)
    of.findings(tmp_path)
    results = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"][0]
    found = findings._finding(results["locks"][0], results, None)
    assert (found["causes"], bool(found["do"])) == (["often"], advised), found
    assert any(each["do"] for each in found["reasons"]) == advised


@pytest.mark.parametrize(("disturbed", "cause"), [(4, "preempted"), (0, "long")])
def test_few_holds_that_lost_the_processor_make_no_hold_long(tmp_path, disturbed, cause):
    """Four of 280 did, which took milliseconds each, where the others took a microsecond."""
    of = Planted()
    lock = of.lock([US] * 276 + [8 * MS] * 4, acquisitions=5000)
    of.waits(lock, 20 * MS, times=9)
    of.builder.holder(0, lock, 280, [disturbed, disturbed, 0])
    (found,) = of.findings(tmp_path)
    assert found["causes"][0] == cause, found
    if disturbed:
        assert found["why"][0].endswith(
            "about 71 of all; waits take 20.0 ms, other holds 896 ns in the mean"
        )
        assert found["reasons"][0]["sure"] == "possible"


@pytest.mark.parametrize(
    ("others", "disturbed", "cause"),
    [(3 * US, 9, "preempted"), (3 * US, 0, "long"), (300 * US, 9, "long")],
)
def test_holds_that_are_long_where_they_lost_the_processor(tmp_path, others, disturbed, cause):
    """As few waits as such holds may be behind tell nothing of these; what the others take does."""
    of = Planted()
    lock = of.lock([others] * 110 + [4 * MS] * 8, acquisitions=1200)
    of.waits(lock, 5 * MS, times=36)
    of.builder.holder(0, lock, 118, [disturbed, disturbed, 0])
    of.builder.gaps(0, lock, INSIDE, [others] * (118 - disturbed))
    (found,) = of.findings(tmp_path)
    assert found["causes"][0] == cause, found
    if cause == "preempted":
        assert found["why"][0] == (
            "who holds it loses the processor: in 9 of 118 holds seen, which are about 99.0 % of"
            " the time that it is held: others take 3.00 us in the mean"
        )
        assert found["do"][0].endswith("so that a time slice seldom ends in it")


@pytest.mark.parametrize(
    ("hold", "preempted", "facts", "told"),
    [
        (3 * US, 12, None, ["preempted"]),
        (3 * US, 12, LOOPING, ["preempted", "allocates"]),
        (3 * US, 12, LOOPING._replace(allocating=0.6), ["preempted", "allocates"]),
        (3 * US, 12, Facts(1.0, [], 0.9, []), ["preempted", "readers"]),
        (3 * US, 12, Facts(1.0, [], 0.0, [WRITTEN]), ["preempted", "false_sharing"]),
        (3 * US, 12, Facts(1.0, [], 0.0, []), ["preempted"]),
        (250 * US, 50, LOOPING, ["preempted", "allocates"]),
        (250 * US, 50, Facts(1.0, [], 0.9, []), ["preempted", "readers"]),
        (250 * US, 50, WRITING, ["preempted", "input_output"]),
        (250 * US, 50, WRITING._replace(slow=()), ["preempted"]),
        (250 * US, 12, WRITING, ["input_output", "preempted"]),
        (250 * US, 12, LOOPING, ["allocates", "preempted"]),
    ],
)
def test_a_cause_beside_lost_processors_is_said_too(tmp_path, hold, preempted, facts, told):
    of = Planted()
    lock = of.lock([hold] * 60)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 60, [preempted, preempted, 0])
    of.findings(tmp_path)
    results = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"][0]
    found = causes.reasons(results["locks"][0], results, facts)
    assert [each.cause for each in found] == told
    assert not any("and who holds it mostly runs" in each.why for each in found[1:])


@pytest.mark.parametrize(
    ("times", "preempted", "cause"),
    [(990, 50, "yields"), (990, 16, "yields"), (400, 50, "preempted"), (990, 12, "preempted")],
)
def test_holders_that_give_their_processor_up(tmp_path, times, preempted, cause):
    """No time slice ends in most sections of a microsecond: they call sched_yield(), as the calls'
    count tells."""
    of = Planted()
    lock = of.lock([3 * US] * 60)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 60, [preempted, preempted, 0])
    calls = of.builder.lock(0xC000, YIELD, 0, 0, of.builder.stack(0xC000, 0xF000))
    of.builder.row(of.threads[0], calls, YIELDING, [2 * US] * times)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause], found
    assert ("call sched_yield after the release" in found["do"]) == (cause == "yields")


def test_of_a_java_stack_the_programs_own_frames_are_told():
    """What it calls is Java's, as is what that calls; the program's own frames are behind it."""
    names = ["java.lang.Thread.sleep", "java.lang.Thread.sleep", "Books.nap", "Books.post", "X.run"]
    frames = [{"function": name, "file": "", "line": 0} for name in names]
    holder = {"frames": frames, "wrapper_frames": 0, "share": 1.0}
    results = {"process": {"recorder": "jvm"}}
    assert [*findings._where({"holders": [holder]}, results)] == [
        "who holds it is meanwhile in java.lang.Thread.sleep, called by Books.nap, called by"
        " Books.post"
    ]
    holder["frames"] = frames[:2]
    assert [*findings._where({"holders": [holder]}, results)] == [
        "who holds it is meanwhile in java.lang.Thread.sleep, called by java.lang.Thread.sleep"
    ]


COMPLAINS = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static double table[4096];
static volatile int broken;
__attribute__((noinline)) static double compute(double x) {
  double sum = 0;
  for (int k = 0; k < 60; ++k)
    for (int i = 0; i < 4096; ++i) sum += table[i] * x + 1 / (sum + i + 1);
  return sum;
}
static void* run(void* x) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&table_lock);
    const double found = compute(i);
    if (found != found || broken) fprintf(stderr, "no value: %f\\n", found);
    table[i] = found * 1e-9;
    pthread_mutex_unlock(&table_lock);
    nanosleep(&(struct timespec){0, 500000}, 0);
  }
  return x;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_message_where_something_fails_is_not_what_a_lock_is_held_for(tmp_path, compiler):
    program = compile_c(COMPLAINS, tmp_path / "x", "-O2", "-g", "-pthread", compiler=compiler)
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    reasons = [reason for each in found["findings"] for reason in each["reasons"]]
    assert reasons
    assert not any("fprintf" in reason["do"] for reason in reasons)
    long = [reason["why"] for reason in reasons if reason["cause"] == "long"]
    assert all("its section may call fprintf" in why for why in long)


@pytest.mark.parametrize("locks, each", [(30, 9 * MS), (400, 900 * US)])
def test_many_locks_that_cost_little_each_are_not_nothing(tmp_path, locks, each):
    """None has a twentieth of what was lost, or a thousandth of all time; together they cost much.
    The worst is told where it has the latter."""
    of = Planted()
    for number in range(locks):
        stack = of.builder.stack(0xB000 + number)
        lock = of.builder.lock(0x9000 + 64 * number, 1, 100, 0, stack, [US] * 20)
        of.builder.row(number % 8, lock, 1, [each])
    found = of.findings(tmp_path)
    text = " ".join(run_cli("report", tmp_path / "rec").stdout.split())
    assert "Nothing to do" not in text
    if each >= 8 * MS:
        assert len(found) == 3 and not any("of holds 1 were" in each["seen"] for each in found)
    else:
        said = "No one lock that is recorded costs much: waiting for all took about 4.5 % of all"
        assert not found and said in text


@pytest.mark.parametrize("futex", [0, 80])
def test_that_nobody_waited_is_said_of_what_is_told(tmp_path, futex):
    """Threads that sleep at futexes of the program's own for a part of their time may wait there
    for each other."""
    of = Planted()
    condition, own = of.builder.lock(0x9000, 4), of.builder.lock(0x9100, 6)
    of.waits(condition, (995 - futex) * MS, times=1, kind=6)
    if futex:
        of.waits(own, futex * MS, times=1, kind=8)
    assert not of.findings(tmp_path)
    text = " ".join(run_cli("report", tmp_path / "rec").stdout.split())
    assert ("No thread waited for a lock." in text) == (not futex)
    assert ("but perhaps within 8.5 % of all thread time, which may hide some" in text) == bool(
        futex
    )
