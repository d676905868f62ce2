"""Which operations on which locks a program has, and which lock each means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from syncopate.transactionalize import pointers, semantic
from syncopate.transactionalize.ctext import CText, without_comments
from syncopate.transactionalize.definitions import MACRO, functions
from syncopate.transactionalize.lockcalls import (
    BUSY,
    CAST,
    LOCK,
    LOCK_TYPES,
    UNLOCK,
    declarations_of,
)
from syncopate.transactionalize.wrappers import Written

_WAITS_POLITELY = re.compile(
    r"\s*(sched_yield|pthread_yield|usleep|cpu_relax|_mm_pause)\s*\([^;]*\);"
)
_LEAVES = re.compile(  # the branch for failure: a jump, or a block that ends in one; no `else`
    r"\s*(?:\{[^{}]*?(?:return\b[^;{}]*|goto\s+\w+\s*|break\s*|continue\s*);\s*\}"
    r"|(?:return\b[^;{}]*|goto\s+\w+\s*|break\s*|continue\s*);)(?!\s*else\b)"
)
_REPEATS = re.compile(r"\bdo\b\s*(\{[^{}]*\}|[^;{}]*;)\s*$")  # up to its `while`

_CALLS = re.compile(r"\bpthread_mutex_(?:lock|unlock|trylock)\s*\(")
_TIMED_CALLS = re.compile(r"\bpthread_mutex_(?:timedlock|clocklock)\s*\(")
_INITIALIZES = re.compile(r"\bpthread_(?:mutex|rwlock)_init\s*\(")
_SETS_SHARED = re.compile(r"\bpthread_(?:mutex|rwlock)attr_setpshared\s*\(")
_INITIALIZES_SPIN = re.compile(r"\bpthread_spin_init\s*\(")
_PRIVATE = re.compile(r"PTHREAD_PROCESS_PRIVATE|0")
_NO_MUTEX = declarations_of(*LOCK_TYPES[1:])
_INITIAL_VALUE = re.compile(r"\{.*?\}|=[^,]*", re.S)
_SETS_KIND = re.compile(r"\bpthread_mutexattr_setkind_np\s*\(|\bpthread_mutexattr_settype\s*\(")
_PLAIN_KIND = re.compile(r"PTHREAD_MUTEX_(NORMAL|DEFAULT|FAST_NP|TIMED_NP|ADAPTIVE_NP)")
_KIND_AT_START = re.compile(r"\bPTHREAD_(?:RECURSIVE|ERRORCHECK)_MUTEX_INITIALIZER_NP\b")
_BEFORE_START = re.compile(  # a variable, a member by its name, an array of nothing but mutexes
    r"(\w+)\s*=\s*$|\bpthread_mutex_t\s+(\w+)\s*(?:\[[^][]*\]\s*)+=\s*\{[^{}]*$"
)
_NO_ATTRIBUTES = re.compile(r"(?:\(\s*\w+\s*\*?\s*\)\s*)?(?:NULL|0|nullptr)")


@dataclass(eq=False)
class Operation:
    """One lock or unlock in the source."""

    kind: str  # "lock" | "unlock" | "trylock"
    text: CText
    at: int
    function: str
    key: str  # which lock; equal for all operations that may mean the same one
    call: str = LOCK  # the function that is called: pthread's, or a wrapper
    inner: bool = False  # stands in a wrapper, whose calls are operations themselves
    may: frozenset[str] = frozenset()  # the locks that an unknown pointer may mean; empty: any

    @property
    def line(self) -> int:
        return self.text.line(self.at)


def normalize_trylocks(text: CText, facts: list[semantic.Fact]) -> list[tuple[int, int, str]]:
    """Replacements, each as long as what it replaces, that turn spin loops over trylock into a lock
    and `if (trylock succeeds) {` into a lock that always does, as a transaction would; and where a
    failure leaves by a jump, that into a lock, too."""
    changes = []
    for fact in facts:
        if fact.kind == "trylock":  # semantic patches do not know `do`
            changes += _repeated_until(text, text.offset(fact.line, fact.column))
        if fact.kind not in ("spin", "attempt", "gives_up"):
            continue
        start, at = text.offset(fact.line, fact.column), text.offset(*fact.to)
        opening = text.code.find("(", start)
        closing = text.closing(opening)
        if closing < at:
            continue
        lock = f"{LOCK}({text.arguments(at)[0]});"
        if fact.kind == "spin":
            rest = re.compile(r"\s*\{([^{}]*)\}|\s*;").match(text.code, closing + 1)
            rest = rest or _WAITS_POLITELY.match(text.code, closing + 1)
            body = (rest.group(1) or "") if rest and rest.re.groups and rest.lastindex else ""
            if not rest or (rest.lastindex and rest.group().lstrip().startswith("{")
                            and _WAITS_POLITELY.sub("", body).strip()):  # fmt: skip
                continue
            end = rest.end()
        elif fact.kind == "gives_up":
            rest = _LEAVES.match(text.code, closing + 1)
            if not rest:
                continue
            end = rest.end()
        else:
            rest = re.compile(r"\s*\{").match(text.code, closing + 1)
            if not rest:
                continue
            end, lock = rest.end(), "if (1) {" + lock
        old = text.text[start:end]
        padding = re.sub(r"[^\n]", " ", old[len(lock) :])
        directives = re.search(r"^[ \t]*#", old, re.M)
        if len(lock) <= len(old) and "\n" not in old[: len(lock)] and not directives:
            changes.append((start, end, lock + padding))
    return changes


def _repeated_until(text: CText, at: int) -> list[tuple[int, int, str]]:
    """The same for a `do` whose condition is the trylock at an offset, if it does nothing but wait
    politely: the lock stands where its `while` did."""
    loop = re.search(r"\bwhile\s*\(\s*$", text.code[:at])
    begun = _REPEATS.search(text.code[: loop.start()]) if loop else None
    last = re.compile(rf"\s*{BUSY}\)\s*;").match(text.code, text.call_end(at))
    if not begun or not last:
        return []
    if _WAITS_POLITELY.sub("", begun.group(1).strip("{}")).strip(" \n\t;"):
        return []
    lock = f"{LOCK}({text.arguments(at)[0]});"
    before, after = text.text[begun.start() : loop.start()], text.text[loop.start() : last.end()]
    if len(lock) > len(after) or "\n" in after or re.search(r"^[ \t]*#", before, re.M):
        return []
    return [(begun.start(), last.end(), re.sub(r"[^\n]", " ", before) + lock.ljust(len(after)))]


def key_of(mutex: str, member_of: str | None) -> str:
    """The name of a lock: `name`, `type.member`, or `?...` where it is not known which one."""
    path = re.sub(r"\[[^\[\]]*(\[[^\[\]]*\][^\[\]]*)*\]", "", mutex.replace(" ", ""))
    cast = CAST.match(path)
    match = re.fullmatch(r"\(*&\(*(.+?)\)*", path[cast.end() if cast else 0 :])
    if not match:
        return f"?{path}"
    words = re.split(r"->|\.", match.group(1))
    if len(words) == 1:
        return words[0] if words[0].isidentifier() else f"?{path}"
    owner = member_of.removeprefix("struct ") if member_of else "?"
    return f"{owner}.{words[-1]}"


def names_of(written: Written) -> dict[str, list]:
    """What the patterns call LOCKS and UNLOCKS; and the groups of those that belong together."""
    groups: dict[str, tuple[list[str], list[str], list[bool]]] = {}
    for name, (kind, mutex) in written.kept.items():
        group = groups.setdefault(key_of(mutex, None), ([], [], []))
        group[kind == "unlock"].append(name)
        known, root = written.names.get("", name), re.search(r"[A-Za-z_]\w*", mutex)
        group[2].append(bool(known and root and [*known.parameters[:1]] == [root[0]]))
    all_of: list[semantic.Group] = [([LOCK], [UNLOCK], False)]
    all_of += [(takes, gives, all(by_first)) for takes, gives, by_first in groups.values()]
    return {
        "groups": all_of,
        "LOCKS": [name for takes, _, _ in all_of for name in takes],
        "UNLOCKS": [name for _, gives, _ in all_of for name in gives],
    }


def operations(
    facts: list[semantic.Fact], texts: dict[str, CText], written: Written
) -> list[Operation]:
    """All operations, those inside of wrappers marked as inner ones; but for what stands in a
    function whose calls are all written out."""
    member = {(f.file, f.line, f.column): f.more["type"] for f in facts if f.kind == "member"}
    found: dict[tuple, Operation] = {}
    within: dict[str, str] = {}  # wrapper -> its lock, as its own operation names it
    facts = sorted(facts, key=lambda f: f.more.get("name") in written.kept)
    for fact in facts:
        if fact.kind not in ("lock", "unlock", "trylock") or fact.function in written.inlined:
            continue
        text = texts[fact.file]
        at = text.offset(fact.line, fact.column)
        if not text.blocks(at):
            continue  # a prototype
        name = fact.more["name"]
        if name in written.kept:
            key = within.get(name) or key_of(written.kept[name][1], None)
        else:
            place = (fact.file, fact.line, fact.column)
            key = key_of((text.arguments(at) or [""])[0], member.get(place))
            if fact.function in written.kept:
                within[fact.function] = key
        inner = fact.function in written.kept
        operation = Operation(fact.kind, text, at, fact.function, key, name, inner)
        found[(fact.file, at)] = operation
    _resolve_pointers(list(found.values()), texts, written)
    _merge_unknown_owners(list(found.values()))
    return sorted(found.values(), key=lambda op: (op.text.path, op.at))


def unseen(text: CText, seen: set, written: Written) -> list[tuple[int, str]]:
    """Calls of pthread's functions that a file has and `seen` has not: where, and on which lock."""
    found = []
    for name, _, _, opening, closing in functions(text):
        if name in written.inlined:
            continue
        for match in _CALLS.finditer(text.code, opening, closing):
            if (text.path, match.start()) not in seen and not _left_out(text.text, match.start()):
                arguments = text.arguments(match.start()) or [""]
                found.append((match.start(), key_of(arguments[0], None)))
    return found


def timed(text: CText) -> list[tuple[int, str]]:
    """Where a file locks with a time limit, and what."""
    return [
        (match.start(), (text.arguments(match.start()) or [""])[0])
        for match in _TIMED_CALLS.finditer(text.code)
        if text.blocks(match.start()) and not _left_out(text.text, match.start())
    ]


Made = tuple[CText, int, "set[str] | None"]  # where locks are made, and their names; None: any


def shared_between_processes(texts: dict[str, CText]) -> list[Made]:
    """Where locks are made that other processes may use."""
    found = _with_attributes(texts, _SETS_SHARED, re.compile("PTHREAD_PROCESS_PRIVATE"))
    return found + _made(texts, _INITIALIZES_SPIN, _PRIVATE)


def no_mutexes(texts: dict[str, CText]) -> list[Made]:
    """Where reader-writer and spin locks are declared."""
    return [
        (text, match.start(), set(re.findall(r"\w+", _INITIAL_VALUE.sub("", match[1]))))
        for text in texts.values()
        for match in _NO_MUTEX.finditer(text.code)
    ]


def counting_or_checking(texts: dict[str, CText]) -> list[Made]:
    """Where locks are made that may be recursive or error-checking."""
    found = _with_attributes(texts, _SETS_KIND, _PLAIN_KIND)
    for text in texts.values():
        for match in _KIND_AT_START.finditer(text.code):
            named = _BEFORE_START.search(text.code, 0, match.start())
            found.append((text, match.start(), {named[1] or named[2]} if named else None))
    return found


def _with_attributes(texts: dict[str, CText], sets: re.Pattern, plain: re.Pattern) -> list[Made]:
    """Where locks are made with attributes, in a program that sets one otherwise than `plain`."""
    if not any(
        text.blocks(match.start()) and not plain.fullmatch(text.arguments(match.start())[-1])
        for text in texts.values()
        for match in sets.finditer(text.code)
    ):
        return []
    return _made(texts, _INITIALIZES, _NO_ATTRIBUTES)


def _made(texts: dict[str, CText], call: re.Pattern, plain: re.Pattern) -> list[Made]:
    """Where locks are made by a call whose second argument is not `plain`."""
    found, graph = [], None
    for text in texts.values():
        for macro in MACRO.finditer(without_comments(text.text)):
            body = CText("", macro[3])
            made = [body.arguments(match.start()) for match in call.finditer(body.code)]
            if any(len(given) == 2 and not plain.fullmatch(given[1]) for given in made):
                found.append((text, macro.start(), None))
        for match in call.finditer(text.code):
            arguments = text.arguments(match.start()) if text.blocks(match.start()) else []
            if len(arguments) != 2 or plain.fullmatch(arguments[1]):
                continue
            key = key_of(arguments[0], None)
            names = {key}
            if key.startswith("?") and not key.startswith("?."):
                graph = graph or pointers.Pointers(texts)
                names = graph.meant(text, match.start(), arguments[0])
            found.append((text, match.start(), names))
    return found


def is_among(key: str, names: set[str] | None) -> bool:
    """Whether a lock may be one of those made; members are told apart by their own name alone."""
    last = key.rsplit(".", 1)[-1]
    return names is None or key.startswith("?") or last in {n.rsplit(".", 1)[-1] for n in names}


def possible(mutex: str, text: CText, at: int, keys: set[str], texts: dict) -> set[str]:
    """Which of these locks an expression at a place may mean."""
    key, names, owner = key_of(mutex, None), None, None
    if key.startswith("?."):
        owner = pointers.Pointers(texts).owner(text, at, mutex)
    elif key.startswith("?"):
        names = pointers.Pointers(texts).meant(text, at, mutex)
        if names is None:
            return keys
    last = {name.rsplit(".", 1)[-1] for name in names or {key}}
    found = {one for one in keys if one.rsplit(".", 1)[-1] in last}
    return {one for one in found if not owner or one in (f"{owner}.{key[2:]}", key)}


def _left_out(text: str, at: int) -> bool:
    """Whether `#if 0` governs a place."""
    depth = []
    for match in re.finditer(r"^[ \t]*#[ \t]*(if\w*|el\w+|endif)\b[ \t]*(\w*)", text[:at], re.M):
        word, what = match.groups()
        if word == "endif":
            depth[-1:] = []
        elif word.startswith("if"):
            depth.append(word == "if" and what == "0")
        elif depth:
            depth[-1] = False
    return any(depth)


def _resolve_pointers(found: list[Operation], texts: dict[str, CText], written: Written) -> None:
    """A mutex behind a pointer is what the program's assignments, calls and returns let it be."""
    graph = None
    for op in found:
        if op.key.startswith("?.") and op.call not in written.kept:
            graph = graph or pointers.Pointers(texts)
            owner = graph.owner(op.text, op.at, op.text.arguments(op.at)[0])
            op.key = f"{owner}.{op.key[2:]}" if owner else op.key
        mutex = (op.text.arguments(op.at) or [""])[0]
        graph = graph or pointers.Pointers(texts) if mutex.endswith("]") else graph
        if mutex.endswith("]") and graph.through_pointer(op.text, op.at, mutex):
            op.key = "?" + mutex.lstrip("& ")
        if not op.key.startswith("?") or op.key.startswith("?."):
            continue
        graph = graph or pointers.Pointers(texts)
        if op.call in written.kept:
            meant = graph.meant_in_function(op.call, written.kept[op.call][1])
        else:
            meant = graph.meant(op.text, op.at, op.text.arguments(op.at)[0])
        if meant and len(meant) == 1:
            op.key = next(iter(meant))
        elif meant:
            op.may = frozenset(meant)


def _merge_unknown_owners(found: list[Operation]) -> None:
    """A member of an unknown structure may be that of any: all of its name are one lock."""
    keys = {key for op in found for key in (op.key, *op.may)}
    unknown = {key[2:] for key in keys if key.startswith("?.")}

    def merged(key: str) -> str:
        last = key.rpartition(".")[2]
        return f"?.{last}" if "." in key and last in unknown else key

    for op in found:
        op.key, op.may = merged(op.key), frozenset(map(merged, op.may))
