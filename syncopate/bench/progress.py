"""How far a command is, on standard error: a bar on a terminal, now and then a line elsewhere."""

import sys
import time

from syncopate.bench.text import duration

SECONDS_BETWEEN_LINES = 10


class Progress:
    """Counts what is done of `total`; `with` it, so that the bar goes away at the end."""

    def __init__(self, total: int):
        self.total, self.done = total, 0
        self.began = self.said = time.monotonic()
        self.bar = None

    def __enter__(self):
        if sys.stderr.isatty():
            self.bar = _bar()
            self.task = self.bar.add_task("", total=self.total)
            self.bar.start()
        return self

    def __exit__(self, *_):
        if self.bar:
            self.bar.stop()

    def advance(self, text: str) -> None:
        """One more is done, namely `text`."""
        self.done += 1
        if self.bar:
            self.bar.update(self.task, advance=1, description=text)
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            print(f"[{self.done}/{self.total}] {text}{self.left()}", file=sys.stderr, flush=True)

    def left(self) -> str:
        """How long the rest takes if it is like what was done."""
        ahead = self.total - self.done
        if not ahead or not self.done:
            return ""
        return f"; about {duration((self.said - self.began) / self.done * ahead)} left"


def _bar():
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)
