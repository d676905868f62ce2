"""Which functions touch bit-fields. In a transaction, GCC (12 at least) stores the whole bytes that
a bit-field lies in, and reads them without a shift: its neighbours are lost, with no word.

The compiler itself finds them: each bit-field of the preprocessed source is declared deprecated."""

import re
from dataclasses import dataclass

MARK = "lies in bits of its own"
_AGGREGATE = re.compile(r"\b(?:struct|union)\b")
_BEFORE_BODY = re.compile(r"[\s\w]*")
_MEMBER = re.compile(r"(?<=[\s,*])\w+\s*:")
_WIDTH_ENDS = re.compile(r"[(),;{}]|__attribute__")
_ATTRIBUTE = f' __attribute__((deprecated("{MARK}")))'
_FUNCTION = re.compile(r"^.*: In function '(\w+)':$")
_USE = re.compile(rf"^(.*?):(\d+):\d+: (?:warning|error): '(\w+)' is deprecated: {MARK}")


@dataclass(frozen=True)
class Access:
    """A bit-field's name, and where a function touches it."""

    file: str
    line: int
    member: str


def mark(source: str) -> str:
    """A preprocessed source whose named bit-fields are deprecated; as it was where it has none."""
    places: set[int] = set()
    for keyword in _AGGREGATE.finditer(source):
        opening = _body(source, keyword.end())
        if opening < 0:
            continue
        for member in _MEMBER.finditer(source, opening, _closing(source, opening, "{}")):
            if "?" not in _declaration(source, member.start()):
                places.add(_width_end(source, member.end()))
    out, last = [], 0
    for at in sorted(places):
        out += [source[last:at], _ATTRIBUTE]
        last = at
    return "".join([*out, source[last:]])


def uses(messages: str, relative) -> dict[str, list[Access]]:
    """Function -> what it touches, by what the compiler says of a marked source."""
    found: dict[str, list[Access]] = {}
    function = ""
    for line in messages.splitlines():
        within = _FUNCTION.match(line)
        use = _USE.match(line)
        if within:
            function = within.group(1)
        elif use:
            file, number, member = use.groups()
            found.setdefault(function, []).append(Access(relative(file), int(number), member))
    return found


def _body(source: str, at: int) -> int:
    """The { of the body behind `struct`, a tag and attributes; -1 if there is none."""
    while True:
        at = _BEFORE_BODY.match(source, at).end()
        if source[at : at + 1] != "(":
            return at if source[at : at + 1] == "{" else -1
        at = _closing(source, at, "()") + 1


def _closing(source: str, opening: int, pair: str) -> int:
    """The partner of a bracket."""
    depth = 0
    for bracket in re.compile(f"[{re.escape(pair)}]").finditer(source, opening):
        depth += 1 if bracket.group() == pair[0] else -1
        if depth == 0:
            return bracket.start()
    return len(source)


def _width_end(source: str, at: int) -> int:
    while True:
        end = _WIDTH_ENDS.search(source, at)
        if end is None or end.group() != "(":
            return end.start() if end else len(source)
        at = _closing(source, end.start(), "()") + 1


def _declaration(source: str, at: int) -> str:
    """What stands before a member in its declaration."""
    start = max(source.rfind(end, 0, at) for end in ";{}")
    return source[start + 1 : at]
