"""What a file defines: functions and macros, as they are written."""

from __future__ import annotations

import re

from syncopate.transactionalize.ctext import CText

MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([\w\s,\\]*)\))?((?:[^\n\\]|\\\n|\\.)*)", re.M
)


Function = tuple[str, str, list[str], int, int]


def functions(text: CText) -> list[Function]:
    """(name, head, parameters, { and }) of each function that a file defines."""
    if text.functions is None:
        text.functions = list(_functions(text))
    return text.functions


def _functions(text: CText):
    at = 0
    while True:
        opening = text.code.find("{", at)
        closing = text.closing(opening) if opening >= 0 else -1
        if closing < 0:
            return
        at = closing + 1
        last = text.last_before(opening)
        begun = text.opening(last) if text.code[last : last + 1] == ")" else -1
        end = text.last_before(begun) + 1 if begun >= 0 else 0
        start = end
        while start > 0 and (text.code[start - 1].isalnum() or text.code[start - 1] == "_"):
            start -= 1
        if start < end:
            back = max(text.code.rfind(c, 0, start) for c in ";}")
            parameters = [p.strip() for p in text.code[begun + 1 : last].split(",")]
            head = text.code[back + 1 : start]
            yield text.code[start:end], head, parameters, opening, closing
