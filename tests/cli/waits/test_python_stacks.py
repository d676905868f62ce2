"""Which of Python's locks a stack is of, by the interpreter's functions in it."""

import json
from types import SimpleNamespace

import pytest
from conftest import compile_c, run_cli
from language_support import PYTHON

from syncopate.records import causes, languages, recordformat
from syncopate.records.recordformat import CONDITION, MUTEX, Lock
from syncopate.symbols.symbols import Frame


@pytest.mark.parametrize(
    ("frames", "is_queue"),
    [
        (["sem_wait", "PyThread_acquire_lock_timed", "_queue.so:", "eval"], True),
        (["PyThread_release_lock", "simplequeue_put", "_queue_SimpleQueue_put", "eval"], True),
        (["PyThread_acquire_lock_timed", "acquire_timed", "_queue_SimpleQueue_get_impl"], True),
        (["sem_wait", "PyThread_acquire_lock_timed", "acquire_timed", "eval", "_queue.so:"], False),
        (["sem_wait", "of_the_programs_own", "_queue.so:"], False),
        (["PyThread_release_lock", "eval"], False),
    ],
)
def test_which_stacks_are_of_pythons_queue(frames, is_queue):
    def frame(text: str) -> Frame:
        in_module = text == "_queue.so:"
        module = "/p/_queue.cpython-311-x86_64-linux-gnu.so" if in_module else "/p/python3.11"
        return Frame("" if in_module else text, "", 0, module, False)

    assert languages._is_of_queue([frame(each) for each in frames]) == is_queue


@pytest.mark.parametrize(
    ("functions", "name"),
    [
        (["sem_wait", "PyThread_acquire_lock_timed", "new_threadstate"], "PyThread lock"),
        (["PyThread_acquire_lock_timed", "PyThread_acquire_lock", "_enter_buffered_busy"],
         "PyThread lock"),
        (["PyThread_allocate_lock", "_PyRuntimeState_Init"], "PyThread lock"),
        (["PyThread_acquire_lock_timed", "acquire_timed", "eval"], "threading.Lock"),
        (["PyThread_acquire_lock_timed", "PyThread_acquire_lock_timed_with_retries"],
         "threading.Lock"),
        (["PyThread_allocate_lock", "newlockobject", "eval"], "threading.Lock"),
        (["PyThread_allocate_lock", "thread_PyThread_allocate_lock", "eval"], "threading.Lock"),
        (["PyThread_acquire_lock_timed", "python3.11+0x4012"], "threading.Lock"),
        (["PyThread_acquire_lock_timed"], "threading.Lock"),
        (["lock_PyThread_acquire_lock", "eval"], "threading.Lock"),
        (["PyThread_acquire_lock_timed", "rlock_acquire", "eval"], "threading.RLock"),
        (["sem_wait", "of_the_programs_own", "eval"], ""),
    ],
)  # fmt: skip
def test_which_stacks_are_of_locks_of_pythons_code(functions, name):
    """The interpreter, its streams and its modules in C have locks of the same kind."""
    frames = [Frame(function, "", 0, "/p/python3.11", False) for function in functions]
    assert languages.name_of(frames) == name


def test_a_lock_of_the_interpreters_stays_that_where_pythons_code_waits_for_it():
    stacks = {
        1: [Frame("PyThread_allocate_lock", "", 0, "/p/python3.11", False),
            Frame("_PyRuntimeState_Init", "", 0, "/p/python3.11", False)],
        2: [Frame("PyThread_acquire_lock_timed", "", 0, "/p/python3.11", False),
            Frame("run", "/x.py", 3, languages.PYTHON, False)],
    }  # fmt: skip
    made = Lock(1, 0x5000, recordformat.SEMAPHORE, 0, recordformat.CREATED, 1, 0, 0, 0, 0, 0, 0, ())
    of_code = made._replace(id=2, create_stack=0)
    told = languages._pythons([made, of_code], lambda lock: [2], stacks.__getitem__)
    names = [languages.NAMES[told[known].type] for known in (1, 2)]
    assert names == ["PyThread lock", "threading.Lock"]


def test_mutexes_are_looked_at_only_where_an_interpreter_is():
    """A program may have a million, and each is a question."""
    asked = []

    def variable(address):
        asked.append(address)
        return ("_PyRuntime", address - 0x100, "python3") if address < 0x200 else None

    symbolizer = SimpleNamespace(variable=variable, prepare_variables=lambda addresses: None)

    def lock(known: int, kind: int, address: int) -> Lock:
        return Lock(known, address, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ())

    mutexes = [lock(3 + n, MUTEX, 0x9000 + 64 * n) for n in range(100)]
    assert not languages._gil([lock(1, CONDITION, 0x8000), *mutexes], symbolizer)
    assert asked == [0x8000]
    inside = [lock(1, CONDITION, 0x110), lock(2, MUTEX, 0x140)]
    told = languages._gil([*inside, *mutexes], symbolizer)
    assert [(known, each.type) for known, each in told.items()] == [
        (1, languages.GIL),
        (2, languages.OF_SIGNALERS),
    ]


@pytest.mark.parametrize("name", ["the GIL", "within the GIL", "within OCaml's master lock"])
def test_who_signals_at_an_interpreters_condition_is_not_told_to_signal_less(name):
    """The kernel sees where within it threads wait."""
    frames = [{"function": "pthread_cond_signal", "module": "/usr/lib/libc.so.6"}]
    lock = {
        "name": name,
        "waits": {"mutex": {}},
        "waiters": [{"share": 1.0, "frames": frames}],
        "hold": {"mean_ns": 100},
    }
    results = {"process": {"recorder": "kernel"}}
    (reason,) = causes._of_what_ended(lock, results, None, is_gate=False)
    assert reason.cause == "interpreter"


# Threads that Python has not made come into it again and again: the interpreter's list of threads
# has a lock.
COMERS = """
#include <pthread.h>
static void (*function)(void);
static void* work(void* x) {
  for (int i = 0; i < 400; i++) function();
  return x;
}
void come(void (*f)(void)) {
  function = f;
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(t + i, 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""
COME = """
import ctypes, sys, threading
library, lock = ctypes.CDLL(sys.argv[1]), threading.Lock()
def in_python():
    with lock: pass
library.come(ctypes.CFUNCTYPE(None)(in_python))
"""


def test_no_lock_of_the_interpreters_is_called_one_of_pythons_code(tmp_path):
    """Whose stacks have a function of the interpreter's that calls for it."""
    library = compile_c(COMERS, tmp_path / "come.so", "-O2", "-shared", "-fPIC", "-pthread")
    command = [PYTHON, "-c", COME, library]
    assert run_cli("record", "-q", "-o", tmp_path / "r", "--", *command).returncode == 0
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    of_interpreter = ("new_threadstate", "tstate_delete_common", "PyThreadState_New")
    told = {
        lock["called"]
        for lock in found["locks"]
        for stack in lock["waiters"] + lock["holders"]
        for at, frame in enumerate(stack["frames"][:-1])
        if frame["function"].startswith("PyThread_")
        and stack["frames"][at + 1]["function"].startswith(of_interpreter)
    }
    assert not [name for name in told if not name.startswith("PyThread lock")], told
    for name in ("PyThread lock", "Lock of "):
        assert any(lock["called"].startswith(name) for lock in found["locks"]), name
