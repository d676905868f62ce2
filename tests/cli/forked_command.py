"""Runs a command that reads and prints in a fork of the tests' process, which has its modules: an
interpreter that starts costs ten times that. What a test says of starts needs a real one."""

import atexit
import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from syncopate.__main__ import main
from syncopate.commands import diff, listing, report  # noqa: F401  # so that a fork has them

READING = ("report", "diff", "list")  # they start no programs of users


def can(arguments: list[str], environ: Mapping[str, str], others: Mapping) -> bool:
    """Whether nothing is asked for that only a start can give."""
    ours = all(name.startswith("SYNCOPATE") or name == "COLUMNS" for name in environ)
    return bool(arguments) and arguments[0] in READING and ours and not others.keys() - {"cwd"}


def run(
    arguments: list[str], environ: Mapping[str, str], seconds: float, cwd: Path | None = None
) -> subprocess.CompletedProcess:
    """Runs `syncopate ARGUMENTS` with nothing to read; raises TimeoutExpired after `seconds`."""
    out, err = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_command(arguments, environ, cwd, out[1], err[1])
    for writing in (out[1], err[1]):
        os.close(writing)
    try:
        texts = _read((out[0], err[0]), time.monotonic() + seconds)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(arguments, seconds) from None
    finally:
        _, status = os.waitpid(pid, 0)
        for reading in (out[0], err[0]):
            os.close(reading)
    return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), *texts)


def _be_the_command(arguments, environ, cwd, out: int, err: int) -> None:
    """Never returns."""
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 1024)
        atexit._clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environ)
        if cwd is not None:
            os.chdir(cwd)
        sys.argv[:] = ["syncopate", *arguments]
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = _stream(1, sys.__stdout__)
        sys.stderr = _stream(2, sys.__stderr__)
        status = _status_of(main)
    finally:
        os._exit(status)


def _stream(number: int, like) -> object:
    return open(number, "w", encoding=like.encoding, errors=like.errors, closefd=False)


def _status_of(command) -> int:
    """What the interpreter makes of a command's end."""
    try:
        status = command()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return 0 if status is None else int(status)


def _read(ends: tuple[int, int], until: float) -> list[str]:
    """What comes from both until nobody can write any more."""
    found = {end: bytearray() for end in ends}
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(until - time.monotonic())
            if not ready and time.monotonic() >= until:
                raise TimeoutError
            for key, _ in ready:
                some = os.read(key.fd, 1 << 16)
                found[key.fd] += some
                if not some:
                    selector.unregister(key.fd)
    return [bytes(found[end]).decode().replace("\r\n", "\n") for end in ends]
