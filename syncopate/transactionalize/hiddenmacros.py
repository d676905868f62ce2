"""Macros that do more with a lock than one operation: a whole section, a `for` around one, a lock
and a count. Coccinelle does not see what they do where they are used, and wrappers.py does not
write it out; so the locks and condition variables that they mean stay as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, without_comments
from syncopate.transactionalize.definitions import MACRO
from syncopate.transactionalize.lockcalls import LOCK, TIMED, Template, bare
from syncopate.transactionalize.macros import nowhere_defined
from syncopate.transactionalize.wrappers import Written

_WORD = re.compile(r"\b([A-Za-z_]\w*)(\s*\()?")
_WAITS = ("pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait")


@dataclass(frozen=True)
class Use:
    """Where such a macro is used, and what it means there; "": what is not known."""

    file: str
    line: int
    macro: str
    mutex: str | None
    condition: str | None


@dataclass
class _Macro:
    definitions: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)
    does: set[Template] = field(default_factory=set)


def find(sources: dict[str, CText], written: Written, names, active_macros) -> list[Use]:
    """All uses, with these meanings of names (wrappers.write_out)."""
    macros = _definitions(sources, active_macros())
    macros = {name: macro for name, macro in macros.items() if names.get("", name) is None}
    while True:
        before = sum(len(macro.does) for macro in macros.values())
        for macro in macros.values():
            for file, parameters, body in macro.definitions:
                macro.does |= _does(CText(file, body), parameters, macros, written, names)
        if before == sum(len(macro.does) for macro in macros.values()):
            break
    hidden = {name: macro.does for name, macro in macros.items() if macro.does}
    return [use for text in sources.values() for use in _uses(text, hidden)]


def _definitions(sources: dict[str, CText], active: dict[str, str]) -> dict[str, _Macro]:
    """Of each macro its only definition; of several, or of none in these files, the one that holds
    for the compiler."""
    found: dict[str, _Macro] = {}
    for path, text in sources.items():
        for match in MACRO.finditer(without_comments(text.text)):
            _add(found, path, match)
    for name in nowhere_defined(found, [text.text for text in sources.values()], active):
        del found[name]
    for name, line in active.items():
        match = MACRO.match(f"#define {line}")
        if match and (name not in found or len(found[name].definitions) > 1):
            found[name] = _Macro()
            _add(found, "", match)
    return found


def _add(found: dict[str, _Macro], path: str, match: re.Match) -> None:
    parameters = tuple(word for word in re.split(r"[\s,\\]+", match.group(2) or "") if word)
    body = match.group(3).replace("\\\n", " ")
    found.setdefault(match.group(1), _Macro()).definitions.append((path, parameters, body))


def _does(body: CText, parameters: tuple[str, ...], macros, written, names) -> set[Template]:
    """The operations in a definition, with what they are of in terms of its parameters."""
    found = set()
    for match in _WORD.finditer(body.code):
        name, called = match.groups()
        given = [bare(argument) for argument in body.arguments(match.start())] if called else []
        known = names.get(body.path, name)
        if called and (known.function if known else name) in TIMED:
            found.add(Template(LOCK, parameters, (given or [""])[0]))
        elif name in written.kept or (known and known.function in written.kept):
            found.add(Template(LOCK, parameters, ""))
        elif known and called:
            found.add(Template(known.function, parameters, known.over(given)))
        for one in macros[name].does if name in macros else ():
            found.add(Template(one.function, parameters, one.over(given)))
    return found


def _uses(text: CText, hidden: dict[str, set[Template]]) -> list[Use]:
    found = []
    for match in _WORD.finditer(text.code):
        name, called = match.groups()
        if name not in hidden or not text.blocks(match.start()):
            continue
        given = [bare(argument) for argument in text.arguments(match.start())] if called else []
        for one in sorted(hidden[name], key=lambda one: (one.function, one.mutex)):
            of = one.over(given)
            mutex, condition = of, None
            if one.function.startswith("pthread_cond_"):
                condition, *more = CText("", f"f({of})").arguments(0) or [""]
                mutex = (more or [""])[0] if one.function in _WAITS else None
            found.append(Use(text.path, text.line(match.start()), name, mutex, condition))
    return found
