"""Numbers, durations and tables as plain text."""

import math

from syncopate.base.since import zip_equal


def number(value):
    """Returns `value` with about four significant digits, thousands separated."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) < 0.001:
        return f"{value:.3g}"
    digits = 3 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 3)}f}"


def table(rows, header):
    """Returns rows of text as aligned lines; the first column left, the others right."""
    rows = [header, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = []
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip_equal(row, widths))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Returns seconds as a person waits for them: `41 s`, `3 min 05 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
