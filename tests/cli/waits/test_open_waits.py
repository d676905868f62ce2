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

from syncopate.launch import kernelview
from syncopate.records.openwaits import waiting
from syncopate.records.recordfile import Record

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


@pytest.mark.sampled(4)
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


@pytest.mark.sampled(2)
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


@pytest.mark.parametrize(("plan", "told"), [("works", []), ("tries", ["trylock"])])
def test_who_gave_up_trying_does_not_wait(tmp_path, plan, told):
    program = compile_c((HERE / "gives_up.c").read_text(), tmp_path / "p", "-O1", "-pthread")
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program, plan)
    assert done.returncode == -signal.SIGKILL
    found = report(tmp_path / "r")
    assert [each["kind"] for each in found["open_waits"] if each["kind"] != "join"] == told
    [lock] = [each for each in found["locks"] if "trylock" in each["waits"]]
    assert lock["waits"]["trylock"]["count"] == 1
