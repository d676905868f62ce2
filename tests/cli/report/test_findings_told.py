"""The first screen: of which locks it tells, what each costs, and what is to be gained."""

import json
import re

import pytest
from conftest import compile_c, run_cli
from planted_record import (
    MS,
    US,
    Planted,
    long,
    often,
    sleeps,
)

from syncopate.base import terminal
from syncopate.base.terminal import in_sentence, shortened
from syncopate.base.units import about, percent
from syncopate.records import findings
from syncopate.records.naming import wrapper_frames
from syncopate.show import openwaittext, textreport
from syncopate.symbols.symbols import Frame


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


def test_nearly_all_is_not_told_as_all():
    assert [percent(share) for share in (1, 0.9999, 0.9995, 0.9994)] == [
        "100.0 %", ">99.9 %", ">99.9 %", "99.9 %",
    ]  # fmt: skip
    assert (about(0.9999), about(1)) == ("more than 99.9 %", "about 100.0 %")


def test_how_often_and_how_long_make_the_share_that_is_told(tmp_path):
    """Of several locks all three are the worst one's, though each has its share of all."""
    of = Planted()
    for taken in (1_000_000, 200_000, 200_000):
        lock = of.lock([400] * 60, acquisitions=taken, create=of.stack)
        of.waits(lock, 2 * US, times=taken // 2000)
    (found,) = of.findings(tmp_path)
    assert found["members"] == 3
    said = "(400 ns in the mean), but there are 1,000,000 a second at the worst one: it is held"
    assert f"{said} about 40.0 % of the time" in found["why"][0]


def test_waits_of_one_kind_are_not_told_as_all(tmp_path):
    """Their mean is another one than that of all, which stands before it."""
    of = Planted()
    lock = of.lock([300] * 60)
    of.waits(lock, 8 * MS, kind=2)
    of.waits(lock, 1 * US, times=90)
    (found,) = of.findings(tmp_path)
    assert "801 us each in the mean" in found["cost"]
    longer = "waits for it after a wait at a condition variable (8.00 ms in the mean) are longer"
    assert any(why.startswith(longer) for why in found["why"]), found["why"]


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


@pytest.mark.parametrize(
    ("released", "taken", "said"),
    [
        (["work", "main"], ["work", "main"], "work"),
        (["Mutex::unlock", "work", "main"], ["Mutex::lock", "work", "main"], "work"),
        (["Guard::~Guard", "work", "begin", "main"], ["work", "begin", "main"], "work"),
        (["core::ptr::drop_in_place<Guard>", "work", "begin"], ["work", "begin"], "work"),
        (["give_back", "main"], ["borrow", "take"], "give_back"),
    ],
    ids=["itself", "for its caller", "by what ends with it", "Rust's", "elsewhere"],
)
def test_it_is_held_until_the_function_that_took_it(released, taken, said):
    frame = {"file": "", "line": 0, "module": "/a", "inlined": False}

    def stack(names):
        frames = [frame | {"function": name} for name in names]
        wraps = wrapper_frames([Frame(name, "", 0, "/a", False) for name in names])
        return {"share": 1.0, "wrapper_frames": wraps, "frames": frames}

    lock = {"holders": [stack(released)], "waiters": [stack(taken)]}
    (where,) = findings._where(lock, {"process": {"recorder": "preload"}})
    assert where.split(",")[0] == f"it is held until {said}"


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
        ("core.Mutex.this!(core.Mutex).this(bool)+0x3e", 31, "core.Mutex.this.this+0x3e"),
        ("<rayon_core::registry::WorkerThread>::wait+0x36", 24, "WorkerThread::wait+0x36"),
        ("<alloc::sync::Arc<a::Handle<T>>>::drop_slow+0x1", 20, "Arc::drop_slow+0x1"),
        ("<&mut a::B<T> as core::fmt::Write>::write", 20, "B::write"),
        ("ops::impls::<impl ops::FnOnce<A> for &mut F>::call", 20, "ops::impls::call"),
        ("std::sync::Once::call_once::<a::b> > <a::B>::c", 34, "std::sync::Once::call_once > B::c"),
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


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(tmp_path, width):
    """Also of a lock whose name and place have no room on one."""
    of = Planted()
    for at in (0x9000, 0x9040):
        stack = of.builder.stack(0xB000 + at, 0xA000, 0xF000)
        lock = of.builder.lock(at, 1, 100, stack, of.stack, [US] * 20)
        of.waits(lock, MS)
    of.builder.maps = f"8000-20000 r-xp 00000000 00:00 0 /usr/lib/lib{'long_named_' * 4}.so.1\n"
    record = of.builder.write(tmp_path / "rec")
    text = run_cli("report", record, environ={"COLUMNS": str(width)}).stdout
    assert "created at liblong_named" in " ".join(text.split())
    assert [line for line in text.splitlines() if len(line) > width] == []


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


def test_shares_are_of_the_threads_that_are_recorded(tmp_path):
    """Of OpenMP's calls alone: other threads are not in the record."""
    of = Planted()
    of.builder.flags |= 1024
    sleeps(of)
    (found,) = of.findings(tmp_path)
    assert found["cost"].startswith("5.0 % of these threads' time (400 ms): 8 threads waited")


@pytest.mark.parametrize("waits", [8, 9, 11])
def test_waits_that_are_not_over_are_told_or_counted(waits):
    each = {"thread": "a/1", "lock": "m", "place": "", "waited_ns": 5, "holders": [],
            "kind": "mutex"}  # fmt: skip
    process = {"finished": False}
    lines = openwaittext.sentences(
        {"process": process, "deadlocks": [], "locks": [], "open_waits": [each] * waits}
    )
    more = {8: [], 9: ["1 more wait not over: in --json"], 11: ["3 more waits not over: in --json"]}
    assert lines[8:] == more[waits]


@pytest.mark.parametrize("certain", [True, False])
def test_a_certain_cause_is_not_said_to_be_perhaps_another(certain):
    lock = {"counted": True, "acquisitions": 2, "waits": {},
            "hold": {"samples": 1, "interrupted": None}}  # fmt: skip
    more = "" if certain else ", so the cause may be another; record for longer"
    said = findings._seen(lock, False, certain)
    assert said == f"waits are counted; of 2 holds 1 was timed: few{more}"


REUSED = r"""
#include <pthread.h>
#include <unistd.h>
static void* takes(void* lock) {
  for (int i = 0; i < 6; i++) {
    pthread_mutex_lock(lock);
    usleep(1000);
    pthread_mutex_unlock(lock);
  }
  return 0;
}
static __attribute__((noinline)) void job(void) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, takes, &lock);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  if (DESTROYS) pthread_mutex_destroy(&lock);
}
int main(void) {
  for (int i = 0; i < 20; i++) job();
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("destroys", [0, 1])
def test_counts_that_went_with_a_locks_memory_are_said_to_be_in_part(tmp_path, destroys):
    """A mutex on the stack, again and again at one address, which nobody destroys: what is known is
    a bound, in every form. One that is destroyed is counted."""
    program = compile_c(REUSED, tmp_path / "p", "-O1", "-g", "-pthread", f"-DDESTROYS={destroys}")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    (told,) = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"]
    lock = next(each for each in told["locks"] if each["object"] == "mutex")
    assert (lock["counted"], lock["counted_in_part"]) == (True, not destroys)
    assert (lock["acquisitions"] == 240) == bool(destroys), lock["acquisitions"]
    assert (lock["contended_share"] is None) == (not destroys)
    (found,) = told["findings"]
    assert ("or more" in found["seen"]) == (not destroys), found["seen"]
    assert ("they were taken more often" in found["seen"]) == (not destroys)
    table = run_cli("report", tmp_path / "rec").stdout.partition("\nMutexes\n")[2]
    row = table.splitlines()[1]
    assert (f" {lock['acquisitions']}+ " in row) == (not destroys), row
    twice = [tmp_path / "rec", tmp_path / "again"]
    assert run_cli("record", "-o", twice[1], "--", program).returncode == 0
    (entry,) = json.loads(run_cli("report", "--json", *twice).stdout)["processes"]["locks"]
    assert entry["counted_in_part"] == (not destroys)
    both = run_cli("report", *twice).stdout.partition("\nThe same locks")[2].splitlines()[2]
    assert both.endswith("+") == (not destroys), both
    (row,) = (
        each
        for each in json.loads(run_cli("diff", "--json", *twice).stdout)["locks"]
        if each["object"] == "mutex"
    )
    taken = 240 if destroys else None
    assert [row["acquisitions"][side] for side in ("before", "after")] == [taken, taken]


@pytest.mark.parametrize(
    ("change", "is_nothing"),
    [({}, True), ({"gain_at_most": 1.2}, False), ({"gain_at_most": None}, False),
     ({"do": ["x"]}, False)],
)  # fmt: skip
def test_where_hardly_anything_is_to_be_gained_nothing_is_to_be_done(
    tmp_path, capsys, change, is_nothing
):
    of = Planted()
    of.builder.row(of.threads[0], of.lock([30] * 900), 1, [12 * MS])
    done = run_cli("report", "--json", of.builder.write(tmp_path / "rec"))
    (results,) = json.loads(done.stdout)["records"]
    results["findings"][0] |= {"gain_at_most": 1.01, "do": []} | change
    textreport._findings(terminal.console(200), results, None)
    text = capsys.readouterr().out
    assert ("Nothing to do about" in text) == is_nothing
    assert "What costs most" in text
