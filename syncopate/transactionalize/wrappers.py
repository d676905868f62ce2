"""Locks behind other names: macros, macros over macros, functions that do nothing else, constant
tables of function pointers. Their calls are written out as calls of pthread's functions, for the
analysis, and so are other names of the types; where the lock stays a lock, the source keeps what it
said (Written.original)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, without_comments
from syncopate.transactionalize.definitions import MACRO, functions
from syncopate.transactionalize.lockcalls import (
    LIKE_MUTEX,
    LOCK,
    PTHREAD,
    TRYLOCK,
    TYPES,
    Names,
    Template,
    bare,
    declarations_of,
    plain,
)
from syncopate.transactionalize.macros import Macros
from syncopate.transactionalize.wrapped import (
    checked_operation,
    is_tried,
    operation_of,
    unwrapped,
)

_TABLE = re.compile(
    r"\b(?:const\s+(?:struct\s+)?(\w+)|(?:struct\s+)?(\w+)\s+const)\s+(\w+)\s*=\s*\{"
)
_TABLE_POINTER = re.compile(r"\*\s*const\s+(\w+)\s*=\s*&\s*(\w+)\s*;")
_CONST_POINTER = re.compile(r"\(\s*\*\s*const\s+(\w+)\s*\)\s*\([^;=]*\)\s*=\s*&?\s*(\w+)\s*;")


_PLACE = re.compile(  # a path to a variable or a member, whose name is the group
    r"\(*\s*&?\s*(?:\(*\w+\)*(?:\[\w+\])?\s*(?:->|\.)\s*)*(\w+)(?:\[\w+\])?\s*\)*"
)
_INITIAL_VALUE = re.compile(r"\{.*?\}|=[^,]*", re.S)
# Of locks that check for mistakes, or whose owner may have died, the result matters.
_MAY_FAIL = re.compile(
    r"\w*ERRORCHECK\w*|\bpthread_mutexattr_set(?:robust|protocol)\w*|\bEDEADLK\b"
)
_HANDLER = re.compile(  # what a thread that is cancelled calls, with its argument
    r"\bpthread_cleanup_push\s*\(\s*(?:\([\s\w*()]*\)\s*)?&?\s*(\w+)\s*,"
)
_NEVER_FAILS = r"pthread_(?:(?:mutex|spin)_(?:un)?lock|rwlock_(?:rdlock|wrlock|unlock))\s*\("
_TYPEDEF = re.compile(r"\btypedef\s+(\w+)\s+(\w+)\s*;")


@dataclass
class Substitution:
    """In the text that is worked on, [start, end) says `by`; in the file it says `was`."""

    start: int
    end: int
    by: str
    was: str


@dataclass
class Written:
    texts: dict[str, str] = field(default_factory=dict)
    original: dict[str, list[Substitution]] = field(default_factory=dict)
    inlined: set[str] = field(default_factory=set)  # functions whose calls are written out
    # Functions that stay: name -> ("lock" or "unlock", the mutex as they write it)
    kept: dict[str, tuple[str, str]] = field(default_factory=dict)
    # Where a function is named without a call: file, line, function, and the mutex that it gets.
    pointers: list[tuple[str, int, str, str | None]] = field(default_factory=list)
    names: Names | None = None


def write_out(texts: dict[str, str], active_macros) -> Written:
    """The sources with such calls written out. `active_macros()` are the definitions that hold for
    the compiler, name -> the line behind #define; asked where a name has several."""
    sources = {path: CText(path, text) for path, text in texts.items()}
    written, names = Written(), Names()
    macros = Macros(texts, active_macros)
    understood: set[tuple[str, int]] = set()  # where a function's address stands in a constant
    while True:  # a macro over a function over a macro
        again = [_learn_macros(macros, names)]
        again += [_learn_functions(text, names, written, macros) for text in sources.values()]
        again += [_learn_constants(text, names, sources, understood) for text in sources.values()]
        if not any(again):
            break
    types = _types(sources, active_macros)
    results = not any(_MAY_FAIL.search(text.code) for text in sources.values())
    other_names = _Variables(sources, active_macros)
    for path, text in sources.items():
        variables = other_names.of(path)
        uses = macros.checks(text, names) | macros.bare_names(text, names)
        stands_for = {at: f"{one.function}({one.mutex})" for at, one in uses.items()}
        stands_for |= macros.declarations(text, types)
        written.texts[path], written.original[path] = _write(
            text, names.of_file(path), types, variables, results, stands_for
        )
    written.names = names
    known = {name: True for name in (*PTHREAD, *LIKE_MUTEX)}
    for name in (*written.inlined, *written.kept):
        of = names.get("", name)
        known[name] = bool(of and of.parameters and of.mutex in (of.parameters[0], name))
    written.pointers = [
        place for text in sources.values() for place in _addresses(text, known, understood)
    ]
    return written


def _types(sources: dict[str, CText], active_macros) -> dict[str, str]:
    """Other names of the types of locks and condition variables, by macro and typedef."""
    meanings: dict[str, set[str]] = {}
    for text in sources.values():
        for name, parameters, body in MACRO.findall(without_comments(text.text)):
            meanings.setdefault(name, set()).add("" if parameters else body.strip())
        for meant, name in _TYPEDEF.findall(text.code):
            meanings.setdefault(name, set()).add(meant)
    known = {name: name for name in TYPES}
    while True:
        new: dict[str, str] = {}
        for name, all_of in meanings.items():
            if name in known or not all_of & known.keys():
                continue
            active = active_macros().get(name, "").removeprefix(name).strip()
            meant = active if len(all_of) > 1 else next(iter(all_of))
            if meant in known:
                new[name] = known[meant]
        if not new:
            return {name: by for name, by in known.items() if name not in TYPES}
        known |= new


class _Variables:
    """Other names for locks and condition variables, by macro: of those, or of members, that are
    declared."""

    def __init__(self, sources: dict[str, CText], active_macros):
        declares, self._declared = declarations_of(*TYPES), set()
        for text in sources.values():
            for match in declares.finditer(text.code):
                self._declared |= set(re.findall(r"\w+", _INITIAL_VALUE.sub("", match[1])))
        self._own = {path: _objects(text) for path, text in sources.items()}
        self._bodies: dict[str, set[str]] = {}
        for path in sources:
            for name, body in self._own[path]:
                self._bodies.setdefault(name, set()).add(body)
        self._active = active_macros

    def of(self, path: str) -> dict[str, str]:
        """Those of a file. Its own definition holds, else the only one, else the compiler's."""
        bodies = self._bodies | {name: {body} for name, body in self._own[path]}
        several = {name for name, all_of in bodies.items() if len(all_of) > 1}
        active = self._active() if several or not self._bodies else {}
        meant = {}
        for name, all_of in bodies.items():
            body = next(iter(all_of))
            if name in several:
                body = active.get(name, name).removeprefix(name).strip()
            place = _place(body)
            if place and place != name:
                meant[name] = (body, place)
        found: dict[str, str] = {}
        while True:
            new = {
                name: _renamed(body, found)
                for name, (body, place) in meant.items()
                if name not in found and (place in self._declared or place in found)
            }
            if not new:
                return found
            found |= new


@functools.cache
def _place(body: str) -> str | None:
    """The variable or member that a macro's body is a path to."""
    match = _PLACE.fullmatch(body)
    return match[1] if match else None


def _objects(text: CText) -> list[tuple[str, str]]:
    """The macros without parameters that a file defines."""
    return [
        (match[1], match[3].strip())
        for match in MACRO.finditer(without_comments(text.text))
        if match[2] is None
    ]


# ---- what names mean ------------------------------------------------------------------------


def _learn_macros(macros: Macros, names: Names) -> bool:
    new = False
    for name, definitions in macros.definitions.items():
        meanings = {_meaning(*one, names, macros) for one in definitions}
        if len(meanings) > 1 and any(meanings):
            meanings = {_meaning(*one, names, macros) for one in macros.active(name)}
        for template in meanings - {None}:
            new |= names.add("", name, template)
    return new


def _meaning(words: tuple[str, ...], body: str, names: Names, macros: Macros) -> Template | None:
    body = unwrapped(body)
    checked = checked_operation(body + ";", "", names)
    if checked:
        return Template(checked.function, words, checked.mutex)
    negated = body.startswith("!")
    body = unwrapped(body[negated:])
    if body.isidentifier():  # another name for it
        return names.get("", body) if not words and not negated else None
    call = CText("", body)
    match = re.match(r"(\w+)\s*\(", body)
    if not match or call.call_end(0) != len(body):
        return None
    given = [bare(argument) for argument in call.arguments(0)]
    known = names.get("", match.group(1))
    if not known:
        within = None if negated else macros.operation(match.group(1), given, "", names)
        return within and Template(within.function, words, within.mutex, within.negated)
    return Template(known.function, words, known.over(given), known.negated != negated)


def _learn_functions(text: CText, names: Names, written: Written, macros: Macros) -> bool:
    new = False
    for name, head, parameters, opening, closing in functions(text):
        body = text.code[opening + 1 : closing].strip()
        template = operation_of(body, text.path, names) or macros.statement(body, text.path, names)
        if not template or name in PTHREAD:
            continue
        own = tuple((re.findall(r"\w+", p) or [""])[-1] for p in parameters)
        mutex = re.fullmatch(r"\(*(\w+)\)*|\(*&\(*(\w+)\)*(?:(?:->|\.)\w+)+\)*", template.mutex)
        root = mutex and (mutex.group(1) or mutex.group(2))
        typed = root in own and "void" not in parameters[own.index(root)]
        is_static = re.search(r"\bstatic\b", head) and not text.path.endswith(".h")
        visible = mutex and (mutex.group(1) or is_static or text.path.endswith(".h"))
        exact = template.function != TRYLOCK or is_tried(body)
        if typed and visible and exact:
            scope = text.path if is_static else ""
            written.inlined.add(name)
            known = Template(template.function, own, template.mutex, template.negated)
            new |= names.add(scope, name, known)
        elif template.function != TRYLOCK:
            kind = "lock" if template.function == LOCK else "unlock"
            new |= written.kept.get(name) != (kind, template.mutex)
            written.kept[name] = (kind, template.mutex)
            names.add("", name, Template(name, own, ", ".join(own)))  # for macros over it
    return new


def _learn_constants(text: CText, names: Names, sources: dict, understood: set) -> bool:
    """Constant pointers to such functions, alone and in tables, under names like `table.member`."""
    new = False
    for match in _CONST_POINTER.finditer(text.code):
        known = names.operation(text.path, match.group(2))
        if known:
            understood.add((text.path, match.start(2)))
            new |= names.add(text.path, match.group(1), known)
    tables: dict[str, dict[str, Template]] = {}
    for match in _TABLE.finditer(text.code):
        members = _members(sources, match.group(1) or match.group(2))
        inner = text.code[match.end() : text.closing(match.end() - 1)]
        at = match.end()
        for number, entry in enumerate(inner.split(",")):
            start, at = at, at + len(entry) + 1
            named = re.fullmatch(r"\s*(?:\.\s*(\w+)\s*=\s*)?&?\s*(\w+)\s*", entry)
            known = names.operation(text.path, named.group(2)) if named else None
            member = named and (named.group(1) or dict(enumerate(members)).get(number))
            if known and member:
                understood.add((text.path, start + named.start(2)))
                tables.setdefault(match.group(3), {})[member] = known
                new |= names.add(text.path, f"{match.group(3)}.{member}", known)
    for match in _TABLE_POINTER.finditer(text.code):
        for member, known in tables.get(match.group(2), {}).items():
            new |= names.add(text.path, f"{match.group(1)}->{member}", known)
    return new


def _members(sources: dict[str, CText], structure: str) -> list[str]:
    """The members of a structure, in order."""
    head = rf"\bstruct\s+{structure}\s*\{{|\bstruct\s*\w*\s*\{{[^{{}}]*\}}\s*{structure}\s*;"
    found = [(text, m) for text in sources.values() for m in re.finditer(head, text.code)]
    if len(found) != 1:
        return []
    text, match = found[0]
    opening = text.code.find("{", match.start())
    found = []
    for declaration in text.code[opening + 1 : text.closing(opening)].split(";"):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", declaration)
        words = re.findall(r"\w+", re.sub(r"\[.*?\]", "", declaration))
        found += [pointer.group(1)] if pointer else words[-1:]
    return found


# ---- writing --------------------------------------------------------------------------------


def _write(
    text: CText, known: dict[str, Template], types: dict[str, str], variables: dict[str, str],
    results: bool, stands_for: dict[int, str],
) -> tuple[str, list[Substitution]]:  # fmt: skip
    """`results`: whether what locks return can only be 0. `stands_for`: what macros around calls,
    or for declarations, come to, by where they stand."""
    known = {**PTHREAD, **known}
    spelt = [
        re.sub(r"(\\\.|\\?->|->)", r"\\s*\1\\s*", re.escape(name))
        for name in sorted(known, key=len, reverse=True)
    ]
    patterns = [rf"(?<![\w.>])({'|'.join(spelt)})\s*\("]
    macros = {re.compile(r"\w+").match(text.code, at)[0] for at in stands_for}
    patterns += [rf"(?P<macro>\b(?:{'|'.join(sorted(macros)) or '(?!)'})\b)"]
    patterns += [rf"(?<![\w.>])(?<!struct )(?:{'|'.join(sorted(types))})\b"] if types else []
    patterns += [rf"\b(?:{'|'.join(sorted(variables))})\b"] if variables else []
    calls = "|".join([*spelt, "pthread_cond_\\w+"])
    void = r"(?P<ignored>\([ \t]*void[ \t]*\)[ \t]*)"
    patterns.append(rf"(?<=[;{{}}:)])(?:\s*){void}(?=(?:{calls})\s*\()")
    stored = r"(?P<stored>(?:int[ \t]+)?\w+[ \t]*=[ \t]*)" if results else "(?P<stored>(?!))"
    patterns.append(rf"(?<=[;{{}}:])(?:\s*){stored}(?={_NEVER_FAILS})")
    out, at, length, all_of = [], 0, 0, []
    for match in re.finditer("|".join(patterns), text.code):
        start = match.start()
        if match["ignored"] is not None:  # a call whose result is said not to matter
            start, end, by = match.start("ignored"), match.end(), ""
            if not text.blocks(start):
                continue
        elif match["stored"] is not None:  # it is 0, of a transaction as of a lock
            start, end, by = match.start("stored"), match.end(), f"{match['stored']}0; "
            if not _is_statement(text, start, end):
                continue
        elif match["macro"] is not None:
            if start < at or start not in stands_for:
                continue
            opening = re.compile(r"\s*\(").match(text.code, match.end())
            end = text.call_end(start) if opening else match.end()
            by = stands_for[start]
            by = _renamed(by, variables) if text.blocks(start) else by
        elif match.group() in types:
            end, by = match.end(), types[match.group()]
            if match.start() < at or _is_named_here(text, match.start()):
                continue
        elif match.group() in variables:
            end, by = match.end(), variables[match.group()]
            if match.start() < at or not text.blocks(match.start()):
                continue
        else:
            end = text.call_end(match.end() - 1)
            if match.start() < at or end < 0 or not text.blocks(match.start()):
                continue
            template = known[re.sub(r"\s", "", match.group(1))]
            given = text.arguments(match.end() - 1)
            if len(given) < len(template.parameters):
                continue  # another function of that name
            given = [_renamed(plain(argument), variables) for argument in given]
            by = f"{template.function}({_renamed(template.over(given), variables)})"
            by = f"!{by}" if template.negated else by
            if by == text.text[start:end]:
                continue
        was = text.text[start:end]
        by = by[:-1] + "\n" * (was.count("\n") - by.count("\n")) + by[-1:]  # lines stay
        length += start - at
        out += [text.text[at:start], by]
        all_of.append(Substitution(length, length + len(by), by, was))
        length += len(by)
        at = end
    return "".join([*out, text.text[at:]]), all_of


def _is_statement(text: CText, start: int, call_at: int) -> bool:
    """Whether `x = call(...);` is a statement, not a part of a for's head."""
    block, end = text.block(start), text.call_end(call_at)
    level = text.code[block[0] + 1 : start]
    ends = end > 0 and re.compile(r"\s*;").match(text.code, end)
    return bool(ends and block[0] >= 0 and level.count("(") == level.count(")"))


def _renamed(argument: str, names: dict[str, str]) -> str:
    """With other names of locks written out."""
    return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), argument)


def _is_named_here(text: CText, at: int) -> bool:
    """Whether the name at an offset is what a typedef makes."""
    before = text.code[text.code.rfind(";", 0, at) + 1 : at]
    made = re.search(r"\btypedef\b[^{}]*\S\s*$", before) and re.match(r"\w+\s*;", text.code[at:])
    return bool(made)


def _addresses(text: CText, known: dict[str, bool], understood: set) -> list[tuple]:
    """Where a function that locks is used without a call, but in constants that are understood.
    `known`: whether it locks its first argument."""
    handlers = {}
    for match in _HANDLER.finditer(text.code):
        given = text.arguments(match.start())
        if text.blocks(match.start()) and len(given) == 2:
            handlers[match.end(1)] = given[1]
    found = []
    for match in re.finditer(rf"\b({'|'.join(sorted(known))})\b(?!\s*\()", text.code):
        if (text.path, match.start()) not in understood and not _is_variable(text, match):
            mutex = handlers.get(match.end()) if known[match[1]] else None
            found.append((text.path, text.line(match.start()), match[1], mutex))
    return found


def _is_variable(text: CText, match: re.Match) -> bool:
    """Whether the function that a name stands in declares a variable of that name."""
    around = text.blocks(match.start())
    body = text.code[slice(*around[0])] if around else ""
    return bool(re.search(rf"[{{;]\s*(?:struct\s+)?\w+[\s*]+{match.group(1)}\s*[=;,]", body))
