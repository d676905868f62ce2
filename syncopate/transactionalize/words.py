"""Volatile variables and atomic increments that transactions touch become plain variables, and
each access to them outside of sections a transaction of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from syncopate.transactionalize.ctext import CText, Edits
from syncopate.transactionalize.declared import declarations
from syncopate.transactionalize.sections import governors
from syncopate.transactionalize.semantic import Fact

_VOLATILE = re.compile(
    r"(?:^|(?<=[;}]))\s*(?:extern\s+|static\s+)?(volatile\s+)[\w\s]*?\b(\w+)\s*(?:=[^;]*)?;"
)
_ATOMIC = re.compile(r"\b__(?:sync|atomic)_(?!synchronize\b|thread_fence\b)[a-z]\w*")
_ADDS = re.compile(r"__(?:sync|atomic)_(?:fetch_(?:and_)?(?:add|sub)|(?:add|sub)_(?:and_)?fetch)")
_ELSE = re.compile(r"\b(?:else|do)\s*$")
_STORE = re.compile(r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)")


@dataclass(eq=False)
class Place:
    """A use of a variable, or an atomic operation on it."""

    text: CText
    at: int
    function: str
    name: str
    operation: str = ""  # the atomic built-in

    @property
    def line(self) -> int:
        return self.text.line(self.at)


def volatile_globals(texts: dict[str, CText]) -> dict[str, list[tuple[CText, int, int]]]:
    """name -> where `volatile ` stands in its declarations."""
    found: dict[str, list] = {}
    for text in texts.values():
        for match in _VOLATILE.finditer(text.level(0, len(text.code))):
            found.setdefault(match.group(2), []).append((text, *match.span(1)))
    return found


def places(facts: list[Fact], texts: dict[str, CText]) -> list[Place]:
    found = {}
    for fact in facts:
        text = texts[fact.file]
        at = text.offset(fact.line, fact.column)
        if fact.kind == "use" and text.blocks(at):
            found[(fact.file, at)] = Place(text, at, fact.function, fact.more["name"])
        elif fact.kind == "atomic":
            target = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[.*?\]", "", text.arguments(at)[0]))
            found[(fact.file, at)] = Place(
                text, at, fact.function, target[-1] if target else "?", fact.more["name"]
            )
    return list(found.values())


def is_local(place: Place) -> bool:
    """Whether what is used there by a name is a function's own variable or parameter."""
    text = place.text
    blocks = text.blocks(place.at)
    if not blocks:
        return False
    name = re.compile(rf"\b{place.name}\b")
    begins = max(text.code.rfind(end, 0, blocks[0][0]) for end in ";}") + 1
    if name.search(text.code, begins, blocks[0][0]):
        return True
    return any(
        v.name == place.name and text.block(one.start) in blocks and "extern" not in one.words
        for one in declarations(text, blocks[0][0], place.at)
        for v in one.variables
    )


def is_through_a_pointer(place: Place) -> bool:
    """Whether an atomic operation changes something that no name tells."""
    pointer = place.text.arguments(place.at)[0].strip()
    if not pointer.startswith("&"):
        return True
    return not re.search(r"->|\.", pointer) and is_local(place)


def other_atomics(texts: dict[str, CText]) -> str:
    """An atomic operation that becomes no transaction, as "FUNCTION is used"; or ""."""
    for text in texts.values():
        for match in _ATOMIC.finditer(text.code):
            if not _ADDS.fullmatch(match[0]):
                return f"{match[0]} is used"
    return ""


def write_atomic(place: Place, edits: Edits) -> None:
    """`__sync_fetch_and_add(&x, n)` becomes a transaction."""
    text, at = place.text, place.at
    pointer, amount, *_ = text.arguments(at)
    target = pointer[1:].strip() if pointer.startswith("&") else f"*({pointer})"
    sign = "-" if "sub" in place.operation else "+"
    undo = "+" if sign == "-" else "-"
    change = f"{target} {sign}= ({amount})"
    semicolon = re.compile(r"\s*;").match(text.code, text.call_end(at))
    if semicolon and (text.before(at) in (";", "{", "}", ":") or governors(text, at)):
        edits.replace(at, semicolon.end(), f"__transaction_atomic {{ {change}; }}")
    elif re.search("fetch_(and_)?(add|sub)", place.operation):
        edits.replace(at, text.call_end(at), f"__transaction_atomic (({change}) {undo} ({amount}))")
    else:
        edits.replace(at, text.call_end(at), f"__transaction_atomic ({change})")


def refusal(place: Place) -> str | None:
    """Why an access cannot be a transaction of its own, or None."""
    text, end = place.text, place.at + len(place.name)
    left = text.code[: place.at].rstrip()
    if (
        left.endswith("&")
        and not left.endswith("&&")
        and not re.search(r"(?<!return)[\w\]]\s*&$", left)
    ):
        return "its address is taken"
    if _is_store(place):
        stop = text.code.find(";", end)
        if re.search(r"\w\s*\(", text.code[end:stop]):
            return "what is stored calls functions"
    elif _STORE.match(text.code, end) or left.endswith(("++", "--")):
        return "it is stored within an expression"
    return None


def _is_store(place: Place) -> bool:
    """Whether `x = ...;` is a statement of its own."""
    text = place.text
    begins = text.before(place.at) in (";", "{", "}", ")") or _ELSE.search(
        text.code, max(place.at - 100, 0), place.at
    )
    return bool(begins and _STORE.match(text.code, place.at + len(place.name)))


def plain_members(atomics: list[Place], texts: dict[str, CText], in_section) -> list[Place]:
    """Where members that atomic operations change are used without one, outside of sections."""
    members = {
        p.name for p in atomics if re.search(r"(->|\.)\s*\w+\)*$", p.text.arguments(p.at)[0])
    }
    found = []
    for text in texts.values():
        spans = [(p.at, p.text.call_end(p.at)) for p in atomics if p.text is text]
        for match in re.finditer(r"(?:->|\.)\s*(\w+)\b", text.code):
            place = Place(text, match.start(1), "", match.group(1))
            if place.name in members and not any(a <= place.at < b for a, b in spans):
                found.append(place)
    return [place for place in found if not in_section(place)]


def write_accesses(found: list[Place], edits: dict[str, Edits]) -> None:
    """Wraps uses, none of them refused, into transactions."""
    stored: list[tuple[CText, int, int]] = []
    for place in sorted(found, key=lambda p: (p.text.path, p.at)):
        text, end = place.text, place.at + len(place.name)
        if any(t is text and a <= place.at < b for t, a, b in stored):
            continue  # within a statement that is a transaction already
        if _is_store(place):
            stop = text.code.find(";", end) + 1
            edits[text.path].insert(place.at, "__transaction_atomic { ")
            edits[text.path].insert(stop, " }")
            stored.append((text, place.at, stop))
        else:
            edits[text.path].replace(place.at, end, f"__transaction_atomic ({place.name})")
