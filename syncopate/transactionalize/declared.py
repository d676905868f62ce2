"""Which variables a stretch of a function declares, and how these can be declared before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, without_comments

_BEGINS = re.compile(r"(?:^|(?<=[;{}]))\s*(?=[A-Za-z_])")
_WORD = re.compile(r"\s*([A-Za-z_]\w*)")
_NO_TYPE = {
    "return", "goto", "else", "case", "do", "break", "continue", "if", "while", "for", "switch",
    "default", "sizeof", "asm", "__asm__", "__asm", "_Static_assert", "static_assert",
    "__extension__",
}  # fmt: skip
_IN_BRACKETS = {"__attribute__", "__attribute", "_Alignas", "alignas"}
_TYPEOF = {"typeof", "__typeof__", "__typeof"}
_QUALIFIERS = r"(?:const|volatile|restrict|__restrict(?:__)?|_Atomic)\b"
_STORED = {"static", "extern", "typedef", "_Thread_local", "__thread"}
_CONSTANT_SIZE = re.compile(r"\s*[\dA-Z_][\dA-Z_xU]*\s*")


@dataclass
class Variable:
    name: str
    value: int  # where the = of its initial value stands, or -1
    is_array: bool
    is_constant: bool  # cannot be assigned to
    is_function: bool = False  # no variable at all


@dataclass
class Declaration:
    """One statement that declares; `start` is where its first word stands, `stop` behind its ;."""

    text: CText
    start: int
    stop: int = -1
    words: list[str] = field(default_factory=list)  # of the type
    variables: list[Variable] = field(default_factory=list)

    @property
    def line(self) -> int:
        return self.text.line(self.start)

    @property
    def whole(self) -> str:
        """As written, on one line."""
        plain = without_comments(self.text.text[self.start : self.stop])
        return re.sub(r"\s*\n\s*", " ", plain)

    def moved_out(self) -> tuple[int, int, str, str] | None:
        """What becomes of it where it goes before the transaction: the place that is replaced, what
        is declared before, and what stays there. None where it cannot."""
        if _STORED & set(self.words) or self.variables[0].is_function:
            return self.start, self.stop, self.whole, ""
        one, *more = self.variables
        constant = any(v.is_constant for v in self.variables)
        declarators = self.text.level(self.start, self.stop)
        if all(v.value < 0 for v in self.variables) and self._has_constant_sizes() and not constant:
            return self.start, self.stop, self.whole, ""
        if any(v.is_array or v.is_function for v in self.variables) or one.value < 0:
            return None
        if "__auto_type" in self.words or ((more or constant) and "*" in declarators):
            return None
        braces = [v.name for v in self.variables if self._value(v).startswith("{")]
        if (more and braces) or re.search(r"\)\s*\{", self.text.code[self.start : self.stop]):
            return None  # a compound literal does not outlive the block that it stands in
        # The initial values stay where they are, as assignments: `int x = 1, y = x;` is
        # `x = 1, y = x;` there.
        declared = without_comments(self.text.text[self.start : one.value]).rstrip()
        if constant:
            declared = re.sub(r"\bconst\b\s*", "", declared)
        declared += "".join(f", {v.name}" for v in more)
        name = f"{one.name} = (__typeof__({one.name}))" if braces else f"{one.name} "
        stop = one.value + (1 if braces else 0)
        return self.start, stop, re.sub(r"\s*\n\s*", " ", declared) + ";", name

    def _value(self, of: Variable) -> str:
        """The initial value as code; "" without one."""
        return self.text.code[of.value + 1 : self.stop].strip() if of.value >= 0 else ""

    def _has_constant_sizes(self) -> bool:
        sizes = re.findall(r"\[([^\[\]]*)\]", self.text.code[self.start : self.stop])
        return all(_CONSTANT_SIZE.fullmatch(size) for size in sizes)


def declarations(text: CText, start: int, end: int) -> list[Declaration]:
    """All between two offsets, in inner blocks, too."""
    found = []
    for match in _BEGINS.finditer(text.code, start, end):
        one = _read(text, match.end())
        if one and one.stop <= end and not _in_brackets(text, match.end(), start):
            found.append(one)
    return found


def _in_brackets(text: CText, at: int, start: int) -> bool:
    """Whether a place stands in the ( ) of a `for`, say, that begin behind `start`."""
    block = max(text.block(at)[0], start)
    code = text.code[block + 1 : at]
    return code.count("(") > code.count(")")


def _read(text: CText, start: int) -> Declaration | None:
    code, at, made = text.code, start, Declaration(text, start)
    while True:
        word = _WORD.match(code, at)
        if word and not made.words and word[1] in _NO_TYPE:
            return None
        if word:
            at = word.end()
            if word[1] in _IN_BRACKETS | _TYPEOF:
                at = text.call_end(word.start(1))
            if word[1] not in _IN_BRACKETS:
                made.words.append(word[1])
            continue
        begun = re.compile(r"\s*").match(code, at).end()
        if code[begun : begun + 1] == "{" and {"struct", "union", "enum"} & {*made.words[-2:]}:
            at = text.closing(begun) + 1
            continue
        return _declares(made, begun)


def _declares(made: Declaration, at: int) -> Declaration | None:
    """Reads what follows the type, or the type and the first name, from an offset on."""
    code = made.text.code
    if code[at : at + 1] == "*" or re.compile(r"\(\s*\*[\s\w*]*\)\s*[(\[]").match(code, at):
        begun = at if made.words else -1
    elif re.compile(r"[\[;,(]|=(?!=)").match(code, at) and len(made.words) > 1:
        begun = code.rindex(made.words.pop(), 0, at)
    else:
        begun = -1
    while begun >= 0:
        begun = _declarator(made, begun)
        if begun > 0 and code[begun - 1] == ";":
            made.stop = begun
            return made
    return None


def _declarator(made: Declaration, at: int) -> int:
    """Reads one name with what belongs to it; returns the offset behind the , or ; after it."""
    text, code = made.text, made.text.code
    stars = re.compile(rf"[\s*]*(?:{_QUALIFIERS}[\s*]*)*").match(code, at)
    inner = re.compile(rf"\(\s*([*\s]+(?:{_QUALIFIERS}\s*)*)(\w+)\s*(\[?)[^()]*\)").match(
        code, stars.end()
    )
    plain = re.compile(r"\w+").match(code, stars.end())
    if not inner and not plain:
        return -1
    before = inner[1] if inner else stars[0]
    constant = "const" in before.rpartition("*")[2]
    if "*" not in before:
        constant |= "const" in made.words
    end = inner.end() if inner else plain.end()
    one = Variable(inner[2] if inner else plain[0], -1, bool(inner and inner[3]), constant)
    while end < len(code) and code[end] not in ",;":
        if code[end] == "=" and one.value < 0:
            one.value = end
        if code[end] in "([{":
            direct = one.value < 0 and not inner
            one.is_array |= direct and code[end] == "["
            one.is_function |= direct and code[end] == "(" and not _attribute(code, end)
            end = text.closing(end)
            if end < 0:
                return -1
        end += 1
    made.variables.append(one)
    return end + 1


def _attribute(code: str, opening: int) -> bool:
    return code[:opening].rstrip().endswith(("__attribute__", "__attribute"))
