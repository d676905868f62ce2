"""Runs a program that is recorded to its end, passes signals on to it, and leaves as it left."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable

from syncopate.base.errors import FAILED, Failure
from syncopate.commands.run import start
from syncopate.launch import preload
from syncopate.machines import energy
from syncopate.records.looks import Looks

# A terminal sends the first two to the whole foreground group, hence to the program as well.
FORWARDED = {
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGWINCH,
}


def run_and_wait(
    path: str,
    command: list[str],
    environ: dict[str, str],
    meters: energy.Session,
    looks: Looks,
    before_program: Callable[[int], None] | None = None,
) -> int:
    """Runs the program to its end and passes signals on. Returns what waitpid says.

    `before_program` gets the process's id and returns before the program starts in it; where it
    raises a Failure, none does.
    """
    watched = FORWARDED | {signal.SIGCHLD}
    inherited = signal.getsignal(signal.SIGCHLD)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would leave no status to wait for
    gate, opened = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(opened)
        if not os.read(gate, 1):
            os._exit(FAILED)
        os.close(gate)
        try:
            signal.signal(signal.SIGCHLD, inherited)
            preload.restore_signals()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            start(path, command, environ)
        except Failure as failure:
            os.write(2, f"syncopate: {failure}\n".encode(errors="replace"))
            os._exit(failure.status)
    os.close(gate)
    try:
        if before_program is not None:
            before_program(child)
        os.write(opened, b"+")
    finally:
        os.close(opened)
    return wait_for(child, before, meters, looks)


def wait_for(child: int, before: set, meters: energy.Session, looks: Looks) -> int:
    """Waits until a child has ended, and passes signals on to it. `before`: the mask to go back to.
    Requires: what is watched here is blocked."""
    watched, begin = FORWARDED | {signal.SIGCHLD}, time.monotonic()
    while True:
        # Its signal may have come before we waited.
        done, status, looks.used = os.wait4(child, os.WNOHANG)
        if done:
            looks.ran = time.monotonic() - begin
            looks.ended(child)
            stop_forwarding(before)
            return status
        event = signal.sigtimedwait(watched, looks.period)
        meters.sample()
        if event is None:
            looks.look_if_due()
        elif event.si_signo != signal.SIGCHLD and event.si_code <= 0:
            # From a process; what the terminal sends has reached the child itself.
            looks.look()  # the signal may end the program
            os.kill(child, event.si_signo)


def stop_forwarding(before: set) -> None:
    """Goes back to that mask. A Ctrl-C that has ended the program is pending for us, too, where the
    program was the first to get it: it is done, and not for what is left to do."""
    while signal.sigtimedwait(FORWARDED, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_SETMASK, before - FORWARDED)


def leave_as(status: int, is_kept: bool) -> int:
    """The exit status of the program; when a signal ended it, ends this process by the same one.
    A program that did well has not been recorded well where what was asked for is not kept."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status) or (0 if is_kept else FAILED)
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has dumped core if it was to
    sys.stderr.flush()
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number
