"""Functions that run when a signal comes: in the middle of whatever their thread does, of a
transaction, too. They cannot begin one: what they write would go where the interrupted one's writes
do, and be taken back with them."""

from __future__ import annotations

import re

from syncopate.transactionalize.callgraph import Call, CallGraph
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.definitions import functions

_INSTALLS = re.compile(
    r"\bsa_(?:handler|sigaction)\b|\b\w*(?:signal|sigaction|sigset|SIGNAL)\w*\s*\("
)
_PARAMETERS = (  # of a handler; the words that its parameters are made of
    re.compile(r"(?:const\s+)?int(?:\s+\w+)?(?:\s+\w+)?"),
    re.compile(
        r"int(?:\s+\w+)?\s*,\s*(?:struct\s+)?siginfo(?:_t)?\s*\*\s*\w*\s*,\s*void\s*\*\s*\w*"
    ),
)


def reached(graph: CallGraph, texts: dict[str, CText]) -> set[str]:
    """The functions that handle signals, by name, and what these call: in a program that installs
    handlers, each that has a handler's parameters and is used without a call."""
    if not any(_INSTALLS.search(text.code) for text in texts.values()):
        return set()
    shaped = {
        name
        for text in texts.values()
        for name, head, parameters, _, _ in functions(text)
        if re.search(r"\bvoid\s*$", head) and _handles(", ".join(parameters))
    }
    used = re.compile(rf"\b({'|'.join(sorted(shaped)) or '(?!)'})\b(?!\s*\()")
    taken = {match[1] for text in texts.values() for match in used.finditer(text.code)}
    titles = [t for t in graph.defined if graph.name(t) in taken]
    below = graph.reached([Call(title, "", 0, 0) for title in titles])
    return taken | {graph.name(title) for title in below}


def _handles(parameters: str) -> bool:
    return any(shape.fullmatch(parameters.strip()) for shape in _PARAMETERS)
