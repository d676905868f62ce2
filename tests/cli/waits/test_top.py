"""`syncopate top`: a running program's record read while it grows."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, SECONDS, compile_c, one_line, run_cli
from make_record import RecordBuilder

from syncopate.records import live, recordformat
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import WaitKind
from syncopate.show.topscreen import Screen

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static void* run(void* x) {
  for (;;) {
    pthread_mutex_lock(&hot_lock);
    nanosleep(&(struct timespec){0, 1000000}, 0);
    pthread_mutex_unlock(&hot_lock);
    nanosleep(&(struct timespec){0, 100000}, 0);
  }
  return x;
}
int main(void) {
  pthread_t thread;
  puts("begun");
  fflush(stdout);
  pthread_create(&thread, 0, run, 0);
  run(0);
}
"""


@pytest.fixture(scope="module")
def contended(tmp_path_factory):
    """A program whose two threads wait for one lock until it is ended."""
    target = tmp_path_factory.mktemp("program") / "contended"
    return compile_c(PROGRAM, target, "-pthread", "-g")


def grown(path, waits: int, threads: int = 2):
    """A record of a program that still runs, after so many waits of 1 ms."""
    builder = RecordBuilder(end=10_000_000)
    builder.flags = 0
    for number in range(threads):
        builder.thread(10 + number, end=0)
    lock = builder.lock(0x9000, acquisitions=10 * waits, first=builder.stack(0xA000))
    builder.row(0, lock, 1, [1_000_000] * waits)
    builder.lock(0x9100, acquisitions=5, first=builder.stack(0xB000))
    return str(builder.write(path))


@pytest.fixture
def running(monkeypatch):
    """Records that are not finished are of processes that run."""
    monkeypatch.setattr(Record, "_is_mapped", lambda record: True)


def test_an_interval_is_the_difference_of_two_snapshots(tmp_path, running):
    tap = live.Tap(grown(tmp_path / "r", 10))
    before = live.snapshot([tap])._replace(seconds=100.0)
    grown(tmp_path / "r", 30)
    after = live.snapshot([tap])._replace(seconds=100.5)
    assert after.threads == 2
    (rate,) = live.rates(before, after)  # the other lock was not waited for
    assert (rate.lock, rate.object, rate.process) == ("0xa000", "mutex", 4242)
    assert rate.waiting == pytest.approx(0.04)  # 20 waits of 1 ms in half a second
    assert (rate.waits, rate.acquisitions) == (40, 400)
    assert (rate.mean_ns, rate.longest_ns) == (1_000_000, 1_000_000)
    assert live.rates(after, after) == []


# Once it is waited for its lock; then it is taken five times for each line that comes.
ON_DEMAND = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;
static void* holds(void* x) {
  pthread_mutex_lock(&hot_lock);
  held = 1;
  nanosleep(&(struct timespec){0, 300000000}, 0);
  pthread_mutex_unlock(&hot_lock);
  return x;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, holds, 0);
  while (!held) { }
  pthread_mutex_lock(&hot_lock);
  pthread_mutex_unlock(&hot_lock);
  puts("begun");
  for (fflush(stdout); getchar() != EOF; fflush(stdout)) {
    for (int i = 0; i < 5; i++) {
      pthread_mutex_lock(&hot_lock);
      pthread_mutex_unlock(&hot_lock);
    }
    puts("done");
  }
}
"""


@pytest.mark.long
def test_what_is_taken_is_counted_to_the_last_time(tmp_path):
    program = compile_c(ON_DEMAND, tmp_path / "on_demand", "-pthread", "-g")
    record = tmp_path / "r"
    command = [*COMMAND, "record", "-q", "-o", record, program]
    taken = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=0
    ) as process:
        try:
            for _ in range(60):
                assert process.stdout.readline().strip() in ("begun", "done")
                (counts,) = live.Tap(str(record)).read(time.monotonic_ns()).counts.values()
                taken.append(counts.acquisitions)
                process.stdin.write("\n")
        finally:
            process.stdin.close()
            process.wait(SECONDS)
    assert taken == [2 + 5 * lines for lines in range(60)]


def test_records_of_several_processes_are_added_up(tmp_path, running):
    taps = [live.Tap(grown(tmp_path / name, 10)) for name in "ab"]
    assert live.snapshot(taps).threads == 4


def test_a_program_that_is_started(contended, tmp_path):
    log = tmp_path / "log"
    for interval in (1, 5, 20):  # on a busy machine, a second may be too short to wait for anything
        done = run_cli("top", "--once", "--json", "-i", interval, "--log", log, "--", contended)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if found["locks"]:
            break
    assert (found["schema"], found["version"]) == ("syncopate-top", 1)
    assert found["threads"] == 2
    assert [rate["lock"] for rate in found["locks"]] == ["hot_lock"]
    assert found["locks"][0]["waits"] > 0
    assert log.read_text() == "begun\n"


def test_leaving_ends_the_program_and_removes_its_record(contended, tmp_path):
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    top = subprocess.Popen(
        [*COMMAND, "top", "-i", "0.2", "--", str(contended)], stdout=subprocess.PIPE, text=True,
        env=environ,
    )  # fmt: skip
    lines = iter(top.stdout.readline, "")
    assert any(line.startswith("hot_lock ") for line in lines)
    of_top = children(top.pid)  # the program, and who tells names
    assert any(os.readlink(f"/proc/{child}/exe") == str(contended) for child in of_top)
    assert [path.name.partition(".")[0] for path in tmp_path.iterdir()] == ["syncopate-top"]
    top.send_signal(signal.SIGTERM)
    top.communicate(timeout=SECONDS)
    assert top.returncode == 0
    assert not any(os.path.exists(f"/proc/{child}") for child in of_top)
    assert list(tmp_path.iterdir()) == []


def children(process: int) -> list[int]:
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def test_a_process_that_is_recorded(contended, tmp_path):
    recorder = subprocess.Popen(
        [*COMMAND, "record", "-q", "-o", str(tmp_path / "r"), "--", str(contended)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert recorder.stdout.readline() == "begun\n"
        (child,) = children(recorder.pid)
        deadline = time.monotonic() + SECONDS
        found = {"locks": []}
        while not found["locks"] and time.monotonic() < deadline:
            done = run_cli("top", "--once", "-i", "0.5", str(child), "--json")  # behind it, too
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
        assert [rate["lock"] for rate in found["locks"]] == ["hot_lock"]
        assert os.path.exists(f"/proc/{child}")  # it goes on
    finally:
        recorder.terminate()
        recorder.communicate(timeout=SECONDS)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "name a process"),
        (["999999999"], 2, "there is no process 999999999"),
        (["-i", "0", "1"], 2, "--interval 0: a number above 0"),
        (["-n", "many", "1"], 2, "--rows many"),
        (["--", "/no/such/program"], 127, "/no/such/program"),
        (["1", "--once", "more"], 2, "more is too much"),
        (["1", "--nce"], 2, "unknown option --nce"),
        (
            ["--log", "/no/such/folder/x", "--", "/bin/true"],
            2,
            "/no/such/folder/x cannot be written",
        ),
    ],
)
def test_bad_use(arguments, status, said):
    done = run_cli("top", *arguments)
    assert done.returncode == status
    assert said in one_line(done)


def test_a_process_that_is_not_recorded():
    done = run_cli("top", str(os.getpid()))
    assert done.returncode == 2
    assert f"process {os.getpid()} is not recorded" in one_line(done)


def test_a_wait_counts_in_each_interval_as_long_as_it_lasted_there(tmp_path):
    """A wait of 10 ms, seen when 4 ms and 9 ms of it are over, and when it has ended."""

    def seen(since: int, end: int, last: int):
        builder = RecordBuilder(end=last)
        builder.flags = 0
        lock = builder.lock(0x9000, first=builder.stack(0xA000))
        builder.thread(
            10, end=0, waits=(since, end, 0xA000, lock, 1, 0, 0, 2) if since else (0,) * 8
        )
        if not since:
            builder.row(0, lock, 1, [10_000_000])
        return str(builder.write(tmp_path / "r"))

    moments = []
    for written in ((2_000_000, 0, 6_000_000), (2_000_000, 0, 11_000_000),
                    (2_000_000, 12_000_000, 13_000_000), (0, 0, 14_000_000)):  # fmt: skip
        tap = live.Tap(seen(*written))
        moments.append(live.snapshot([tap])._replace(seconds=written[2] / 1e9))
    waited = [next(iter(moment.counts.values())).waited_ns for moment in moments]
    assert waited == [4_000_000, 9_000_000, 10_000_000, 10_000_000]
    (rate,) = live.rates(moments[0], moments[1])
    assert rate.waiting == pytest.approx(1.0)  # one thread, all the time
    assert (rate.waits, rate.mean_ns) == (0, None)
    assert live.rates(moments[2], moments[3]) == []


def seen(path, end: int, *waits: tuple, process_runs: bool = True, ended: int = 0):
    """What `top` sees of a process at such a time: of its threads those that wait for one lock, by
    when their waits began and ended; others have ended, each a while after the start."""
    builder = RecordBuilder(end=end)
    builder.flags = 0 if process_runs else 1
    lock = builder.lock(0x9000, acquisitions=1, first=builder.stack(0xA000))
    for number, (since, until) in enumerate(waits):
        builder.thread(10 + number, end=0, waits=(since, until, 0xA000, lock, 1, 0, 0, 2))
    for number in range(ended):
        thread = builder.thread(50 + number, end=3_000_000)
        builder.row(thread, lock, 1, [2_000_000])
    return live.Tap(str(builder.write(path))).read(10**9 + end - builder.start)


def head_of(before: live.Snapshot, after: live.Snapshot) -> str:
    after = after._replace(seconds=before.seconds + 0.002)
    there = live.lived(before, after)
    return Screen("it", None)._parts(live.rates(before, after), after, 0.0, there)[1].plain


def test_threads_that_have_ended_count_in_the_share(tmp_path, running):
    """Ten waited for nearly all of their time, and have ended: one is left, which waits."""
    before, after = seen(tmp_path / "r", 1_000_001), seen(tmp_path / "r", 3_000_000,
                                                          (2_000_000, 0), ended=10)  # fmt: skip
    assert (after.threads, live.lived(before, after)) == (1, pytest.approx(11.0, rel=0.01))
    assert head_of(before, after) == (
        "1 thread now; meanwhile 10.50 waited for locks on average (95.5 % of its threads' time)"
    )


def test_who_ended_with_the_process_is_no_thread(tmp_path, running):
    before = seen(tmp_path / "r", 2_000_000, (1_000_000, 0))
    after = seen(tmp_path / "r", 3_000_000, (1_000_000, 0), process_runs=False)
    assert (before.threads, after.threads) == (1, 0)


def test_the_mean_is_of_waits_that_ended_and_no_longer_than_the_longest(tmp_path, running):
    """One wait goes on for all of the interval, in which another one of 1 ms ends."""
    before = seen(tmp_path / "r", 20_000_000, (10_000_000, 0), (19_500_000, 0))
    after = seen(tmp_path / "r", 30_000_000, (10_000_000, 0), (19_500_000, 20_500_000))
    (rate,) = live.rates(before, after)
    assert (rate.mean_ns, rate.longest_ns) == (1_000_000, 20_000_000)
    assert rate.waiting == pytest.approx(1.05)


def test_who_waits_still_has_not_got_it(tmp_path, running):
    before = seen(tmp_path / "r", 1_000_001)
    (rate,) = live.rates(before, seen(tmp_path / "r", 3_000_000, (2_000_000, 0), (2_000_000, 0)))
    assert (rate.waits, rate.got) == (pytest.approx(1000, rel=0.01), 0)


def test_locks_that_a_line_does_not_tell_apart_are_added_up(tmp_path):
    """Of two libraries of one name, made at one place of each."""
    builder = RecordBuilder()
    thread = builder.thread(11)
    lines = []
    for number, folder in enumerate(("a", "b")):
        begin = 0x10000000 * (number + 1)
        lines.append(
            f"{begin:x}-{begin + 0x9000:x} r-xp 00000000 00:01 1{number} /no/{folder}/l.so"
        )
        lock = builder.lock(0x9000 + number, create=builder.stack(begin + 0x77))
        builder.row(thread, lock, 1, [300_000 + number])
    builder.maps = "\n".join([*lines, ""])
    (counts,) = live.Tap(str(builder.write(tmp_path / "r"))).read(2).counts.values()
    assert (counts.waits, counts.waited_ns, counts.longest_ns) == (2, 600_001, 300_001)


def test_a_process_that_became_another_program_goes_on(tmp_path):
    """It has two records, and what the second tells comes to what the first did."""
    taps = []
    for number, waits in enumerate(([400_000, 500_000], [300_000])):
        builder = RecordBuilder()
        thread = builder.thread(11)
        builder.row(thread, builder.lock(0x9000, acquisitions=9), 1, waits)
        taps.append(live.Tap(str(builder.write(tmp_path / f"r{number}"))))
    before, after = live.snapshot(taps[:1]), live.snapshot(taps)
    (rate,) = live.rates(before._replace(seconds=after.seconds - 1), after)
    assert (rate.waits, rate.longest_ns) == (1, 500_000)
    assert rate.waiting == pytest.approx(0.0003)
    assert sum(after.lived_ns.values()) == 2 * sum(before.lived_ns.values()) > 0


def test_where_there_may_be_locks_of_its_own_top_does_not_say_that_nobody_waited(tmp_path):
    builder = RecordBuilder()
    thread = builder.thread(11)
    builder.row(thread, builder.lock(0x7000, recordformat.FUTEX), WaitKind.FUTEX, [700_000])
    after = live.Tap(str(builder.write(tmp_path / "r"))).read(time.monotonic_ns())
    assert after.perhaps_ns == 700_000
    for own in (0.6, 0.1, 0.0):
        screen = Screen("it", None)
        parts = [getattr(part, "plain", "") for part in screen._parts([], after, own, 1.0)]
        assert parts[-1] == "\nNo thread waited for a lock that is recorded."
        assert any("0.60 at futexes or semaphores of its own" in part for part in parts) == (
            own > 0.2
        )


@pytest.mark.parametrize("command", ["record", "top"])
def test_switched_off_it_says_so_under_its_own_name(command):
    done = run_cli(command, "--", "true", environ={"SYNCOPATE": "off"})
    assert done.returncode == 2
    assert f"{command}: SYNCOPATE=off, in the environment, switches" in one_line(done)
