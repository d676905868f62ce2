"""How far a command is, on standard error: a bar on a terminal, now and then a line elsewhere."""

import sys
import time

from syncopate.bench.text import duration

SECONDS_BETWEEN_LINES = 10


class Progress:
    """Counts what is done of `weights`, which say what each takes beside the others; `with` it, so
    that the bar goes away at the end."""

    def __init__(self, weights: list[float]):
        self.total, self.done = len(weights), 0
        self.whole, self.part = sum(weights), 0.0
        self.began = self.said = time.monotonic()
        self.bar = None

    def __enter__(self):
        if sys.stderr.isatty():
            self.bar = _bar()
            self.task = self.bar.add_task("", total=self.whole, count=self.count())
            self.bar.start()
        return self

    def __exit__(self, *_):
        if self.bar:
            self.bar.stop()

    def advance(self, text: str, weight: float) -> None:
        """One more is done, namely `text`."""
        self.done, self.part = self.done + 1, self.part + weight
        if self.bar:
            self.bar.update(self.task, advance=weight, description=text, count=self.count())
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            print(f"[{self.count()}] {text}{self.left()}", file=sys.stderr, flush=True)

    def count(self) -> str:
        return f"{self.done}/{self.total}"

    def left(self) -> str:
        """How long the rest takes if it is to its weight as what was done."""
        if self.done == self.total:
            return ""
        ahead = self.whole - self.part
        return f"; about {duration((self.said - self.began) / self.part * ahead)} left"


def _bar():
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)
