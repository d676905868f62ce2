"""Progress of whatever takes longer than a moment, on a terminal's standard error."""

import sys
import time

PATIENCE = 2.0  # seconds of silence before progress is shown


class Progress:
    """One line on a terminal's standard error, rewritten in place; nothing when quick."""

    def __init__(self):
        self._begun = time.monotonic()
        self._shown = False

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._begun > PATIENCE and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Ksyncopate: {text} ...")
            sys.stderr.flush()
            self._shown = True

    def done(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
