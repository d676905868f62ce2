"""Java programs of which it is known who waits how long, where, and for whom."""

import glob
import json
import shutil
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, run_cli
from kernel_support import functions
from language_support import (
    KNOWN,
    LIBRARY,
    PYTHON,
    VMS,
    a_java,
    adds_up,
    newer_java,
    recorded,
)
from make_record import RecordBuilder

from syncopate.base.errors import Failure
from syncopate.launch import jvm
from syncopate.records import account


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    compiler = shutil.which("javac")
    assert compiler, "install default-jdk-headless (scripts/setup.sh test)"
    folder = tmp_path_factory.mktemp("java")
    subprocess.run([compiler, "-g", "-d", folder, KNOWN / "Known.java"], check=True)
    return ["java", "-Xmx64m", "-cp", folder, "Known"]


JAVAS = {"monitor": ("mutex", "Object at Known.waitHere:"),
         "reentrant": ("mutex", "ReentrantLock at Known.waitHere:"),
         "read": ("read", "ReentrantReadWriteLock at Known.waitHere:"),
         "write": ("write", "ReentrantReadWriteLock at Known.waitHere:"),
         "shared": ("write", "ReentrantReadWriteLock at Known.waitHere:")}  # fmt: skip


def is_javas(found: dict, kind: str, said: str) -> None:
    """That the record has the planted waits, their lock, both threads and both places."""
    waits, name = JAVAS[kind]
    first = found["locks"][0]
    assert first["name"].startswith(name)
    # Its own clock runs from before the wait until after it: the VM has work of its own between.
    assert int(said.split()[0]) / 2 < first["waits"][waits]["total_ns"] <= int(said.split()[0])
    assert "Known.waitHere" in functions(first["waiters"])
    assert {"Known.keep", "Known.holdHere"} & set(functions(first["holders"]))
    block = max(found["blocks"], key=lambda each: each["ns"])
    assert block["waiter"].startswith("the-waiter/")
    assert block["holder"].startswith("the-holder/")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", JAVAS)
def test_java(java, tmp_path, kind):
    found, said = recorded([*java, kind], tmp_path / "r", LIBRARY)
    is_javas(found, kind, said)
    assert adds_up(found)
    assert not any("agentpath" in word for word in found["process"]["command"])
    told = found["findings"][0]
    assert (told["causes"], told["reasons"][0]["sure"]) == (["sleeps"], "likely")
    assert told["why"][0].endswith("in java.lang.Thread.sleep")
    assert any(why.startswith("who holds it is meanwhile in java") for why in told["why"])
    # Where a monitor is let go of the VM does not tell.
    assert any(why.startswith("it is held until ") for why in told["why"]) == (kind != "monitor")
    assert all(why.partition(" in ")[2] or why.partition("until ")[2] for why in told["why"])


def test_a_semaphore_of_javas_may_be_a_lock(java, tmp_path):
    """The VM does not tell who has taken one: what threads waited for it is not said to be for
    signals, nor that nobody waited for a lock."""
    found, said = recorded([*java, "semaphore"], tmp_path / "r", LIBRARY)
    (lock,) = [x for x in found["locks"] if x["name"].startswith("Semaphore at Known.waitHere:")]
    waited = lock["waits"]["semaphore"]["total_ns"]
    assert int(said.split()[0]) / 2 < waited <= int(said.split()[0])
    assert not account.is_explained(found)
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert "Semaphores that other threads post (signals, or locks: not told apart)" in text
    assert "and perhaps to locks of its own" in text
    assert "No thread waited for a lock." not in text


PERMITS = """
import java.util.concurrent.Semaphore;
public class Permits {
    static final Semaphore permits = new Semaphore(COUNT, true);
    static void take() {
        permits.acquireUninterruptibly();
    }
    static void nap() {
        try { Thread.sleep(4); } catch (InterruptedException e) { }
    }
    static void use() {
        for (int i = 0; i < 30; i++) {
            take();
            nap();
            permits.release();
        }
    }
    static void consume() {
        for (int i = 0; i < 30; i++) {
            take();
        }
    }
    static void produce() {
        for (int i = 0; i < 90; i++) {
            nap();
            permits.release();
        }
    }
    public static void main(String[] words) throws Exception {
        Thread[] all = new Thread[3];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Thread(COUNT == 0 ? Permits::consume : Permits::use);
            all[i].start();
        }
        if (COUNT == 0) produce();
        for (Thread each : all) each.join();
    }
}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("permits", [1, 2, 0])
def test_a_semaphore_of_javas_that_its_takers_release_is_a_lock(tmp_path, permits):
    """With one permit, or two for three threads; not where a thread releases that takes none, also
    where those who take one wake the next to look."""
    source = tmp_path / "Permits.java"
    source.write_text(PERMITS.replace("COUNT", str(permits)))
    subprocess.run(["javac", "-g", "-d", tmp_path, source], check=True)
    found, _ = recorded(["java", "-Xmx64m", "-cp", tmp_path, "Permits"], tmp_path / "r", LIBRARY)
    [lock] = [each for each in found["locks"] if each["name"].startswith("Semaphore at Permits")]
    assert lock["waits"].keys() == {"semaphore_lock" if permits else "semaphore"}
    assert lock["waited_ns"] > 15 * 4_000_000
    assert (lock["lost_ns"] == lock["waited_ns"]) == (permits > 0)
    told = [each["lock"] for each in found["findings"]]
    assert told == [lock["name"]] * (permits > 0)
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert ("Semaphores used as locks" in text) == (permits > 0)
    assert ("and perhaps to locks of its own" in text) == (permits == 0)
    if permits:
        assert any(frame["function"] == "Permits.use" for frame in lock["holders"][0]["frames"])


VIRTUAL = """
import java.util.concurrent.locks.ReentrantLock;
public class Virtual {
    static final ReentrantLock lock = new ReentrantLock();
    static void use() {
        for (int i = 0; i < 10; i++) {
            lock.lock();
            try { Thread.sleep(5); } catch (InterruptedException e) { }
            lock.unlock();
        }
    }
    public static void main(String[] words) throws Exception {
        Thread[] all = new Thread[4];
        for (int i = 0; i < all.length; i++)
            all[i] = KIND.start(Virtual::use);
        for (Thread each : all) each.join();
    }
}
"""


@pytest.mark.sampled(2)
@pytest.mark.skipif(not newer_java(), reason="no Java 21 or later in /usr/lib/jvm")
@pytest.mark.parametrize("kind", ["ofVirtual", "ofPlatform"])
def test_virtual_threads_are_said_not_to_be_seen(tmp_path, kind):
    source = tmp_path / "Virtual.java"
    source.write_text(VIRTUAL.replace("KIND", f"Thread.{kind}()"))
    java = newer_java()
    subprocess.run([java.with_name("javac"), "-d", tmp_path, source], check=True)
    found, _ = recorded([java, "-cp", tmp_path, "Virtual"], tmp_path / "r", LIBRARY)
    is_virtual = kind == "ofVirtual"
    assert found["process"]["tasks"] == "virtual threads" * is_virtual
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert ("without what virtual threads wait for each other" in text) == is_virtual
    assert ("No thread waited for a lock." in text) is False


@pytest.mark.parametrize("how", ["told by the agent", "by a thread's name", "neither"])
def test_a_record_that_tells_of_virtual_threads(tmp_path, how):
    builder = RecordBuilder()
    builder.recorder = 2
    builder.thread(11, name="VirtualThread-u" if how == "by a thread's name" else "java")
    if how == "told by the agent":
        builder.maps += "virtual threads\n"
    report = run_cli("report", "--json", builder.write(tmp_path / "r")).stdout
    process = json.loads(report)["records"][0]["process"]
    assert process["tasks"] == "virtual threads" * (how != "neither")


def test_a_java_thread_that_waits_in_vain(java, tmp_path):
    """It tries for a short time, again and again, until it has the lock: five times."""
    found, said = recorded([*java, "tried"], tmp_path / "r", LIBRARY)
    (lock,) = [lock for lock in found["locks"] if lock["name"].startswith("ReentrantLock at")]
    in_vain = int(said.split()[3])
    assert in_vain >= 5
    assert lock["in_vain"] == pytest.approx(in_vain, abs=5)  # who is woken may just be too late
    assert lock["contended"] - lock["in_vain"] <= 2 * 5


@pytest.mark.parametrize("kind", ["monitor", "reentrant"])
def test_a_java_program_that_runs(java, tmp_path, kind):
    """Twice, and it goes on as it was."""
    with subprocess.Popen([*java, kind, "120"], stdout=subprocess.PIPE, text=True) as process:
        for turn in ("a", "b"):
            done = run_cli("record", "-q", "-p", process.pid, "--for", "1s", "-o", tmp_path / turn)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert process.poll() is None
        said = process.communicate()[0]
    assert process.returncode == 0
    for turn in ("a", "b"):
        found = json.loads(run_cli("report", "--json", tmp_path / turn).stdout)["records"][0]
        assert found["process"]["recorder"] == "jvm"
        first = found["locks"][0]
        assert first["name"].startswith(JAVAS[kind][1])
        assert 0 < first["lost_ns"] < int(said.split()[0])
        assert "Known.waitHere" in functions(first["waiters"])
        assert found["blocks"][0]["waiter"].startswith("the-waiter/")
        assert "the recording ended, and the program went on" in found["notes"]


def test_a_vm_that_is_killed_leaves_no_copy_of_the_agent(java, tmp_path):
    with subprocess.Popen([*java, "monitor", "9999"], stdout=subprocess.PIPE) as process:
        try:
            while not int(jvm._status(process.pid)["SigCgt"], 16) & 1 << (signal.SIGQUIT - 1):
                time.sleep(0.01)
            recorder = jvm.JvmRecorder(process.pid, str(tmp_path / "r"), None, False)
            copies = f"{jvm.MEETING_FOLDER}/syncopate-jvm-{process.pid}-*"
            assert len(glob.glob(copies)) == 1
        finally:
            process.kill()
        process.communicate()
        assert recorder.ended()
        recorder.wait()
        assert glob.glob(copies) == []


def test_a_vm_that_only_begins_is_asked_again(java, tmp_path):
    """It takes agents before it lets them do anything: attached to as soon as that is possible."""
    for turn in range(4):
        with subprocess.Popen([*java, "monitor", "9999"], stdout=subprocess.PIPE) as process:
            while not jvm.runs_java(process.pid):
                assert process.poll() is None
            record = tmp_path / f"r{turn}"
            done = run_cli("record", "-q", "-p", process.pid, "--for", "1ms", "-o", record)
            assert (done.returncode, done.stderr) == (0, "")
            process.kill()
            process.communicate()


# Answers how often it was asked, and whether its file was there each time.
LIKE_A_VM = """
import contextlib, os, signal, socket, time
path, asked = f"/tmp/.java_pid{os.getpid()}", []
with contextlib.suppress(FileNotFoundError):
    os.unlink(path)  # an earlier process's of that number
def quit(*_):
    asked.append(os.path.exists(f"/tmp/.attach_pid{os.getpid()}"))
signal.signal(signal.SIGQUIT, quit)
%s
with socket.socket(socket.AF_UNIX) as listens:
    listens.bind(path)
    listens.listen()
    to = listens.accept()[0]
    os.unlink(path)
    to.recv(4096)
    to.sendall(repr(asked).encode())
"""
LOSES_ITS_SOCKET = """
print("ready", flush=True)
while len(asked) < 2: time.sleep(0.01)
"""
FINDS_A_SOCKET = """
with socket.socket(socket.AF_UNIX) as of_another:
    of_another.bind(path)  # which nobody listens at
print("ready", flush=True)
time.sleep(0.3)
os.unlink(path)
while not asked: time.sleep(0.01)
"""


def answer_of(meanwhile, folder) -> str:
    command = [PYTHON, "-c", LIKE_A_VM % meanwhile]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            return jvm.attach(process.pid, ["load"])
        finally:
            process.kill()


def test_a_vm_that_loses_its_socket_is_asked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(jvm, "ASKED_EVERY", 0.1)
    assert answer_of(LOSES_ITS_SOCKET, tmp_path) == "[True, True]"


def test_a_socket_that_an_earlier_process_of_that_number_left_is_not_the_vms(tmp_path):
    assert answer_of(FINDS_A_SOCKET, tmp_path).startswith("[True")


def test_a_vm_that_ends_meanwhile_is_said_to_have_ended():
    # (Python's handlers run between its own steps: a signal before pause() would be lost in it.)
    ends = (
        "import signal, time; signal.signal(signal.SIGQUIT, lambda *_: exit(0)); print()\n"
        "while True: time.sleep(0.01)"
    )
    with subprocess.Popen([PYTHON, "-uc", ends], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(Failure, match=f"the Java VM {process.pid} has ended"):
            jvm.attach(process.pid, ["load"])


@pytest.fixture(scope="module")
def vm(tmp_path_factory):
    """The command of one program, by the older VM or a newer one."""
    folder = tmp_path_factory.mktemp("roles")
    subprocess.run(["javac", "-g", "-d", folder, KNOWN / "Roles.java"], check=True)

    def command(newer: bool) -> list:
        return [a_java(newer), "-Xmx64m", "-cp", folder, "Roles"]

    return command


@pytest.fixture(scope="module")
def roles(vm):
    def run(newer: bool, kind: str, record) -> tuple[list[dict], int]:
        """The locks of Java code, and how many waits of one thread there were."""
        found, said = recorded([*vm(newer), kind], record, LIBRARY)
        return [lock for lock in found["locks"] if "Roles" in lock["name"]], int(said)

    return run


@pytest.mark.sampled(8)
@VMS
@pytest.mark.parametrize(
    ("kind", "name", "wanted"),
    [("join", "Roles$1", {"join"}), ("nap", "Roles$2", {"join", "condition"}),
     ("own", "Roles$3", {"join", "condition", "mutex"}),
     ("writes", "ReentrantReadWriteLock", {"write"}), ("stamped", "StampedLock", {"write"})],
)  # fmt: skip
def test_what_a_wait_is_for_is_not_told_by_names_around_it(
    roles, tmp_path, newer, kind, name, wanted
):
    """Nor by what else its object is: a thread is joined, parks, and may be a monitor."""
    locks, times = roles(newer, kind, tmp_path / "r")
    waits = {}
    for lock in locks:
        if lock["name"].startswith(f"{name} at"):
            waits |= lock["waits"]
    assert wanted >= set(waits) and wanted - {"join", "mutex"} <= set(waits), waits
    if kind == "nap":
        assert waits["condition"]["count"] == times
    if kind == "join":
        assert waits["join"]["total_ns"] > 150 * 10**6


@pytest.mark.sampled(2)
@VMS
@pytest.mark.parametrize(
    ("kind", "lets_go"),
    [("passed on", "Roles.letsGo"), ("passed on, stamped", "Roles.letsGoOfStamped"),
     ("gave up", None)],
)  # fmt: skip
def test_who_takes_a_lock_or_gives_up_does_not_let_go_of_it(roles, tmp_path, newer, kind, lets_go):
    """It may wake the next one that waits all the same."""
    locks, _ = roles(newer, kind, tmp_path / "r")
    (lock,) = [lock for lock in locks if "Lock at" in lock["name"]]
    wake = [functions([each]) for each in lock["holders"] if "jdk.internal.misc.Unsafe.unpark" in
            functions([each])]  # fmt: skip
    assert all(lets_go in stack for stack in wake), wake
    assert bool(wake) == (lets_go is not None)


@VMS
def test_a_wait_that_an_interrupt_ends_is_in_vain(roles, tmp_path, newer):
    locks, times = roles(newer, "interrupted", tmp_path / "r")
    (lock,) = [lock for lock in locks if "ReentrantLock at" in lock["name"]]
    ended = lock["waits"]["mutex"]["count"] - lock["in_vain"]
    assert lock["in_vain"] >= times
    assert ended <= 2  # what Java calls a park may return for no reason


@VMS
def test_two_recordings_of_one_vm_see_all_of_it(vm, tmp_path, newer):
    """Of three threads two wait at any time; the second recording begins and ends later."""
    first, second = tmp_path / "first", tmp_path / "second"
    command, nowhere = [*vm(newer), "crowd"], subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=nowhere) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            one = [*COMMAND, "record", "-q", "-p", str(process.pid), "--for", "2s", "-o"]
            with subprocess.Popen([*one, first]):
                until = time.monotonic() + 60
                while not first.exists() and time.monotonic() < until:
                    time.sleep(0.01)
                time.sleep(0.5)
                assert subprocess.run([*one, second], check=False).returncode == 0
        finally:
            process.kill()
    for record in (first, second):
        (found,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
        (lock,) = [lock for lock in found["locks"] if lock["name"].startswith("ReentrantLock at")]
        # The waits that were not over when the record ended are not among these.
        assert lock["waits"]["mutex"]["total_ns"] > 1.5 * 2e9, record.name
