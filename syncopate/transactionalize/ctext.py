"""A C file as text whose blocks can be found, and edits of it by position."""

import bisect
import re

from syncopate.base.since import zip_equal

_HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_BARE_NAME = re.compile(r"\n[ \t]*[A-Z_][A-Z0-9_]*[ \t]*\n\s*\Z")  # a macro for statements
_LINKAGE = re.compile(r'\bextern\s+"C"\s*\{')
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*\n", re.M)
_OPENING = {"}": "{", ")": "(", "]": "["}


def _blank(match: re.Match) -> str:
    text = match.group()
    if text[0] in "\"'":  # a literal stays an operand
        return text[0] + " " * (len(text) - 2) + text[0]
    return re.sub(r"[^\n]", " ", text)


def without_comments(text: str) -> str:
    """The text with comments blank."""
    return _COMMENT.sub(
        lambda m: m.group() if m.group()[0] in "\"'" else re.sub(r"[^\n]", " ", m.group()), text
    )


class CText:
    """`text` as it is in the file; `code` has the same length, with comments, directives,
    `extern "C"` and the insides of literals blank, so that braces and words in it are code."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.code = _HIDDEN.sub(_blank, text)
        self.functions: list | None = None  # wrappers.functions keeps what it found here
        self._lines = [0] + [m.end() for m in re.finditer("\n", text)]
        self._pairs: dict[int, int] = {}
        stack: list[int] = []
        for match in re.finditer(r"[{}()\[\]]", self.code):
            if match.group() in "{([":
                stack.append(match.start())
            elif stack and self.code[stack[-1]] == _OPENING[match.group()]:
                self._pairs[stack.pop()] = match.start()
        self._forget_linkage()
        self._partners = {b: a for a, b in self._pairs.items()}
        self._braces = sorted((a, b) for a, b in self._pairs.items() if self.code[a] == "{")

    def _forget_linkage(self) -> None:
        """`extern "C" { ... }` is no block."""
        for match in _LINKAGE.finditer(self.text):
            opening = match.end() - 1
            closing = self._pairs.pop(opening, -1)
            for at in (opening, closing):
                if at >= 0 and self.code[at] in "{}":
                    self.code = f"{self.code[:at]} {self.code[at + 1 :]}"
            start = match.start()
            self.code = self.code[:start] + " " * (opening - start) + self.code[opening:]

    def offset(self, line: int, column: int) -> int:
        """Lines count from 1, columns from 0, in bytes of ASCII text."""
        return self._lines[line - 1] + column

    def line(self, offset: int) -> int:
        return bisect.bisect_right(self._lines, offset)

    def place(self, offset: int) -> tuple[str, int, int]:
        """File, line and column, both from 1, as compilers give them."""
        line = self.line(offset)
        return self.path, line, offset - self._lines[line - 1] + 1

    def block(self, offset: int) -> tuple[int, int]:
        """The innermost { and } around an offset; (-1, length) at file level."""
        inner = (-1, len(self.text))
        for opening, closing in self._braces:
            if opening >= offset:
                break
            if closing >= offset:
                inner = (opening, closing)
        return inner

    def blocks(self, offset: int) -> list[tuple[int, int]]:
        """All blocks around an offset, the outermost first."""
        return [(a, b) for a, b in self._braces if a < offset <= b]

    def top_blocks(self) -> list[tuple[int, int]]:
        """All blocks that stand in no other."""
        found: list[tuple[int, int]] = []
        for block in self._braces:
            if not found or block[0] > found[-1][1]:
                found.append(block)
        return found

    def closing(self, opening: int) -> int:
        """The partner of a bracket; -1 if it has none."""
        return self._pairs.get(opening, -1)

    def opening(self, closing: int) -> int:
        """The partner of a closing bracket; -1 if it has none."""
        return self._partners.get(closing, -1)

    def call_end(self, name_at: int) -> int:
        """The offset behind the `)` of the call whose name stands at an offset; -1 if none."""
        opening = self.code.find("(", name_at)
        return self.closing(opening) + 1 if opening >= 0 else -1

    def last_before(self, offset: int) -> int:
        """Where the last character of code before an offset stands that is no space; -1 if none."""
        at = offset - 1
        while at >= 0 and self.code[at].isspace():
            at -= 1
        return at

    def before(self, offset: int) -> str:
        """The last character of code before an offset; "" if none."""
        at = self.last_before(offset)
        return self.code[at] if at >= 0 else ""

    def statement_end(self, name_at: int) -> int:
        """The offset behind `;` where `name(...);` is a statement of its own in a block, or -1."""
        macro = _BARE_NAME.search(self.code, max(0, name_at - 200), name_at)
        if self.before(name_at) not in (";", "{", "}", ":") and not macro:
            return -1
        end = self.call_end(name_at)
        semicolon = re.compile(r"\s*;").match(self.code, end) if end > 0 else None
        return semicolon.end() if semicolon else -1

    def arguments(self, name_at: int) -> list[str]:
        """The arguments of the call at an offset, as written."""
        start, end = self.code.find("(", name_at) + 1, self.call_end(name_at) - 1
        cuts, depth = [start], 0
        for at in range(start, end):
            character = self.code[at]
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                cuts.append(at + 1)
        ends = [cut - 1 for cut in cuts[1:]] + [end]
        return [self.text[a:b].strip() for a, b in zip_equal(cuts, ends)]

    def level(self, start: int, end: int) -> str:
        """The code between two offsets, with blocks and brackets inside of it blank."""
        out, at = [], start
        while at < end:
            partner = self._pairs.get(at, -1)
            if 0 <= partner < end:
                out.append(self.code[at] + " " * (partner - at - 1) + self.code[partner])
                at = partner + 1
            else:
                out.append(self.code[at])
                at += 1
        return "".join(out)

    def conditional_directives_balance(self, start: int, end: int) -> bool:
        """Whether #if and #endif between two offsets pair up, and no #else splits them."""
        depth = 0
        for match in re.finditer(r"^[ \t]*#[ \t]*(if|el|endif)", self.text[start:end], re.M):
            depth += {"if": 1, "endif": -1}.get(match.group(1), 0)
            if depth < 0 or (match.group(1) == "el" and depth == 0):
                return False
        return depth == 0


class Edits:
    """Replacements of one file. Those that would overlap are a mistake of the caller's."""

    def __init__(self):
        self._all: list[tuple[int, int, str]] = []
        self._moves: list[tuple[int, int, int, str, str]] = []

    def replace(self, start: int, end: int, by: str) -> None:
        self._all.append((start, end, by))

    def insert(self, at: int, what: str) -> None:
        self._all.append((at, at, what))

    def insert_line(self, at: int, what: str) -> None:
        """Puts lines before whatever else is put there."""
        self._all.insert(0, (at, at, what))

    def move(self, start: int, end: int, to: int, before: str, behind: str) -> None:
        """Puts what stands there, edited, to another place, between two texts."""
        self._moves.append((start, end, to, before, behind))

    def __bool__(self) -> bool:
        return bool(self._all)

    def touch(self, start: int, end: int) -> bool:
        """Whether something between two offsets has been replaced."""
        return any(first < end and start < last for first, last, _ in self._all)

    def _resolved(self, text: str) -> list[tuple[int, int, str]]:
        edits = list(self._all)
        for start, end, to, before, behind in self._moves:
            inner = [edit for edit in edits if start <= edit[0] and edit[1] <= end]
            edits = [edit for edit in edits if edit not in inner]
            moved = _spliced(text, start, end, _with_lines(text, start, end, inner))
            edits += [(start, end, ""), (to, to, f"{before}{moved}{behind}")]
        return sorted(_with_lines(text, 0, len(text), edits), key=lambda edit: edit[:2])

    def apply(self, text: str) -> str:
        return _spliced(text, 0, len(text), self._resolved(text))

    def moved(self, offset: int, text: str) -> int:
        """Where a place of the text is after the edits: behind what is put there."""
        shift = 0
        for start, end, by in self._resolved(text):
            if start > offset or (end > offset and start < offset):
                break
            if end <= offset and (start < offset or start == end):
                shift += len(by) - (end - start)
        return offset + shift

    def original(self, offset: int, text: str) -> int:
        """Where the character at an offset of the edited text was before."""
        shift = 0
        for start, end, by in self._resolved(text):
            if offset < start + shift:
                break
            if offset < start + shift + len(by):
                return start
            shift += len(by) - (end - start)
        return offset - shift


def _with_lines(
    text: str, low: int, high: int, edits: list[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """The edits between two offsets, where a line of which nothing but blanks is left goes, too."""
    found = []
    for one in edits:
        start, end, by = one
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end) + 1
        left = text[first:start] + text[end:last]
        others = (other for other in edits if other is not one)
        alone = all(behind < first or last < before for before, behind, _ in others)
        within = low <= first < last <= high
        goes = not by and start < end and within and alone and not left.strip()
        found.append((first, last, by) if goes else one)
    return found


def _spliced(text: str, start: int, end: int, edits: list[tuple[int, int, str]]) -> str:
    out, at = [], start
    for first, last, by in sorted(edits, key=lambda edit: edit[:2]):
        assert first >= at, (first, at, by)
        out += [text[at:first], by]
        at = last
    return "".join([*out, text[at:end]])


def behind_includes(text: str) -> int:
    """Behind the last #include that stands in no function, nor anything else in braces, and that
    no #if governs, but for the guard of a header."""
    whole = CText("", text)
    masked = without_comments(text)  # which may show how to use the file
    best, guard = 0, re.search(r"^[ \t]*#[ \t]*ifndef\s+(\w+)\s+#[ \t]*define\s+\1\b", masked, re.M)
    for match in _INCLUDE.finditer(masked):
        before = masked[: match.start()]
        depth = len(re.findall(r"^[ \t]*#[ \t]*if", before, re.M)) - len(
            re.findall(r"^[ \t]*#[ \t]*endif", before, re.M)
        )
        if depth <= (1 if guard else 0) and not whole.blocks(match.start()):
            best = match.end()
    return best
