"""A command that is told to end, and alone is told, leaves no file and no process behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT

ENDLESS = "int main(void) { for (volatile int turn = 0;; turn = turn + 1) {} }\n"
LARGE = """
#include <atomic>
#include <thread>
std::atomic<int> word;
void turn() { for (int i = 0; i < 40; ++i) word += i; }
int main() { std::thread one(turn), two(turn), three(turn); one.join(); two.join(); three.join(); }
"""
SLOW = "#!/bin/sh\nsleep 300 &\nwait\n"  # a compiler, as its driver is: it has a child
LATE = """
import os, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from syncopate.base import ending, workers
def late():
    time.sleep(0.3)
    subprocess.call(["sleep", "300"])
ending.as_interrupts()
try:
    with workers.Workers(1) as pool:
        for _ in range(9):
            pool.submit(late)
        os.kill(os.getpid(), int(sys.argv[2]))
        time.sleep(300)
except KeyboardInterrupt:
    sys.exit(ending.status())
"""
UNSEEN = """
import os, signal, subprocess, sys, threading, time
sys.path.insert(0, sys.argv[1])
from syncopate.base import ending
def unseen():  # as one is that comes between the interpreter's look for signals and the wait
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), int(sys.argv[2]))
ending.as_interrupts()
threading.Thread(target=unseen).start()
try:
    if sys.argv[3] == "lock":
        threading.Event().wait()
    subprocess.call(["sleep", "300"])
except KeyboardInterrupt:
    sys.exit(ending.status())
"""
ANYWHERE = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from syncopate.base import ending, scratch, workers
def writes(place):
    time.sleep(0.01)
    open(place + "/one", "w").close()
def block():
    with scratch.folder() as place, workers.Workers(2) as pool:
        first, second = (pool.submit(writes, place) for _ in range(2))
        pool.result(first), pool.result(second)
def after(step):  # the signal comes at that call of the main thread's, or as one of C is over
    left = step
    def profiled(frame, event, _):
        nonlocal left
        # An error as a generator returns is not the generator's; none leaves a weak set's callback.
        if event == "return" or "weakref" in frame.f_code.co_filename:
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGTERM)
    try:
        sys.setprofile(profiled)
        block()
        sys.setprofile(None)
        os._exit(2)
    except KeyboardInterrupt:
        sys.setprofile(None)
    os._exit(0 if ending.status() == 143 and not os.listdir(sys.argv[2]) else 1)
block()  # all is imported
step, status = 0, 0
while status == 0:
    step += 1
    child = os.fork()
    if child == 0:
        ending.as_interrupts()
        after(step)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(step, status)
"""
IN_A_FINALIZER = """
import os, sys, time, weakref
sys.path.insert(0, sys.argv[1])
from syncopate.base import ending
class Thing: pass
def ends():
    with ending.later(at_once=False):
        os.kill(os.getpid(), int(sys.argv[2]))
        time.sleep(0.01)
ending.as_interrupts()
thing = Thing()
weakref.finalize(thing, ends)
try:
    del thing
    time.sleep(300)
except KeyboardInterrupt:
    sys.exit(ending.status())
"""
AT_THE_END = """
import os, sys
sys.path.insert(0, sys.argv[1])
from syncopate import __main__
from syncopate.base import ending
class Last:
    def __del__(self):
        for number in (ending.signal.SIGINT, *ending.ENDING):
            os.kill(os.getpid(), number)
last = Last()
status = __main__.main(["list"])
del last
sys.exit(status)
"""
OF_ITS_OWN = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from syncopate.base import ending
came = []
ending.as_interrupts()
signal.signal(int(sys.argv[2]), lambda number, _: came.append(number))
os.kill(os.getpid(), int(sys.argv[2]))
time.sleep(10 * ending.LOOKS)
print(len(came))
"""
STILL_WRITES = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from syncopate.base import scratch
writer = "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); : >$0/$i; done 2>/dev/null; echo"
with scratch.folder() as place:
    child = subprocess.Popen(["sh", "-c", writer, place], stdout=subprocess.PIPE)
    while not __import__("os").listdir(place):
        pass
child.wait()
"""
ENDING = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
SECONDS = 60  # a tenth of it on a machine that does nothing else

COMMANDS = {
    "simulated": ["simulate", "{}/endless.c"],
    "sweep": ["simulate", "--sweep", "N=1,2", "--jobs", "2", "{}/endless.c"],
    "explored": ["check", "{}/large.cpp"],
    "shipped": ["check", "all"],
    "json": ["check", "--json", "{}/large.cpp"],
    "advised": ["advise", "{}/endless.c"],
    "compiling": ["simulate", "--compiler", "{}/slow", "{}/endless.c"],
    "measured": ["bench", "regret", "--locks", "glibc,auto", "--seconds", "30", "--rounds", "1"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ending")
    (folder / "endless.c").write_text(ENDLESS)
    (folder / "large.cpp").write_text(LARGE)
    (folder / "slow").write_text(SLOW)
    (folder / "slow").chmod(0o755)
    return folder


def popen(words: list[str], **how) -> subprocess.Popen:
    """A process without a terminal, whom the signals end, however the tests were started."""
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in ENDING],
        **how,
    )


def of_environment(text: str) -> set[int]:
    """The processes that have a text in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and text.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:
            pass
    return found


def ends_by(script: str, number: int, *words: str) -> None:
    """Runs it, to which the signal comes: it ends as after Ctrl-C."""
    started = popen([sys.executable, "-c", script, str(ROOT), str(int(number)), *words])
    try:
        assert started.wait(SECONDS) == 128 + number
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def waited(condition, what: str) -> None:
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_left_behind(files, tmp_path, name):
    ends_clean(files, tmp_path, name, signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_nor_where_the_terminal_is_closed_or_it_alone_is_interrupted(files, tmp_path, number):
    ends_clean(files, tmp_path, "sweep", number)


@pytest.mark.parametrize("number", ENDING)
def test_what_a_thread_starts_after_the_signal_ends_too(number):
    ends_by(LATE, number)


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("waits_for", ["lock", "process"])
def test_a_signal_that_comes_as_the_main_thread_begins_to_wait_ends_it(number, waits_for):
    ends_by(UNSEEN, number, waits_for)


@pytest.mark.parametrize("number", ENDING)
def test_a_handler_of_a_commands_own_runs_once(number):
    command = [sys.executable, "-c", OF_ITS_OWN, str(ROOT), str(int(number))]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"1\n"


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_in_a_finalizer_ends_the_command_soon_afterwards(number):
    ends_by(IN_A_FINALIZER, number)


def test_a_signal_after_the_end_changes_nothing():
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, str(ROOT)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


MANY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from syncopate.__main__ import main
counts = set()
for _ in range(5):
    main(["report", "/nothing/is/there"])
    counts.add((len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))))
assert len(counts) == 1, counts
"""


def test_a_process_that_runs_many_commands_has_no_thread_more_for_each():
    done = subprocess.run(
        [sys.executable, "-c", MANY, ROOT],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_signal_at_any_call_of_a_pool_leaves_no_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ANYWHERE, str(ROOT), str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * SECONDS,
    )
    assert done.stderr == ""
    steps, status = map(int, done.stdout.split())
    assert status == 2  # the block was over before that one
    assert steps > 100


def test_a_folder_goes_while_what_was_told_to_end_still_writes_there(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", STILL_WRITES, str(ROOT)], env=environment, check=True)
        assert os.listdir(tmp_path) == []


def ends_clean(files: Path, tmp_path: Path, name: str, number: int) -> None:
    words = [word.format(files) for word in COMMANDS[name]]
    place = tmp_path / "temporary"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    process = popen([*COMMAND, *words], env=environment, cwd=tmp_path)
    mark = f"TMPDIR={place}"
    try:
        waited(lambda: of_environment(mark) - {process.pid}, "it starts something")
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        waited(lambda: not of_environment(mark), "all processes end")
        assert os.listdir(place) == []
        assert os.listdir(tmp_path) == ["temporary"]
    finally:
        for each in of_environment(mark):
            os.kill(each, signal.SIGKILL)
        process.wait()
