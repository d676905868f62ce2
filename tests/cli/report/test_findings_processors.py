"""The first screen, where holders of a lock lose their processor, or threads lack one."""

import json

import pytest
from conftest import compile_c, run_cli
from planted_record import (
    INSIDE,
    MS,
    US,
    Planted,
    preempted,
)

from syncopate.records import causes, preemption
from syncopate.records.sectioncode import Beside, Call, Facts

YIELD, YIELDING = 9, 17  # object_kind and wait_kind of calls of sched_yield()
LOOPING = Facts(1.0, [Call("operator new", "allocation", "a.cpp:1", True, 1.0)], 0.0, [])
WRITING = Facts(1.0, [Call("write", "input or output", "a.cpp:1", False, 1.0)], 0.0, [],
                slow=("input or output",))  # fmt: skip
WRITTEN = Beside("counter", "a.cpp:2")


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


def test_running_time_that_is_known_of_some_threads_bounds_nothing(tmp_path):
    """A lock that is hardly ever held, in a program of which one thread's running time is known."""
    of = Planted()
    of.builder.thread(100, cpu=5 * MS, delay=0)
    lock = of.lock([US] * 300, acquisitions=6000)
    of.waits(lock, 1 * MS)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == ["unknown"]
    assert "waits are far longer" in found["why"][0]


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


@pytest.mark.parametrize(("cpu", "delay", "threads"), [(2, 9, 9), (1, 1, 8), (11, 0, 9), (0, 0, 9)])
def test_who_sleeps_is_not_one_to_do_without(tmp_path, cpu, delay, threads):
    """Beside eight threads another lives for the same second, and is up for so many ms of it. With
    no processor time at all, what it did is not known."""
    of = Planted()
    of.builder.thread(100, "idle", cpu=cpu * MS, delay=delay * MS)
    preempted(of)
    (found,) = of.findings(tmp_path)
    told = f"run fewer threads than the {threads} on 2 processors"
    assert found["do"][0].startswith(told), found


@pytest.mark.parametrize(("joins_ms", "threads"), [(0, 8), (400, 8), (900, 7)])
def test_who_only_waits_for_others_to_end_is_not_one_to_do_without(tmp_path, joins_ms, threads):
    """It wants no processor: of eight threads, one joins others for so much of the second."""
    of = Planted()
    preempted(of)
    thread, join = 8, 14  # object_kind and wait_kind
    for number in range(2 if joins_ms else 0):
        ended = of.builder.lock(
            0xB000 + 64 * number, thread, 0, 0, of.builder.stack(0xC000 + number)
        )
        of.builder.row(0, ended, join, [joins_ms * MS // 2])
    (found, *_) = of.findings(tmp_path)
    told = f"run fewer threads than the {threads} on 2 processors"
    assert found["do"][0].startswith(told), found


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
    [
        (3 * US, 9, "preempted"),
        (3 * US, 0, "long"),
        (25 * US, 9, "preempted"),
        (300 * US, 9, "long"),
    ],
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
        share, took = ("99.0", "3.00") if others == 3 * US else ("92.2", "25.0")
        assert found["why"][0] == (
            f"who holds it loses the processor: in 9 of 118 holds seen, which are about {share} %"
            f" of the time that it is held: others take {took} us in the mean"
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
    # Between processors lines move, on one they do not.
    results["process"]["processors"] = 1
    on_one = {each.cause for each in causes.reasons(results["locks"][0], results, facts)}
    assert "false_sharing" not in on_one


@pytest.mark.parametrize(
    ("times", "preempted", "hold", "cause"),
    [
        (990, 50, 3 * US, "yields"),
        (990, 12, 3 * US, "yields"),  # the others sleep, mostly
        (400, 50, 3 * US, "preempted"),
        (990, 16, 30 * US, "yields"),
        (990, 12, 30 * US, "preempted"),
    ],
)
def test_holders_that_give_their_processor_up(tmp_path, times, preempted, hold, cause):
    """No time slice ends in many sections of a microsecond: they call sched_yield(), as the calls'
    count tells."""
    of = Planted()
    lock = of.lock([hold] * 60)
    of.waits(lock, 3 * MS)
    of.builder.holder(0, lock, 60, [preempted, preempted, 0])
    calls = of.builder.lock(0xC000, YIELD, 0, 0, of.builder.stack(0xC000, 0xF000))
    of.builder.row(of.threads[0], calls, YIELDING, [2 * US] * times)
    (found,) = of.findings(tmp_path)
    assert found["causes"] == [cause], found
    assert ("call sched_yield after the release" in found["do"]) == (cause == "yields")
