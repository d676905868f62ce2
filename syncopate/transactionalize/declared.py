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
_STRUCTURE = re.compile(r"\s*(?:const\s+)?(?:(struct|union)\s+)?(\w+)\s*")
_CONSTANT_SIZE = re.compile(r"\s*[\dA-Z_][\dA-Z_xU]*\s*")


@dataclass
class Variable:
    name: str
    value: int  # where the = of its initial value stands, or -1
    is_array: bool
    is_constant: bool  # cannot be assigned to
    is_function: bool = False  # no variable at all
    start: int = -1  # of its declarator, stars included
    at: int = -1  # of its name
    end: int = -1  # of the , or ; behind it


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

    def moved_out(self) -> tuple[str, list[tuple[int, int, str]]] | None:
        """What becomes of it where it goes before the transaction: what is declared before, and
        the places that are replaced where it stood, with what. None where it cannot."""
        if _STORED & set(self.words) or self.variables[0].is_function:
            return self.whole, [(self.start, self.stop, "")]
        if any(v.is_function or not self._has_constant_size(v) for v in self.variables):
            return None
        constant = [v for v in self.variables if v.is_constant]
        with_values = [v for v in self.variables if v.value >= 0]
        if not with_values:
            return None if constant else (self.whole, [(self.start, self.stop, "")])
        if "__auto_type" in self.words or any(self._keeps_literal(v) for v in with_values):
            return None
        if "{" in self._base and (constant or any(self._is_open(v) for v in with_values)):
            return None  # a structure without a name is another one each time
        return self._declared(), self._assigned(with_values)

    # The initial values stay where they are, as assignments: `int x = 1, y = x;` is `x = 1, y = x;`
    # there.

    def _declared(self) -> str:
        """All variables without their values, in as few declarations as they have types."""
        made: list[tuple[str, list[str]]] = []
        for v in self.variables:
            base, declarator = self._type(v)
            if self._is_open(v):
                base, declarator = f"__typeof__({self._literal_of(v)}) ", v.name
            if made and made[-1][0] == base and not self._is_open(v):
                made[-1][1].append(declarator)
            else:
                made.append((base, [declarator]))
        text = " ".join(f"{base}{', '.join(names)};" for base, names in made)
        return re.sub(r"\s*\n\s*", " ", text)

    def _assigned(self, variables: list[Variable]) -> list[tuple[int, int, str]]:
        edits, at, behind = [], self.start, ""
        for v in variables:
            before, after = f"{v.name} =", ""
            if v.is_array:
                opened = "" if self._value(v).startswith("{") else "{"
                before = f"__builtin_memcpy({v.name}, ({self._abstract(v)}){opened}"
                after = f"{'}' if opened else ''}, sizeof {v.name})"
            elif self._value(v).startswith("{"):
                before += f" (__typeof__({v.name}))"
            edits.append((at, v.value + 1, behind + before))
            at, behind = v.end, f"{after}, "
        if after or at < self.stop - 1:
            edits.append((at, self.stop, f"{after};"))
        return edits

    @property
    def _base(self) -> str:
        return without_comments(self.text.text[self.start : self.variables[0].start])

    def _type(self, v: Variable) -> tuple[str, str]:
        """What its declaration begins with, and its declarator; of a constant without the const."""
        end = v.value if v.value >= 0 else v.end
        declarator = without_comments(self.text.text[v.start : end]).strip()
        base = self._base.rstrip() + " "
        if v.is_constant and "*" in declarator:
            stars, star, rest = declarator.rpartition("*")
            return base, stars + star + re.sub(r"\bconst\b\s*", "", rest)
        return re.sub(r"\bconst\b\s*", "", base) if v.is_constant else base, declarator

    def _abstract(self, v: Variable) -> str:
        base, declarator = self._type(v)
        return base + re.sub(rf"\b{v.name}\b", "", declarator, count=1).strip()

    def _literal_of(self, v: Variable) -> str:
        value = without_comments(self.text.text[v.value + 1 : v.end]).strip()
        return f"({self._abstract(v)})" + (value if value.startswith("{") else f"{{{value}}}")

    def _is_open(self, v: Variable) -> bool:
        """Whether its size is that of its initial value."""
        size = self.text.code[v.at : v.value]
        return v.is_array and v.value >= 0 and bool(re.search(r"\[\s*\]", size))

    def _keeps_literal(self, v: Variable) -> bool:
        """Whether its value may point to a compound literal, which does not outlive the block that
        it stands in. A structure by value is none such; what a typedef names may be an array."""
        code = self.text.code[v.value + 1 : v.end]
        own = self.words[-1:] if "*" not in self._type(v)[1] and not v.is_array else []
        for literal in re.finditer(r"(\(([^()]*)\)|\))\s*\{", code):
            by_value = _STRUCTURE.fullmatch(literal[2] or "")
            named = by_value and (by_value[1] or by_value[2] in own)
            if not named or code[: literal.start()].rstrip().endswith("&"):
                return True
        return False

    def _value(self, of: Variable) -> str:
        """The initial value as code; "" without one."""
        return self.text.code[of.value + 1 : of.end].strip() if of.value >= 0 else ""

    def _has_constant_size(self, v: Variable) -> bool:
        end = v.value if v.value >= 0 else v.end
        sizes = re.findall(r"\[([^\[\]]*)\]", self.text.code[v.start : end])
        return all(
            _CONSTANT_SIZE.fullmatch(size) or (not size.strip() and v.value >= 0) for size in sizes
        )


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
    if code[at : at + 1] == "*" or re.compile(r"\(\s*\*[\s\w*\[\]]*\)\s*[(\[]").match(code, at):
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
    one.start = re.compile(r"\s*").match(code, at).end()
    one.at = inner.start(2) if inner else plain.start()
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
    one.end = end
    made.variables.append(one)
    return end + 1


def _attribute(code: str, opening: int) -> bool:
    return code[:opening].rstrip().endswith(("__attribute__", "__attribute"))
