"""Locks whose address goes to functions of others, which may lock them; and tries of a lock by who
holds it."""

from __future__ import annotations

import re

from syncopate.transactionalize.callgraph import CallGraph
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.effects import given
from syncopate.transactionalize.locks import Operation, key_of

_DO_NOT_LOCK = re.compile(
    r"pthread_\w+|__builtin_\w+|mem\w+|bzero|\w*printf|free|sizeof|\w*typeof\w*"
)
_PATH = r"&\s*\(*[A-Za-z_]\w*(?:\[[^\]]*\]|->\w+|\.\w+)*\)*"


def to_others(
    texts: dict[str, CText], keys: set[str], macros: set[str]
) -> list[tuple[str, CText, int, str]]:
    """Each lock of which a function that is not in these files gets the address: its name, where,
    and what is called."""
    own = {function[0] for text in texts.values() for function in functions(text)} | macros
    last = {key.rsplit(".", 1)[-1] for key in keys}
    found = []
    for text in texts.values():
        for _, _, _, opening, closing in functions(text):
            code = text.code[opening:closing]
            for match in re.finditer(
                rf"(?<=[(,])\s*(?:\([\w\s*]+\)\s*)?({_PATH})\s*(?=[,)])", code
            ):
                name = key_of(match[1], None).rsplit(".", 1)[-1]
                if name not in last:
                    continue
                called = {one for one, _ in given(code[: match.end() + 1], re.escape(match[1]))}
                others = {c for c in called if c not in own and not _DO_NOT_LOCK.fullmatch(c)}
                found += [(name, text, opening + match.start(1), one) for one in sorted(others)]
    return found


def within_itself(plan, tried: set[tuple[str, int]], calls_in, graph: CallGraph) -> list[Operation]:
    """Tries that are written as sections where the same lock is held already, by the section around
    them or by one that calls their function: as transactions, they would succeed."""
    locks = [s.lock for s in plan.formed if (s.lock.text.path, s.lock.at) in tried]
    found = []
    for lock in locks:
        for section in plan.formed:
            if section.lock is lock or section.lock.key != lock.key or not lock.key.isidentifier():
                continue
            reached = {graph.name(title) for title in graph.reached(calls_in(section, graph))}
            if section.holds(lock.text.path, lock.at) or lock.function in reached:
                found.append(lock)
                break
    return found
