"""Who calls whom, as the compiler says (-fcallgraph-info), and the chains to calls that a
transaction cannot take back."""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass

# What libitm itself, the compiler, or syncopate/tm/wrap_libc.h makes safe.
SAFE = {
    "malloc", "calloc", "free", "memcpy", "memmove", "memset", "memcmp", "realloc", "strlen",
    "strnlen", "strcmp", "strncmp", "strchr", "strncpy", "strtol", "strtoul", "strtoull",
    "strtod", "atoi", "snprintf", "vsnprintf", "__assert_fail", "abort", "__ctype_b_loc",
    "__errno_location",
    "isalnum", "isalpha", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint",
    "ispunct", "isspace", "isupper", "isxdigit", "tolower", "toupper", "htons", "ntohs",
    "htonl", "ntohl", "__builtin_unreachable", "__builtin_expect",
}  # fmt: skip
# What the compiler itself can take back.
SAFE_WITHOUT_LIBRARY = {
    "malloc", "calloc", "free", "memcpy", "memmove", "memset", "abort", "__builtin_unreachable",
    "__builtin_expect",
}  # fmt: skip
# What syncopate/tm/wrap_output.h puts off.
PUT_OFF = {
    "fprintf", "vfprintf", "printf", "fputs", "puts", "fputc", "putchar", "fwrite", "fflush",
    "perror", "sem_post", "pthread_cond_signal", "pthread_cond_broadcast",
}  # fmt: skip
# Calls that wait for other threads. In a transaction that runs alone, they would do so for ever.
_LOCKS = [
    "pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock",
    "pthread_rwlock_rdlock", "pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock", "pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock",
    "pthread_spin_lock", "mtx_lock", "mtx_timedlock",
]  # fmt: skip
_CONDITIONS = [
    "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait",
    "cnd_timedwait",
]  # fmt: skip
_THREADS = ["pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "thrd_join"]
_INPUT = [
    "accept", "accept4", "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "recv",
    "recvfrom", "recvmsg", "msgrcv", "mq_receive", "mq_timedreceive",
]  # fmt: skip
_SIGNALS = ["pause", "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait"]
WAITING = {
    **dict.fromkeys(_LOCKS, "waits for a lock that stays"),
    **dict.fromkeys(_CONDITIONS, "waits for a condition"),
    **dict.fromkeys(_THREADS, "waits for a thread"),
    **dict.fromkeys(["sem_wait", "sem_timedwait", "sem_clockwait"], "waits for a semaphore"),
    **dict.fromkeys(["pthread_once", "call_once"], "waits for who initializes"),
    "pthread_barrier_wait": "waits at a barrier",
    **dict.fromkeys(_INPUT, "waits for input"),
    **dict.fromkeys(_SIGNALS, "waits for a signal"),
}
INDIRECT = "__indirect_call"  # GCC's name for whom a pointer calls
_NODE = re.compile(r'node: \{ title: "([^"]*)" label: "([^"\\]*)[^"]*"( shape : ellipse)?')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)" label: "([^"]*)"')


@dataclass(frozen=True)
class Call:
    """A call of `callee` (a node's title) at a place; lines and columns count from 1."""

    callee: str
    file: str
    line: int
    column: int


class CallGraph:
    """Nodes are functions: `name`, or `file:name` where it is static."""

    def __init__(self):
        self.calls: dict[str, list[Call]] = {}
        self.names: dict[str, str] = {}
        self.defined: set[str] = set()
        self.done: set[tuple[str, int, int]] = set()  # places whose call has been rewritten away
        self.safe: set[str] = SAFE
        self.indirect: dict[tuple[str, int, int], list[str]] = {}  # calls through pointers -> whom

    def fresh(self) -> CallGraph:
        """The same calls, of which nothing is rewritten yet."""
        one = CallGraph()
        one.calls, one.names, one.defined = self.calls, self.names, self.defined
        return one

    def read(self, path: str, relative) -> None:
        """Adds one .ci file; `relative` maps the compiler's paths to ours."""
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for title, label, outside in _NODE.findall(text):
            self.names[title] = label or title
            if not outside:
                self.defined.add(title)
        for source, target, label in _EDGE.findall(text):
            place = label.rsplit(":", 2)
            if len(place) == 3:
                call = Call(target, relative(place[0]), int(place[1]), int(place[2]))
                made = self.calls.setdefault(source, [])
                if call not in made:
                    made.append(call)

    def of_function(self, file: str, name: str) -> list[Call]:
        """The calls in a function, static or not."""
        found = list(self.calls.get(name, []))
        for title, calls in self.calls.items():
            if title.endswith(":" + name) and self.names.get(title, name) == name:
                found += calls
        return [call for call in found if call.file == file]

    def remaining(self, calls: list[Call]) -> list[Call]:
        """Without what has been rewritten away; with whom known pointers may call."""
        found = []
        for call in calls:
            place = (call.file, call.line, call.column)
            if place in self.done:
                continue
            if call.callee == INDIRECT and place in self.indirect:
                found += [Call(title, *place) for title in self.indirect[place]]
            else:
                found.append(call)
        return found

    def chains(self, calls: list[Call]) -> dict[str, list[Call]]:
        """The shortest chain from `calls` to each function that is neither defined nor safe."""
        found: dict[str, list[Call]] = {}
        seen: set[str] = set()
        queue = deque([call] for call in self.remaining(calls))
        while queue:
            chain = queue.popleft()
            callee = chain[-1].callee
            if callee in seen:
                continue
            seen.add(callee)
            if callee in self.defined:
                queue.extend([*chain, c] for c in self.remaining(self.calls.get(callee, [])))
            elif not self.is_safe(callee):
                found[callee] = chain
        return found

    def reached(self, calls: list[Call]) -> set[str]:
        """The defined functions that `calls` may come to."""
        seen: set[str] = set()
        todo = [call.callee for call in self.remaining(calls)]
        while todo:
            callee = todo.pop()
            if callee in self.defined and callee not in seen:
                seen.add(callee)
                todo += [c.callee for c in self.remaining(self.calls.get(callee, []))]
        return seen

    def chain_into(self, calls: list[Call], names) -> list[Call]:
        """The shortest chain from `calls` to a defined function of these names; [] if none."""
        seen: set[str] = set()
        queue = deque([call] for call in self.remaining(calls))
        while queue:
            chain = queue.popleft()
            callee = chain[-1].callee
            if callee in seen or callee not in self.defined:
                continue
            seen.add(callee)
            if self.name(callee) in names:
                return chain
            queue.extend([*chain, call] for call in self.remaining(self.calls.get(callee, [])))
        return []

    def through_pointer(self, calls: list[Call]) -> Call | None:
        """A call through a pointer that `calls` may come to."""
        made = [*calls, *(c for title in self.reached(calls) for c in self.calls.get(title, []))]
        found = (c for c in made if c.callee == INDIRECT)
        return next((c for c in found if (c.file, c.line, c.column) not in self.done), None)

    def waiting_from_outside(self) -> tuple[str, list[Call]] | None:
        """Of a library: a function that its users may call, and the chain from that to a lock that
        stays. A program has no users who could give it functions that do so."""
        if "main" in self.defined:
            return None
        for title in sorted(self.defined):
            if ":" in title:  # static
                continue
            chains = self.chains(self.calls.get(title, []))
            chain = next((chains[each] for each in chains if self.name(each) in _LOCKS), None)
            if chain:
                return self.name(title), chain
        return None

    def is_safe(self, callee: str) -> bool:
        name = self.name(callee)
        plain = name.removeprefix("__builtin_")
        return name in self.safe or plain in self.safe or name.startswith("tm_")

    def name(self, title: str) -> str:
        if title == INDIRECT:
            return "a function called through a pointer"
        label = self.names.get(title, title)
        return os.path.basename(label.rsplit(":", 1)[-1])


def waiting(chains: dict[str, list[Call]], graph: CallGraph) -> list[Call] | None:
    """The first chain that ends in waiting for another thread."""
    for callee, chain in chains.items():
        if graph.name(callee) in WAITING:
            return chain
    return None
