"""What macros expand to; and those that check what a call of a function that locks returns, as in
`CHECK(pthread_mutex_lock(&m));`."""

from __future__ import annotations

import re

from syncopate.transactionalize.ctext import CText, without_comments
from syncopate.transactionalize.definitions import MACRO
from syncopate.transactionalize.lockcalls import PTHREAD, TRYLOCK, TYPES, Names, Template, bare
from syncopate.transactionalize.wrapped import CALL, checked_operation, unwrapped

_UNDEFINED = re.compile(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.M)
_IN_BRACKETS = [  # a call; one that is compared, of which nothing is negated
    re.compile(rf"(?<!\w)(?<!\w )\(\s*({CALL})\s*\)(?!\s*[\w(])"),
    re.compile(rf"(?<![\w!])(?<!\w )\(\s*({CALL}\s*[!=]=\s*0)\s*\)(?!\s*[\w(])"),
]
_IS_FALSE = re.compile(rf"!\s*\(\s*(?:!\s*({CALL})|({CALL})\s*==\s*0)\s*\)")
_USED = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(\s*!?\s*\(*\s*([A-Za-z_]\w*)\s*\(")
_STATEMENT = re.compile(r"(?<=[;{}:])\s*([A-Za-z_]\w*)(?=\s*;)")
_DECLARES = re.compile(r"(?<=[;{}\n])[ \t]*\b([A-Za-z_]\w*)\s*\(\s*(\w+)\s*\)(?=\s*;)")
_TYPED = re.compile(r"\s*(\w+)\s*\(?\s*(\w+)\s*\)?\s*")
_LEVELS = 4  # of macros over macros

Definition = tuple[tuple[str, ...], str]  # a macro's parameters, and its body


def nowhere_defined(names, texts, active: dict[str, str]) -> set[str]:
    """Of macros those that only what the compiler leaves out defines: for other systems. There, the
    name may be a function's."""
    undefined = {name for text in texts for name in _UNDEFINED.findall(text)}
    return set(names) - active.keys() - undefined


class Macros:
    """The macros of a program, name -> its definitions in these files."""

    def __init__(self, texts: dict[str, str], active_macros):
        self._active = active_macros
        self.definitions: dict[str, set[Definition]] = {}
        for text in texts.values():
            for name, parameters, body in MACRO.findall(without_comments(text)):
                self.definitions.setdefault(name, set()).add(_definition(parameters, body))
        for name in nowhere_defined(self.definitions, texts.values(), active_macros()):
            del self.definitions[name]

    def active(self, name: str) -> set[Definition]:
        """The definition that holds for the compiler."""
        line = self._active().get(name)
        match = MACRO.match(f"#define {line}") if line is not None else None
        return {_definition(match.group(2) or "", match.group(3))} if match else set()

    def _holds(self, name: str) -> Definition | None:
        known = self.definitions.get(name, set())
        return next(iter(known if len(known) == 1 else self.active(name)), None)

    def operation(self, name: str, given: list[str], path: str, names: Names) -> Template | None:
        """The one operation that a macro's use comes to, whose arguments have the call."""
        for _ in range(_LEVELS):
            macro = self._holds(name)
            if name == "assert" and "NDEBUG" not in self._active():
                macro = ("it",), "if (!(it)) abort()"
            if not macro or len(macro[0]) != len(given):
                return None
            body = _plain(unwrapped(_expanded(macro, given)))
            found = checked_operation(body + ";", path, names) or _called(body, path, names)
            if found:
                return found
            call = re.match(r"(\w+)\s*\(", body)
            if not call or CText("", body).call_end(0) != len(body):
                return None
            name, given = call[1], [bare(one) for one in CText("", body).arguments(0)]
        return None

    def statement(self, body: str, path: str, names: Names) -> Template | None:
        """The same for a function's body that is such a use."""
        use = CText("", re.sub(r"^return\b\s*", "", body).rstrip("; \t\n"))
        match = re.match(r"(\w+)\s*\(", use.code)
        if not match or use.call_end(0) != len(use.code) or match[1] in ("if", "while"):
            return None
        found = self.operation(match[1], use.arguments(0), path, names)
        return found if found and found.function in PTHREAD else None

    def checks(self, text: CText, names: Names) -> dict[int, Template]:
        """Where a file has such uses as statements, and what each comes to."""
        found = {}
        for match in _USED.finditer(text.code):
            if names.get(text.path, match[1]) or not names.get(text.path, match[2]):
                continue
            if text.blocks(match.start()) and text.statement_end(match.start()) > 0:
                given = text.arguments(match.start())
                known = self.operation(match[1], given, text.path, names)
                if known:
                    found[match.start()] = known
        return found

    def declarations(self, text: CText, types: dict[str, str]) -> dict[int, str]:
        """Where a file has macros that declare locks or condition variables, and what they say.
        `types`: other names of these types."""
        known, found = types | {name: name for name in TYPES}, {}
        for match in _DECLARES.finditer(text.code):
            macro = self._holds(match[1]) if match[1] in self.definitions else None
            body = _TYPED.fullmatch(macro[1]) if macro and len(macro[0]) == 1 else None
            if body and body[2] == macro[0][0] and body[1] in known:
                found[match.start(1)] = f"{known[body[1]]} {match[2]}"
        return found

    def bare_names(self, text: CText, names: Names) -> dict[int, Template]:
        """Where a file has macros for such calls, without brackets, as statements."""
        found = {}
        for match in _STATEMENT.finditer(text.code):
            known = names.get("", match[1]) if match[1] in self.definitions else None
            if known and not known.parameters and text.blocks(match.start(1)):
                found[match.start(1)] = known
        return found


def _called(body: str, path: str, names: Names) -> Template | None:
    """The operation where a call of it is all."""
    match = re.fullmatch(CALL, body, re.S)
    known = names.get(path, match[1]) if match else None
    if not known or known.function == TRYLOCK or known.negated:
        return None
    given = [bare(one) for one in CText("", match[2]).arguments(0)]
    return Template(known.function, (), known.over(given))


def _definition(parameters: str, body: str) -> Definition:
    words = tuple(word for word in re.split(r"[\s,\\]+", parameters) if word)
    return words, body.replace("\\\n", " ")


def _expanded(definition: Definition, given: list[str]) -> str:
    """A macro's body for these arguments. What it makes a string of is one, whatever it says."""
    parameters, body = definition
    by = dict(zip(parameters, given))
    body = re.sub(r"#\s*(\w+)", lambda m: '""' if m[1] in by else m[0], body)
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: by.get(m[0], m[0]), body)


def _plain(body: str) -> str:
    """Without brackets around calls, which macros have around what they are given."""
    known = None
    while known != body:
        known = body
        body = _IS_FALSE.sub(lambda m: f"{m[1] or m[4]} != 0", body)
        for brackets in _IN_BRACKETS:
            body = brackets.sub(r"\1", body)
    return body
