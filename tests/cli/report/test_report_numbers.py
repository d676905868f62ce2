"""The numbers of a report, from records whose every event is known."""

import json
import re

import pytest
from conftest import ROOT, run_cli
from make_record import RecordBuilder, bucket
from record_results import BEGIN, CODE_A, CODE_B, CODE_C, CODE_D, results_of

from syncopate.records import account, histogram
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.results import Results


def test_buckets_are_half_octaves():
    edges = [histogram.lower_edge(index) for index in range(6)]
    assert edges == [0, 96, 128, 192, 256, 384]
    for ticks in (0, 63, 64, 95, 96, 127, 128, 1000, 10**6, 10**9):
        index = bucket(ticks)
        assert histogram.lower_edge(index) <= ticks < histogram.lower_edge(index + 1)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.25, 144.0), (0.5, 160.0), (1.0, 192.0)],
)
def test_percentile_interpolates_inside_a_bucket(share, expected):
    counts = [0] * 64
    counts[2] = 4  # [128, 192)
    assert histogram.percentile(counts, share, 500) == expected


def test_percentile_across_buckets_and_in_the_last():
    counts = [0] * 64
    counts[2], counts[4] = 1, 3  # [128, 192) and [256, 384)
    assert histogram.percentile(counts, 0.25, 300) == 192.0
    assert histogram.percentile(counts, 1.0, 300) == 300.0  # the largest closes its bucket
    open_end = [0] * 63 + [2]
    low = histogram.lower_edge(63)
    assert histogram.percentile(open_end, 0.5, low * 3) == low * 2
    assert histogram.percentile([0] * 64, 0.5, 0) is None


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_one_value_alone_is_each_percentile(share):
    counts = [0] * 64
    counts[bucket(300)] = 1
    assert histogram.percentile(counts, share, 300) == 300.0


def test_one_contended_mutex(tmp_path):
    builder = RecordBuilder()
    builder.ns_per_tick = 2
    made = builder.stack(CODE_C)
    waiter, holder = builder.thread(11, "reader"), builder.thread(12, "writer")
    lock = builder.lock(0x9000, acquisitions=200, create=made, holds=[400, 400, 1000])
    builder.row(waiter, lock, 1, [1000, 3000])
    builder.row(waiter, lock, 2, [6000])
    results = results_of(builder, tmp_path)
    (found,) = results["locks"]
    assert results["thread_time_ns"] == 2 * 2 * 10**6
    assert results["lost_ns"] == found["lost_ns"] == 2 * 10_000
    assert results["lost_share"] == found["lost_share"] == 10_000 / 2_000_000
    assert (found["acquisitions"], found["contended"]) == (200, 3)
    assert found["contended_share"] == 3 / 200
    assert found["threads_waited"] == 1
    mutex, relock = found["waits"]["mutex"], found["waits"]["mutex_relock"]
    assert mutex == {
        "count": 2, "total_ns": 8000, "mean_ns": 4000, "threads": 1, "share": 8000 / 4_000_000,
        "p50_ns": 2048,  # all of the bucket [768, 1024)
        "p99_ns": round(2 * (2048 + (3000 - 2048) * 0.98)), "max_ns": 6000,
        "histogram": [[1536, 2048, 1], [4096, 6000, 1]],
    }  # fmt: skip
    assert found["by_thread"] == [
        {"thread": "reader/11", "waits": 3, "waited_ns": 20_000, "max_ns": 12_000}
    ]
    assert (relock["count"], relock["total_ns"], relock["max_ns"]) == (1, 12000, 12000)
    assert found["hold"]["samples"] == 3
    assert (found["hold"]["mean_ns"], found["hold"]["max_ns"]) == (1200, 2000)
    assert found["named_by"] == "creation"
    lost = {thread["name"]: thread["lost_ns"] for thread in results["threads"]}
    assert lost == {"reader": 20_000, "writer": 0}
    assert results["threads"][holder]["label"] == "writer/12"


def test_only_waits_for_locks_count_as_lost(tmp_path):
    builder = RecordBuilder()
    thread = builder.thread(11)
    kinds = {1: 1, 3: 2, 4: 2, 5: 3, 6: 4, 7: 5, 8: 6}  # wait kind to object kind
    for kind, object_kind in kinds.items():
        lock = builder.lock(0x9000 + 0x100 * kind, object_kind)
        builder.row(thread, lock, kind, [1000])
    results = results_of(builder, tmp_path)
    assert results["lost_ns"] == 4000
    lost = {next(iter(lock["waits"])): lock["lost_ns"] for lock in results["locks"]}
    assert lost == {"mutex": 1000, "read": 1000, "write": 1000, "spinlock": 1000,
                    "condition": 0, "barrier": 0, "futex": 0}  # fmt: skip


def test_each_way_to_wait_has_its_threads_and_its_share(tmp_path):
    """Of a semaphore that one thread took as a lock, and three waited at for a signal."""
    builder = RecordBuilder()
    threads = [builder.thread(10 + number) for number in range(4)]
    lock = builder.lock(0x9000, 7, acquisitions=9)
    builder.row(threads[0], lock, 16, [400_000, 400_000])
    for thread in threads[1:]:
        builder.row(thread, lock, 13, [500_000])
    results = results_of(builder, tmp_path)
    (found,) = results["locks"]
    assert (found["threads_waited"], found["threads_lost"]) == (4, 1)
    of = {kind: (waits["threads"], waits["share"]) for kind, waits in found["waits"].items()}
    assert of == {"semaphore_lock": (1, 0.2), "semaphore": (3, 0.375)}
    assert "800 us): 1 thread waited 2 times" in results["findings"][0]["cost"]
    text = run_cli("report", tmp_path / "r", environ={"COLUMNS": "120"}).stdout.splitlines()
    rows = [line.split() for line in text if line.startswith("0x9000  ")]
    assert [row[1:3] for row in rows[:2]] == [["800", "us"], ["1.50", "ms"]]
    assert [row[-1] for row in rows[:2]] == ["1", "3"]
    assert rows[0][3:5] == ["20.0", "%"]


def test_locks_made_at_one_place_are_one_line(tmp_path):
    builder = RecordBuilder()
    made, elsewhere = builder.stack(CODE_A, CODE_D), builder.stack(CODE_B, CODE_D)
    threads = [builder.thread(10 + number) for number in range(2)]
    locks = [builder.lock(0x9000 + 64 * n, acquisitions=5, create=made) for n in range(3)]
    builder.lock(0xF000, acquisitions=7, create=elsewhere)
    builder.lock(0xF100, 2, acquisitions=9, create=made)  # another kind of object
    builder.row(threads[0], locks[0], 1, [1000])
    builder.row(threads[1], locks[2], 1, [3000])
    found = results_of(builder, tmp_path)["locks"]
    heavy = found[0]
    assert (heavy["members"], heavy["acquisitions"]) == (3, 15)
    assert (heavy["threads_waited"], heavy["waits"]["mutex"]["max_ns"]) == (2, 3000)
    assert heavy["addresses"] == ["0x9000", "0x9040", "0x9080"]
    assert sorted(lock["members"] for lock in found) == [1, 1, 3]


def test_elided_sections_are_added_up_over_threads(tmp_path):
    builder = RecordBuilder()
    threads = [builder.thread(10 + number) for number in range(2)]
    lock, plain = builder.lock(0x9000, acquisitions=5), builder.lock(0x9100, acquisitions=7)
    builder.elision(threads[0], lock, [100, 2, 3, 4, 5, 6, 7])
    builder.elision(threads[1], lock, [10, 1, 0, 0, 0, 0, 1])
    found = {lock["addresses"][0]: lock for lock in results_of(builder, tmp_path)["locks"]}
    assert found["0x9000"]["elision"] == {
        "attempts": 110 + 3 + 4 + 5 + 6 + 8,
        "committed": 110,
        "fell_back": 3,
        "aborts": {"conflict": 3, "capacity": 4, "lock_held": 5, "explicit": 6, "other": 8},
    }
    assert found["0x9000"]["acquisitions"] == 5 + 110
    assert found["0x9000"]["waits"] == {}
    assert (found["0x9100"]["elision"], found["0x9100"]["acquisitions"]) == (None, 7)
    assert plain != lock


def test_killed_before_the_clocks_were_compared_again(tmp_path):
    """Its header has one stamp of both clocks, and the rate that was measured at the start."""
    builder = RecordBuilder(end=1_000_000)
    builder.ticks_per_second = 2_500_000_000
    builder.row(builder.thread(10), builder.lock(0x9000), 1, [1000] * 10)
    assert results_of(builder, tmp_path)["locks"][0]["lost_ns"] == 4000


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (0, "was killed, or ended unseen, as by exec; counts may lag by up to 255 per lock"),
        (1 | 2, "the disk was full"),
        (1 | 2 | 32, "reached the limit on a file's size (ulimit -f): what happened afterwards"),
        (1 | 2 | 64, "part of the address space was used up (ulimit -v): what happened afterwards"),
        (1 | 2 | 4096, "no longer allowed the calls by which the record grows (a sandbox): what"),
        (1 | 4, "closed the record's descriptor"),
        (1 | 8, "more locks than the record's table holds"),
        (1 | 16, "thinned out"),
    ],
)
def test_flags_become_notes(tmp_path, flags, said):
    builder = RecordBuilder()
    builder.flags = flags
    results = results_of(builder, tmp_path)
    assert len(results["notes"]) == 1
    assert said in results["notes"][0]
    assert results["process"]["finished"] == bool(flags & 1)


def keys(of) -> set[str]:
    """The names of all fields, at any depth."""
    if isinstance(of, list):
        return {key for each in of for key in keys(each)}
    if isinstance(of, dict):
        return {*of, *(key for each in of.values() for key in keys(each))}
    return set()


@pytest.mark.parametrize("recorder", [0, 1])
def test_every_field_of_the_json_is_documented(tmp_path, recorder):
    """Also those of the advice, and the parts of the account."""
    page = (ROOT / "docs/reference/report-schema.md").read_text()
    known = {*re.findall(r"`(\w+)`", page), *re.findall(r'"(\w+)":', page)}
    builder = RecordBuilder()
    builder.recorder = recorder
    stack = builder.stack(CODE_A)
    thread = builder.thread(10, "w", cpu=1_000, delay=1_000)
    lock = builder.lock(0x9000, acquisitions=300, first=stack, holds=[100] * 20)
    builder.row(thread, lock, 1, [20_000] * 20)
    builder.wait(thread, lock, BEGIN, BEGIN + 20_000, stack, holder=10)
    builder.hold(thread, lock, BEGIN, BEGIN + 10_000, stack)
    record = builder.write(tmp_path / "rec")
    for form in (["--json"], ["--advice", "json"]):
        assert keys(json.loads(run_cli("report", *form, record).stdout)) <= known
    assert {*account.WHAT} <= known


def test_json_has_the_documented_shape(tmp_path):
    builder = RecordBuilder()
    stack = builder.stack(CODE_A)
    thread = builder.thread(10, "w", stack=stack)
    lock = builder.lock(0x9000, acquisitions=3, first=stack, holds=[100])
    builder.row(thread, lock, 1, [1000])
    builder.wait(thread, lock, BEGIN, BEGIN + 1000, stack, holder=99)
    done = run_cli("report", "--json", builder.write(tmp_path / "r"))
    document = json.loads(done.stdout)
    assert (document["schema"], document["version"]) == ("syncopate-report", 1)
    (record,) = document["records"]
    assert set(record) == {"file", "process", "notes", "threads", "thread_time_ns", "lost_ns",
                           "lost_share", "waiting", "measured", "locks", "blocks", "cpu_samples",
                           "blocks_left_out", "transactions", "findings", "hidden",
                           "deadlocks", "open_waits", "account"}  # fmt: skip
    assert set(record["process"]) == {"id", "parent_id", "executable", "command", "lock", "wait",
                                      "processors", "started", "duration_ns", "finished",
                                      "capture_ns", "recorder", "goroutines",
                                      "at_conditions", "more_threads", "only_openmp",
                                      "quiet_children", "unseen_cpu_ns", "tasks", "is_full",
                                      "processor_limit", "replaced",
                                      "cut_short"}  # fmt: skip
    assert set(record["threads"][0]) == {"index", "id", "name", "label", "created_in", "start_ns",
                                         "end_ns", "lost_ns", "waited_ns",
                                         "ran_ns", "runnable_ns"}  # fmt: skip
    assert set(record["locks"][0]) == {
        "name", "named_by", "place", "object", "members", "addresses", "acquisitions", "contended",
        "contended_share", "counted", "contended_releases", "member", "declared", "called",
        "lost_ns", "lost_share", "waited_ns", "mean_wait_ns", "threads_waited", "threads_lost",
        "waits", "hold", "by_thread", "arrivals", "region_ends", "elision", "waiters", "holders",
        "site", "worst", "unexplained", "speculation", "in_vain", "open", "shared",
        "counted_in_part", "work", "signaled_by_waiters_ns",
    }  # fmt: skip
    assert set(record["locks"][0]["waiters"][0]) == {"ns", "share", "wrapper_frames", "frames"}
    frame = record["locks"][0]["waiters"][0]["frames"][0]
    assert frame == {"function": "0xa000", "file": "", "line": 0, "module": "", "inlined": False}
    assert record["blocks"] == [
        {"waiter": "w/10", "holder": "thread/99", "lock": "0xa000", "ns": 1000}
    ]
    assert record["process"]["started"] == "2026-09-21T14:13:20+00:00"
    schema = (ROOT / "docs/reference/report-schema.md").read_text()
    for field in [*record, *record["process"], *record["threads"][0], *record["locks"][0]]:
        assert f"`{field}`" in schema, field


def test_of_many_events_some_are_read_and_weigh_more(tmp_path, monkeypatch):
    builder = RecordBuilder()
    waiter, holder = builder.thread(11), builder.thread(12)
    lock = builder.lock(0x9000, acquisitions=500)
    builder.row(waiter, lock, 1, [1000] * 400)
    for number in range(400):  # a wait and a hold in turn: every second one would be of one kind
        at = BEGIN + 2000 * number
        builder.wait(waiter, lock, at, at + 1000, builder.stack(CODE_A), 12)
        builder.hold(waiter if number % 2 else holder, lock, at, at + 1000, builder.stack(CODE_B))
    path = str(builder.write(tmp_path / "r"))
    monkeypatch.setattr("syncopate.records.analysis.MOST_EVENTS", 200)
    analysis = Analysis(Record(path))
    events = [event for of in (analysis.waits, analysis.holds) for event in of[lock]]
    assert (analysis.read_every, len(events)) == (4, 200)
    assert {event.weight for event in events} == {4}
    assert analysis.waits[lock] and analysis.holds[lock]
    results = Results(analysis).as_data()
    assert results["lost_ns"] == 400_000  # from rows, which are exact
    assert sum(block["ns"] for block in results["blocks"]) == pytest.approx(400_000, abs=200)
    assert "800 events were recorded; of those shorter than 1 ms one in 4 was read" in " ".join(
        results["notes"]
    )


def test_of_many_events_the_long_ones_are_kept(tmp_path, monkeypatch):
    """A lock that was waited for seldom, but long, has its stacks; sums come out right."""
    builder = RecordBuilder(0, 10**12)
    threads = [builder.thread(11 + n) for n in range(3)]
    often = builder.lock(0x9000, acquisitions=5000, first=builder.stack(CODE_A))
    seldom = builder.lock(0x9100, acquisitions=5, first=builder.stack(CODE_B))
    for thread in threads:
        for number in range(1000):
            builder.wait(thread, often, 5000 * number, 5000 * number + 900, builder.stack(CODE_A))
        builder.hold(thread, often, 0, 10**9, builder.stack(CODE_A))  # since when is not known
    for number in range(5):
        at = 10**10 * number
        builder.wait(threads[number % 3], seldom, at + 1, at + 10**9, builder.stack(CODE_B))
    monkeypatch.setattr("syncopate.records.analysis.MOST_EVENTS", 100)
    analysis = Analysis(Record(str(builder.write(tmp_path / "r"))))
    assert [event.weight for event in analysis.waits[seldom]] == [1] * 5
    assert len(analysis.waits[often]) == pytest.approx(95, abs=3)
    assert sum(e.weight for e in analysis.waits[often]) == pytest.approx(3000, abs=100)


def test_of_many_long_events_some_are_read(tmp_path, monkeypatch):
    builder = RecordBuilder(0, 10**12)
    thread = builder.thread(11)
    lock = builder.lock(0x9000, acquisitions=5000, first=builder.stack(CODE_A))
    for number in range(1, 2001):
        length = 2_000_000 if number % 2 else 1000
        builder.wait(thread, lock, 10**7 * number, 10**7 * number + length, builder.stack(CODE_A))
    monkeypatch.setattr("syncopate.records.analysis.MOST_EVENTS", 100)
    analysis = Analysis(Record(str(builder.write(tmp_path / "r"))))
    waits = analysis.waits[lock]
    long = [event.weight for event in waits if event.end - event.start > 10**6]
    assert len(waits) <= 100
    assert (len(long), set(long)) == (50, {20})
    assert sum(event.weight for event in waits) == pytest.approx(2000, rel=0.5)


def test_samples_that_are_in_no_bucket_are_no_holds(tmp_path):
    """As of a damaged record."""
    builder = RecordBuilder()
    lock = builder.lock(0x9000, 1, 10, holds=[100, 3000])
    builder.locks[-1] = builder.locks[-1][: -46 * 4] + bytes(46 * 4)
    builder.row(builder.thread(100), lock, 1, [1000])
    (found,) = results_of(builder, tmp_path)["locks"]
    assert (found["acquisitions"], found["hold"]) == (10, None)
