"""Which operations on which locks a program has: wrappers seen through, locks told apart."""

import re
from dataclasses import dataclass

from syncopate.transactionalize import semantic
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.program import Program

LOCK, UNLOCK = "pthread_mutex_lock", "pthread_mutex_unlock"
TRYLOCK = "pthread_mutex_trylock"
_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w, \t]*)\)[ \t]+(\w+)\((.*)\)[ \t]*$", re.M
)
_WAITS_POLITELY = re.compile(
    r"\s*(sched_yield|pthread_yield|usleep|cpu_relax|_mm_pause)\s*\([^;]*\);"
)
_LEAVES = re.compile(  # the branch for failure: a jump, or a block that ends in one; no `else`
    r"\s*(?:\{[^{}]*?(?:return\b[^;{}]*|goto\s+\w+\s*|break\s*|continue\s*);\s*\}"
    r"|(?:return\b[^;{}]*|goto\s+\w+\s*|break\s*|continue\s*);)(?!\s*else\b)"
)
_REPEATS = re.compile(r"\bdo\b\s*(\{[^{}]*\}|[^;{}]*;)\s*$")  # up to its `while`
_MUTEX = re.compile(r"\bpthread_mutex_t\s*\**\s*(\w+)\s*(?:\[[^\]]*\]\s*)*[;=,]")
_ADDRESS = re.compile(r"(?<![\w)&\]])\s*&\s*((?:\w+(?:\[[^\]]*\])?(?:->|\.))*)(\w+)\b")
_CALL_LENGTH = 200  # of a call up to its mutex
_MUTEX_CALL = re.compile(r"\bpthread_(?:mutex|cond)_\w+\s*\((?:[^;{}]*,)?\s*$")


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

    @property
    def line(self) -> int:
        return self.text.line(self.at)


def expand_macros(texts: dict[str, str]) -> dict[str, str]:
    """The sources with macros that are nothing but a lock or an unlock written out."""
    macros: dict[str, tuple[list[str], str]] = {}
    known = {LOCK, UNLOCK}
    for _ in range(2):  # a macro of a macro
        for text in texts.values():
            for name, parameters, called, argument in _DEFINE.findall(text):
                if called in known:
                    words = [word.strip() for word in parameters.split(",") if word.strip()]
                    target = macros[called][1] if called in macros else called + "(%s)"
                    body = target.split("(")[0] + f"({argument})"
                    macros[name] = (words, body)
                    known.add(name)
    if not macros:
        return texts
    called = re.compile(r"\b(" + "|".join(macros) + r")\s*\(")
    return {path: _expand_in(CText(path, text), macros, called) for path, text in texts.items()}


def _expand_in(text: CText, macros: dict, called: re.Pattern) -> str:
    out, at = [], 0
    for match in called.finditer(text.code):
        if match.start() < at:
            continue
        parameters, body = macros[match.group(1)]
        for parameter, given in zip(parameters, text.arguments(match.start()), strict=False):
            body = re.sub(rf"\b{parameter}\b", lambda _, given=given: given, body)
        out += [text.text[at : match.start()], body]
        at = text.call_end(match.start())
    return "".join([*out, text.text[at:]])


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
    last = re.compile(r"\s*(?:!=\s*0\s*)?\)\s*;").match(text.code, text.call_end(at))
    if not begun or not last:
        return []
    if _WAITS_POLITELY.sub("", begun.group(1).strip("{}")).strip(" \n\t;"):
        return []
    lock = f"{LOCK}({text.arguments(at)[0]});"
    before, after = text.text[begun.start() : loop.start()], text.text[loop.start() : last.end()]
    if len(lock) > len(after) or "\n" in after or re.search(r"^[ \t]*#", before, re.M):
        return []
    return [(begun.start(), last.end(), re.sub(r"[^\n]", " ", before) + lock.ljust(len(after)))]


def find_wrappers(program: Program) -> dict[str, tuple[str, str]]:
    """Functions that only lock or unlock: name -> (kind, the mutex as they write it)."""
    found: dict[str, tuple[str, str]] = {}
    facts = program.facts("wrappers", LOCKS=[LOCK], UNLOCKS=[UNLOCK])
    for fact in facts:
        found[fact.function] = (
            {"locks": "lock", "unlocks": "unlock"}[fact.kind],
            fact.more["lock"],
        )
    return found


def names_of(wrappers: dict[str, tuple[str, str]]) -> dict[str, list[str]]:
    """What the patterns call LOCKS and UNLOCKS."""
    return {
        "LOCKS": [LOCK] + [name for name, (kind, _) in wrappers.items() if kind == "lock"],
        "UNLOCKS": [UNLOCK] + [name for name, (kind, _) in wrappers.items() if kind == "unlock"],
    }


def key_of(mutex: str, member_of: str | None) -> str:
    """The name of a lock: `name`, `type.member`, or `?...` where it is not known which one."""
    path = re.sub(r"\[[^\[\]]*(\[[^\[\]]*\][^\[\]]*)*\]", "", mutex.replace(" ", ""))
    match = re.fullmatch(r"\(*&\(*(.+?)\)*", path)
    if not match:
        return f"?{path}"
    words = re.split(r"->|\.", match.group(1))
    if len(words) == 1:
        return words[0] if words[0].isidentifier() else f"?{path}"
    owner = member_of.removeprefix("struct ") if member_of else "?"
    return f"{owner}.{words[-1]}"


def operations(
    facts: list[semantic.Fact], texts: dict[str, CText], wrappers: dict[str, tuple[str, str]]
) -> list[Operation]:
    """All operations, those inside of wrappers marked as inner ones."""
    member = {(f.file, f.line, f.column): f.more["type"] for f in facts if f.kind == "member"}
    found: dict[tuple, Operation] = {}
    for fact in facts:
        if fact.kind not in ("lock", "unlock", "trylock"):
            continue
        text = texts[fact.file]
        at = text.offset(fact.line, fact.column)
        if not text.blocks(at):
            continue  # a prototype
        name = fact.more["name"]
        if name in wrappers:
            key = key_of(wrappers[name][1], None)
        else:
            place = (fact.file, fact.line, fact.column)
            key = key_of((text.arguments(at) or [""])[0], member.get(place))
        inner = fact.function in wrappers
        found[(fact.file, at)] = Operation(fact.kind, text, at, fact.function, key, name, inner)
    _merge_unknown_owners(list(found.values()))
    _resolve_pointers(list(found.values()), texts)
    return sorted(found.values(), key=lambda op: (op.text.path, op.at))


def _resolve_pointers(found: list[Operation], texts: dict[str, CText]) -> None:
    """A mutex behind a pointer is the one whose address a pointer is given, if there is only one
    such lock in the program."""
    variables, members = set(), set()
    for text in texts.values():
        for match in _MUTEX.finditer(text.code):
            (members if text.blocks(match.start()) else variables).add(match.group(1))
    pointed = set()
    for text in texts.values():
        for match in _ADDRESS.finditer(text.code):
            names = members if match.group(1) else variables
            before = text.code[max(0, match.start() - _CALL_LENGTH) : match.start()]
            if match.group(2) in names and not _MUTEX_CALL.search(before):
                pointed.add(match.group(2))
    keys = {op.key for op in found if op.key.rsplit(".", 1)[-1] in pointed}
    if len(pointed) == len(keys) == 1:
        for op in found:
            if op.key.startswith("?") and not op.key.startswith("?."):
                op.key = min(keys)


def _merge_unknown_owners(found: list[Operation]) -> None:
    """A member of an unknown structure may be that of any: all of its name are one lock."""
    unknown = {op.key[2:] for op in found if op.key.startswith("?.")}
    for op in found:
        if "." in op.key and op.key.rsplit(".", 1)[1] in unknown:
            op.key = "?." + op.key.rsplit(".", 1)[1]
