"""One console for all commands: as wide as the terminal, plain when piped."""

import os
import sys


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
    return Console(width=width, highlight=False, emoji=False, markup=False, soft_wrap=False)
