"""Calls through pointers: whom they may call, where the pointer has a type of its own name. Then
the type can be declared safe, if all these functions are."""

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.callgraph import INDIRECT, CallGraph
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.wrappers import functions

_POINTER = re.compile(r"\btypedef\b[^;{}()]*\(\s*\*\s*(\w+)\s*\)\s*(\()")
_FUNCTION = re.compile(r"\btypedef\b[^;{}()]*?\b(\w+)\s*(\()")
_CALLEE = re.compile(r"\(?[\s*(]*(?:\w+\s*(?:->|\.)\s*)*?(\w+)\s*\)*\s*\(")


@dataclass(eq=False)
class PointerType:
    """A named type of functions, or of pointers to them."""

    name: str
    text: CText
    end: int  # behind the `)` of its parameters, where attributes go
    targets: list[str] = field(default_factory=list)  # titles of the call graph


def resolve(graph: CallGraph, texts: dict[str, CText]) -> list[PointerType]:
    """The types through which the program calls. Enters whom each such call may reach into
    `graph.indirect`: every function that has the type's parameters and is used without a call."""
    types = _types(texts)
    reached: dict[str, PointerType] = {}
    for calls in graph.calls.values():
        for call in calls:
            place = (call.file, call.line, call.column)
            if call.callee != INDIRECT or call.file not in texts or place in graph.indirect:
                continue
            kind = types.get(_type_at(texts, place, set(types)) or "")
            if kind:
                if kind.name not in reached:
                    kind.targets = _targets(kind, graph, texts)
                    reached[kind.name] = kind
                graph.indirect[place] = kind.targets
    return list(reached.values())


def _types(texts: dict[str, CText]) -> dict[str, PointerType]:
    """By name; those only that have one declaration."""
    found: dict[str, list[PointerType]] = {}
    for text in texts.values():
        for pattern in (_POINTER, _FUNCTION):
            for match in pattern.finditer(text.code):
                end = text.closing(match.start(2)) + 1
                if end and re.match(r"\s*;", text.code[end:]) and not text.blocks(match.start()):
                    one = PointerType(match.group(1), text, end)
                    found.setdefault(one.name, []).append(one)
    return {name: all_of[0] for name, all_of in found.items() if len(all_of) == 1}


def _type_at(texts: dict[str, CText], place: tuple[str, int, int], known: set[str]) -> str | None:
    """The name of the type that a call at a place goes through; of a macro's call, the place is
    the macro's."""
    text = texts[place[0]]
    match = _CALLEE.match(text.code, text.offset(place[1], place[2] - 1))
    around = [f for f in functions(text) if match and f[3] < match.start() < f[4]]
    if not around:
        return None
    _, _, parameters, opening, closing = around[0]
    body = text.code[opening:closing]
    direct = _type_of(match.group(1), parameters, body) or _member_type(texts, match.group(1))
    if direct in known:
        return direct
    called = _called_by_macro(texts, re.match(r"\w*", text.code[match.start() :]).group(), set())
    through = {_type_of(name, parameters, body) for name in called} & known
    return through.pop() if len(through) == 1 else None


def _type_of(name: str, parameters: list[str], body: str) -> str | None:
    """The type of a parameter or a local variable."""
    for declared in parameters:
        words = re.findall(r"\w+", declared)
        if words[-1:] == [name] and len(words) > 1:
            return words[-2]
    local = re.search(rf"[{{;]\s*(?:const\s+)?(\w+)[\s*]+{name}\s*[=;]", body)
    return local.group(1) if local else None


def _called_by_macro(texts: dict[str, CText], macro: str, seen: set[str]) -> set[str]:
    """The names that a macro's text calls, through further macros, too."""
    if macro in seen:
        return set()
    seen.add(macro)
    found = set()
    define = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+{macro}\b((?:[^\n\\]|\\\n|\\.)*)", re.M)
    for text in texts.values():
        for match in define.finditer(text.text):
            for name in re.findall(r"\b(\w+)\s*\(", match.group(1)):
                found |= {name} | _called_by_macro(texts, name, seen)
    return found


def _member_type(texts: dict[str, CText], name: str) -> str | None:
    """The type of the members of that name, if it is one."""
    found = set()
    for text in texts.values():
        for opening, closing in text.top_blocks():
            if re.search(r"\b(?:struct|union)\s*\w*\s*$", text.code[:opening]):
                declared = rf"[{{;]\s*(?:const\s+)?(\w+)[\s*]+{name}\s*;"
                found |= set(re.findall(declared, text.code[opening:closing]))
    return found.pop() if len(found) == 1 else None


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
