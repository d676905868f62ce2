"""What `syncopate top` shows of each interval: a screen that is rewritten, or lines of JSON."""

from __future__ import annotations

import abc
import contextlib
import json
import sys

from syncopate.base import terminal
from syncopate.base.shown import shown
from syncopate.base.units import count, duration, percent
from syncopate.records.live import Rate, Snapshot, lived, perhaps, rates
from syncopate.records.recordformat import LOST_KINDS
from syncopate.show.openwaittext import sentence

SCHEMA, VERSION = "syncopate-top", 1
AROUND_ROWS = 6  # lines of the screen that are no rows
PIPED_ROWS = 20
A_FEW = 0.2  # threads on average
LASTING_ROWS = 4


def _taken(acquisitions: float | None) -> str:
    return "-" if acquisitions is None else count(round(acquisitions))


def _share(waits: float, acquisitions: float | None) -> str:
    return percent(waits / acquisitions) if acquisitions else "-"


class Display(contextlib.AbstractContextManager, abc.ABC):
    """Shows what happened between two snapshots."""

    @abc.abstractmethod
    def update(self, before: Snapshot, after: Snapshot) -> None: ...

    def __exit__(self, *_) -> None:
        pass


class Lines(Display):
    """An object of JSON for each interval, on a line of its own (docs/reference/json.md)."""

    def update(self, before: Snapshot, after: Snapshot) -> None:
        found = {
            "schema": SCHEMA,
            "version": VERSION,
            "seconds": round(after.seconds - before.seconds, 3),
            "threads": after.threads,
            "threads_mean": round(lived(before, after), 3),
            "deadlocks": after.deadlocks,
            "open_waits": after.open_waits,
            "perhaps": round(perhaps(before, after), 3),
            "locks": [rate._asdict() for rate in rates(before, after)],
        }
        print(json.dumps(found), flush=True)


class Screen(Display):
    """A table, rewritten in place on a terminal; one after the other where output is piped."""

    def __init__(self, title: str, rows: int | None):
        self._title = shown(title)
        self._rows = rows
        self._console = terminal.console()
        self._live = None
        if sys.stdout.isatty():
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, screen=True)

    def __enter__(self):
        if self._live:
            self._live.start()
            self._live.update(f"{self._title}: waiting for the first interval", refresh=True)
        return self

    def __exit__(self, *_) -> None:
        if self._live:
            self._live.stop()

    def update(self, before: Snapshot, after: Snapshot) -> None:
        from rich.console import Group

        own, there = perhaps(before, after), lived(before, after)
        whole = Group(*self._parts(rates(before, after), after, own, there))
        if self._live:
            self._live.update(whole, refresh=True)
        else:
            self._console.print(whole)

    def _parts(self, found: list[Rate], after: Snapshot, own: float, there: float) -> list:
        """`own`, `there`: how many threads waited where there may be locks of the program's own,
        and how many there were, on average."""
        from rich.text import Text

        waiting = sum(rate.waiting for rate in found)
        share = f" ({percent(min(1.0, waiting / there))} of its threads' time)" if there else ""
        many = f"{after.threads} thread{'s' * (after.threads != 1)} now"
        head = f"{many}; meanwhile {waiting:.2f} waited for locks on average{share}"
        parts = [Text(self._title, style="bold", no_wrap=True, overflow="ellipsis"), Text(head)]
        parts += [Text(each["sentence"], style="bold red") for each in after.deadlocks]
        lasting = self._lasting(after)
        parts += lasting
        if own >= A_FEW:
            parts.append(
                Text(f"and {own:.2f} at futexes or semaphores of its own, or yielding: maybe locks")
            )
        if not found:  # others may spin, or wait in calls that are not seen
            style = "" if own else "green"
            return [*parts, Text("\nNo thread waited for a lock that is recorded.", style=style)]
        around = AROUND_ROWS + 2 * len(after.deadlocks) + 2 * len(lasting)
        rows = self._rows or (self._console.height - around if self._live else PIPED_ROWS)
        parts += [Text(), self._table(found[: max(1, rows)])]
        if len(found) > rows:
            parts.append(Text(f"{len(found) - rows} more", style="dim"))
        return parts

    @staticmethod
    def _lasting(after: Snapshot) -> list:
        """The longest waits for locks that are not over."""
        from rich.text import Text

        waits = [each for each in after.open_waits if each["kind"] in LOST_KINDS]
        return [Text(sentence(each), style="yellow") for each in waits[:LASTING_ROWS]]

    def _table(self, found: list[Rate]):
        columns = {
            "lock": [rate.lock for rate in found],
            "process": [str(rate.process) for rate in found],
            "waiting": [f"{rate.waiting:.2f}" for rate in found],
            "waits/s": [count(round(rate.waits)) for rate in found],
            "taken/s": [_taken(rate.acquisitions) for rate in found],
            "contended": [_share(rate.got, rate.acquisitions) for rate in found],
            "mean wait": [duration(rate.mean_ns) for rate in found],
            "longest": [duration(rate.longest_ns) for rate in found],
        }
        if len(set(columns["process"])) == 1:
            del columns["process"]
        return terminal.table(self._console, columns, ("longest", "contended", "taken/s"))
