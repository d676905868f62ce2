"""Waits that are not over: programs that hang or are killed, and who waits for whom for ever."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, HERE, SECONDS, compile_c, run_cli
from make_record import RecordBuilder

from syncopate.base import terminal
from syncopate.launch import kernelview
from syncopate.records import processes
from syncopate.records.analysis import Analysis
from syncopate.records.comparison import side_of
from syncopate.records.lockfigures import got
from syncopate.records.openwaits import OpenWaits, cycles, waiting
from syncopate.records.recordfile import Record
from syncopate.records.results import Results
from syncopate.show import processtext, textreport

# By plan of deadlocks.cpp: who waits for what held by whom, in a circle; how the sentence begins.
CIRCLES = {
    "mutexes": ("deadlock", "A m2 B, B m1 A"),
    "three": ("deadlock", "A m2 B, B m3 C, C m1 A"),
    "reader": ("deadlock", "A m1 B, B rw A"),
    "writer": ("deadlock", "A m1 B, B rw A"),
    "mixed": ("deadlock, unless another thread posts the semaphore", "A m1 B, B sem C, C rw A"),
    "semaphore": ("deadlock, unless another thread posts the semaphore", "A m1 B, B sem A"),
    "join": ("deadlock", "A m1 B, B A"),
    "trylock": (
        "threads wait for each other, one of them by trying again and again", "A m2 B, B m1 A",
    ),
    "itself": ("deadlock", "A m1 itself"),
}  # fmt: skip
WHY_NOT = kernelview.obstacle()
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel's view here: {WHY_NOT}")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)


@pytest.fixture(scope="module")
def deadlocks(tmp_path_factory):
    program = tmp_path_factory.mktemp("deadlocks") / "deadlocks"
    subprocess.run(
        ["g++", "-g", "-O1", "-pthread", HERE / "deadlocks.cpp", "-o", program], check=True
    )
    return program


@contextlib.contextmanager
def hanging(program, plan, record):
    """`syncopate record` of a program that hangs already; and the program's own id."""
    recorder = subprocess.Popen(
        [*COMMAND, "record", "-q", "-o", str(record), "--", str(program), plan],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert recorder.stdout.readline() == "begun\n"
        with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="ascii") as file:
            yield recorder, int(file.read())
    finally:
        with contextlib.suppress(ProcessLookupError):
            recorder.terminate()
        recorder.communicate(timeout=SECONDS)


def until_told(process: int, is_enough) -> dict:
    """What `top` says of a process once it says enough."""
    deadline = time.monotonic() + SECONDS
    while True:
        done = run_cli("top", "--once", "--json", "-i", "0.1", process)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if is_enough(found) or time.monotonic() > deadline:
            return found


def is_told(found: dict, plan: str) -> bool:
    return any(each["certain"] or plan == "trylock" for each in found["deadlocks"])


def check_sentence(sentence: str, plan: str) -> None:
    begin, circle = CIRCLES[plan]
    parts = []
    for link in circle.split(", "):
        who, *lock, whom = link.split()
        held = "held by itself" if whom == "itself" else rf"held by {whom}/\d+"
        told = rf"{lock[0]} at deadlocks\.cpp:\d+, {held}" if lock else rf"{whom}/\d+ to end at .*"
        parts.append(rf"{who}/\d+ waits for {told}")
    # The circle may be told from any of its threads on.
    turns = ["(?:" + ", ".join(parts[i:] + parts[:i]) + ")" for i in range(len(parts))]
    told = rf"{re.escape(begin)}: (?:{'|'.join(turns)}) \(for [\d.]+ \w+\)"
    assert re.fullmatch(told, sentence), f"{sentence!r} is not {told}"


def report(record) -> dict:
    done = run_cli("report", "--json", record)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"][0]


@pytest.mark.parametrize(
    ("plan", "number"),
    [
        *[("mutexes", number) for number in SIGNALS],
        *[(plan, SIGNALS[at % 3]) for at, plan in enumerate(CIRCLES) if plan != "mutexes"],
    ],
)
def test_a_deadlock_is_named_while_it_lasts_and_after_each_signal(
    deadlocks, tmp_path, plan, number
):
    record = tmp_path / "r"
    with hanging(deadlocks, plan, record) as (recorder, process):
        found = until_told(process, lambda found: is_told(found, plan))
        check_sentence(found["deadlocks"][0]["sentence"], plan)
        if plan == "mutexes":
            (live,) = report(record)["deadlocks"]
            check_sentence(live["sentence"], plan)
        os.kill(process, number)
        assert recorder.wait(SECONDS) == -number
    dead = report(record)
    (told,) = dead["deadlocks"]
    check_sentence(told["sentence"], plan)
    assert told["certain"] == (plan != "trylock")
    if plan == "mutexes":
        assert told["sentence"] in run_cli("report", record, environ={"COLUMNS": "400"}).stdout
        run_cli("report", record, "--html", tmp_path / "page.html")
        assert told["sentence"] in (tmp_path / "page.html").read_text()
    # The run time and the threads' time are those of the process, which did nothing but wait.
    threads = len({each["thread"] for each in dead["open_waits"]})
    assert dead["process"]["duration_ns"] >= told["lasted_ns"] > 0
    assert dead["thread_time_ns"] >= threads * told["lasted_ns"]
    parts = dead["account"]["parts"]
    assert sum(parts.values()) == pytest.approx(dead["account"]["total_ns"], rel=0.01)


CHILD = r"""
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void* other(void* x) {
  pthread_mutex_lock(&b);
  usleep(50000);
  pthread_mutex_lock(&a);
  return x;
}
int main(void) {
  pid_t child = fork();
  if (child == 0) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    pthread_mutex_lock(&a);
    usleep(50000);
    pthread_mutex_lock(&b);
  }
  usleep(400000);
  kill(child, SIGKILL);
  wait(0);
}
"""


def test_of_a_child_that_was_killed_a_deadlock_lasted_as_long_as_is_known_or_longer(tmp_path):
    program = compile_c(CHILD, tmp_path / "parent", "-O2", "-g", "-pthread")
    assert run_cli("record", "-o", tmp_path / "r", "--", program).returncode == 0
    (child,) = tmp_path.glob("r.*")
    told = report(child)
    (deadlock,) = told["deadlocks"]
    assert re.search(r"\(for [\d.]+ \w+ or longer\)$", deadlock["sentence"]), deadlock
    assert [each["or_longer"] for each in told["open_waits"]] == [True, True]
    text = run_cli("report", child, environ={"COLUMNS": "200"}).stdout
    assert len(re.findall(r"^parent/.* [\d.]+ \w+ or longer  parent/", text, re.M)) == 2, text
    assert "Nothing to do" not in text


def test_the_recorder_itself_sees_who_holds_what(deadlocks, tmp_path):
    """A signal to `syncopate record` is passed on after a last look."""
    record = tmp_path / "r"
    with hanging(deadlocks, "mutexes", record) as (recorder, _):
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            waits = waiting(Record(str(record)))
            ends = Record(str(record))
            if len(waits) == 2 and all(
                (ends.end_ticks - each.wait.since) * ends.ns_per_tick > 100_000_000
                for each in waits.values()
            ):
                break
            time.sleep(0.02)
        recorder.terminate()
        assert recorder.wait(SECONDS) == -signal.SIGTERM
    (told,) = report(record)["deadlocks"]
    check_sentence(told["sentence"], "mutexes")
    assert told["certain"]


def test_no_circle_is_no_deadlock(deadlocks, tmp_path):
    with hanging(deadlocks, "none", tmp_path / "r") as (_, process):
        found = until_told(process, lambda found: found["open_waits"])
        assert found["deadlocks"] == []
        (wait,) = found["open_waits"]
        assert (wait["lock"], wait["kind"]) == ("m2", "mutex")
        assert [holder["thread"][:2] for holder in wait["holders"]] == ["B/"]
        # Never more threads wait than there are.
        assert sum(lock["waiting"] for lock in found["locks"]) <= found["threads"]


# ---- records written byte by byte ----

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


KILLED = """
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static volatile int on = 1;
static void* spin(void* x) { while (on) {} return x; }
static void* rest(void* x) { for (;;) pause(); return x; }
int main(int count, char** words) {
  pthread_t t, u;
  pthread_create(&t, 0, spin, 0);
  pthread_create(&u, 0, rest, 0);
  nanosleep(&(struct timespec){1, 500000000}, 0);
  if (count > 1 && *words[1] == 'k') kill(getpid(), SIGKILL);
  on = 0;
  pthread_join(t, 0);
  return 0;
}
"""


@pytest.mark.parametrize(("plan", "status"), [("killed", -signal.SIGKILL), ("ends", 0)])
def test_of_a_killed_program_it_is_known_what_its_threads_did(tmp_path, plan, status):
    """The kernel's counts go with it; `record` has looked at them before, and what passed since is
    unexplained. Of one that ends by itself, what was seen then is not counted once more."""
    program = compile_c(KILLED, tmp_path / "killed", "-O1", "-pthread")
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program, plan)
    assert done.returncode == status
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    parts, total = found["account"]["parts"], found["account"]["total_ns"]
    since = parts.get("unexplained", 0)
    assert ("in the last" in (found["account"]["why_unexplained"] or "")) == bool(since)
    assert not (since and plan == "ends") and since < total / 2
    # One of three, not none and not two; beside others each wants a processor for longer.
    assert parts["running"] + parts.get("runnable", 0) < total * 0.55
    assert total / 4 < parts["running"] + parts.get("runnable", 0) + since
    assert sum(parts.values()) == pytest.approx(total, rel=0.01)


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


FORKED = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static void* keep(void* begun) {
  pthread_mutex_lock(&kept);
  pthread_barrier_wait(begun);
  for (;;) pause();
}
int main(void) {
  pthread_barrier_t begun;
  pthread_t thread;
  pthread_barrier_init(&begun, 0, 2);
  pthread_create(&thread, 0, keep, &begun);
  pthread_barrier_wait(&begun);
  const pid_t child = fork();
  if (child == 0) {
    alarm(3);
    pthread_mutex_lock(&kept);
  }
  wait(0);
  printf("%d\\n", child);
}
"""


@pytest.mark.parametrize("how", [[], pytest.param(["--kernel"], marks=needs_kernel)], ids=str)
def test_a_lock_that_another_thread_had_at_the_fork_is_said_to_be_held_by_it(tmp_path, how):
    program = compile_c(FORKED, tmp_path / "x", "-g", "-pthread")
    done = run_cli("record", *how, "-q", "-o", tmp_path / "r", "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / f"r.{done.stdout.strip()}"
    found = json.loads(run_cli("report", "--json", path).stdout)["records"][0]
    ((holder,),) = (each["holders"] for each in found["open_waits"])
    assert holder["left_behind"] and holder["certain"]
    text = run_cli("report", path).stdout
    assert "(before the fork)" in text
    assert "No thread waited for a lock" not in text and "nobody waited for" not in text
    for finding in found["findings"]:  # none where the wait began with the last that is known
        assert "had it when this process was forked, and is not in it" in finding["why"][0]
        assert "pthread_atfork" in finding["do"][0]


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


@pytest.mark.parametrize(("plan", "told"), [("works", []), ("tries", ["trylock"])])
def test_who_gave_up_trying_does_not_wait(tmp_path, plan, told):
    program = compile_c((HERE / "gives_up.c").read_text(), tmp_path / "p", "-O1", "-pthread")
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program, plan)
    assert done.returncode == -signal.SIGKILL
    found = report(tmp_path / "r")
    assert [each["kind"] for each in found["open_waits"] if each["kind"] != "join"] == told
    [lock] = [each for each in found["locks"] if "trylock" in each["waits"]]
    assert lock["waits"]["trylock"]["count"] == 1
