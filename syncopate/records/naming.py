"""What to call a lock: the variable it is, or the place that made it, or first used it, or waited
for it where neither is known."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from syncopate.records import languages
from syncopate.records.difference import Way, key, outwards, up_to_holder, ways, with_owner
from syncopate.records.recordformat import (
    CONDITION,
    CREATED,
    FUTEX,
    MUTEX,
    OBJECT_NAMES,
    SEMAPHORE,
    THREAD,
    YIELD,
    Lock,
)
from syncopate.symbols.symbols import Frame, Symbolizer

# Functions that only pass a call on to pthreads or libitm; the frame behind them is the one that a
# reader knows.
_WRAPPER = re.compile(
    r"_*pthread_|_*gthread_|_*glibcxx_rwlock_|mtx_|cnd_|call_once|"
    r"(bool )?(syncopate::tm::)?atomically<|"
    r"(jdk\.internal\.misc|sun\.misc)\.Unsafe\.|java\.util\.concurrent\.|"  # Java's
    r"java\.lang\.(Object\.wait|Thread\.join)|"
    r"<?(parking_lot|parking_lot_core|lock_api)::|"  # Rust's, beside std
    r"<?core::ptr::drop_in_place<|"
    r"PGSemaphoreLock\b|LWLock(Acquire|WaitForVar|Release)|"  # PostgreSQL's
    r"([a-z ]+ )?<?std::"  # all that is in the standard library of C++ or Rust
)
_RUNTIME = re.compile(r"(libsyncopate-|libitm\.so|libc\.so|libc-|libpthread|libstdc\+\+|libc\+\+)")
_OUTLINED = re.compile(r"\._omp_fn\.\d+$")  # what GCC calls the code of a region in a function
BEYOND = "(locks beyond the table)"
BARRIER, PLACE = 5, 1  # a barrier that is no object but a place in the program: where it is called
REGION_OF_GNU, REGION = 2, 3  # and where a parallel region is started: its start and its end
TURN, REGION_THAT_MAY_BE_KEPT = 4, 5  # where a thread waits for its turn (`ordered`); as of GCC's
TASKS, REGION_END = 6, 7  # where a thread waits for tasks; where others than who starts a region
BEHIND_REGION = 3  # wait at its end: so far behind the region's address
BEHIND_TASKS = 1  # a wait for tasks: so far behind the place, where that is a function's beginning
_PLACES = {  # what is there, by the type
    REGION_OF_GNU: "region in ",
    REGION: "region in ",
    REGION_THAT_MAY_BE_KEPT: "region in ",
    REGION_END: "end of region in ",
    TURN: "ordered in ",
    TASKS: "tasks in ",
}
BARRIER_OF_RUNTIME = 8  # where a barrier is called of which nobody tells who came last
# Memory that processes share, also that of sem_open(): mapped files that are no modules.
SHARED_MEMORY = ("/dev/", "/memfd:", "/SYSV")
UNKNOWN_CALLER = "its caller is not known"
IN_ANOTHER_PLACE = " at "  # than another variable of that name: what follows that in a lock's
ARRAY_MEMBERS = 4  # as many evenly spaced locks in one variable are an array, not fields


THREADS_BEGIN = "start_thread"
STARTERS = {
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    THREADS_BEGIN,
    "clone",
    "clone3",
    "__clone",
    "__clone3",
}


def is_ours_module(path: str) -> bool:
    """Whether a module is the preload library."""
    return os.path.basename(path).startswith("libsyncopate-")


def is_ours(frame: Frame) -> bool:
    """Whether the frame lies in the preload library: never of interest to a reader."""
    return is_ours_module(frame.module)


def is_wrapper(function: str) -> bool:
    """Whether a function only passes a call on to pthreads or libitm."""
    return _WRAPPER.match(function) is not None


def is_runtime(module: str) -> bool:
    """Whether a module's calls are made for its callers: a run-time library, or ours."""
    return _RUNTIME.match(os.path.basename(module)) is not None


def wrapper_frames(frames: Sequence[Frame]) -> int:
    """How many of the innermost frames only lead to the lock; 0 when all of them seem to, also to
    the outermost one of the program's own code: that is what has the program's functions in it, as
    std::thread's has those that the compiler moved there. Of Python's functions those of the module
    threading do."""
    own = languages.pythons(frames)
    if own:
        inside = languages.outside_of_threading(own)
        return len(frames) - len(own) + (inside if inside < len(own) else 0)
    outermost = 0
    for index, frame in enumerate(frames):
        if is_runtime(frame.module):
            continue
        if not is_wrapper(frame.function):
            return index
        outermost = index
    return outermost or _until_a_thread_begins(frames)


def _until_a_thread_begins(frames: Sequence[Frame]) -> int:
    """The same where it waits in the C library alone, for its creator; 0: it does not."""
    for index, frame in enumerate(frames):
        if frame.module != frames[0].module or not is_runtime(frame.module):
            return 0
        if frame.function == THREADS_BEGIN:
            return index
    return 0


def telling(frames: Sequence[Frame]) -> Frame | None:
    """The innermost frame that is the program's own; else the innermost at all; None when empty."""
    return frames[wrapper_frames(frames)] if frames else None


def without_starters(frames: list[dict]) -> list[dict]:
    """Frames without what lies between the kernel and the program."""
    while len(frames) > 1 and frames[-1]["function"].partition("+")[0] in STARTERS:
        frames = frames[:-1]
    return frames


# By symbol and module, and where the variable begins there: locks' offsets in it, and ids.
_Inside = dict[tuple[str, str], dict[int, list[tuple[int, int]]]]


class Name:
    """A lock's name, equal for locks that a report shows as one line."""

    __slots__ = ("by", "module", "place", "site", "text", "way")

    def __init__(
        self, text: str, by: str, place: str, site: str = "", way: tuple = (), module: str = ""
    ):
        self.text = text
        self.by = by  # "symbol", "creation", "first use", "address" or "overflow"
        self.place = place  # file:line, or the module's name
        self.site = site or text  # the variable or function that an entry of a policy would name
        self.module = module  # the one that has no symbol for it; "" where that is not so
        self.way = way  # what tells locks of one text and place apart

    def identity(self) -> tuple:
        """Equal for locks that a report shows as one line."""
        return self.text, self.place, self.way


def name_locks(
    locks: Sequence[Lock],
    symbolizer: Symbolizer,
    frames_of: Callable[[int], list[Frame]],
    holding: Collection[tuple[str, str]] = (),
) -> dict[int, Name]:
    """Names every lock, by its id. `frames_of` gives the frames of a stack id; `holding` are
    functions that are known to hold locks (difference.py)."""
    symbolizer.prepare_variables(lock.address for lock in locks if lock.id)
    names = _by_places([lock for lock in locks if is_place(lock)], symbolizer)
    inside: _Inside = defaultdict(lambda: defaultdict(list))
    by_stack: list[Lock] = []
    for lock in locks:
        if lock.id in names:
            continue
        told = symbolizer.told.locks.get(lock.address)
        if told:
            names[lock.id] = Name(told[0], "symbol", told[1])
            continue
        # A thread's handle is no object of the program's, whatever lies there.
        is_object = lock.id and lock.object != THREAD
        variable = symbolizer.variable(lock.address) if is_object else None
        if variable and (variable[2].startswith(SHARED_MEMORY) or _is_of_library(variable)):
            variable = None  # in a file that is no module; or of whoever uses the library
        if lock.id == 0:
            names[0] = Name(BEYOND, "overflow", "")
        elif variable and (of_runtime := languages.named_by_variable(lock, variable[0])):
            module = os.path.basename(variable[2])
            names[lock.id] = Name(of_runtime, "symbol", module, variable[0])
        elif variable:
            _, place = symbolizer.data_place(lock.address) or ("", variable[1])
            inside[variable[0], variable[2]][place - variable[1]].append((variable[1], lock.id))
        else:
            by_stack.append(lock)
    names |= _by_variables(inside)
    names |= _by_stacks(by_stack, frames_of, holding)
    return names | _of_signalers(locks, names)


def _by_variables(inside: _Inside) -> dict[int, Name]:
    """Names of locks within variables: of several that have one name, as static ones of two files
    may, with where they lie."""
    names: dict[int, Name] = {}
    for (symbol, module), variables in inside.items():
        place = os.path.basename(module)
        for begin, members in variables.items():
            offsets = sorted({offset for offset, _ in members})
            array = _is_array(offsets)
            which = f"{IN_ANOTHER_PLACE}{place}+{begin:#x}" if len(variables) > 1 else ""
            for offset, lock_id in members:
                text = f"{symbol}[]" if array else symbol + (f"+{offset:#x}" if offset else "")
                of = module if symbol.startswith(f"{place}+0x") else ""
                names[lock_id] = Name(text + which, "symbol", place, symbol, module=of)
    return names


def _of_signalers(locks: Sequence[Lock], names: dict[int, Name]) -> dict[int, Name]:
    """What lies within a condition variable is called by that. One that is none here is of those
    that are told as the GIL."""
    conditions = {lock.address: lock.id for lock in locks if lock.object == CONDITION and lock.id}
    gil = next((lock.id for lock in locks if lock.type == languages.GIL), None)
    found = {}
    for lock in locks:
        if lock.type == languages.OF_SIGNALERS:
            known = conditions.get(languages.condition_around(lock, conditions), gil)
            of = names[known]
            found[lock.id] = Name(
                languages.WITHIN + of.text, of.by, of.place, of.site, of.way, of.module
            )
    return found


def _is_of_library(variable: tuple) -> bool:
    """Whether a variable of the program's came with code of the C++ library that it uses: many
    objects share it."""
    return variable[0].startswith("std::") and not is_runtime(variable[2])


def is_place(lock: Lock) -> bool:
    """Whether the lock's address is a return address: a barrier of OpenMP, a region, or no lock
    but a call of sched_yield()."""
    return lock.object == YIELD or (
        lock.object == BARRIER
        and (lock.type in (PLACE, TURN, TASKS, REGION_END, BARRIER_OF_RUNTIME) or is_region(lock))
    )


def is_barrier_place(lock: Lock) -> bool:
    """The same, without regions: all threads tell when they come there."""
    return lock.object == BARRIER and lock.type == PLACE


def is_region(lock: Lock) -> bool:
    """Whether it is a region, which the run-time starts and ends."""
    return lock.object == BARRIER and lock.type in (REGION_OF_GNU, REGION, REGION_THAT_MAY_BE_KEPT)


def is_turn(lock: Lock) -> bool:
    """Whether threads wait there for an iteration's turn, and not for each other."""
    return lock.object == BARRIER and lock.type == TURN


def is_for_tasks(lock: Lock) -> bool:
    """Whether threads wait there for tasks, and have none to run."""
    return lock.object == BARRIER and lock.type == TASKS


def object_name(kind: int, locks: Sequence[Lock]) -> str:
    """What locks of that kind and of one name are: those of recordformat, "turn", and "tasks"."""
    if locks and is_turn(locks[0]):
        return "turn"
    if locks and is_for_tasks(locks[0]):
        return "tasks"
    return OBJECT_NAMES.get(kind, "unknown")


def is_region_of_gnu(lock: Lock) -> bool:
    """Whether it is a region that libgomp starts and ends, its team not being kept."""
    return lock.object == BARRIER and lock.type == REGION_OF_GNU


def _frames_of_place(lock: Lock, symbolizer: Symbolizer) -> list[Frame]:
    """The frames of a return address; where the function that made the call ended with it, by a
    jump, that function instead. The call that entered it tells, or the address is that function's
    first byte, as of a call of no length. Of a region of GCC's it is that function itself."""
    address = lock.address - BEHIND_REGION * (lock.type == REGION_END)
    if lock.type == TASKS and symbolizer.begins(address - 1 - BEHIND_TASKS):
        address -= BEHIND_TASKS
    of_function = (REGION_OF_GNU, REGION_THAT_MAY_BE_KEPT, REGION_END)
    if lock.type in of_function and symbolizer.begins(address):
        entry = address
    else:
        entry = address - 1 if symbolizer.begins(address - 1) else symbolizer.entered(address)
    if entry is None:
        return symbolizer.frames(address)
    left = symbolizer.frames(entry + 1)[-1]
    if is_wrapper(left.function) or is_runtime(left.module):
        return symbolizer.frames(address)
    return [left._replace(function=left.function.removesuffix("+0x0"))]


def _by_places(locks: Sequence[Lock], symbolizer: Symbolizer) -> dict[int, Name]:
    """Names of places. What a compiler has put into several functions, and says of them all alike,
    is told apart by these."""
    names: dict[int, Name] = {}
    around: dict[str, dict[int, Frame]] = defaultdict(dict)
    for lock in locks:
        names[lock.id], outer = _by_place(lock, symbolizer)
        if outer:
            around[names[lock.id].text][lock.id] = outer
    for text, outer_of in around.items():
        if len({(outer.function, outer.line) for outer in outer_of.values()}) > 1:
            for lock_id, outer in outer_of.items():
                whole = f"{outer.function} at {outer.place()}" if outer.file else outer.function
                names[lock_id] = Name(f"{whole} > {text}", "address", outer.place())
    return names


def _by_place(lock: Lock, symbolizer: Symbolizer) -> tuple[Name, Frame | None]:
    """The name, and the frame that its own was put into; None: none, or it would tell no more."""
    frames = _frames_of_place(lock, symbolizer)
    if not frames:
        return Name(f"{lock.address:#x}", "address", ""), None
    wrappers = wrapper_frames(frames)
    at = wrappers if wrappers or not is_wrapper(frames[0].function) else len(frames) - 1
    frame = frames[at]
    outer = frames[at + 1] if frame.inlined and at + 1 < len(frames) else None
    what = _PLACES.get(lock.type, "")
    function = _OUTLINED.sub("", frame.function) if what else frame.function
    text = f"{function} at {frame.place()}" if frame.file else function
    return Name(what + text, "address", frame.place()), outer if not what else None


def _by_stacks(
    locks: Sequence[Lock],
    frames_of: Callable[[int], list[Frame]],
    holding: Collection[tuple[str, str]],
) -> dict[int, Name]:
    """Names by where locks were made or first used: those of one object and origin by the frames
    in which they differ."""
    origins: dict[tuple[int, str, str], dict[int, list[Lock]]] = defaultdict(
        lambda: defaultdict(list)
    )
    names: dict[int, Name] = {}
    is_of_malloc = functools.cache(lambda stack: languages.is_of_malloc(frames_of(stack)))
    for lock in locks:
        made = lock.create_stack if lock.flags & CREATED else 0
        stack = made or lock.first_stack
        of_language = _of_language(lock, frames_of(stack))
        if lock.type == languages.ENDED:
            names[lock.id] = Name(languages.THREAD_NAME, "address", "")
        elif lock.object == MUTEX and is_of_malloc(stack):
            names[lock.id] = Name(languages.MALLOC_NAME, "symbol", "libc.so.6")
        elif of_language and not languages.pythons(frames_of(stack)):
            text = f"{of_language} {lock.address:#x}"
            names[lock.id] = Name(text, "address", "", of_language, (lock.id,))
        elif frames_of(stack):
            by = "creation" if made else "first use"
            origins[lock.object, by, of_language][stack].append(lock)
        else:
            names[lock.id] = Name(f"{lock.address:#x}", "address", "")
    for (kind, by, of_language), of_stack in origins.items():
        stacks = {stack: telling_on(frames_of(stack)) for stack in of_stack}
        if by == "first use":
            stacks = {
                stack: up_to_holder(frames, holding, _implementing(frames) if kind == FUTEX else 0)
                for stack, frames in stacks.items()
            }
        for stack, way in ways(stacks).items():
            site = of_language or _site(frames_of(stack))
            name = _by_way(with_owner(way, stacks[stack]), by, site, of_language)
            names |= dict.fromkeys((lock.id for lock in of_stack[stack]), name)
    return names


def _implementing(frames: Sequence[Frame]) -> int:
    """How many of the frames are the function that waits at a futex: it is a lock's own, not who
    holds it, also where it takes and releases a part of that lock, as slow ways do."""
    outermost = next((index for index, frame in enumerate(frames) if not frame.inlined), -1)
    return outermost + 1


def telling_on(frames: Sequence[Frame]) -> list[Frame]:
    """The frames from the telling one outwards, up to the program's start, or to code that is in
    no file: where just-in-time compilers put it says nothing."""
    own = list(frames[wrapper_frames(frames) :])
    nowhere = (index for index, frame in enumerate(own) if index and not frame.module)
    own = own[: next(nowhere, None)]
    while len(own) > 1 and own[-1].function.partition("+")[0] in STARTERS:
        own.pop()
    return outwards(own)


def _site(frames: Sequence[Frame]) -> str:
    """The function that the preload library finds there: the telling one, or the one that it was
    inlined into."""
    for frame in frames[wrapper_frames(frames) :]:
        if not frame.inlined:
            name = frame.function
            return name if frame.is_unnamed else name.partition("+0x")[0]
    return ""


def _of_language(lock: Lock, frames: Sequence[Frame]) -> str:
    """What a language calls a lock that this stack makes, or where it was first used; "": that is
    no language's."""
    if lock.type in (languages.PYTHONS_CONDITION, languages.PYTHONS_SEMAPHORE):
        return languages.condition_of(frames) or languages.NAMES[lock.type]
    known = languages.NAMES.get(lock.type, "")
    if lock.object != SEMAPHORE or lock.type == languages.PYTHONS_RLOCK:
        return known
    return languages.name_of(frames) or known


def _by_way(way: Way, by: str, site: str, of_language: str = "") -> Name:
    """The outermost of the telling frames first: it is the one that tells; then those inside."""
    *inner, last = way.frames
    text = f"{last.function} at {last.place()}" if last.file else last.function
    inside = [
        frame.function + (f":{frame.line}" if frame.file and frame.line else "")
        for frame in inner[::-1]
    ]
    text = " > ".join([text, *inside]) + (f" ({UNKNOWN_CALLER})" if way.ends else "")
    if of_language:  # without its module
        text = f"{of_language.partition('.')[2] or of_language} of {text}"
    module = next((frame.module for frame in way.frames if frame.is_unnamed), "")
    return Name(text, by, last.place(), site, (*map(key, way.frames), way.ends), module)


def _is_array(offsets: list[int]) -> bool:
    if len(offsets) < ARRAY_MEMBERS:
        return False
    stride = min(after - before for before, after in zip(offsets, offsets[1:]))
    return all((offset - offsets[0]) % stride == 0 for offset in offsets)
