"""A command that is told to end does so as after Ctrl-C: it undoes what it has begun."""

from __future__ import annotations

import contextlib
import os
import signal

ENDING = (signal.SIGTERM, signal.SIGHUP)  # of `kill` and `timeout`, and of a closed terminal

_came: list[int] = []


def as_interrupts() -> None:
    """From now on each of ENDING that would end the process raises KeyboardInterrupt instead.

    Not for a command that becomes its program, or forks one: these have a way of their own.
    """
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def status() -> int:
    """After a KeyboardInterrupt: the exit status, 128 + the signal, as a shell has it."""
    return 128 + (_came[0] if _came else signal.SIGINT)


def _interrupt(number: int, _frame) -> None:
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # undoing is not to be undone
    _came.append(number)
    for process in _descendants(os.getpid()):  # Ctrl-C reaches them by the terminal
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
    raise KeyboardInterrupt


def _descendants(process: int) -> list[int]:
    """None where the kernel does not tell."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *_descendants(child)]
    return found
