"""What a search is at, and how much time is left: on standard error."""

import sys
import time


class Progress:
    """One line, rewritten in place on a terminal; elsewhere a line for each stage."""

    def __init__(self):
        self._terminal = sys.stderr.isatty()
        self._stage = ""
        self._deadline = 0.0

    def stage(self, text: str, deadline: float) -> None:
        self._stage, self._deadline = text, deadline
        if self._terminal:
            self.detail("")
        else:
            self._write(f"syncopate: tune: {text}; {self._left()} left\n")

    def detail(self, text: str) -> None:
        if self._terminal:
            more = f": {text}" if text else ""
            self._write(f"\r\x1b[Ksyncopate: tune: {self._stage}{more}; {self._left()} left")

    def done(self) -> None:
        if self._terminal:
            self._write("\r\x1b[K")

    def _left(self) -> str:
        seconds = max(0, round(self._deadline - time.monotonic()))
        return f"{seconds // 60}:{seconds % 60:02}"

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
