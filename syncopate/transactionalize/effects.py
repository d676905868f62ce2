"""What functions and macros of the program do besides giving a value: whether an expression may be
left out, and whether a function keeps an address that it is given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, without_comments
from syncopate.transactionalize.definitions import MACRO, functions

_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_NO_CALL = {"if", "while", "for", "switch", "return", "sizeof", "defined", "__attribute__"}
_ONLY_COMPUTE = {"abs", "strlen", "pthread_self", "__builtin_expect", "likely", "unlikely"}
_CHANGES = re.compile(
    r"(?:\+\+|--)\s*([\w.>\[\]*(-]+)|([\w.\])>*-]+)\s*(?:\+\+|--"
    r"|(?:[-+*/%&|^]|<<|>>)?(?<![=!<>])=(?!=))"
)
_CAST = r"(?:\([\w\s*]+\)\s*)?"
_HAS_USES = re.compile(r"[(\[*]|->")


@dataclass
class Effects:
    """Answers for the files given."""

    # Of each function or macro its parameters and its body.
    bodies: dict[str, list[tuple[list[str], str]]] = field(default_factory=dict)
    macros: set[str] = field(default_factory=set)

    def changes(self, expression: str) -> bool:
        """Whether evaluating an expression may do more than to give its value."""
        if _CHANGES.search(expression):
            return True
        return any(not self._only_computes(n, set()) for n in _called(expression))

    def _only_computes(self, name: str, seen: set[str]) -> bool:
        if name in _ONLY_COMPUTE or name in seen:
            return True
        seen.add(name)
        return name in self.bodies and all(
            not re.search(r"\b(?:asm|__asm__|volatile)\b", body)
            and not any(_is_shared(m, parameters, body) for m in _CHANGES.finditer(body))
            and all(self._only_computes(n, seen) for n in _called(body))
            for parameters, body in self.bodies[name]
        )

    def keeps(self, name: str, index: int, seen: set | None = None) -> bool:
        """Whether a function may store its argument, an address, for others to find."""
        seen = seen if seen is not None else set()
        if name in self.macros:
            return True  # it is not looked at where they store
        if (name, index) in seen:
            return False
        seen.add((name, index))
        return any(
            index < len(parameters) and self._is_kept(parameters[index], body, seen)
            for parameters, body in self.bodies.get(name, ())
        )

    def _is_kept(self, name: str, body: str, seen: set) -> bool:
        inside = rf"(?:&\s*{name}\s*->[\w.]+|(?<![\w.>&]){name})\b(?!\s*(?:->|\.|\[|\())"
        if re.search(rf"(?<![=!<>])=(?!=)\s*{_CAST}{inside}\s*[;,)}}]", body):
            return True
        return any(self.keeps(*place, seen) for place in given(body, inside))

    def outlives(self, address: str, code: str, after: str) -> bool:
        """Whether what `code` calls may keep what a pattern finds, for what stands behind it."""
        if not _HAS_USES.search(after):
            return False
        return any(self.keeps(*place) for place in given(code, address))


def of(texts: dict[str, CText]) -> Effects:
    found = Effects()
    for text in texts.values():
        for name, _, parameters, opening, closing in functions(text):
            own = [(re.findall(r"\w+", one) or [""])[-1] for one in parameters]
            found.bodies.setdefault(name, []).append((own, text.code[opening:closing]))
        for macro in MACRO.finditer(without_comments(text.text)):
            if macro[2] is not None:
                own = [one.strip(" \\\n") for one in macro[2].split(",")]
                found.bodies.setdefault(macro[1], []).append((own, macro[3]))
                found.macros.add(macro[1])
    return found


def given(code: str, what: str) -> list[tuple[str, int]]:
    """Whom a stretch of code calls with an argument that a pattern finds, and which it is."""
    found = []
    for match in re.finditer(rf"(?<=[(,])\s*{_CAST}{what}\s*(?=[,)])", code):
        depth, index, at = 0, 0, match.start() - 1
        while at >= 0 and not (depth == 0 and code[at] == "("):
            depth += (code[at] == ")") - (code[at] == "(")
            index += depth == 0 and code[at] == ","
            at -= 1
        called = re.search(r"([A-Za-z_]\w*)\s*$", code[: max(at, 0)])
        if called and called[1] not in _NO_CALL:
            found.append((called[1], index))
    return found


def _called(code: str) -> set[str]:
    return set(_CALL.findall(code)) - _NO_CALL


def _is_shared(match: re.Match, parameters: list[str], body: str) -> bool:
    """Whether what is changed is more than a variable of the function's own."""
    target = (match[1] or match[2]).lstrip("(*") if match[2] else match[1]
    if not re.fullmatch(r"[A-Za-z_]\w*", target or "") or (match[2] or "").startswith("*"):
        return True
    if target in parameters:
        return False
    declared = rf"[{{;(]\s*(?:const\s+)?(?:struct\s+)?(?:unsigned\s+)?\w+[\s*]+{target}\s*[=;,\[]"
    of_static = rf"\bstatic\b[^;]*\b{target}\s*[=;,\[]"
    return not re.search(declared, body) or bool(re.search(of_static, body))
