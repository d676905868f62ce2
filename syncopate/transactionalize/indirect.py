"""Calls through pointers: whom they may call, where the pointer has a type of its own name. Then
the type can be declared safe, if all these functions are."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from syncopate.transactionalize.callgraph import INDIRECT, Call, CallGraph
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.definitions import functions

_POINTER = re.compile(r"\btypedef\b[^;{}()]*\(\s*\*\s*(\w+)\s*\)\s*(\()")
_FUNCTION = re.compile(r"\btypedef\b[^;{}()]*?\b(\w+)\s*(\()")
_STRUCTURE = re.compile(r"\b(?:struct|union)\s*\w*\s*$")
_MEMBER = re.compile(r"[{;]\s*(?:const\s+)?(\w+)[\s*]+(\w+)\s*(?=;)")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\n|\\.)*)", re.M)
_SEMICOLON = re.compile(r"\s*;")
_BEGINS_THREAD = re.compile(  # pthread's, and what programs call theirs
    r"\b(?:\w*(?:thread|thrd)\w*(?:create|start|spawn|new)\w*"
    r"|\w*(?:create|start|spawn|new)\w*(?:thread|thrd)\w*|atexit)\s*\([^;{}]*$", re.I
)  # fmt: skip
_BEFORE_BRACE = 300  # characters, in which a structure's name stands
_CALLEE = re.compile(r"\(?[\s*(]*(?:\w+\s*(?:->|\.)\s*)*?(\w+)\s*\)*\s*\(")


@dataclass(eq=False)
class PointerType:
    """A named type of functions, or of pointers to them."""

    name: str
    text: CText
    end: int  # behind the `)` of its parameters, where attributes go
    targets: list[str] = field(default_factory=list)  # titles of the call graph


@dataclass
class _Names:
    """What names mean, wherever they are used."""

    types: dict[str, PointerType]
    members: dict[str, set[str]] = field(default_factory=dict)  # name -> types
    called: dict[str, set[str]] = field(default_factory=dict)  # macro -> names that it calls


def resolve(graph: CallGraph, texts: dict[str, CText], begun: list[Call]) -> list[PointerType]:
    """The types through which `begun`, or what these calls come to, calls. Enters whom each such
    call may reach into `graph.indirect`: every function that has the type's parameters and is used
    without a call."""
    names = _names(texts)
    through: dict[str, PointerType] = {}
    asked: set[tuple[str, int, int]] = set()
    while True:
        reached = graph.reached(begun)
        calls = [*begun, *(call for title in reached for call in graph.calls.get(title, []))]
        places = {(call.file, call.line, call.column) for call in calls if call.callee == INDIRECT}
        new = {place for place in places - asked if place[0] in texts}
        if not new:
            return list(through.values())
        asked |= new
        for place in sorted(new):
            kind = names.types.get(_type_at(texts, place, names) or "")
            if kind:
                if kind.name not in through:
                    kind.targets = _targets(kind, graph, texts)
                    through[kind.name] = kind
                graph.indirect[place] = kind.targets


def everywhere(graph: CallGraph, texts: dict[str, CText]) -> dict[tuple[str, int, int], list[str]]:
    """Whom each call through a pointer may reach: by its type, where that has a name; else every
    function that is used without a call, other than to begin a thread, and has parameters as the
    pointer is declared with, or as many as the call has arguments."""
    names, found = _names(texts), {}
    taken = _taken(graph, texts)
    targets = functools.cache(lambda kind: _targets(names.types[kind], graph, texts))
    levels = functools.cache(lambda: [t.level(0, len(t.code)) for t in texts.values()])
    of_macro = functools.cache(
        lambda macro: _through_macro(macro, names, taken, targets, levels(), texts)
    )
    calls = {c for made in graph.calls.values() for c in made if c.callee == INDIRECT}
    for place in sorted((c.file, c.line, c.column) for c in calls if c.file in texts):
        kind = names.types.get(_type_at(texts, place, names) or "")
        if kind:
            found[place] = targets(kind.name)
            continue
        text = texts[place[0]]
        match = _CALLEE.match(text.code, text.offset(place[1], place[2] - 1))
        if match and match[1] in names.called:
            found[place] = of_macro(match[1])
            continue
        shapes = _declared_shapes(match[1], texts) if match else set()
        count = len([a for a in text.arguments(match.end() - 1) if a]) if match else None
        found[place] = sorted(
            title for title, shape in taken.items()
            if (shape in shapes if shapes else count in (None, len(shape)))
        )  # fmt: skip
    return found


def _through_macro(macro: str, names: _Names, taken: dict, targets, levels, texts) -> list[str]:
    """Whom the global pointers may reach that a macro's text calls."""
    found = set()
    for name in _called_by_macro(names, macro, set()):
        declares = re.compile(rf"(?:^|[;}}])\s*(?:(?:extern|static)\s+)*(\w+)\s+{name}\s*[;=]")
        for level in levels:
            for match in declares.finditer(level):
                if match[1] in names.types:
                    found |= set(targets(match[1]))
        shapes = _declared_shapes(name, texts)
        found |= {title for title, shape in taken.items() if shape in shapes}
    return sorted(found)


def _taken(graph: CallGraph, texts: dict[str, CText]) -> dict[str, tuple]:
    """The functions that are used without a call, but to begin a thread; and their shapes."""
    shapes: dict[str, list[tuple[str, tuple]]] = {}
    for text in texts.values():
        for name, _, parameters, _, _ in functions(text):
            shapes.setdefault(name, []).append((text.path, _shape(parameters)))
    found = {}
    if not shapes:
        return found
    used = re.compile(rf"\b({'|'.join(sorted(shapes))})\b(?!\s*\()")
    titles: dict[str, list[str]] = {}
    for title in graph.defined:
        titles.setdefault(title.rpartition(":")[2], []).append(title)
    for text in texts.values():
        for match in used.finditer(text.code):
            if _BEGINS_THREAD.search(text.code, max(match.start() - 200, 0), match.start()):
                continue
            for path, shape in shapes[match[1]]:
                title = f"{path}:{match[1]}"
                known = titles.get(match[1], [])
                for one in [title] if title in known else known:
                    found[one] = shape
    return found


def _declared_shapes(name: str, texts: dict[str, CText]) -> set[tuple]:
    """The parameters of pointers to functions that are declared under a name."""
    declares = re.compile(rf"\(\s*\*\s*(?:const\s+)?{name}\s*(?:\[[^\]]*\]\s*)?\)\s*\(")
    return {
        _shape(text.arguments(match.end() - 1))
        for text in texts.values()
        for match in declares.finditer(text.code)
        if re.search(r"[\w*]\s*$", text.code[max(match.start() - 40, 0) : match.start()])
    }


def _names(texts: dict[str, CText]) -> _Names:
    names = _Names(_types(texts))
    for text in texts.values():
        for opening, closing in text.top_blocks():
            if _STRUCTURE.search(text.code[max(opening - _BEFORE_BRACE, 0) : opening]):
                for kind, name in _MEMBER.findall(text.code[opening:closing]):
                    names.members.setdefault(name, set()).add(kind)
        for macro, body in _DEFINE.findall(text.text):
            names.called.setdefault(macro, set()).update(re.findall(r"\b(\w+)\s*\(", body))
    return names


def _types(texts: dict[str, CText]) -> dict[str, PointerType]:
    """By name; those only that have one declaration."""
    found: dict[str, list[PointerType]] = {}
    for text in texts.values():
        for pattern in (_POINTER, _FUNCTION):
            for match in pattern.finditer(text.code):
                end = text.closing(match.start(2)) + 1
                if end and _SEMICOLON.match(text.code, end) and not text.blocks(match.start()):
                    one = PointerType(match.group(1), text, end)
                    found.setdefault(one.name, []).append(one)
    return {name: all_of[0] for name, all_of in found.items() if len(all_of) == 1}


def _type_at(texts: dict[str, CText], place: tuple[str, int, int], names: _Names) -> str | None:
    """The name of the type that a call at a place goes through; of a macro's call, the place is
    the macro's."""
    text = texts[place[0]]
    match = _CALLEE.match(text.code, text.offset(place[1], place[2] - 1))
    around = [f for f in functions(text) if match and f[3] < match.start() < f[4]]
    if not around:
        return None
    _, _, parameters, opening, closing = around[0]
    body = text.code[opening:closing]
    direct = _type_of(match.group(1), parameters, body)
    of_member = names.members.get(match.group(1), set())
    if not direct and len(of_member) == 1:
        (direct,) = of_member
    if direct in names.types:
        return direct
    macro = re.compile(r"\w*").match(text.code, match.start()).group()
    called = _called_by_macro(names, macro, set())
    through = {_type_of(name, parameters, body) for name in called} & set(names.types)
    return through.pop() if len(through) == 1 else None


def _type_of(name: str, parameters: list[str], body: str) -> str | None:
    """The type of a parameter or a local variable."""
    for declared in parameters:
        words = re.findall(r"\w+", declared)
        if words[-1:] == [name] and len(words) > 1:
            return words[-2]
    local = re.search(rf"[{{;]\s*(?:const\s+)?(\w+)[\s*]+{name}\s*[=;]", body)
    return local.group(1) if local else None


def _called_by_macro(names: _Names, macro: str, seen: set[str]) -> set[str]:
    """The names that a macro's text calls, through further macros, too."""
    if macro in seen:
        return set()
    seen.add(macro)
    found = set(names.called.get(macro, ()))
    for name in list(found):
        found |= _called_by_macro(names, name, seen)
    return found


def _targets(kind: PointerType, graph: CallGraph, texts: dict[str, CText]) -> list[str]:
    wanted = _shape(kind.text.arguments(kind.text.opening(kind.end - 1) - 1))
    candidates: dict[str, str] = {}  # name -> title
    for text in texts.values():
        for name, _, parameters, _, _ in functions(text):
            if _shape(parameters) == wanted:
                title = f"{text.path}:{name}"
                known = [t for t in graph.defined if t == name or t.endswith(":" + name)]
                candidates[name] = title if title in known else (known or [name])[0]
    if not candidates:
        return []
    used = re.compile(rf"\b({'|'.join(sorted(candidates))})\b(?!\s*\()")
    taken = {m.group(1) for text in texts.values() for m in used.finditer(text.code)}
    return sorted(candidates[name] for name in taken)


def _shape(parameters: list[str]) -> tuple:
    """The parameters' types, as far as their words tell."""
    found = []
    for one in parameters:
        words = [w for w in re.findall(r"\w+", one) if w not in ("const", "struct", "volatile")]
        if words in ([], ["void"]) and "*" not in one:
            continue
        found.append((words[0] if words else "", one.count("*") + one.count("[")))
    return tuple(found)
