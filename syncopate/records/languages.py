"""What locks of languages are to the C library and the kernel, and what their programmers call
them. Told by where an object lies, and by the functions that make it, wait for it and release it.

Python: the lock of the interpreter (the GIL) is no mutex; threads wait for it at a condition
variable in `_PyRuntime`, where 3.7 and later have it. So is OCaml's, before 5, in
`caml_master_lock`. threading.Lock is a semaphore, and all of
multiprocessing's locks are. So is what join() waits for, until 3.12, and a lock of its own at which
each thread waits for a threading.Condition. Rust: its locks are futexes. C: malloc's arenas have
locks, at which the kernel sees threads wait.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from syncopate.records import knowncalls
from syncopate.records.recordformat import (
    CONDITION,
    FUTEX,
    MUTEX,
    RWLOCK,
    SEMAPHORE,
    THREAD,
    USED_AS_LOCK,
    Lock,
    WaitKind,
)
from syncopate.symbols.symbols import Frame, Symbolizer

# Programs in which threads wait for locks of their own, or of their language's code, at condition
# variables, by how the names of their files begin; Java's own recorder knows them.
_AT_CONDITIONS = {"ruby": "Ruby", "node": "JavaScript", "java": "Java", "mono": "Mono",
                  "dotnet": ".NET", "mariadbd": "MariaDB", "mysqld": "MySQL"}  # fmt: skip
# The same by a module of theirs, which programs of any name load.
_MODULES_AT_CONDITIONS = {"libcoreclr.so": ".NET", "libjvm.so": "Java",
                          "libmonosgen-2.0.so": "Mono"}  # fmt: skip
_DATABASES = ("MariaDB", "MySQL")
# Variables of interpreters in which the condition is at which threads wait for the interpreter.
INTERPRETERS = {"_PyRuntime": "the GIL", "caml_master_lock": "OCaml's master lock"}
_INTERPRETED = dict(zip(INTERPRETERS.values(), ("Python", "OCaml")))
WITHIN = "within "  # before the name of what a lock is a part of
# Variables of our OpenMP library in which a program's locks are that have no variable of its own.
_OF_OPENMP = {"syncopate_unnamed_critical": "unnamed critical", "syncopate_atomic": "atomic"}
# Variables that gcc and clang make for OpenMP's `critical`, by the name that it has.
_CRITICAL = re.compile(r"\.gomp_critical_user_(\w*)")
LOCK_NAME, RLOCK_NAME, THREAD_NAME = "threading.Lock", "threading.RLock", "Python threads"
CONDITION_NAME, SEMAPHORE_NAME = "threading.Condition", "threading.Semaphore"
QUEUE_NAME, SHARED_NAME = "queue.SimpleQueue", "multiprocessing.SemLock"
OWN_NAME = "PyThread lock"  # as of the interpreter's list of threads, or a stream
_C_API = {"PyThread_allocate_lock", "PyThread_acquire_lock_timed", "PyThread_acquire_lock"}
_LOCK = _C_API | {"thread_PyThread_allocate_lock", "lock_PyThread_acquire_lock"}
_OF_LOCK = _LOCK | {"PyThread_release_lock"}
# How functions begin that take and make locks for Python's code: those of the module _thread, and
# of SimpleQueue.
_FOR_CODE = ("acquire_timed", "PyThread_acquire_lock_timed_with_retries", "newlock", "lock_",
             "rlock_", "thread_", "release_sentinel", "_queue_", "simplequeue_")  # fmt: skip
_RLOCK = {"rlock_new", "rlock_acquire", "rlock_enter"}
_THREAD = {"thread__set_sentinel", "release_sentinel"}
MALLOC_NAME = "malloc's arenas"
_MALLOC = {"malloc", "free", "cfree", "calloc", "realloc", "memalign", "posix_memalign",
           "aligned_alloc"}  # fmt: skip
_EVALUATES = ("_PyEval", "PyEval", "_PyFunction", "PyObject", "_PyObject")
_FEW_FRAMES = 8  # from the thread's beginning to its end's release
# Lock.type of what is told apart here; in no file.
GIL, ENDED, TOLD, PYTHONS_LOCK, PYTHONS_RLOCK, PARKED, OF_SIGNALERS, PYTHONS_QUEUE = range(100, 108)
PYTHONS_SHARED, PYTHONS_CONDITION, PYTHONS_SEMAPHORE, PYTHONS_OWN = range(108, 112)
NAMES = {PYTHONS_LOCK: LOCK_NAME, PYTHONS_RLOCK: RLOCK_NAME, PYTHONS_QUEUE: QUEUE_NAME,
         PYTHONS_SHARED: SHARED_NAME, PYTHONS_CONDITION: CONDITION_NAME,
         PYTHONS_SEMAPHORE: SEMAPHORE_NAME, PYTHONS_OWN: OWN_NAME}  # fmt: skip
_SEMAPHORES = {LOCK_NAME: PYTHONS_LOCK, RLOCK_NAME: PYTHONS_RLOCK, SHARED_NAME: PYTHONS_SHARED,
               OWN_NAME: PYTHONS_OWN}  # fmt: skip
_QUEUE_FRAMES = 3  # innermost: the lock, what asks for it, and who waits or puts
_OF_QUEUE = ("_queue_SimpleQueue_", "simplequeue_")
_OF_SHARED = ("_multiprocessing_SemLock_", "semlock_")
PYTHON = "Python"  # in place of a module's path: products/preload/recorded/python.cpp
_THREADING, _SYNCHRONIZE = "/threading.py", "/multiprocessing/synchronize.py"
_THREADS_LOCK = ("Thread._set_tstate_lock", "_set_tstate_lock")
_ACQUIRES = ("Semaphore.acquire", "acquire")
_RUNS_THREAD = ("run", "_bootstrap_inner", "_bootstrap")
_CONDITIONS_WAIT = ("Condition.wait", "wait")  # before 3.11 without its class
_RUST = re.compile(
    r"<?std::sys::.*\b(Mutex|Condvar|RwLock|Parker)\b.*::"
    r"(lock_contended|wait\w*|read_contended|write_contended|park\w*)\b"
)
_WRITERS_AT = 4  # in its RwLock
# In glibc's pthread_cond_t, 2.25 and later: where threads wait for a signal, and where those wait
# that signal or end it: until others have left, and for the lock within.
_WORDS_OF_A_CONDITION = (40, 44)
_WORDS_OF_SIGNALERS = (16, 20, 32, 36)
_AS_LOCKS = {
    FUTEX: {WaitKind.FUTEX: WaitKind.FUTEX_LOCK},
    SEMAPHORE: {WaitKind.SEMAPHORE: WaitKind.SEMAPHORE_LOCK},
}
_OF_RUST = {
    "lock_contended": (MUTEX, WaitKind.MUTEX),
    "read_contended": (RWLOCK, WaitKind.READ),
    "write_contended": (RWLOCK, WaitKind.WRITE),
}


def interpreter(name: str) -> str:
    """The language whose interpreter's lock is called so in a report, or has the lock of that name
    within; "" where it is none."""
    return _INTERPRETED.get(name.removeprefix(WITHIN), "")


def named_by_variable(lock: Lock, variable: str) -> str:
    """What a lock in this variable of a run-time, or of a compiler, is called; "" where it is the
    program's own."""
    if lock.type == GIL:
        return INTERPRETERS[variable]
    if section := _CRITICAL.match(variable):
        return f"critical {section[1]}" if section[1] else "unnamed critical"
    return _OF_OPENMP.get(variable, "")


def note_on(language: str) -> str:
    """What a report says of a program of which at_conditions() tells this."""
    own, more = "its own locks", ""
    if language in _DATABASES:
        own = "its locks of rows (InnoDB) and of tables' definitions"
        more = "; the status variable Innodb_row_lock_waits counts those of rows"
    return (
        f"{language}: {own} wait at condition variables, as what waits for something to do: these"
        f" are not told apart{more}"
    )


NOTE_ON_PYTHON = (
    "Python: its Condition, Semaphore, Event and Queue wait at locks of the waiting thread's own:"
    " whether for a lock, or for something to do, is not told apart"
)
NOTE_ON_SEMAPHORES = (
    "Python: who waits at its Semaphore may wait for a lock, or for something to do: these are not"
    " told apart"
)
NOTE_ON_SEMLOCKS = (
    "Python: who reads one multiprocessing.Queue waits for the others who do at its SemLock, also"
    " while it is empty: then nothing is lost"
)


def at_conditions(executable: str, lines: Iterable[str] = ()) -> str:
    """The language, or program, whose own locks are condition variables to the C library; "" where
    none is. `lines`: of what is mapped."""
    loaded = {os.path.basename(line) for line in lines}
    of_modules = (
        of
        for begin, of in _MODULES_AT_CONDITIONS.items()
        if any(name.startswith(begin) for name in loaded)
    )
    name = os.path.basename(executable)
    by_name = (of for begin, of in _AT_CONDITIONS.items() if name.startswith(begin))
    return next(by_name, "") or next(of_modules, "")


class Retold(NamedTuple):
    """What a lock is, and what waiting for it is."""

    id: int  # of the lock that it is one with
    object: int
    type: int
    kinds: dict[int, int]  # of waits, in the file: what they are; others stay
    stack: int = 0  # of a wait that tells more than where it was made or first used; 0: none does


def of(
    locks: Sequence[Lock],
    symbolizer: Symbolizer,
    waits: Callable[[int], Sequence[int]],
    holds: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> dict[int, Retold]:
    """What is told apart, by lock id. `waits`, `holds`: the stacks from which threads were seen to
    wait for a lock, and to release it."""
    return {
        **_locks_of_their_own(locks),
        **_conditions_words(locks),
        **_signalers_words(locks),
        **_gil(locks, symbolizer),
        **_pythons(locks, waits, frames_of),
        **_pythons_conditions(locks, waits, frames_of),
        **_queues(locks, waits, holds, frames_of),
        **_threads(locks, holds, frames_of),
        **_of_rust(locks, waits, frames_of),
    }


def _locks_of_their_own(locks: Sequence[Lock]) -> dict[int, Retold]:
    """Futexes, and semaphores that processes share or the kernel's view sees, which turned out to
    be used as locks: so were they before that was known."""
    return {
        lock.id: Retold(lock.id, lock.object, lock.type, _AS_LOCKS[lock.object])
        for lock in locks
        if lock.object in _AS_LOCKS and lock.id and lock.flags & USED_AS_LOCK
    }


def _conditions_words(locks: Sequence[Lock]) -> dict[int, Retold]:
    """Futexes that lie in a condition variable of the C library's: the kernel's view knows what a
    wait is by its stack, and not all have one. Threads wait at either of two words of it in turn.
    """
    conditions = {lock.address: lock.id for lock in locks if lock.object == CONDITION and lock.id}
    kinds = dict.fromkeys((WaitKind.FUTEX, WaitKind.FUTEX_LOCK), WaitKind.CONDITION)
    return {
        lock.id: Retold(conditions[lock.address - at], CONDITION, lock.type, kinds)
        for lock in locks
        for at in _WORDS_OF_A_CONDITION
        if lock.object == FUTEX and lock.id and lock.address - at in conditions
    }


def _signalers_words(locks: Sequence[Lock]) -> dict[int, Retold]:
    """What lies in a condition variable, and is no place to wait for a signal: the kernel's view
    has a lock of its own for each word. They are one, within that variable."""
    conditions = {lock.address for lock in locks if lock.object == CONDITION and lock.id}
    kinds = dict.fromkeys((WaitKind.FUTEX, WaitKind.FUTEX_LOCK, WaitKind.RELOCK), WaitKind.MUTEX)
    first: dict[int, int] = {}
    found = {}
    for lock in locks:
        condition = condition_around(lock, conditions)
        if condition is not None and lock.id:
            known = first.setdefault(condition, lock.id)
            found[lock.id] = Retold(known, MUTEX, OF_SIGNALERS, kinds)
    return found


def condition_around(lock: Lock, conditions: Collection[int]) -> int | None:
    """The address of the condition variable whose signalers wait at this word."""
    if lock.object not in (MUTEX, FUTEX):
        return None
    return next((lock.address - at for at in _WORDS_OF_SIGNALERS
                 if lock.address - at in conditions), None)  # fmt: skip


def _gil(locks: Sequence[Lock], symbolizer: Symbolizer) -> dict[int, Retold]:
    """Interpreters' locks, and the mutexes that these have within. What a program has of mutexes is
    looked at only where it has an interpreter's condition."""
    conditions = _in_interpreters(locks, CONDITION, symbolizer)
    mutexes = _in_interpreters(locks, MUTEX, symbolizer) if conditions else {}
    kinds = {WaitKind.CONDITION: WaitKind.MUTEX}
    found = {}
    for variable, of in conditions.items():
        within = mutexes.get(variable, [])
        found |= {known: Retold(of[0], MUTEX, GIL, kinds) for known in of}
        found |= {known: Retold(within[0], MUTEX, OF_SIGNALERS, {}) for known in within}
    return found


def _in_interpreters(
    locks: Sequence[Lock], kind: int, symbolizer: Symbolizer
) -> dict[str, list[int]]:
    """The objects of that kind that lie in a variable of an interpreter's, by that."""
    of_kind = [lock for lock in locks if lock.object == kind and lock.id]
    symbolizer.prepare_variables(lock.address for lock in of_kind)
    found: dict[str, list[int]] = {}
    for lock in of_kind:
        variable = symbolizer.variable(lock.address)
        if variable and variable[0] in INTERPRETERS:
            found.setdefault(variable[0], []).append(lock.id)
    return found


def _pythons(
    locks: Sequence[Lock],
    waits: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> dict[int, Retold]:
    """Semaphores that threads wait for as Python's locks: what makes one may have no names."""
    found = {}
    for lock in locks:
        if lock.object == SEMAPHORE and lock.id:
            names = (name_of(frames_of(stack)) for stack in sorted({*waits(lock.id)} - {0}))
            if lock.create_stack and name_of(frames_of(lock.create_stack)) == OWN_NAME:
                name = OWN_NAME
            else:
                name = next(filter(None, names), "")
            if name:
                kinds = _AS_LOCKS[SEMAPHORE] if lock.flags & USED_AS_LOCK else {}
                stack = _telling_wait(lock, waits, frames_of)
                found[lock.id] = Retold(lock.id, SEMAPHORE, _SEMAPHORES[name], kinds, stack)
    return found


def _telling_wait(
    lock: Lock,
    waits: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> int:
    """A wait's stack with Python's functions in it, where none of the lock's own has any; else 0.
    Of what is made in numbers not each one's making is looked at."""
    if any(pythons(frames_of(stack)) for stack in (lock.create_stack, lock.first_stack) if stack):
        return 0
    return next((stack for stack in waits(lock.id) if stack and pythons(frames_of(stack))), 0)


def _pythons_conditions(
    locks: Sequence[Lock],
    waits: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> dict[int, Retold]:
    """The locks that threading.Condition makes, each for one thread that waits for a signal. Those
    that do so in a Semaphore, which is made of a Condition, wait for that."""
    found = {}
    for lock in locks:
        if lock.object != SEMAPHORE or not lock.id:
            continue
        stacks = {lock.create_stack, *waits(lock.id)} - {0}
        inner = (pythons(frames_of(stack)) for stack in stacks)
        inside = next(
            (own[: outside_of_threading(own)] for own in inner if is_of_condition(own)), ()
        )
        if is_in_semaphore(inside):
            kinds = {WaitKind.SEMAPHORE_LOCK: WaitKind.SEMAPHORE}
            stack = _telling_wait(lock, waits, frames_of)
            found[lock.id] = Retold(lock.id, SEMAPHORE, PYTHONS_SEMAPHORE, kinds, stack)
        elif inside:
            kinds = dict.fromkeys((WaitKind.SEMAPHORE, WaitKind.SEMAPHORE_LOCK), WaitKind.CONDITION)
            stack = _telling_wait(lock, waits, frames_of)
            found[lock.id] = Retold(lock.id, CONDITION, PYTHONS_CONDITION, kinds, stack)
    return found


def pythons(frames: Sequence[Frame]) -> Sequence[Frame]:
    """What a stack has of Python's functions, innermost first: all that is further out."""
    first = next((at for at, frame in enumerate(frames) if frame.module == PYTHON), len(frames))
    return frames[first:]


def outside_of_threading(frames: Sequence[Frame]) -> int:
    """How many of Python's functions, innermost, are in the module threading, or in that which
    stands for it between processes; what runs a thread there is as if the program had it."""
    inside = (at for at, frame in enumerate(frames) if not _is_plumbing(frame))
    return next(inside, len(frames))


def _is_plumbing(frame: Frame) -> bool:
    if _is_in_threading(frame):
        return frame.function.rpartition(".")[2] not in _RUNS_THREAD
    return frame.file.endswith(_SYNCHRONIZE)


def _is_in_threading(frame: Frame) -> bool:
    return frame.module == PYTHON and frame.file.endswith(_THREADING)


def is_of_condition(frames: Sequence[Frame]) -> bool:
    return bool(frames) and frames[0].function in _CONDITIONS_WAIT and _is_in_threading(frames[0])


def is_in_semaphore(inside: Iterable[Frame]) -> bool:
    """Whether these functions of the module threading wait there at a Semaphore."""
    return any(frame.function in _ACQUIRES for frame in inside)


def _queues(
    locks: Sequence[Lock],
    waits: Callable[[int], Sequence[int]],
    holds: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> dict[int, Retold]:
    """Those of Python's SimpleQueue: who waits there, as the idle threads of a ThreadPoolExecutor,
    waits for something to do. It wakes another where more is left, as one that releases a lock."""
    kinds = dict.fromkeys((WaitKind.SEMAPHORE, WaitKind.SEMAPHORE_LOCK), WaitKind.CONDITION)
    return {
        lock.id: Retold(lock.id, CONDITION, PYTHONS_QUEUE, kinds)
        for lock in locks
        if lock.object == SEMAPHORE and lock.id
        for stacks in [{*waits(lock.id), *holds(lock.id)} - {0}]
        if any(_is_of_queue(frames_of(stack)) for stack in stacks)
    }


def _is_of_queue(frames: Sequence[Frame]) -> bool:
    """Whether a stack waits for, or releases, a lock of Python's within SimpleQueue: in the module
    of that, or a function of it where it is in the interpreter."""
    inner = frames[:_FEW_FRAMES]
    at = next((n for n, frame in enumerate(inner) if _bare(frame) in _OF_LOCK), None)
    if at is None:
        return False
    return _is_in("_queue.", _OF_QUEUE, inner[at : at + _QUEUE_FRAMES])


def _is_in(module: str, functions: tuple[str, ...], frames: Sequence[Frame]) -> bool:
    """Whether one of these is in a module of Python's, or in a function of it, as where the
    interpreter has it built in."""
    return any(
        os.path.basename(frame.module).startswith(module) or _bare(frame).startswith(functions)
        for frame in frames
    )


def _threads(
    locks: Sequence[Lock],
    holds: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> dict[int, Retold]:
    """Semaphores of Python's that are posted when a thread ends."""
    found = {}
    kinds = dict.fromkeys((WaitKind.SEMAPHORE, WaitKind.SEMAPHORE_LOCK), WaitKind.JOIN)
    for lock in locks:
        if lock.object != SEMAPHORE or not lock.id:
            continue
        stacks = {lock.create_stack, lock.first_stack, *holds(lock.id)} - {0}
        if any(_is_thread(frames_of(stack)) for stack in stacks):
            found[lock.id] = Retold(lock.id, THREAD, ENDED, kinds)
    return found


def _is_thread(frames: Sequence[Frame]) -> bool:
    """Whether the stack makes or releases what stands for a thread. An interpreter without names
    for its own functions has those that it exports: then it is a release at the beginning of a
    thread's stack, outside of any code of Python's."""
    own = pythons(frames)
    if own and _is_in_threading(own[0]) and own[0].function in _THREADS_LOCK:
        return True
    names = [_bare(frame) for frame in frames]
    if not _THREAD.isdisjoint(names):
        return True
    return (
        {"PyThread_release_lock", "start_thread"} <= set(names)
        and len(names) <= _FEW_FRAMES
        and not any(name.startswith(_EVALUATES) for name in names)
    )


def _of_rust(
    locks: Sequence[Lock],
    waits: Callable[[int], Sequence[int]],
    frames_of: Callable[[int], Sequence[Frame]],
) -> dict[int, Retold]:
    found = {}
    for lock in locks:
        if lock.object != FUTEX or not lock.id:
            continue
        stacks = {lock.first_stack, *waits(lock.id)} - {0}
        names = (_RUST.match(frame.function) for s in stacks for frame in frames_of(s)[:8])
        told = next((name[2] for name in names if name), None)
        if told is not None:
            kind, wait = _OF_RUST.get(told, (CONDITION, WaitKind.CONDITION))
            kinds = dict.fromkeys((WaitKind.FUTEX, WaitKind.FUTEX_LOCK), wait)
            found[lock.id] = Retold(lock.id, kind, TOLD, kinds)
    return found | dict(_writers_words(locks, found))


def _writers_words(locks: Sequence[Lock], found: dict[int, Retold]) -> Iterator[tuple[int, Retold]]:
    """Writers of an RwLock wait at its second word, readers at its first: it is one lock."""
    first = {lock.address: lock.id for lock in locks if lock.id in found}
    for lock in locks:
        told = found.get(lock.id)
        known = first.get(lock.address - _WRITERS_AT, 0)
        writes = told is not None and WaitKind.WRITE in told.kinds.values()
        if writes and known and found[known].object == RWLOCK:
            yield lock.id, told._replace(id=known)


def condition_of(frames: Sequence[Frame]) -> str:
    """What a thread waits in that is called so in the module threading, as Event.wait."""
    own = pythons(frames)
    inside = outside_of_threading(own)
    return f"threading.{own[inside - 1].function}" if inside else ""


def name_of(frames: Sequence[Frame]) -> str:
    """What a semaphore is called that this stack makes or waits for; "": no lock of Python's."""
    if _is_in("_multiprocessing.", _OF_SHARED, frames[:_QUEUE_FRAMES]):
        return SHARED_NAME
    own = pythons(frames)
    if own and _is_in_threading(own[0]) and own[0].function == "RLock":
        return RLOCK_NAME
    names = {_bare(frame) for frame in frames}
    if not own and not names & _LOCK:
        return ""
    if not own and _is_of_c_code(frames):
        return OWN_NAME
    return RLOCK_NAME if names & _RLOCK else LOCK_NAME


def _is_of_c_code(frames: Sequence[Frame]) -> bool:
    """Whether a stack takes or makes a lock that is no object of Python's code, by the function
    that calls for it, where that has a name."""
    inner = frames[: _FEW_FRAMES + 1]
    at = max((n for n, frame in enumerate(inner) if _bare(frame) in _OF_LOCK), default=-1)
    caller = next(iter(inner[at + 1 :]), None)
    if at < 0 or _bare(inner[at]) not in _C_API or caller is None or caller.is_unnamed:
        return False
    return not _bare(caller).startswith(_FOR_CODE)


def is_of_malloc(frames: Sequence[Frame]) -> bool:
    """Whether the stack waits for a lock of the C library in a function of malloc's."""
    names = [knowncalls.plain_of_c_library(_bare(frame)) for frame in frames[:_FEW_FRAMES]]
    return "lll_lock_wait_private" in names[:2] and not _MALLOC.isdisjoint(names)


def _bare(frame: Frame) -> str:
    """A function's name without what compilers and tables add: .lto_priv.0, +0x1c."""
    return frame.function.partition("+0x")[0].partition(".")[0]
