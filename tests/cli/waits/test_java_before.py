"""Java programs that run, and whose threads wait already when the recording begins."""

import contextlib
import itertools
import json
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import COMMAND, run_cli
from kernel_support import functions
from language_support import KNOWN, VMS, a_java, adds_up

from syncopate.base.errors import Failure
from syncopate.launch import jvm
from syncopate.records import openwaits
from syncopate.records.recordfile import Record

SECONDS = 60  # for what takes a moment
PLANTED = {"Object at Before.entersMonitor": "mutex",
           "Before.class at Before.entersClass": "mutex",
           "Object at Before.waitsToBeTold": "condition",
           "ReentrantLock at Before.locks": "mutex",
           "ReentrantReadWriteLock at Before.readsBoth": "read",
           "AbstractQueuedSynchronizer$ConditionObject at Before.awaits": "condition",
           "CountDownLatch at Before": "barrier",
           "Thread at Before.parks": "condition"}  # fmt: skip


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    folder = tmp_path_factory.mktemp("before")
    sources = [KNOWN / "Before.java", KNOWN / "Edges.java"]
    subprocess.run(["javac", "-g", "-d", folder, *sources], check=True)
    return lambda newer, *options: [a_java(newer), "-Xmx64m", *options, "-cp", folder, "Before"]


@contextlib.contextmanager
def running(command):
    """A program that has said that its threads wait."""
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=nowhere, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def open_waits(record) -> list[openwaits.Waiting]:
    try:
        return [*openwaits.waiting(Record(str(record))).values()]
    except (Failure, OSError):  # it only begins
        return []


@contextlib.contextmanager
def attached(process, record, waits: int):
    """While the program is recorded, and at least so many waits are told."""
    command = [*COMMAND, "record", "-q", "-p", str(process.pid), "-o", record]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as recorder:
        try:
            until = time.monotonic() + SECONDS
            while (seen := len(open_waits(record))) < waits and time.monotonic() < until:
                time.sleep(0.02)
            assert seen >= waits  # they may be over by now
            yield
        finally:
            recorder.send_signal(signal.SIGINT)
            assert recorder.communicate(timeout=SECONDS)[1] == ""


def told_of(record) -> dict:
    return json.loads(run_cli("report", "--json", record).stdout)["records"][0]


def send(process, text: str) -> None:
    process.stdin.write(text)
    process.stdin.flush()


@pytest.mark.long
@VMS
def test_waits_that_had_begun_are_told_from_the_recordings_begin_to_their_end(
    before, tmp_path, newer
):
    """But of a park that is interrupted nobody knows the end."""
    with running(before(newer)) as process, attached(process, tmp_path / "r", len(PLANTED) + 2):
        # The main thread has the two monitors and the two locks, and waits for nobody.
        assert sum(bool(each.holders) for each in open_waits(tmp_path / "r")) == 4
        send(process, "x")
        least = int(process.stdout.readline())
        assert process.stdout.readline() == "gone\n"
    found = told_of(tmp_path / "r")
    assert adds_up(found)
    for name, kind in PLANTED.items():
        (wait,) = [
            lock["waits"][kind]
            for lock in found["locks"]
            if lock["name"].startswith(name) and kind in lock["waits"]
        ]
        assert wait["count"] == 1, name
        assert least <= wait["total_ns"] <= found["process"]["duration_ns"], name
    (lock,) = [
        lock for lock in found["locks"] if lock["name"].startswith("Object at Before.enters")
    ]
    assert "Before.go" in functions(lock["holders"])
    joined = [lock["waits"]["join"] for lock in found["locks"] if "join" in lock["waits"]]
    assert max(wait["total_ns"] for wait in joined) >= least
    threads = {each["thread"].split("/")[0] for each in found["open_waits"]}
    assert "interrupted" not in threads
    assert not threads & {"enters", "enters class", "told", "locks", "reads", "awaits", "parks"}


@pytest.mark.crossed("killed", "newer")
@VMS
@pytest.mark.parametrize("killed", [False, True])
def test_a_deadlock_that_is_there_already_is_named(before, tmp_path, newer, killed):
    with running([*before(newer), "dead"]) as process, attached(process, tmp_path / "r", 2):
        until = time.monotonic() + SECONDS  # who holds what is told after who waits
        while sum(bool(each.holders) for each in open_waits(tmp_path / "r")) < 2:
            assert time.monotonic() < until
            time.sleep(0.02)
        if killed:
            process.kill()
            process.wait()
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    found = told_of(tmp_path / "r")
    (deadlock,) = found["deadlocks"]
    assert {each.split("/")[0] for each in deadlock["threads"]} == {"one", "other"}
    assert text.count("waits for Object at Before.holdsOne") == 2


# It begins the record that it is asked for, or not, and is killed before it answers.
IS_KILLED = """
import os, signal, socket, sys
path = f"/tmp/.java_pid{os.getpid()}"
with socket.socket(socket.AF_UNIX) as listens:
    listens.bind(path)
    listens.listen()
    print("ready", flush=True)
    to = listens.accept()[0]
    os.unlink(path)
    asked = to.recv(4096).split(b"\\0")
    if sys.argv[1] == "True":
        open(asked[4].partition(b"=")[2], "x").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("begins", [True, False])
def test_a_vm_that_is_killed_before_it_answers_may_have_begun_its_record(tmp_path, begins):
    with subprocess.Popen(
        [sys.executable, "-c", IS_KILLED, str(begins)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        if begins:
            jvm.JvmRecorder(process.pid, str(tmp_path / "r"), None, False).wait()
        else:
            with pytest.raises(
                Failure, match=f"the Java VM {process.pid} ended before it answered"
            ):
                jvm.JvmRecorder(process.pid, str(tmp_path / "r"), None, False)


@VMS
@pytest.mark.parametrize("limits", [[], ["--limit-modules", "java.base"]])
def test_a_vm_that_checks_native_code_finds_nothing_wrong(before, tmp_path, newer, limits):
    command = before(newer, "-Xcheck:jni", *limits)
    with running(command) as process:
        with attached(process, tmp_path / "r", 5 if limits else len(PLANTED) + 2):
            send(process, "x")
            said = itertools.takewhile(lambda line: line != "gone\n", process.stdout)
            assert [line for line in said if not line.strip().isdigit()] == []
        send(process, "xx")
        assert process.stdout.read() == ""


def edges_by_the_vm(java, process: int) -> set[tuple[str, str | None]]:
    """Which of the threads t0, t1, ... waits for which, as the VM prints it itself."""
    command = [java.with_name("jcmd"), str(process), "Thread.print", "-l"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    owners, waits = {}, {}
    for block in re.split(r'\n(?=")', text):
        if thread := re.match(r'"(t\d+)"', block):
            owned = r"(?:- locked|Locked ownable synchronizers:\n\s+-) <(0x\w+)>"
            owners.update(dict.fromkeys(re.findall(owned, block), thread[1]))
            if wanted := re.search(r"(?:waiting to lock|parking to wait for) +<(0x\w+)>", block):
                waits[thread[1]] = wanted[1]
    return {(thread, owners.get(wanted)) for thread, wanted in waits.items()}


@pytest.mark.sampled(2)
@pytest.mark.crossed("seed", "newer")
@VMS
@pytest.mark.parametrize("seed", range(1, 5))
def test_who_waits_for_whom_is_as_the_vm_says_itself(before, tmp_path, newer, seed):
    with running([*before(newer)[:-1], "Edges", str(seed)]) as process:
        truth = edges_by_the_vm(a_java(newer), process.pid)
        done = run_cli("record", "-q", "-p", process.pid, "--for", "1ms", "-o", tmp_path / "r")
        assert (done.returncode, done.stderr) == (0, "")
    record = Record(str(tmp_path / "r"))
    names = {each.id: each.name for each in record.threads()}
    found = {
        (names[each.thread], names[each.holders[0].thread] if each.holders else None)
        for each in open_waits(tmp_path / "r")
        if re.fullmatch(r"t\d+", names[each.thread])
    }
    assert len(truth) > 2
    assert found == truth


@VMS
def test_a_vm_without_management_says_what_is_not_seen(before, tmp_path, newer):
    command = before(newer, "--limit-modules", "java.base")
    with running(command) as process, attached(process, tmp_path / "r", 5):
        pass
    found = told_of(tmp_path / "r")
    names = {each["name"].split(" at ")[0] for each in found["locks"]}
    assert {"ReentrantLock", "ReentrantReadWriteLock", "CountDownLatch"} <= names
    assert "Object" not in names
    (note,) = [note for note in found["notes"] if "java.management" in note]
    assert "waited for a monitor (synchronized) before the recording are not seen" in note


@pytest.mark.long
@VMS
def test_threads_that_go_on_while_they_are_asked_are_not_said_to_wait(before, tmp_path, newer):
    """Of twelve nearly all wait at any time, none for longer than a moment."""
    for turn in range(5):
        record = tmp_path / f"r{turn}"
        with running([*before(newer), "crowd"]) as process, attached(process, record, 1):
            time.sleep(1)
        found = told_of(record)
        waits = [each for each in found["open_waits"] if each["thread"].startswith("crowd/")]
        longest = max((each["waited_ns"] for each in waits), default=0)
        assert longest < found["process"]["duration_ns"] / 2, waits
        assert sum(each["waits"].get("mutex", {}).get("count", 0) for each in found["locks"]) > 50


@pytest.mark.long
@VMS
def test_a_vm_is_recorded_again_and_again_while_threads_come_and_go(before, tmp_path, newer):
    """Each recording loads a copy of the agent; what they need has to last."""
    with running([*before(newer), "churn"]) as process:
        for turn in range(15):
            record = tmp_path / f"r{turn}"
            done = run_cli("record", "-q", "-p", process.pid, "--for", "200ms", "-o", record)
            assert (done.returncode, done.stderr) == (0, ""), turn
            assert process.poll() is None
    found = told_of(record)
    assert any(lock["name"].startswith("ReentrantLock at Before.") for lock in found["locks"])
