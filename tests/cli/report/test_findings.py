"""The first screen: sentences on the worst locks, from records whose causes are known."""

import json
import re
import subprocess

import pytest
from conftest import run_cli
from planted_record import (
    MS,
    US,
    Planted,
    long,
    often,
    preempted,
    preempted_seldom,
    relock,
    sleeps,
    sleeps_seldom,
    uneven,
    unexplained,
    unknown,
)

from syncopate.records import causes, languages
from syncopate.records.naming import UNKNOWN_CALLER
from syncopate.records.sectioncode import Call, Facts
from syncopate.symbols.symbols import Frame

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


@pytest.mark.parametrize(("waits", "sure"), [(9, "possible"), (10, "likely")])
@pytest.mark.parametrize(("hold", "times", "cause"), [(4, 240_000, "often"), (90, 11_000, "long")])
def test_few_waits_are_too_few_for_what_fits_them(tmp_path, hold, times, cause, waits, sure):
    of = Planted()
    lock = of.lock([hold * US] * 60, acquisitions=times)
    of.builder.row(of.threads[0], lock, 1, [20 * MS] * waits)
    (found,) = of.findings(tmp_path)
    assert [(each["cause"], each["sure"]) for each in found["reasons"]] == [(cause, sure)]


def test_one_thread_alone_is_not_told_to_be_one_of_too_many_that_are_woken(tmp_path):
    of = Planted()
    lock = of.lock([3 * US] * 60)
    of.builder.row(of.threads[0], lock, 2, [9 * MS] * 10)
    (found,) = of.findings(tmp_path)
    assert found["why"][0] == (
        "one thread that a condition variable woke waits for it: 10 of 10 waits"
    )
    assert found["do"][0].startswith("release the mutex before that thread is woken")


def test_locks_whose_maker_is_not_known_are_not_parts_of_one_thing(tmp_path):
    """A function that many call made them: each may have been made for another thing."""
    of = Planted()
    uneven(of)
    record = of.builder.write(tmp_path / "rec")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    (lock,) = results["locks"]
    assert "uneven" in [each.cause for each in causes.reasons(lock, results, None)]
    lock["name"] += f" ({UNKNOWN_CALLER})"
    assert "uneven" not in [each.cause for each in causes.reasons(lock, results, None)]
    (said,) = causes.worst_of_several(lock)
    assert said.startswith("one of its 64 locks, ")


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
    # And malloc's locks are called so, not by who used them first.
    frames = [Frame(function, "", 0, "", False) for function in functions]
    assert languages.is_of_malloc(frames) == (cause == "malloc")


@pytest.mark.parametrize(("locks", "is_uneven"), [(4, False), (8, True)])
def test_of_few_locks_one_has_half_of_the_time_by_chance(tmp_path, locks, is_uneven):
    of = Planted()
    for number in range(locks):
        lock = of.lock([3 * US] * 20, create=of.stack)
        of.builder.row(of.threads[0], lock, 1, [(locks - 1 if number == 1 else 1) * MS] * 20)
    (found,) = of.findings(tmp_path)
    assert ("uneven" in found["causes"]) == is_uneven


@pytest.mark.parametrize("begin", [100 * MS, 999 * MS])
def test_of_a_deadlock_nothing_else_is_told(tmp_path, begin):
    """And that is told also where the record ends soon after it began: it would have gone on."""
    of = Planted()
    locks = [of.lock([300] * 60, create=of.builder.stack(0xB000 + n, 0xF000)) for n in range(2)]
    for number in range(2):
        other = 1 - number
        since, holder_since, holder = begin + number, begin + other, 200 + other
        wait = (since, 0, 0xA000, locks[number], 1, holder, 0, 2)
        of.builder.thread(200 + number, end=0, waits=wait, seen=(since, holder_since, holder))
    found = of.findings(tmp_path)
    assert len(found) == 2
    for each in found:
        assert each["causes"] == ["open"]
        assert each["why"] == ["1 thread waits for it still: it is part of a deadlock"]
        assert each["do"] == ["let all threads take these locks in one order"]
        assert each["seen"].startswith("waits are counted, also those that are not over")


TRANSFERS = """
#include <mutex>
#include <thread>
#include <unistd.h>
struct Account {
  std::mutex lock;
  long balance = 1000;
  __attribute__((noinline)) void send(Account& to, long n) {
    std::lock_guard<std::mutex> mine(lock);
    usleep(100000);
    std::lock_guard<std::mutex> theirs(to.lock);
    balance -= n, to.balance += n;
  }
};
int main() {
  Account one, other;
  alarm(1);
  std::thread there([&] { one.send(other, 1); }), back([&] { other.send(one, 1); });
  there.join(), back.join();
}
"""


def test_locks_of_a_deadlock_that_are_called_alike_are_told_apart(tmp_path):
    """By their addresses; and a place that is in their name is not told once more."""
    (tmp_path / "sends.cpp").write_text(TRANSFERS)
    program = tmp_path / "sends"
    command = ["g++", "-O1", "-g", "-o", program, tmp_path / "sends.cpp", "-pthread"]
    subprocess.run(command, check=True)
    run_cli("record", "-q", "-o", tmp_path / "r", "--", program)
    results = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    (deadlock,) = results["deadlocks"]
    addresses = re.findall(r"waits for \S+.*? \((0x[0-9a-f]+)\)", deadlock["sentence"])
    assert len(set(addresses)) == 2, deadlock["sentence"]
    assert not re.search(r"( at \S+\.cpp:\d+)( \(0x[0-9a-f]+\))?\1", deadlock["sentence"])
    assert results["findings"][0]["do"] == ["let all threads take these locks in one order"]


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


@pytest.mark.parametrize(("in_vain", "is_known"), [(10, True), (41, False)])
def test_no_gain_is_told_of_waits_that_mostly_end_in_vain(tmp_path, in_vain, is_known):
    """Threads that give up do nothing with the lock; were nobody to wait, they would."""
    of = Planted(cpu=100 * MS)
    lock = of.lock([5 * MS] * 66)
    of.waits(lock, 5 * MS)
    of.builder.in_vain(of.threads[0], lock, in_vain)
    (found,) = of.findings(tmp_path)
    assert (found["gain_at_most"] is not None) == is_known
    assert found["gain"].startswith("not known: most waits ended without it") != is_known


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
