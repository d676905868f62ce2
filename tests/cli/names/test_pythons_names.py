"""Python's locks in a report: what they are called, and the functions of Python's in their stacks,
with every Python from 3.9 on that is here, those of pyenv included."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import compile_c, run_cli
from language_support import KNOWN, LIBRARY, PYTHON, adds_up, recorded

from syncopate.records import languages, parked, pythonparks, recordformat
from syncopate.records.recordformat import Event, Lock, WaitKind
from syncopate.symbols.symbols import Frame

OF_CLASSES = (3, 11)  # from there on a function's name has its class in it
PARKS_ALL = (3, 14)  # from there on the interpreter parks who waits for any lock


def version_of(python: str) -> tuple[str, tuple[int, ...]] | None:
    """Its own path, and its version; None where it does not run, as where a version manager has a
    stand-in for none."""
    text = "import sys; print(*sys.version_info[:2], sys.executable)"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=False)
    major, minor, path = done.stdout.split(None, 2) if done.returncode == 0 else ("0", "0", "")
    return (path.strip(), (int(major), int(minor))) if path else None


def all_pythons() -> dict[str, tuple[int, ...]]:
    names = [f"python3.{minor}" for minor in range(9, 20)]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept_ones = sorted(kept.glob("3.*/bin/python3")) if os.access(kept, os.R_OK | os.X_OK) else []
    others = [*filter(None, map(shutil.which, names)), *kept_ones]
    found = filter(None, map(version_of, (PYTHON, *others)))
    return {os.path.realpath(path): version for path, version in found if version >= (3, 9)}


PYTHONS = all_pythons()
every_python = pytest.mark.parametrize("python", PYTHONS)


def called(python: str, name: str) -> str:
    return name if PYTHONS[python] >= OF_CLASSES else name.rpartition(".")[2]


def parks(python: str, lock: str) -> bool:
    """Whether it parks who waits for that: then there is no call that makes one."""
    if PYTHONS[python] >= PARKS_ALL:
        return True
    text = "import _thread; print(_thread.LockType.__basicsize__)"  # a word behind its head
    size = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True).stdout
    return lock == "Lock" and int(size) <= 24


def python_frames(stack: dict) -> list[tuple[str, int]]:
    return [(f["function"], f["line"]) for f in stack["frames"][stack["wrapper_frames"] :]]


@pytest.mark.sampled(3)
@every_python
def test_locks_have_the_names_of_where_they_are_made(tmp_path, python):
    """One of a class that a class makes is called by both; two of one line are two locks, as they
    are made in different places of the program."""
    found, said = recorded([python, KNOWN / "named.py"], tmp_path / "r", LIBRARY)
    lines = json.loads(said)
    locks = {lock["called"]: lock for lock in found["locks"] if lock["waited_ns"]}
    init, inner, outer = (
        called(python, f"{each}.__init__") for each in ("Cache", "Inner", "Outer")
    )
    made, owner = lines["Inner.__init__"] + 1, lines["Outer.__init__"] + 1
    made_here = f"Lock of {init} at named.py:{lines['Cache.__init__'] + 1}"
    if parks(python, "Lock"):
        made_here = f"Lock of Cache.get at named.py:{lines['Cache.get'] + 1}"
    of_cache, guard = locks[made_here], f"{inner} at named.py:{made}"
    assert of_cache["members"] == 2
    if parks(python, "RLock"):
        guard = f"Inner.use at named.py:{lines['Inner.use'] + 1}"
    elif PYTHONS[python] >= OF_CLASSES:  # else both have one name, as of one that calls itself
        guard = f"{outer} at named.py:{owner} > {inner}:{made}"
    guard = locks[f"RLock of {guard}"]
    for lock, function in ((of_cache, "Cache.get"), (guard, "Inner.use")):
        for stacks in (lock["waiters"], lock["holders"]):
            (place, outside, *_), line = python_frames(stacks[0]), lines[function] + 1
            assert place[0] == called(python, function) and place[1] in (line, line + 1)
            assert outside[0] == "works"
        assert list(lock["waits"]) == ["semaphore_lock"]
    assert adds_up(found)


@pytest.mark.sampled(3)
@every_python
def test_what_waits_for_a_condition_is_no_lock(tmp_path, python):
    """By what of the module threading, and from where; who waits at a Semaphore may wait for a
    lock."""
    found, said = recorded([python, KNOWN / "named.py"], tmp_path / "r", LIBRARY)
    lines = json.loads(said)
    waited = {lock["called"]: lock for lock in found["locks"] if lock["waited_ns"]}
    event, get = called(python, "Event.wait"), called(python, "Queue.get")
    condition = called(python, "Condition.wait")
    at = f"{event} of awaits_event at named.py:{lines['awaits_event'] + 1}"
    assert (waited[at]["object"], *waited[at]["waits"]) == ("condition", "condition")
    (of_queue,) = (lock for name, lock in waited.items()
                   if name.startswith(f"{condition} of {get} at queue.py:"))  # fmt: skip
    assert (of_queue["object"], *of_queue["waits"]) == ("condition", "condition")
    (of_semaphore,) = (
        lock for name, lock in waited.items() if "uses_semaphore at named.py" in name
    )
    assert (of_semaphore["object"], *of_semaphore["waits"]) == ("semaphore", "semaphore")
    for lock in (waited[at], of_queue, of_semaphore):
        assert lock["lost_ns"] == 0 and lock["hold"] is None


@pytest.mark.sampled(6)
@every_python
def test_asking_for_functions_changes_nothing(tmp_path, python):
    """Wherever locks are taken: not what a program does, its errors included, nor that it ends."""
    command = [python, "-W", "ignore", KNOWN / "everywhere.py"]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    for attempt, setting in enumerate(("", "PYTHONMALLOC", "PYTHONDEVMODE")):
        environ = {setting: "debug"} if setting else None  # the interpreter checks its callers
        record = tmp_path / f"r{attempt}"
        done = run_cli("record", "-q", "-o", record, "--", *command, environ=environ)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")


@pytest.mark.sampled(6)
@every_python
def test_a_forked_child_names_them_in_its_own_record(tmp_path, python):
    run_cli(
        "record", "-q", "-o", tmp_path / "r", "--", python, "-W", "ignore", KNOWN / "everywhere.py"
    )
    (path,) = tmp_path.glob("r.*")
    (found,) = json.loads(run_cli("report", "--json", path).stdout)["records"]
    first = found["locks"][0]
    assert first["site"].startswith("threading.") and " at everywhere.py:" in first["called"]
    assert all(name and line for name, line in python_frames(first["waiters"][0]))


PARKED = {  # stacks of threads that the interpreter parks, innermost first, without its own part
    1: [("Cache.get", "/a/cache.py"), ("works", "/a/cache.py")],
    2: [("Cache.put", "/a/cache.py"), ("works", "/a/cache.py")],
    3: [("Condition.wait", "/usr/lib/python3.14/threading.py"), ("reads", "/a/cache.py")],
    4: [("Condition.wait", "/usr/lib/python3.14/threading.py"),
        ("Semaphore.acquire", "/usr/lib/python3.14/threading.py"), ("reads", "/a/cache.py")],
    5: [("Thread.join", "/usr/lib/python3.14/threading.py"), ("<module>", "/a/cache.py")],
    6: [("reads", "/a/cache.py")],
}  # fmt: skip


def of_parked(type_: int, stacks: list[int], wakers: tuple = (), flags: int = 0) -> dict:
    """By stack, what waits are that threads 1, 2, ... had for one word, and where locks are."""

    def frames(stack: int) -> list[Frame]:
        inner = [Frame("_PySemaphore_Wait+0x22", "", 0, "/usr/bin/python3.14", False)]
        return inner + [Frame(*named, 7, languages.PYTHON, False) for named in PARKED[stack]]

    waits = [Event(1 + at, 1000, 1300, 1, stack, 0, 1, recordformat.WAIT, WaitKind.FUTEX)
             for at, stack in enumerate(stacks)]  # fmt: skip
    holds = [Event(thread, 0, 1300, 1, 0, 0, 1, recordformat.HOLD, 0) for thread in wakers]
    lock = Lock(1, 0x5000, recordformat.FUTEX, type_, flags, 0, stacks[0], 0, 0, 0, 0, 0, ())
    found, new = parked.of([lock], lambda _: waits, lambda _: holds, frames)
    told = found[1].of_stack if found else {}
    kinds = {stack: (each.object, int(each.kinds[WaitKind.FUTEX])) for stack, each in told.items()}
    return {"kinds": kinds, "locks": [each.address for each in new]}


def test_what_python_parks_threads_for_is_told_apart():
    """A lock is one by its address, wherever it is taken; a Condition's is by where it is waited
    for, and may lie where a lock does."""
    lock = (recordformat.SEMAPHORE, WaitKind.SEMAPHORE_LOCK)
    signal = (recordformat.SEMAPHORE, WaitKind.SEMAPHORE)
    condition = (recordformat.CONDITION, WaitKind.CONDITION)
    both = of_parked(pythonparks.LOCK, [1, 2])
    assert both == {"kinds": {1: lock, 2: lock}, "locks": [0x5000]}
    mixed = of_parked(pythonparks.LOCK, [1, 3, 4])
    assert mixed == {"kinds": {1: lock, 3: condition, 4: signal}, "locks": [0x5000, 0, 0]}
    assert of_parked(pythonparks.QUEUE, [6])["kinds"] == {6: condition}
    assert of_parked(0, [5])["kinds"] == {5: (recordformat.THREAD, WaitKind.JOIN)}
    assert of_parked(0, [6]) == {"kinds": {}, "locks": []}  # of the interpreter's own


def test_a_lock_that_others_release_is_a_signal():
    """Time and again: who has it for long may never wait for it."""
    for type_, wakers, flags, is_lock in (
        (pythonparks.LOCK, (9,), 0, True),
        (pythonparks.LOCK, (9,) * 20, 0, False),
        (pythonparks.LOCK, (9,) * 20, recordformat.USED_AS_LOCK, True),
        (pythonparks.RLOCK, (9,) * 20, 0, True),
    ):
        (kind,) = of_parked(type_, [1], wakers, flags)["kinds"].values()
        assert (kind[1] == WaitKind.SEMAPHORE_LOCK) == is_lock


EMBEDS = """
#include <dlfcn.h>
#include <semaphore.h>
#include <stdio.h>
int main(int argc, char** words) {
  void* python = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!python) return puts(dlerror()), 1;
  ((void (*)(int))dlsym(python, "Py_InitializeEx"))(0);
  int failed = ((int (*)(const char*))dlsym(python, "PyRun_SimpleString"))(words[2]);
  failed = ((int (*)(void))dlsym(python, "Py_FinalizeEx"))() || failed;
  sem_t after;  // who made Python's is called no more, and is not asked in vain
  failed = dlclose(python) || failed || sem_init(&after, 0, 1) || sem_trywait(&after);
  return sem_trywait(&after) == 0 || sem_post(&after) || sem_destroy(&after) || failed;
}
"""
USES = """
import threading, time
lock = threading.Lock()
def use():
    for _ in range(20):
        with lock:
            time.sleep(0.001)
threads = [threading.Thread(target=use) for _ in range(3)]
[each.start() for each in threads]
[each.join() for each in threads]
"""


def test_a_program_that_has_python_in_it(tmp_path):
    """The interpreter is in a library that the program has loaded for itself alone."""
    library = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_config_var('INSTSONAME'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    program = compile_c(EMBEDS, tmp_path / "embeds", "-O2")
    found, _ = recorded([program, library, USES], tmp_path / "r", LIBRARY)
    first = found["locks"][0]
    assert first["called"] == "Lock of <module> at <string>:3"
    assert python_frames(first["waiters"][0])[0] == ("use", 6)


MANY = """
import threading, time
kept = [threading.Lock() for _ in range(40000)]
lock, condition, ready = threading.Lock(), threading.Condition(), False
def use():
    for _ in range(20):
        with lock:
            time.sleep(0.001)
def wait():
    with condition:
        condition.wait_for(lambda: ready)
threads = [threading.Thread(target=f) for f in (use, use, use, wait)]
[each.start() for each in threads]
time.sleep(0.1)
with condition:
    ready = True
    condition.notify()
[each.join() for each in threads]
"""


@pytest.mark.sampled(3)
@every_python
def test_locks_whose_making_was_not_looked_at_have_names(tmp_path, python):
    """Of tens of thousands most are not: then a wait tells, the first use or any other one."""
    found, _ = recorded([python, "-c", MANY], tmp_path / "r", LIBRARY)
    waited = [lock for lock in found["locks"] if lock["waited_ns"] and "join" not in lock["waits"]]
    of_python = [lock for lock in waited if lock["site"].startswith("threading.")]
    assert len(of_python) >= 3
    assert not [lock["called"] for lock in of_python if "0x" in lock["called"]]


@pytest.mark.sampled(6)
@every_python
def test_processes_call_their_lock_by_one_name(tmp_path, python):
    """It is made by none of them, whichever way they begin: where they use it first."""
    command = [python, KNOWN / "processes.py"]
    assert run_cli("record", "-q", "-o", tmp_path / "r", "--", *command).stdout == "ok\n"
    names = []
    for path in tmp_path.glob("r.*"):
        (found,) = json.loads(run_cli("report", "--json", path).stdout)["records"]
        shared = [lock for lock in found["locks"] if lock["site"].startswith("multiprocessing.")]
        names += [
            lock["called"] for lock in shared if lock["lost_ns"] == found["locks"][0]["lost_ns"]
        ]
    assert len(names) >= 2
    assert {*names} == {"SemLock of work at processes.py:9"}


@pytest.mark.sampled(9)
@every_python
@pytest.mark.parametrize("locked", [False, True])
def test_who_waits_for_something_to_do_is_in_no_deadlock(tmp_path, python, locked):
    """Though it waits at a lock that it has taken itself; who waits for another's is in one."""
    words = ["locked"] * locked
    run_cli("record", "-q", "-o", tmp_path / "r", "--", python, KNOWN / "idle.py", *words)
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    assert len([each for each in found["open_waits"] if each["kind"] == "condition"]) >= 4
    threads = [len(each["threads"]) for each in found["deadlocks"]]
    text = run_cli("report", tmp_path / "r").stdout
    if parks(python, "Lock"):  # who holds one is not known
        of_both = [each for each in found["open_waits"] if "takes_both" in each["lock"]]
        assert [each["kind"] for each in of_both] == ["semaphore_lock"] * 2 * locked
        assert not threads and "deadlock" not in text
    else:
        assert threads == [2] * locked, found["deadlocks"]
        assert ("deadlock" in text) == locked
    event = called(python, "Event.wait")
    assert any(each["lock"].startswith(f"{event} of ") for each in found["open_waits"])
