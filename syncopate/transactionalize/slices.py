"""What of a file Coccinelle is given to read: not the functions, and for patterns that follow paths
not the statements, in which nothing can match and nothing leaves. The time it takes grows faster
than the length of a path. Every line and column stays where it is."""

from __future__ import annotations

import re

from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.declared import declarations
from syncopate.transactionalize.definitions import Function, functions

_HEAD = re.compile(r"(?:if|while|for|switch)\b")
_ELSE = re.compile(r"\s*else\b")
_WHILE = re.compile(r"\s*while\b")
_LEAVES = re.compile(r"\b(?:return|goto|case|default|asm|__asm__|__asm)\b|[;{}:]\s*\w+\s*:(?!:)")
_LEAVES_BLOCK = re.compile(r"\b(?:break|continue)\b")
_LABEL = re.compile(r"\s*(?:case\b[^:;{}]*|\w+\s*):(?!:)")
_DIRECTIVE = re.compile(r"^[ \t]*#", re.M)
_ENDLESS = re.compile(r"while\s*\(\s*\w*\s*\)|for\s*\([^;]*;\s*\w*\s*;")
_BARE_NAME = re.compile(r"^[ \t]*[A-Z_][A-Z0-9_]*[ \t]*$", re.M)  # a macro for statements
_MACRO = re.compile(r"\w+(?:\(([^()]*)\))?(.*)", re.S)
_ATTRIBUTE = re.compile(
    r"\b(?:__attribute(?:__)?|__declspec)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_FOLLOW_PATHS = {"sections"}  # patches


def of(patch: str, text: CText, wanted: re.Pattern) -> str:
    """What a semantic patch is to read of a file for places with a word that `wanted` finds."""
    return (of_paths if patch in _FOLLOW_PATHS else without_other_functions)(text, wanted)


def plain(sliced: str, blind: list[Function], macros: dict[str, str]) -> str:
    """A slice in which these functions are without macros for statements, and their heads without
    those for attributes or for nothing, also around a type. `macros`: name -> its definition from
    the name on."""
    text, spans = CText("", sliced), []
    for name, head, _, opening, closing in blind:
        spans += [m.span() for m in _BARE_NAME.finditer(sliced, opening, closing)]
        start = text.code.rindex(name, 0, text.opening(text.last_before(opening))) - len(head)
        for word in re.compile(r"\w+").finditer(text.code, start, start + len(head)):
            spans += _attribute(text, word, _MACRO.match(macros.get(word.group(), "")))
    return _blank(sliced, spans)


def _attribute(text: CText, word: re.Match, macro: re.Match | None) -> list[tuple[int, int]]:
    """Where a word of a head, with its arguments, says nothing but attributes."""
    if not macro:
        return []
    end = word.end() if macro[1] is None else text.call_end(word.end())
    rest = _ATTRIBUTE.sub("", macro[2]).strip()
    if not rest:
        return [(word.start(), end)]
    if rest == (macro[1] or "").strip():  # its argument, a type
        return [(word.start(), text.code.find("(", word.end()) + 1), (end - 1, end)]
    return []


def without_other_functions(text: CText, wanted: re.Pattern) -> str:
    """The file, in which functions that `wanted` is not found in have empty bodies."""
    spans = [
        (opening + 1, closing)
        for _, _, _, opening, closing in functions(text)
        if not wanted.search(text.code, opening, closing)
        and text.conditional_directives_balance(opening, closing)
    ]
    return _blank(text.text, spans)


def of_paths(text: CText, wanted: re.Pattern) -> str:
    """The same, in which the other functions have no statements but those with such a word, those
    that leave, what is around these, and declarations."""
    spans: list[tuple[int, int]] = []
    for _, _, _, opening, closing in functions(text):
        if wanted.search(text.code, opening, closing):
            spans += _Slice(text, wanted, opening, closing).spans
    return _blank(without_other_functions(text, wanted), spans)


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    out, at = [], 0
    for start, end in sorted(spans):
        out += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join([*out, text[at:]])


class _Slice:
    """What is blank in one function."""

    def __init__(self, text: CText, wanted: re.Pattern, opening: int, closing: int):
        self.text, self.code, self.wanted = text, text.code, wanted
        self.spans: list[tuple[int, int]] = []
        self._declared = {d.start for d in declarations(text, opening + 1, closing)}
        self._block(opening, closing)

    def _block(self, opening: int, closing: int) -> None:
        at = opening + 1
        while at < closing and self.code[at:closing].strip():
            end = self._statement(at, closing, alone=False)
            if end < 0:
                return  # a macro for the head of a block, say: the rest of this one stays
            at = end

    def _statement(self, start: int, limit: int, alone: bool) -> int:
        """Blanks what it can of the statement from an offset on; returns where it ends, or -1. One
        that is the `alone` body of another keeps its semicolon."""
        while label := _LABEL.match(self.code, start, limit):
            if "?" in label.group():
                return -1
            start = label.end()
            alone = True
        start = re.compile(r"\s*").match(self.code, start, limit).end()
        end = self._end(start, limit)
        if end < 0:
            return -1
        if start not in self._declared and self._is_plain(start, end):
            self.spans.append((start, end - alone if self.code[end - 1] == ";" else end))
            if alone and self.code[end - 1] == "}":  # it stays a block, which is empty
                self.spans[-1:] = []
                self._inside(start, end)
            return end
        self._inside(start, end)
        return end

    def _inside(self, start: int, end: int) -> None:
        """The statements that stand in one which stays."""
        if self.code[start] == "{":
            self._block(start, end - 1)
        elif re.compile(r"do\b").match(self.code, start):
            self._statement(start + 2, end, alone=True)
        elif head := _HEAD.match(self.code, start):
            body = self.text.call_end(head.end())
            after = self._statement(body, end, alone=True)
            otherwise = _ELSE.match(self.code, after, end) if after > 0 else None
            if otherwise:
                self._statement(otherwise.end(), end, alone=True)

    def _end(self, start: int, limit: int) -> int:
        """Where the statement from an offset on ends; -1 where it is not like C's."""
        if start >= limit:
            return -1
        if self.code[start] == "{":
            return self.text.closing(start) + 1 or -1
        if re.compile(r"do\b").match(self.code, start):
            body = self._end(self._behind_blanks(start + 2), limit)
            loop = _WHILE.match(self.code, body, limit) if body > 0 else None
            return self._simple(loop.end(), limit) if loop else -1
        head = _HEAD.match(self.code, start)
        if not head:
            return self._simple(start, limit)
        behind = self.text.call_end(head.end())
        body = self._end(self._behind_blanks(behind), limit) if behind > 0 else -1
        otherwise = _ELSE.match(self.code, body, limit) if body > 0 else None
        if otherwise and head.group() == "if":
            return self._end(self._behind_blanks(otherwise.end()), limit)
        return body

    def _behind_blanks(self, at: int) -> int:
        while label := _LABEL.match(self.code, at):
            at = label.end()
        return re.compile(r"\s*").match(self.code, at).end()

    def _simple(self, start: int, limit: int) -> int:
        """Behind the semicolon; -1 where a block comes first that is no initial value."""
        at = start
        while at < limit:
            if self.code[at] == ";":
                return at + 1
            if self.code[at] == "{" and self.text.before(at) not in ("=", ")", ",", "("):
                return -1
            if self.code[at] == "{" and self.text.before(at) == ")" and at > start:
                return -1
            if self.code[at] in "([{":
                at = self.text.closing(at)
                if at < 0:
                    return -1
            elif self.code[at] in ")]}":
                return -1
            at += 1
        return -1

    def _is_plain(self, start: int, end: int) -> bool:
        code = self.code[start:end]
        if self.wanted.search(code) or _LEAVES.search(code) or code == ";":
            return False
        if _DIRECTIVE.search(self.text.text, start, end):
            return False
        if _LEAVES_BLOCK.search(code) and not re.match(r"(?:for|while|do)\b", code):
            return False
        return not _ENDLESS.search(code)
