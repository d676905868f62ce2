"""A command that is told to end does so as after Ctrl-C: it undoes what it has begun."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import time

ENDING = (signal.SIGTERM, signal.SIGHUP)  # of `kill` and `timeout`, and of a closed terminal
LOOKS = 0.05  # seconds between two looks for children that other threads have started since

_main = _thread.get_ident()
_came: list[int] = []
_kept: list[int] = []  # that came in a block of later()
_wakes_in = 0  # the process that has the thread of _wake()
_blocks = 0  # of later(), one in the other


def as_interrupts() -> None:
    """From now on each of ENDING that would end the process raises KeyboardInterrupt, as SIGINT
    does; the children are told too, and so is what other threads still start after it.

    Not for a command that becomes its program, or forks one: these have a way of their own.
    """
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _nothing):
            signal.signal(number, _interrupt)
    if _wakes_in != os.getpid():  # a process may run several commands, one after the other
        _begin_to_wake()


def no_longer() -> None:
    """The command is done, and its status known: what is left is to leave."""
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, _nothing)


@contextlib.contextmanager
def later(at_once: bool = True):
    """In this block KeyboardInterrupt is not raised, but at its end; or else soon afterwards, as
    for a finalizer, which no error leaves."""
    global _blocks
    if _thread.get_ident() != _main:  # nor is it, ever
        yield
        return
    _blocks += 1
    try:
        yield
    finally:
        _blocks -= 1
        if not at_once and not _blocks:
            _kept.clear()  # it is sent again (_wake)
        if _kept and not _blocks:
            _interrupt(_kept[0])


def status() -> int:
    """After a KeyboardInterrupt: the exit status, 128 + the signal, as a shell has it."""
    return 128 + (_came[0] if _came else signal.SIGINT)


def _interrupt(number: int, _frame=None) -> None:
    if _blocks:
        _kept.append(number)
        return
    for each in ENDING:  # undoing is not to be undone; no child inherits that it ignores them
        if signal.getsignal(each) is _interrupt:
            signal.signal(each, _nothing)
    if number == signal.SIGINT:
        signal.signal(number, signal.default_int_handler)
    _came.append(number)
    told = _descendants(os.getpid())
    if number != signal.SIGINT or not _has_terminal():
        _tell(told, number)
    # threading's own start() takes a lock that the main thread may hold as it is interrupted
    _thread.start_new_thread(_tell_later_ones, (number, {*told}))
    raise KeyboardInterrupt


def _begin_to_wake() -> None:
    global _wakes_in
    _wakes_in = os.getpid()
    told, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
    _thread.start_new_thread(_wake, (told,))


def _wake(told: int) -> None:
    """The interpreter runs a handler in the main thread, and before that thread's next call: one
    that comes as the thread begins to wait, or that the kernel gives to another thread, would be
    run when the wait is over. So the main thread gets it until it has run."""
    while numbers := os.read(told, 1):
        while not _came and signal.getsignal(numbers[0]) is _interrupt:
            time.sleep(LOOKS)
            if not _came:
                signal.pthread_kill(_main, numbers[0])


def _nothing(*_) -> None:
    pass


def _has_terminal() -> bool:
    """Whether its Ctrl-C reaches this process, and so its children."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _tell_later_ones(number: int, told: set[int]) -> None:
    """Tells what other threads start from now on: a pool's are not interrupted, and go on until
    they find that they are over. What the main thread starts belongs to its undoing."""
    main = os.getpid()
    while True:
        later = [each for each in _descendants(os.getpid(), but=main) if each not in told]
        told.update(later)
        _tell(later, number)
        time.sleep(LOOKS)


def _tell(processes: list[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _descendants(process: int, but: int = 0) -> list[int]:
    """Those that its threads have started, but one of them. None where the kernel does not tell."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            if int(thread) == but:
                continue
            with open(f"/proc/{process}/task/{thread}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *_descendants(child)]
    return found
