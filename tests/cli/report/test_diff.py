"""`syncopate diff`: which lock is which, what changed, and what is called noise."""

import json

import pytest
from conftest import one_line, run_cli
from make_record import RecordBuilder

from syncopate.records.comparison import Comparison
from syncopate.records.matching import pairs

CODE = 0xA000


def lock(name: str, place: str = "server", by: str = "symbol", kind: str = "mutex") -> dict:
    return {"name": name, "place": place, "named_by": by, "object": kind}


def matched(before: list[dict], after: list[dict]) -> set[tuple[str | None, str | None]]:
    return {
        tuple(each and f"{each['name']}@{each['place']}" for each in pair)
        for pair in pairs(before, after)
    }


def test_locks_of_one_name_and_place_are_the_same():
    before = [lock("table"), lock("table", "libcache.so")]
    assert matched(before, list(reversed(before))) == {
        ("table@server", "table@server"),
        ("table@libcache.so", "table@libcache.so"),
    }


def test_a_renamed_program_keeps_its_locks():
    assert matched([lock("table", "server")], [lock("table", "server-2.0")]) == {
        ("table@server", "table@server-2.0")
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("open_table at table.c:17", "open_table at table.c:23"),
        ("cache+0x28", "cache+0x40"),
        ("open_table.constprop.0 at table.c:17", "open_table at table.c:17"),
        ("DB::DB at db.cc:16 > Mutex::Mutex:11", "DB::DB at db.cc:19 > Mutex::Mutex:12"),
        ("DB::DB()+0x8 > Mutex::Mutex()+0xa x4", "DB::DB()+0x12 > Mutex::Mutex()+0xe x4"),
    ],
)
def test_what_moves_with_a_build_is_looked_through(before, after):
    assert matched([lock(before)], [lock(after)]) == {(f"{before}@server", f"{after}@server")}


def test_several_locks_of_one_function_pair_up_in_order_of_their_lines():
    before = [lock("open at a.c:9"), lock("open at a.c:20")]
    after = [lock("open at a.c:120"), lock("open at a.c:30")]
    assert matched(before, after) == {
        ("open at a.c:9@server", "open at a.c:30@server"),
        ("open at a.c:20@server", "open at a.c:120@server"),
    }


def test_what_is_ambiguous_stays_apart():
    before = [lock("open at a.c:9"), lock("open at a.c:20")]
    assert matched(before, [lock("open at a.c:12")]) == {
        ("open at a.c:9@server", None),
        ("open at a.c:20@server", None),
        (None, "open at a.c:12@server"),
    }


def test_kinds_and_bare_addresses_do_not_match():
    assert len(matched([lock("table")], [lock("table", kind="rwlock")])) == 2
    assert len(matched([lock("0x7f10", by="address")], [lock("0x7f50", by="address")])) == 2


def results(waits: list[int], *, threads=2, taken=1000, holds=(), seconds=1, runnable=0) -> dict:
    """A report of one lock, `table`, with these waits."""
    histogram = [[value, value, waits.count(value)] for value in sorted(set(waits))]
    kind = {
        "count": len(waits),
        "total_ns": sum(waits),
        "max_ns": max(waits, default=0),
        "histogram": histogram,
    }
    hold = {
        "samples": len(holds),
        "mean_ns": sum(holds) / len(holds) if holds else None,
        "histogram": [[value, value, 1] for value in sorted(holds)],
    }
    process = {"command": ["x"], "lock": "futex", "wait": "", "started": "", "processors": 2}
    return {
        "file": "r",
        "process": {**process, "duration_ns": seconds * 10**9},
        "threads": [{"start_ns": 0, "end_ns": None}] * 6,
        "account": {"parts": {"running": 100, "runnable": runnable}},
        "notes": [],
        "thread_time_ns": 10**9,
        "lost_ns": sum(waits),
        "lost_share": 0.1,
        "locks": [
            {
                **lock("table"),
                "members": 1,
                "waited_ns": sum(waits),
                "threads_waited": threads,
                "acquisitions": taken,
                "contended": len(waits),
                "waits": {"mutex": kind} if waits else {},
                "hold": hold if holds else None,
            }
        ],
    }


def row(before: dict, after: dict, by_second: bool = False) -> dict:
    return Comparison(before, after, by_second).rows[0]


def test_many_alike_waits_tell_a_small_change():
    waited = row(results([1000] * 400), results([1000] * 500))["waited"]
    assert (waited["before"], waited["after"], waited["verdict"]) == (400_000, 500_000, "more")
    assert waited["noise"] == pytest.approx(2 * (900 * 1000**2) ** 0.5)


def test_one_long_wait_is_noise():
    waits = [1000] * 400
    assert row(results(waits), results([*waits, 300_000]))["waited"]["verdict"] == "noise"


@pytest.mark.parametrize(
    ("hold", "verdict"),
    [
        ([500] * 40, "less"),  # half as long, as waits are
        ([700, 710] * 20, "less"),
        ([800] * 40, "noise"),  # by far less than the waits
        ([1500] * 40, "noise"),  # the other way
        ([400, 1600] * 20, "noise"),  # by chance
        ([500] * 20, "noise"),  # too few to tell
    ],
)
def test_waits_that_change_as_holds_do_are_no_chance(hold, verdict):
    """Eight threads behind holders that keep it for half as long."""
    before = results([9_000_000] * 300, threads=9, holds=[1000] * 40)
    after = results([4_500_000] * 300, threads=9, holds=hold)
    for each in (before, after):  # long waits, by chance far apart
        kind = each["locks"][0]["waits"]["mutex"]
        kind["histogram"] = [[0, 0, 290], [200_000_000, 200_000_000, 10]]
    compared = Comparison(before, after, False)
    waited = compared.rows[0]["waited"]
    assert waited["noise"] > waited["before"] - waited["after"]
    assert (waited["verdict"], compared.total()["verdict"]) == (verdict, verdict)


def test_waits_of_many_threads_may_have_one_cause():
    few, many = ([1000] * 400, [1000] * 460 + [2000] * 10)
    assert row(results(few), results(many))["waited"]["verdict"] == "more"
    assert row(results(few, threads=9), results(many, threads=9))["waited"]["verdict"] == "noise"


def of_two(bank: list[int], log: list[int], **of_bank) -> dict:
    """A report of two locks."""
    found, other = results(bank, **of_bank), results(log)
    other["locks"][0]["name"] = "log"
    found["locks"] += other["locks"]
    found["lost_ns"] += other["lost_ns"]
    return found


HOLDS = [300, 310] * 40


@pytest.mark.parametrize(
    ("bank", "log", "of_bank", "verdict"),
    [
        (600, 210, {}, "moved"),  # what bank has more, log has less
        (600, 210, {"holds": [900, 910] * 40}, "more"),
        (600, 210, {"taken": 1500, "holds": HOLDS}, "more"),
        (600, 210, {"taken": 1050, "holds": HOLDS}, "moved"),
        (600, 400, {}, "more"),  # nobody waits less for another one
        (900, 390, {}, "more"),  # all in all, too
        (410, 390, {}, "noise"),
    ],
)
def test_threads_that_wait_for_another_lock_instead(bank, log, of_bank, verdict):
    before = of_two([1000] * 400, [1000] * 400, holds=HOLDS)
    found = Comparison(before, of_two([1000] * bank, [1000] * log, **of_bank), False)
    told = {row["name"]: row["waited"]["verdict"] for row in found.rows}
    assert told["table"] == verdict
    assert (told["log"] == "moved") == (log == 210)


@pytest.mark.parametrize(
    ("holds", "others_less", "told"),
    [([], True, True), (HOLDS, True, False), ([], False, False)],
    ids=["nobody_saw_holds", "held_as_before", "nothing_moved"],
)
def test_whether_what_moved_was_held_as_before_may_not_be_seen(holds, others_less, told):
    """From the kernel sections that are longer at one lock, and shorter at another, look so."""
    before = of_two([1000] * 400, [1000] * 400, holds=holds)
    after = of_two([1000] * 600, [1000] * (210 if others_less else 400), holds=holds)
    for each in (before, after):
        each["locks"][1]["hold"] = each["locks"][0]["hold"]
    remarks = Comparison(before, after, False).remarks()
    assert any("longer and shorter sections" in remark for remark in remarks) == told


def test_few_samples_are_said_to_be_few():
    of = row(results([1000] * 3, holds=[5] * 10), results([1000] * 9, holds=[50] * 10))
    verdicts = {key: of[key]["verdict"] for key in ("waited", "contended_share", "hold_ns")}
    assert set(verdicts.values()) == {"few"}


@pytest.mark.parametrize(("waits", "verdict"), [(3, "few"), (300, "less")])
def test_a_total_of_locks_with_few_waits_tells_nothing(waits, verdict):
    """Two locks, of which each had less: neither tells that it was not by chance."""
    sides = [results([1000 * times] * waits) for times in (9, 1)]
    for side in sides:
        (one,) = side["locks"]
        side["locks"] = [one, {**one, "name": "other", "place": "b.c:9"}]
        side["lost_ns"] *= 2
    assert Comparison(*sides, False).total()["verdict"] == verdict


@pytest.mark.parametrize(("runnable", "said"), [(500, False), (700, True)])
def test_processors_that_others_had_are_said(runnable, said):
    """Of six threads on one processor, as one may keep them to, five are always without it."""
    sides = results([1000] * 100), results([1000] * 100, runnable=runnable)
    found = Comparison(*sides, False).remarks()
    assert [remark.partition(":")[0] for remark in found] == ["after"] * said


def test_p99_needs_waits_beyond_it():
    short, long = [1000] * 990 + [5000] * 30, [1000] * 990 + [90_000] * 30
    assert row(results(short), results(long))["p99_ns"]["verdict"] == "more"
    assert row(results(short[-50:]), results(long[-50:]))["p99_ns"]["verdict"] == "few"


def test_mean_hold_with_its_error():
    tight, wide = [100, 102] * 50, [1, 211] * 50
    assert row(results([9]), results([9]))["hold_ns"]["before"] is None
    slower = [value + 20 for value in tight]
    assert (
        row(results([9], holds=tight), results([9], holds=slower))["hold_ns"]["verdict"] == "more"
    )
    assert row(results([9], holds=tight), results([9], holds=wide))["hold_ns"]["verdict"] == "noise"


def test_by_second():
    server = [results([1000] * 500), results([1000] * 1000, seconds=2)]
    assert row(*server)["waited"]["verdict"] == "more"
    assert Comparison(*server, False).remarks() != []
    waited = row(*server, by_second=True)["waited"]
    assert (waited["before"], waited["after"], waited["verdict"]) == (500_000, 500_000, "same")
    assert Comparison(*server, True).remarks() == []


def make(path, waits: list[int], extra: int | None = None):
    """A record of one mutex, and maybe one that only it has."""
    builder = RecordBuilder()
    thread = builder.thread(11)
    hot = builder.lock(0x9000, acquisitions=1000, first=builder.stack(CODE, 0xF000))
    builder.row(thread, hot, 1, waits)
    if extra:
        builder.lock(0x9100, acquisitions=5, first=builder.stack(extra, 0xF000))
    return builder.write(path)


@pytest.fixture
def two(tmp_path):
    return make(tmp_path / "a", [1000] * 100), make(tmp_path / "b", [1000] * 20, 0xB000)


def test_text(two):
    done = run_cli("diff", *two)
    assert done.returncode == 0, done.stderr
    assert "Time lost to locks: 100 us -> 20.0 us, -80.0 us (-80%)" in done.stdout
    assert "100 us -> 20.0 us  -80.0 us (-80%)  waits less" in done.stdout
    assert "Locks only after\n  1 more that nobody waited for" in done.stdout
    assert "\x1b" not in done.stdout


def test_json_of_records_and_of_reports(two, tmp_path):
    data = json.loads(run_cli("diff", "--json", *two).stdout)
    assert (data["schema"], data["version"]) == ("syncopate-diff", 1)
    assert [row["in"] for row in data["locks"]] == ["both", "after"]
    assert data["locks"][0]["waited"]["verdict"] == "less"
    report = tmp_path / "a.json"
    report.write_text(run_cli("report", "--json", two[0]).stdout)
    assert json.loads(run_cli("diff", "--json", report, two[1]).stdout)["locks"] == data["locks"]


def test_only_locks_that_match(two):
    data = json.loads(run_cli("diff", "--json", "--lock", "b000", *two).stdout)
    assert [row["name"] for row in data["locks"]] == ["0xb000"]
    assert "is no regular expression" in one_line(run_cli("diff", "--lock", "*(", *two))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a Syncopate record"),
        ("{", "cannot read"),
        ('{"schema": "syncopate-whatif", "version": 1}', "has schema syncopate-whatif 1"),
        ('{"schema": "syncopate-report", "version": 9}', "has schema syncopate-report 9"),
        ('{"schema": "syncopate-report", "version": 1, "records": []}', "no report of one record"),
        ('{"schema": "syncopate-report", "version": 1, "records": [{}]}', "is damaged"),
    ],
)
def test_files_that_cannot_be_compared(two, tmp_path, text, said):
    (tmp_path / "x").write_text(text)
    done = run_cli("diff", two[0], tmp_path / "x")
    assert done.returncode == 1
    assert said in one_line(done)


def test_bad_use(two):
    assert run_cli("diff", two[0]).returncode == 2
    done = run_cli("diff", "--top", "0", *two)
    assert (done.returncode, "at least one lock" in one_line(done)) == (2, True)
    assert run_cli("diff", two[0], "/no/such/record").returncode == 1
    assert run_cli("diff", "--html", "/no/such/folder/x", *two).returncode == 1


def condition_only(path, recorder=0, flags=1, waits=(1000,)):
    """A record of a condition variable, and of a lock of the program's own, as the kernel sees."""
    builder = RecordBuilder()
    builder.recorder, builder.flags = recorder, flags
    thread = builder.thread(11)
    builder.row(thread, builder.lock(0x9000, 4, first=builder.stack(CODE, 0xF000)), 6, [1000])
    own = builder.lock(0x9100, 6, first=builder.stack(0xB000, 0xF000))
    for kind in (8,) if recorder == 0 else (23,):
        builder.row(thread, own, kind, list(waits))
    return builder.write(path)


def test_what_is_not_counted_is_not_none(tmp_path):
    """Nobody knows how often a futex was taken, or whether one in no record was."""
    before = condition_only(tmp_path / "a", recorder=1)
    after = condition_only(tmp_path / "b", recorder=1, waits=[1000] * 40)
    data = json.loads(run_cli("diff", "--json", before, after).stdout)
    of = {row["name"]: row["acquisitions"] for row in data["locks"]}
    assert of["0xb000"] == {"before": None, "after": None, "noise": 0.0, "verdict": "same"}
    text = run_cli("diff", before, after, environ={"COLUMNS": "120"}).stdout
    (row,) = [line for line in text.splitlines() if line.startswith("0xb000")]
    assert row.split()[-1] == "-"


def test_how_both_were_recorded_is_said(tmp_path):
    before = condition_only(tmp_path / "a")
    after = condition_only(tmp_path / "b", recorder=1, flags=1 << 3)
    text = " ".join(run_cli("diff", before, after).stdout.split())
    assert "lock futex:park, ran 1.00 ms, 1 thread, lost" in text
    assert "its own locks, seen from the kernel," in text
    assert "before is recorded by the library, after seen from the kernel: these count" in text
    assert "these count" not in run_cli("diff", before, condition_only(tmp_path / "c")).stdout


def test_no_lock_in_two_records_is_not_that_nobody_waited_for_one(tmp_path):
    """Threads waited at futexes of the program's own."""
    sides = condition_only(tmp_path / "a"), condition_only(tmp_path / "b", waits=[1000] * 9)
    text = run_cli("diff", *sides).stdout
    assert "Neither record tells of a lock." in text
    assert "No thread waited" not in text


@pytest.mark.parametrize(
    ("after", "said"), [([1], "(-99.9%)"), ([4000], "(-99.6%)"), ([], "-100%")]
)
def test_what_is_left_is_not_nothing(tmp_path, after, said):
    sides = make(tmp_path / "a", [10_000] * 100), make(tmp_path / "b", after or [0])
    assert said in run_cli("diff", *sides).stdout
