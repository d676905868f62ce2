"""Condition variables: which can become tm_cond (syncopate/tm/condition.h), by which pattern.

A transaction sleeps when it has committed, so a wait may be the last thing on its path, or a loop
that is the first thing in the section, which then begins again:

    lock; while (P) wait; body; unlock
    again: transaction { if (P) { tm_cond_wait; goto again; } body }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from syncopate.transactionalize.ctext import CText, Edits
from syncopate.transactionalize.locks import key_of
from syncopate.transactionalize.sections import Section, governors
from syncopate.transactionalize.semantic import Fact

_WAITS = {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"}
_ONE = r"\w+\s*(?:=\s*PTHREAD_COND_INITIALIZER\s*)?"
_DECLARED = re.compile(rf"\bpthread_cond_t\s+({_ONE}(?:,\s*{_ONE})*);")


@dataclass(eq=False)
class Use:
    """One call of pthread_cond_*."""

    text: CText
    at: int
    call: str
    name: str  # of the condition variable: its last identifier
    function: str
    loop: int = -1  # where `while` stands, if the wait is all that a loop does
    member_of: str | None = None  # the structure that the mutex of a wait is in

    @property
    def line(self) -> int:
        return self.text.line(self.at)

    @property
    def waits(self) -> bool:
        return self.call in _WAITS

    @property
    def condition(self) -> str:
        return self.text.arguments(self.at)[0]

    def may_wait_on(self, key: str) -> bool:
        """Whether the mutex of this wait may be the lock `key`."""
        own = key_of(self.text.arguments(self.at)[1], self.member_of)
        if own.startswith("?"):
            return own.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]
        return key in (own, "?." + own.rsplit(".", 1)[-1])


def last_word(expression: str) -> str:
    words = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", expression))
    return words[-1] if words else expression


def uses(facts: list[Fact], texts: dict[str, CText]) -> list[Use]:
    loops = {(f.file, *f.to): f for f in facts if f.kind == "loop"}
    members = {(f.file, f.line, f.column): f.more["type"] for f in facts if f.kind == "member"}
    found = {}
    for fact in facts:
        if fact.kind == "condition":
            text = texts[fact.file]
            at = text.offset(fact.line, fact.column)
            if not text.code.startswith(fact.more["name"], at):
                continue  # in the definition of a macro, whose uses are written out
            name = last_word((text.arguments(at) or [""])[0])
            use = Use(text, at, fact.more["name"], name, fact.function)
            use.member_of = members.get((fact.file, fact.line, fact.column))
            loop = loops.get((fact.file, fact.line, fact.column))
            if loop:
                use.loop = text.offset(loop.line, loop.column)
            found[(fact.file, at)] = use
    return list(found.values())


def pattern(use: Use, section: Section) -> str | None:
    """Returns "loop" or "last", or None where the wait fits no pattern."""
    text = use.text
    if use.call != "pthread_cond_wait":
        return None
    end = text.call_end(use.at)
    if use.loop >= 0:
        return None if text.code[section.start : use.loop].strip() else "loop"
    inner = [opening for opening, _ in text.blocks(use.at) if opening >= section.start]
    inner.append(use.at)  # `while (x) if (y) wait;`
    if any(set(governors(text, opening)) & {"for", "while", "do"} for opening in inner):
        return None
    if re.fullmatch(r"\s*;[\s}]*", text.code[end : section.end]):
        return "last"
    return None


def used_otherwise(name: str, all_uses: list[Use], texts: dict[str, CText]) -> str | None:
    """`file:line` of a use that is neither declaration nor call, or None."""
    calls = {
        (use.text.path, use.text.call_end(use.at)): use.at for use in all_uses if use.name == name
    }
    for path, text in texts.items():
        spans = [(at, end) for (file, end), at in calls.items() if file == path]
        spans += [m.span() for m, known in _declarations(text) if name in known]
        for match in re.finditer(rf"\b{name}\b", text.code):
            if not any(a <= match.start() < b for a, b in spans):
                return f"{path}:{text.line(match.start())}"
    return None


def _declarations(text: CText) -> Iterator[tuple[re.Match, dict[str, bool]]]:
    """Where such variables are declared, and which: whether each has an initial value."""
    for match in _DECLARED.finditer(text.code):
        parts = (part.partition("=") for part in match[1].split(","))
        yield match, {name.strip(): bool(equals) for name, equals, _ in parts}


def write_declarations(names: set[str], texts: dict[str, CText], edits: dict[str, Edits]) -> None:
    for path, text in texts.items():
        for match, known in _declarations(text):
            if not names & known.keys():
                continue
            storage = re.search(r"(?:\b(?:static|extern)\s+)*$", text.code[: match.start()])[0]
            ours = _declared("tm_cond", "TM", known, names)
            others = known.keys() - names
            rest = _declared(f"{storage}pthread_cond_t", "PTHREAD", known, others)
            edits[path].replace(*match.span(), f"{ours} {rest}".rstrip())


def _declared(kind: str, prefix: str, known: dict[str, bool], names: Set[str]) -> str:
    value = f" = {prefix}_COND_INITIALIZER"
    parts = [name + value * is_set for name, is_set in known.items() if name in names]
    return f"{kind} {', '.join(parts)};" if parts else ""


def write(use: Use, edits: Edits, label: str, kind: str | None) -> None:
    """Rewrites one call; `kind` is the pattern of a wait, or "word" where it gives back a word."""
    text, what = use.text, use.condition
    if kind == "loop":
        opening = text.code.find("(", use.loop)
        behind = text.closing(opening) + 1
        stop = text.code.find(";", text.call_end(use.at)) + 1
        brace = re.compile(r"\s*\}").match(text.code, stop)
        braced = text.code[behind:].lstrip().startswith("{")
        end = brace.end() if braced and brace else stop
        # The condition between them may have edits of its own.
        edits.replace(use.loop, opening, "if ")
        edits.replace(behind, end, f" {{ tm_cond_wait({what}); goto {label}; }}")
        return
    own = text.before(use.at) in (";", "{", "}", ":", ")")
    by = {
        "pthread_cond_wait": f"tm_cond_wait({what})"
        if kind != "word"
        else f"tm_word_wait({what}, {text.arguments(use.at)[1]})",
        "pthread_cond_signal": f"tm_cond_signal({what})",
        "pthread_cond_broadcast": f"tm_cond_broadcast({what})",
        "pthread_cond_init": f"(*({what}) = (tm_cond)TM_COND_INITIALIZER)",
        "pthread_cond_destroy": "(void)0",
    }[use.call]
    edits.replace(use.at, text.call_end(use.at), by if own else f"({by}, 0)")
