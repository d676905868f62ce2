"""What this process was started with that Python does not tell."""

from __future__ import annotations

import os

ignored_signals: frozenset[int] = frozenset()  # of those that Python ignores from its start


def take() -> None:
    """Reads what the command's start (src/launcher) left for us, so that no program gets it."""
    global ignored_signals
    numbers = os.environ.get("SYNCOPATE_IGNORED", "").split()
    os.environ.pop("SYNCOPATE_IGNORED", None)
    ignored_signals = frozenset(int(number) for number in numbers if number.isdecimal())
