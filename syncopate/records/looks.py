"""What `syncopate record` looks at while a program runs and when it has ended: who holds the locks
that are waited for long (openwaits.py), and the time of the end."""

from __future__ import annotations

import contextlib
import time

from syncopate.base.errors import Failure
from syncopate.records import recordfile, recordstamps

PERIOD, FIRST = 1.0, 0.1  # seconds between two looks, and before the first
SHARE_OF_LIFE = 0.1  # between two looks: short programs are looked at as often as long ones
SHARE = 0.005  # of the time that looking may take


class Looks:
    """The looks at the record of one program, and of its children."""

    def __init__(self, record: str, with_commands: bool = False):
        """`with_commands`: what each process calls itself by now is kept, arguments and all."""
        self._record, self._with_commands = record, with_commands
        self._next = 0.0  # when the next one is due
        self._begun = time.monotonic()
        self.ran, self.used = 0.0, None  # seconds of the program; of it and its children, by wait4

    @property
    def period(self) -> float:
        """How long to wait before look_if_due(), in seconds."""
        return min(PERIOD, max(FIRST, SHARE_OF_LIFE * (time.monotonic() - self._begun)))

    def look_if_due(self) -> None:
        """A look, unless looking takes too much time."""
        if time.monotonic() >= self._next:
            self.look()

    def look(self) -> None:
        """At all records that are there by now."""
        from syncopate.records import live, openwaits

        begin = time.process_time()
        for path in [self._record, *recordstamps.children_of(self._record)]:
            with contextlib.suppress(Failure, OSError):
                if live.is_record(path):
                    openwaits.look(path, self._with_commands)
        self._next = time.monotonic() + (time.process_time() - begin) / SHARE

    def ended(self, process: int, when: int | None = None) -> None:
        """Says in the program's record that it has ended, `when` (monotonic ns) or just now; where
        it became another program meanwhile, which has a record of its own, at that time."""
        now = time.monotonic_ns() if when is None else when
        with contextlib.suppress(Failure, OSError):
            header = recordfile.Record(self._record).header
            if header.process_id != process:
                return
            with contextlib.suppress(Failure, OSError):
                now = recordfile.Record(f"{self._record}.{process}").header.start_monotonic_ns
            recordstamps.write_ended(self._record, now)
