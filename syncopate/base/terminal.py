"""One console for all commands: as wide as the terminal, plain when piped."""

from __future__ import annotations

import os
import re
import sys

from syncopate.base.shown import shown
from syncopate.base.since import zip_equal

# Characters of a column of text: so few before a column of numbers goes, and so few at the end.
ENOUGH_TEXT, LEAST_TEXT = 24, 12
ENOUGH_IN_SENTENCE = 120
LONGEST_NAME = 2000  # that is read for what may go
# Words of Python's for code that has no name stay.
_INSIDE = r"<(?!(?:module|lambda|locals|\w+comp|genexpr|string|stdin|frozen [\w.]+)>)([^<>]+)>"
# What a function of Rust's belongs to: "<crate::Type as Trait>::function" is "Type::function".
_SELF = re.compile(rf"(?<![\w)\]>}}:]){_INSIDE}(?=::)")
_PATHS, _OF_TRAIT = re.compile(r"\b(?:\w+::)+|^[&*]*(?:mut |const |dyn )?"), " as "
# Of templates and of functions, the innermost first; "(anonymous namespace)" stays.
_ARGUMENTS = (
    re.compile(rf"(?:::)?{_INSIDE}"),
    re.compile(r"(?<!operator)!?\((?!anonymous|[^()]*known\))[^()]*\)"),  # D's templates: "!(int)"
)
_COUNT = re.compile(r"(\[\])? x[\d,]+$")
REST = " > \u2026"
PLAIN = {ord("\u2026"): "~", ord("\u2588"): "#", ord("\u00b1"): "+-"}  # ellipsis, block, plus-minus
# Columns of text, which may be cut; of all others, numbers, none is.
TEXTS = ("lock", "barrier", "region", "for", "waiter", "holder", "transaction", "address", "winner",
         "program", "worst lock", "thread", "waits for", "by", "at", "held by")  # fmt: skip


def console(width: int | None = None):
    """A rich console on standard output. Piped output is uncolored and 100 columns wide unless
    $COLUMNS says otherwise, so that tables neither wrap at 80 nor depend on who reads them."""
    try:
        from rich.console import Console
    except ImportError:
        from syncopate.base.errors import Failure

        raise Failure(
            "the Python package `rich` is missing; install python3-rich, or `pip install rich`"
        ) from None

    sys.stdout.reconfigure(errors="replace")
    if width is None and not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) >= 40 else 100
    out = sys.stdout if _reads_utf8() else _Plain()
    made = Console(
        file=out, width=width, highlight=False, emoji=False, markup=False, soft_wrap=False
    )
    made.on_broken_pipe = _reader_has_gone
    return made


def plain(text: str) -> str:
    """The text with our own signs (names may have others) in ASCII where the locale has no more."""
    return text if _reads_utf8() else text.translate(PLAIN)


def _reads_utf8() -> bool:
    """Whether the locale, as the user has set it, says so; Python itself takes C for UTF-8."""
    named = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    return named.partition(".")[2].partition("@")[0].lower() in ("utf-8", "utf8")


class _Plain:
    """Standard output, in the words of plain()."""

    def write(self, text: str) -> int:
        return sys.stdout.write(plain(text))

    def __getattr__(self, name: str):
        return getattr(sys.stdout, name)


def _reader_has_gone():
    """As for all other output (__main__.py); rich's own way ends with another exit status."""
    raise BrokenPipeError


def table(console, columns: dict[str, list[str]], optional: tuple[str, ...] = ()):
    """A table of equally long columns by title, and a line that says what had no room.

    Where it is too wide names are shortened first; then columns of `optional` go, last ones first;
    then names are shortened further. Numbers are never cut.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    left_out = []
    for title in reversed(optional):
        if _least_width(columns, ENOUGH_TEXT) <= console.width:
            break
        if columns.pop(title, None) is not None:
            left_out.insert(0, title)
    room = _room(console, columns)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title, width in room.items():
        if title in TEXTS:
            table.add_column(title, overflow="ellipsis", no_wrap=True, max_width=width)
        else:
            table.add_column(title, justify="right", no_wrap=True, min_width=width)
    cells = [
        [shortened(cell, room[title]) if title in TEXTS else cell for cell in column]
        for title, column in columns.items()
    ]
    for row in zip_equal(*cells):
        table.add_row(*row)
    if not left_out:
        return table
    said = f"  no room for: {', '.join(left_out)} (a wider terminal, or $COLUMNS, has it)"
    return Group(table, Text(said, style="dim"))


def _widths(columns: dict[str, list[str]]) -> dict[str, int]:
    return {title: max(len(title), *map(len, cells)) for title, cells in columns.items()}


def _least_width(columns: dict[str, list[str]], text: int) -> int:
    """The table's width with columns of text cut to `text`."""
    widths = _widths(columns)
    return sum(
        min(width, max(text, len(title))) if title in TEXTS else width
        for title, width in widths.items()
    ) + 2 * len(columns)


def _room(console, columns: dict[str, list[str]]) -> dict[str, int]:
    """The width of each column: what is too much is taken from the widest columns of text."""
    room = _widths(columns)
    texts = [title for title in columns if title in TEXTS]
    while texts and sum(room.values()) + 2 * len(columns) > console.width:
        widest = max(texts, key=lambda title: room[title])
        if room[widest] <= LEAST_TEXT:
            break
        room[widest] -= 1
    return room


def none_matches(pattern: str, some: bool) -> str:
    """What is said where --lock leaves nothing to show; `some`: but locks without waits."""
    what = "thread waited for a lock whose name" if some else "lock has a name that"
    return f"No {what} matches '{shown(pattern)}'."


def in_sentence(name: str) -> str:
    """A name without its functions' arguments; a long one without those of templates as well."""
    for pattern in _ARGUMENTS[::-1] if len(name) <= LONGEST_NAME else ():
        while (bare := _without(pattern, name)) != name:
            name = bare
        if len(name) <= ENOUGH_IN_SENTENCE:
            break
    return name


def _without(pattern: re.Pattern, name: str) -> str:
    """A name without the innermost arguments of one kind."""
    if pattern is _ARGUMENTS[0]:
        bare = _SELF.sub(lambda of: _PATHS.sub("", of[1].partition(_OF_TRAIT)[0]), name)
        if bare != name:
            return bare
    return pattern.sub("", name)


def shortened(name: str, width: int) -> str:
    """A name on so many columns: without its arguments and those of templates, then without what
    stands behind the place that tells it ("place > inside"), then without its middle, since
    beginnings and ends tell names apart. How many locks it stands for (" x64") stays."""
    if len(name) <= width:
        return name
    count = _COUNT.search(name)
    times = count[0] if count else ""
    name, width = name.removesuffix(times), width - len(times)
    if len(name) <= LONGEST_NAME:
        for pattern in _ARGUMENTS:
            while len(name) > width and (bare := _without(pattern, name)) != name:
                name = bare
    place, arrow, _ = name.partition(" > ")
    if len(name) > width and arrow:
        name, times, width = place, REST + times, width - len(REST)
    if len(name) > width:
        end = width // 2
        name = name[: width - 1 - end] + "\u2026" + name[len(name) - end :]
    return name + times
