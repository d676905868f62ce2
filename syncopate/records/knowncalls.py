"""What the C library's functions do that a critical section had better not: by their names.

Only names that POSIX, ISO C and the C++ and Rust run-times define; of all others nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

SLEEP, INPUT_OUTPUT, ALLOCATION, WAIT = "sleep", "input or output", "allocation", "wait"
PERHAPS_ALLOCATION = "perhaps allocation"  # of what has room or not

_KINDS = {
    SLEEP: (
        "usleep|sleep|nanosleep|clock_nanosleep|thrd_sleep|"
        r"_RNv\w*3std\w*6thread\w*5sleep|_ZN3std6thread\w*5sleep17h\w+"
    ),
    INPUT_OUTPUT: (
        r"p?(read|write)v?(64)?|f(data)?sync|sync|syncfs|msync|open(at)?(64)?|creat(64)?|close|"
        r"fopen(64)?|fclose|fread(_unlocked)?|fwrite(_unlocked)?|fflush(_unlocked)?|"
        r"(__)?v?f?printf(_chk)?|(__)?v?dprintf(_chk)?|f?puts(_unlocked)?|f?putc(har)?|_IO_putc|"
        r"f?gets|getline|send(to|msg|file|file64|mmsg)?|recv(from|msg|mmsg)?|connect|accept4?|"
        r"poll|ppoll|select|pselect|epoll_p?wait2?|splice|rename(at2?)?|unlink(at)?|stat|fstat|"
        r"f?truncate(64)?|getaddrinfo|syslog|(__)?v?syslog(_chk)?|system|popen|"
        r"_RN\w*3std(2fs|3net)\w*|_ZN3std(2fs|3net)\w*|_ZN\d+_\$LT\$(\$RF\$)?std\.\.(fs|net)[\w.$]+|"
        r"_ZNSo\w*|_ZNSi\w*|_ZStls\w*|_ZSt16__ostream_insert\w*|_ZSt4endl\w*"
    ),
    ALLOCATION: (
        r"(__libc_)?(m|c|re)alloc|free|cfree|reallocarray|posix_memalign|aligned_alloc|memalign|"
        r"strn?dup|asprintf|mmap(64)?|munmap|brk|sbrk|_Zn[wa]\w*|_Zd[la]\w*|"
        r"__rust_(alloc|dealloc|realloc)\w*|__rdl_\w*"
    ),
    WAIT: (
        r"pthread_(mutex|rwlock|spin)_(timed|clock)?(rd|wr)?lock|pthread_cond_\w*wait|"
        r"pthread_barrier_wait|pthread_join|sem_(timed|clock)?wait|mtx_(timed)?lock|cnd_\w*wait|"
        r"wait(pid|id|3|4)?|flock|lockf(64)?|thrd_join"
    ),
}
# The same of Java's methods: those in which a thread is while it sleeps or waits.
_OF_JAVA = {
    SLEEP: r"java\.lang\.Thread\.sleep\w*",
    INPUT_OUTPUT: r"java\.(io|net|nio)\.[\w.$]+|sun\.nio\.[\w.$]+",
    WAIT: (
        r"(jdk\.internal|sun)\.misc\.Unsafe\.park|java\.util\.concurrent\.locks\.LockSupport\.park\w*|"
        r"java\.lang\.Object\.wait\w*"
    ),
}
_JAVA = {kind: re.compile(pattern, re.ASCII) for kind, pattern in _OF_JAVA.items()}
_JAVA_RELEASES = re.compile(
    r"java\.util\.concurrent\.[\w.$]+\.(unlock|release|unpark|signal|countDown)\w*", re.ASCII
)
_OF_JAVAS_LIBRARIES = ("java.", "javax.", "jdk.", "sun.")
# Of the C library's own locks, by the functions that wait for them.
_WAITS_INSIDE = re.compile(r"lll_lock_wait\w*")
_INSIDE = {
    ALLOCATION: re.compile(
        r"(int_)?(m|c|re)alloc|c?free|int_free\w*|(posix_)?mem_?align|aligned_alloc|valloc|"
        r"arena_get\w*|reused_arena|tcache_\w+|malloc_trim"
    ),
    INPUT_OUTPUT: re.compile(
        r"f(un)?lockfile|IO_\w+|f?put[sc]|putchar|f?get[sc]|getchar|fwrite|fread|fflush|fclose|"
        r"v?f?printf(_chk|_internal)?|perror|getline|getdelim|ungetc|fseeko?|ftello?|rewind|setvbuf"
    ),
}
_OF = {kind: re.compile(pattern, re.ASCII) for kind, pattern in _KINDS.items()}
# In these a thread waits for something to do; with the next ones for an answer, perhaps.
_AWAITS_WORK = re.compile(r"ppoll|poll|p?select|epoll_p?wait2?|accept4?")
_EXCHANGES = re.compile(r"(p?read|p?write)v2?(64)?|send(to|m?msg)?|recv(from|m?msg)?|connect")
_RELEASE = re.compile(
    r"pthread_(mutex|rwlock|spin)_unlock|mtx_unlock|sem_post|"
    r"_ZNSt\d*(\d+_V2)?\d*\w*mutex6unlockEv|_ZNSt\d+shared_\w*mutex13unlock_sharedEv|"
    r"_ZNSt\d+(lock_guard|unique_lock|scoped_lock|shared_lock)I\w*D[12]Ev|"
    r"_ZNSt\d+(unique_lock|shared_lock)I\w*6unlockEv"
)
_ACQUISITION = re.compile(
    r"pthread_(mutex|rwlock|spin)_(timed|clock|try)?(rd|wr)?lock|mtx_(timed|try)?lock|"
    r"sem_(timed|clock|try)?wait|_ZNSt\d*(\d+_V2)?\d*\w*mutex\d+(lock|try_lock)\w*|"
    r"_ZNSt\d+(lock_guard|unique_lock|scoped_lock|shared_lock)I\w*C[12]E(R|DpR)\w*|"
    r"_ZNSt\d+(unique_lock|shared_lock)I\w*4lockEv"
)
_TRIES = re.compile(r"\w*try_?lock\w*|sem_trywait")
# Nothing but their arguments, and what those point to, is read by these.
_READS_ONLY = re.compile(
    r"mem(cmp|chr|rchr|mem)|bcmp|str(n?(case)?cmp|n?len|r?chr|chrnul|str|spn|cspn|pbrk)|"
    r"_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base|"
    r"_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base"
)
# The C++ library's, of nodes of its containers and of strings: they write a few words, or copy.
_STRING = r"_ZNS?K?(St7__cxx1112basic_string|s)\w*"
_GROWS = (
    r"(_M_(create|construct|mutate|append|assign|replace)\w*|C[12]\w*|"
    r"(6append|6assign|7replace|7reserve|6resize|9push_back|6insert|pL|aS)E\w*)"
)
_GROWS_STRINGS = re.compile(_STRING + _GROWS)
_DOES_LITTLE = re.compile(
    r"_ZNSt8__detail15_List_node_base\d+_M_\w+|_ZSt(29_Rb_tree_insert_and_rebalance|"
    r"28_Rb_tree_rebalance_for_erase)\w+|_ZN?K?St8__detail20_Prime_rehash_policy\w+|"
    rf"{_STRING}({_GROWS}|(_M_dispose|D[12])\w*)"
)
_NEVER_RETURNS = re.compile(
    r"abort|_?_?exit|_Exit|quick_exit|__stack_chk_fail|__assert(_perror)?_fail|__fortify_fail|"
    r"__chk_fail|_Unwind_Resume|__cxa_(re)?throw|__cxa_bad_cast|_ZSt9terminatev|_ZSt\d+__throw_\w*"
)


def kind_of(symbol: str) -> str | None:
    """What a function of that (mangled) name does, of the kinds above; None: not known."""
    return next((kind for kind, pattern in _OF.items() if pattern.fullmatch(symbol)), None)


def awaits_work(functions: Sequence[str]) -> bool:
    """Whether who calls these waits for requests: asks nobody, and waits for who may ask it."""
    return any(map(_AWAITS_WORK.fullmatch, functions)) and not any(
        map(_EXCHANGES.fullmatch, functions)
    )


def may_allocate(symbol: str) -> bool:
    """Whether it allocates where a string has too little room, and else only writes."""
    return _GROWS_STRINGS.fullmatch(symbol) is not None


def kind_in_java(method: str) -> str | None:
    """The same of a method of Java's."""
    return next((kind for kind, pattern in _JAVA.items() if pattern.fullmatch(method)), None)


def with_programs_own(frames: Sequence[dict]) -> list[dict]:
    """Of a stack in Java, what is innermost, and the two innermost frames of the program's own."""
    own = [frame for frame in frames[1:] if not frame["function"].startswith(_OF_JAVAS_LIBRARIES)]
    return [*frames[:1], *(own or frames[1:])[:2]]


def is_release_in_java(method: str) -> bool:
    """Whether it lets go of what java.util.concurrent has."""
    return _JAVA_RELEASES.fullmatch(method) is not None


def plain_of_c_library(function: str) -> str:
    """A function of the C library by what programs call it: __GI___libc_malloc, as debug
    information has it, is malloc."""
    bare = function.partition("@")[0].lstrip("_").removeprefix("GI_").lstrip("_")
    return bare.removeprefix("libc_")


def inside_of_c_library(functions: Iterable[str]) -> str | None:
    """Of the innermost functions of a stack that waits for a lock inside the C library, what that
    lock is for: ALLOCATION, INPUT_OUTPUT (a stream's); else None."""
    bare = [*map(plain_of_c_library, functions)]
    of_program = any(each.startswith(("pthread_", "mtx_", "sem_")) for each in bare)
    if of_program or not any(_WAITS_INSIDE.fullmatch(each) for each in bare):
        return None
    kinds = (kind for each in bare for kind, of in _INSIDE.items() if of.fullmatch(each))
    return next(kinds, None)


def is_acquisition(symbol: str) -> bool:
    """Whether it takes a lock, or tries to."""
    return _ACQUISITION.fullmatch(symbol) is not None


def always_acquires(symbol: str) -> bool:
    """Whether it returns with a lock taken, but for errors."""
    return is_acquisition(symbol) and _TRIES.fullmatch(symbol) is None


def is_release(symbol: str) -> bool:
    """Whether it releases a lock."""
    return _RELEASE.fullmatch(symbol) is not None


def only_reads(symbol: str) -> bool:
    """Whether it writes nothing that others see."""
    return _READS_ONLY.fullmatch(symbol) is not None


def does_little(symbol: str) -> bool:
    """Whether it writes, but takes no longer than a call that allocates."""
    return _DOES_LITTLE.fullmatch(symbol) is not None


def never_returns(symbol: str) -> bool:
    """Whether what follows the call is not reached through it."""
    return _NEVER_RETURNS.fullmatch(symbol) is not None
