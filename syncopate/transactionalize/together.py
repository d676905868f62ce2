"""The paper's branch IT: locks that would be words become sections of transactions, where functions
of their own take them, give them back, and try them. All locks of such a family are then one: their
sections are transactions, which need not know which lock it was; and a try succeeds, since it
stands in a transaction already, to which what it protects belongs.

The sources are changed before the analysis: calls of these functions become operations on one mutex
that is nowhere defined, and is gone when all its sections are transactions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, Edits, behind_includes
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.lockcalls import LOCK, TRYLOCK, UNLOCK
from syncopate.transactionalize.locks import Operation

_DECLARATION = re.compile(r"(?:const\s+)?(?:struct\s+)?\w+[\s*]+\w+\s*(?:=[^;]*)?;")
_KEYWORDS = re.compile(r"\b(?:if|else|return)\b")


@dataclass
class Family:
    """The functions over some locks: name -> the kind of operation that each is."""

    keys: set[str]
    kinds: dict[str, str]

    @property
    def name(self) -> str:
        return f"{re.sub(r'[^A-Za-z0-9_]', '_', min(self.keys))}_as_one"

    @property
    def declaration(self) -> str:
        return f"extern pthread_mutex_t {self.name};\n"


@dataclass
class Together:
    """Sources in which families are one lock each."""

    texts: dict[str, str]
    families: list[Family] = field(default_factory=list)

    def cleaned(self, texts: dict[str, str]) -> dict[str, str]:
        """What was written, without the declarations of mutexes that are no more."""
        for family in self.families:
            texts = {name: text.replace(family.declaration, "") for name, text in texts.items()}
        return texts


def find(ops: list[Operation], texts: dict[str, CText], keys: set[str]) -> list[Family]:
    """The families among the locks `keys`, by all operations of the program."""
    homes = {f[0]: (text, *f) for text in texts.values() for f in functions(text)}
    by_function: dict[str, set[tuple[str, str]]] = {}
    for op in ops:
        if op.call in (LOCK, UNLOCK, TRYLOCK):
            of = op.may or {op.key}
            by_function.setdefault(op.function, set()).update((op.kind, key) for key in of)
    helpers = {
        name: next(iter(what))[0]
        for name, what in by_function.items()
        if len({kind for kind, _ in what}) == 1
        and {key for _, key in what} <= keys
        and name in homes
        and _does_nothing_else(homes[name][0].code[homes[name][4] + 1 : homes[name][5]])
    }
    touched = {name: {key for _, key in what} for name, what in by_function.items()}
    eligible = {
        key for key in keys if all(n in helpers for n, all_of in touched.items() if key in all_of)
    }
    found: list[Family] = []
    for name, kind in helpers.items():
        if not touched[name] <= eligible:
            continue
        own = [f for f in found if f.keys & touched[name]]
        merged = Family(set(touched[name]), {name: kind})
        for family in own:
            merged.keys |= family.keys
            merged.kinds |= family.kinds
            found.remove(family)
        found.append(merged)
    return [f for f in found if {"lock", "unlock"} <= set(f.kinds.values())]


def _does_nothing_else(body: str) -> bool:
    """Whether a function's body has nothing but one of these operations on each path."""
    if re.search(r"\b(?:for|while|do|goto|switch)\b", body):
        return False
    for statement in re.findall(r"[^;{}]*;", body):
        plain = re.sub(r"^\s*(?:(?:else\b|if\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))\s*)*", "",
                       statement)  # fmt: skip
        operation = re.fullmatch(r"\s*\w*(?:lock|LOCK)\w*\s*\(.*\)\s*;", plain, re.S)
        if not (operation or _KEYWORDS.match(plain.strip()) or _DECLARATION.match(plain.strip())):
            return False
    return True


def rewrite(before: dict[str, str], families: list[Family]) -> Together | None:
    """The sources with these families as one lock each. None where a use is not understood."""
    texts = {name: CText(name, text) for name, text in before.items()}
    edits = {name: Edits() for name in before}
    for family in families:
        names = "|".join(sorted(family.kinds))
        gives_try = _gives_what_try_took(family, texts)
        if gives_try is None:
            return None
        for text in texts.values():
            spans = {f[0]: f for f in functions(text)}
            uses = 0
            for match in re.finditer(rf"\b({names})\b(\s*\()?", text.code):
                name, at = match.group(1), match.start()
                around = [f for f in spans.values() if f[3] < at < f[4]]
                if not match.group(2):
                    return None  # its address
                kind = family.kinds[name]
                if kind == "trylock" or name in gives_try:
                    continue
                if around:
                    by = LOCK if kind == "lock" else UNLOCK
                    edits[text.path].replace(at, text.call_end(at), f"{by}(&{family.name})")
                    uses += 1
                else:
                    _remove(text, at, edits[text.path])
            for name, kind in family.kinds.items():
                of_try = name in spans and (kind == "trylock" or name in gives_try)
                if of_try and not _always_succeeds(text, spans[name], kind, edits):
                    return None
            if uses:
                edits[text.path].insert(behind_includes(text.text), family.declaration)
    return Together({n: edits[n].apply(t) for n, t in before.items()}, families)


def _gives_what_try_took(family: Family, texts: dict[str, CText]) -> set[str] | None:
    """The functions that give back what a try took: each call's argument is the variable that the
    result went to, in the same function. None where a try's result goes elsewhere."""
    tries = [name for name, kind in family.kinds.items() if kind == "trylock"]
    given = set()
    for text in texts.values():
        for _, _, _, opening, closing in functions(text):
            body = text.code[opening:closing]
            for name in tries:
                called = len(re.findall(rf"\b{name}\s*\(", body))
                kept = re.findall(rf"\b(\w+)\s*=\s*{name}\s*\(", body)
                if called != len(kept):
                    return None
                for variable in kept:
                    given |= {
                        other
                        for other, kind in family.kinds.items()
                        if kind == "unlock"
                        and re.search(rf"\b{other}\s*\(\s*{variable}\s*\)", body)
                    }
    if tries and not given:
        return None
    return given


def _remove(text: CText, name_at: int, edits: Edits) -> None:
    """A declaration or a definition, with its line."""
    back = max(text.code.rfind(c, 0, name_at) for c in ";}")
    start = re.compile(r"\s*").match(text.code, back + 1).end()
    end = text.call_end(name_at)
    rest = re.compile(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?([;{])").match(text.code, end)
    if rest:
        stop = rest.end() if rest.group(1) == ";" else text.closing(rest.end() - 1) + 1
        stop = re.compile(r"[ \t]*\n|").match(text.code, stop).end()
        edits.replace(start, stop, "")


def _always_succeeds(text: CText, function: tuple, kind: str, edits: dict[str, Edits]) -> bool:
    _, _, parameters, opening, closing = function
    if kind == "trylock":
        match = re.search(rf"\b{TRYLOCK}\s*\(", text.code[opening:closing])
        if not match:
            return False
        at = opening + match.start()
        edits[text.path].replace(at, text.call_end(at), "0 /* within a transaction */")
        return True
    argument = re.findall(r"\w+", parameters[0])[-1]
    edits[text.path].replace(
        opening, closing + 1, f"{{\n    (void){argument}; /* within a transaction */\n}}"
    )
    return True


def tries_outside(plan, texts: dict[str, CText], families: list[Family]) -> str | None:
    """`file:line` of a try, or of what gives it back, that stands in no transaction; or None."""
    for family in families:
        names = [n for n, kind in family.kinds.items() if kind == "trylock"]
        gives = _gives_what_try_took(family, texts) or set()
        if not names:
            continue
        for text in texts.values():
            for match in re.finditer(rf"\b({'|'.join([*names, *gives])})\s*\(", text.code):
                inside = any(s.runs(text.path, match.start()) for s in plan.sections())
                if text.blocks(match.start()) and not inside:
                    return f"{text.path}:{text.line(match.start())}"
    return None
