"""One console for all commands: as wide as the terminal, plain when piped."""

import os
import sys

LEAST_TEXT = 12  # characters of a column of text
# Columns of text, which may be cut; of all others, numbers, none is.
TEXTS = ("lock", "for", "waiter", "holder", "transaction", "address", "winner")


def console(width: int | None = None):
    """A rich console on standard output. Piped output is uncolored and 100 columns wide unless
    $COLUMNS says otherwise, so that tables neither wrap at 80 nor depend on who reads them."""
    try:
        from rich.console import Console
    except ImportError:
        from syncopate.errors import Failure

        raise Failure("the Python package `rich` is missing; `pip install rich`") from None

    sys.stdout.reconfigure(errors="replace")
    if width is None and not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) >= 40 else 100
    made = Console(width=width, highlight=False, emoji=False, markup=False, soft_wrap=False)
    made.on_broken_pipe = _reader_has_gone
    return made


def _reader_has_gone():
    """As for all other output (__main__.py); rich's own way ends with another exit status."""
    raise BrokenPipeError


def table(console, columns: dict[str, list[str]], optional: tuple[str, ...] = ()):
    """A table of equally long columns by title. Those in `optional` go, last first, to make room.

    What is still too wide is taken from the widest columns of text; numbers are never cut.
    """
    from rich.table import Table

    def widths() -> list[int]:
        return [max(len(title), *map(len, cells)) for title, cells in columns.items()]

    for title in reversed(optional):
        if sum(widths()) + 2 * len(columns) <= console.width:
            break
        columns.pop(title, None)
    room = dict(zip(columns, widths(), strict=True))
    texts = [title for title in columns if title in TEXTS]
    while texts and sum(room.values()) + 2 * len(columns) > console.width:
        widest = max(texts, key=lambda title: room[title])
        if room[widest] <= LEAST_TEXT:
            break
        room[widest] -= 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title, width in room.items():
        if title in TEXTS:
            table.add_column(title, overflow="ellipsis", no_wrap=True, max_width=width)
        else:
            table.add_column(title, justify="right", no_wrap=True, min_width=width)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table
