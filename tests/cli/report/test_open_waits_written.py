"""Waits that are not over, of records that are written byte by byte."""

import pytest
from conftest import run_cli
from make_record import RecordBuilder

from syncopate.base import terminal
from syncopate.records import processes
from syncopate.records.analysis import Analysis
from syncopate.records.comparison import side_of
from syncopate.records.lockfigures import got
from syncopate.records.openwaits import OpenWaits, cycles, waiting
from syncopate.records.recordfile import Record
from syncopate.records.results import Results
from syncopate.show import processtext, textreport

MUTEX, CONDITION = 1, 6


def wait_of(since, lock, holder=0, end=0, kind=MUTEX, flags=2, caller=0xA000):
    return (since, end, caller, lock, kind, holder, 0, flags)


def two_mutexes(builder: RecordBuilder) -> list[int]:
    return [builder.lock(0x9000 + 0x100 * n, first=builder.stack(0xB000 + n)) for n in range(2)]


@pytest.mark.parametrize(
    ("seen", "certain"),
    [
        ((0, 0, 0), False),  # 101 was seen to hold it before 101 began to wait itself
        ((1_100_000, 1_200_000, 101), True),
        ((1_100_000, 1_150_000, 101), False),  # seen while 101 was in another wait
        ((1_050_000, 1_200_000, 101), False),  # seen in another wait of 100
    ],
)
def test_only_what_was_seen_is_certain(tmp_path, seen, certain):
    builder = RecordBuilder()
    builder.flags = 0
    one, two = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(1_100_000, two, 101), seen=seen)
    builder.thread(101, end=0, waits=wait_of(1_200_000, one, 100))
    record = Record(str(builder.write(tmp_path / "r")))
    (deadlock,) = OpenWaits(Analysis(record)).deadlocks()
    assert deadlock["certain"] == certain
    assert deadlock["sentence"].startswith("deadlock: " if certain else "a deadlock, if who held")


def test_a_holder_that_was_seen_later_counts(tmp_path):
    builder = RecordBuilder()
    builder.flags = 0
    one, two = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(1_100_000, two, 101), seen=(1_100_000, 0, 102))
    builder.thread(101, end=0, waits=wait_of(1_200_000, one, 100))
    builder.thread(102, end=0)
    assert cycles(waiting(Record(str(builder.write(tmp_path / "r"))))) == []


@pytest.mark.parametrize(
    ("ended", "seen", "certain"),
    [
        (1_050_000, (0, 0, 0), True),  # it was over when the lock's memory named it
        (1_150_000, (0, 0, 0), False),  # it may have let go of it before it ended
        (1_050_000, (1_100_000, 0, 5102), None),  # another one has it by now
    ],
)
def test_a_thread_that_ended_may_hold_a_lock(tmp_path, ended, seen, certain):
    builder = RecordBuilder()
    builder.flags = 0
    one, _ = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(1_100_000, one, 101), seen=seen)
    builder.thread(101, "dier", end=ended)
    path = builder.write(tmp_path / "r")
    results = Results(Analysis(Record(str(path)))).as_data()
    (wait,), (finding,) = results["open_waits"], results["findings"]
    text = run_cli("report", path).stdout
    if certain is None:
        assert wait["holders"] == [] and "(ended)" not in text
        return
    holder = {"thread": "dier/101", "certain": certain, "ended": True, "left_behind": False}
    assert wait["holders"] == [holder]
    assert finding["why"][0] == "1 thread waits for it still: dier/101, which had it, has ended"
    assert finding["reasons"][0]["sure"] == ("certain" if certain else "likely")
    assert "make it robust" in finding["do"][0]
    assert f"dier/101{'' if certain else '?'} (ended)" in text


@pytest.mark.parametrize(("before_ms", "is_over"), [(0.3, False), (99, False), (101, True)])
def test_a_thread_that_a_kill_ended_is_no_cause(tmp_path, before_ms, is_over):
    """From the kernel all threads of a killed process are seen to end, at about one time."""
    end = 1_000_000_000
    builder = RecordBuilder(end=end)
    builder.recorder = 1
    builder.flags = 0
    one, _ = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(2_000_000, one, 101))
    builder.thread(101, "holder", end=end - round(before_ms * 1e6))
    results = Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()
    (wait,), (finding,) = results["open_waits"], results["findings"]
    holder = {"thread": "holder/101", "certain": False, "ended": is_over, "left_behind": False}
    assert wait["holders"] == [holder]
    assert any("make it robust" in do for do in finding["do"]) == is_over


def test_a_recorder_that_gave_up_says_so(tmp_path):
    """It knows nothing of what came after: no wait lasts until the program's end."""
    builder = RecordBuilder(end=1_500_000)
    builder.flags, builder.ended = 512, 2_000_000
    one, _ = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(1_400_000, one))
    path = builder.write(tmp_path / "r")
    results = Results(Analysis(Record(str(path)))).as_data()
    assert results["process"]["duration_ns"] == 500_000
    assert [wait["waited_ns"] for wait in results["open_waits"]] == [100_000]
    said = " ".join(run_cli("report", path).stdout.split())
    assert "the recorder stopped by itself" in said and "was killed" not in said


@pytest.mark.parametrize(("threads", "said"), [(1, "1 thread on"), (2048, "2,048 threads or more")])
def test_threads_that_share_entries_are_not_said_to_be_all(tmp_path, threads, said):
    builder = RecordBuilder()
    lock, _ = two_mutexes(builder)
    for number in range(threads):
        builder.thread(100 + number)
        builder.row(number, lock, MUTEX, [100_000])
    path = builder.write(tmp_path / "r")
    text = run_cli("report", path, environ={"COLUMNS": "200"}).stdout
    results = Results(Analysis(Record(str(path)))).as_data()
    assert said in text.splitlines()[1]
    assert ("told together with ones that had ended" in text) == (threads == 2048)
    for told in (results["process"], *processes.of([results])["tree"]):
        assert told["more_threads"] == (threads == 2048)
    waited = f"{threads:,} thread{'s or more' * (threads > 1)} waited"
    assert waited in results["findings"][0]["cost"]


def test_many_threads_are_a_field_not_words(tmp_path, capsys):
    """Whatever the note says: of one process, of several, and on the page."""
    builder = RecordBuilder()
    for number in range(2048):
        builder.thread(100 + number)
    of = Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()
    of["notes"] = []
    console = terminal.console(200)
    textreport._heading(console, of)
    processtext.show(console, processes.of([of]))
    text = capsys.readouterr().out
    assert "2,048 threads or more on" in text and " 2048+ " in text


def test_open_waits_count_until_the_end(tmp_path):
    """Of a wait that is over but has no row yet, as long as it took; nothing of ended threads."""
    builder = RecordBuilder()
    builder.flags = 0
    one, two = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(1_400_000, one))
    builder.thread(101, end=0, waits=wait_of(1_100_000, two, end=1_300_000))
    builder.thread(102, end=1_500_000, waits=wait_of(1_100_000, two))
    builder.row(0, one, MUTEX, [50_000])
    record = Record(str(builder.write(tmp_path / "r")))
    results = Results(Analysis(record)).as_data()
    lost = {lock["addresses"][0]: lock["lost_ns"] for lock in results["locks"]}
    assert lost == {"0x9000": 650_000, "0x9100": 200_000}
    assert results["account"]["parts"]["locks"] == 850_000
    assert results["account"]["total_ns"] == 2 * 1_000_000 + 500_000


def test_the_time_of_the_end_is_the_recorders(tmp_path):
    builder = RecordBuilder()
    builder.flags = 0
    builder.thread(100, end=0)
    builder.ended = 10**9 + 5_000_000  # 5 ms after the start, 4 ms after the last stamp
    results = Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()
    assert results["process"]["duration_ns"] == 5_000_000
    assert results["thread_time_ns"] == 5_000_000


SEMAPHORE, JOIN, CONDITION, NO_WAIT = 13, 14, 6, None


@pytest.mark.parametrize(
    ("kinds", "since", "flags", "told"),
    [((JOIN, SEMAPHORE, SEMAPHORE), 0, 0, True), ((CONDITION, SEMAPHORE), 0, 0, True),
     ((JOIN, SEMAPHORE, NO_WAIT), 0, 0, False), ((JOIN, SEMAPHORE, SEMAPHORE), 0, 1, False),
     ((JOIN, SEMAPHORE, SEMAPHORE), 600, 0, False), ((JOIN, CONDITION), 0, 0, False),
     ((SEMAPHORE,), 0, 0, False)],
)  # fmt: skip
def test_where_all_threads_wait_nobody_posts(tmp_path, kinds, since, flags, told):
    """Who has taken a semaphore its memory does not say, as seen from the kernel."""
    ms = 1_000_000
    builder = RecordBuilder(0, 1000 * ms)
    lock = builder.lock(0x9000, 7)
    for number, kind in enumerate(kinds):
        wait = (0,) * 8
        if kind is not NO_WAIT:
            wait = (1 + since * ms, 0, 0, lock, kind, 0, 0, flags if number == 1 else 0)
        builder.thread(100 + number, f"t{number}", end=0, waits=wait)
    builder.thread(200, end=10)  # which is over
    builder.flags, builder.recorder = 0, 1
    results = Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()
    said = [each for each in results["notes"] if "none of them can post" in each]
    assert bool(said) == told
    if told:
        assert said[0].startswith(f"all {len(kinds)} threads wait, without a time limit, for 1.0")
        assert "t1/101 for 0x9000" in said[0]


def test_who_waits_still_is_not_among_those_that_took_it_after_a_wait(tmp_path):
    """Taken four times, each at once: two wait for it still."""
    builder = RecordBuilder()
    lock = builder.lock(0x9000, acquisitions=4, first=builder.stack(0xA000))
    for number in range(2):
        builder.thread(10 + number, end=0, waits=(1_200_000, 0, 0xA000, lock, 1, 0, 0, 2))
    [told] = Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()["locks"]
    assert (told["contended"], told["open"], told["contended_share"]) == (2, 2, 0.0)
    assert got(told) == 0
    assert side_of(told).contended == 0


@pytest.mark.parametrize(
    ("holder", "maps", "told"),
    [(99, "", True), (100, "", False), (101, "", False), (5000, "", False),
     (99, "9000-b000 rw-s 00000000 00:01 77 /dev/shm/x\n", False)],
)  # fmt: skip
def test_who_is_in_this_process_or_shares_the_lock_is_not_left_behind(tmp_path, holder, maps, told):
    """Own threads have numbers above the process's (4242 here), or are known."""
    builder = RecordBuilder()
    builder.flags = 0
    builder.maps = maps
    one, _ = two_mutexes(builder)
    builder.thread(100, end=0, waits=wait_of(1_100_000, one, holder))
    builder.thread(101, "dier", end=1_050_000)
    results = Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()
    (wait,), (finding,) = results["open_waits"], results["findings"]
    assert any(each["left_behind"] for each in wait["holders"]) == told
    assert ("was forked" in finding["why"][0]) == told
