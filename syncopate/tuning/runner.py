"""Runs of the program, or of a server under load, each in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence

from syncopate.base import ending, scratch
from syncopate.tuning.metric import Metric
from syncopate.tuning.search import Dropped

GRACE = 2.0  # seconds between SIGTERM and SIGKILL
SERVER_STOPS = 10.0  # seconds that a server has for its end
SERVER_STARTS = 15.0
SETTLE = 1.0  # seconds for a server whose port we do not know
OUTPUT_KEPT = 1 << 22  # bytes of output that a metric may look at: the last ones
PORT = "{port}"


class Runner:
    """Runs `program`; or starts `server`, runs `load` against it, and stops it.

    `run(environ, limit)` returns one run's cost. Nothing that it started is left behind, however it
    ends. {port} in both commands stands for a free port; the server is ready when it answers there.
    """

    def __init__(self, metric: Metric, program: Sequence[str], server: Sequence[str] = ()):
        self.metric = metric
        self.program = list(program)  # the load, where there is a server
        self.server = list(server)

    def run(self, environ: dict[str, str], limit: float) -> float:
        with tempfile.TemporaryFile(dir=scratch.place()) as output:
            if not self.server:
                seconds = self._finish(self.program, environ, output, limit)
            else:
                seconds = self._serve(environ, output, limit)
            output.seek(max(0, output.seek(0, os.SEEK_END) - OUTPUT_KEPT))
            text = output.read().decode("utf-8", "replace")
        return self.metric.cost(seconds, text)

    def _serve(self, environ: dict[str, str], output, limit: float) -> float:
        port = _free_port()
        command = [word.replace(PORT, str(port)) for word in self.server]
        load = [word.replace(PORT, str(port)) for word in self.program]
        with (
            tempfile.TemporaryFile(dir=scratch.place()) as log,
            _group(command, environ, log, SERVER_STOPS) as server,
        ):
            _await_start(server, port if command != self.server else None, log)
            seconds = self._finish(load, dict(os.environ), output, limit, f"the load {load[0]}")
            if server.poll() is not None:
                raise Dropped(f"the server {_how_it_ended(server.returncode)} under load")
        return seconds

    @staticmethod
    def _finish(
        command: list[str], environ: dict[str, str], output, limit: float, called: str = "it"
    ) -> float:
        """Runs a command to its end; returns its seconds. `called`: what it is in a message."""
        started = time.monotonic()
        with _group(command, environ, output, GRACE) as process:
            try:
                status = _wait(process, limit)
            except subprocess.TimeoutExpired:
                raise Dropped(f"{called} ran longer than {limit:.1f} s") from None
            seconds = time.monotonic() - started
        if status != 0:
            raise Dropped(f"{called} {_how_it_ended(status)}{_last_line(output)}")
        return seconds


@contextlib.contextmanager
def _group(command: list[str], environ: dict[str, str], output, grace: float):
    """A process in a session of its own; the whole group is gone at the end of the block."""
    process = None
    try:
        with ending.later():  # one in the middle of it would leave a process nobody knows
            process = subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours, and so is the end of its children
            )
        yield process
    except OSError as error:
        raise Dropped(f"{command[0]} cannot be started: {error.strerror}") from None
    finally:
        if process is not None:
            _end(process, grace)


def _wait(process: subprocess.Popen, limit: float) -> int:
    """As process.wait(limit), which looks every 50 ms: too rarely for what is measured."""
    try:
        ended = os.pidfd_open(process.pid)
    except OSError:  # Linux before 5.3
        return process.wait(limit)
    try:
        if not select.select([ended], [], [], limit)[0]:
            raise subprocess.TimeoutExpired(process.args, limit)
    finally:
        os.close(ended)
    return process.wait()


def _end(process: subprocess.Popen, grace: float) -> None:
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(grace)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await_start(server: subprocess.Popen, port: int | None, log) -> None:
    deadline = time.monotonic() + (SERVER_STARTS if port else SETTLE)
    while server.poll() is None and time.monotonic() < deadline:
        if port:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
                return
        time.sleep(0.02)
    if server.poll() is not None:
        raise Dropped(f"the server {_how_it_ended(server.returncode)}{_last_line(log)}")
    if port:
        raise Dropped(f"the server does not answer on port {port}")


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _last_line(output) -> str:
    output.seek(max(0, output.seek(0, os.SEEK_END) - 4096))
    lines = output.read().decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:160]}" if lines else ""
