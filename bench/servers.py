"""Debian's memcached and redis on a free loopback port, for benchmarks, tests and the demo.

Each is a context manager: ready on entry, gone on exit however the block is left.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from syncopate.base import ending

LOOPBACK = "127.0.0.1"


class ServerError(Exception):
    """A server did not start or died; the text says what it printed last."""


def require(program, package):
    """Returns the path of an installed program; raises ServerError naming its Debian package."""
    path = shutil.which(program)
    if path is None:
        raise ServerError(f"{program} is not installed; it is in Debian's package {package}")
    return path


def free_port():
    """Returns a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def unprivileged_user():
    """Returns the user that a server should become when we are root."""
    for name in ("memcache", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ServerError("neither user `memcache` nor `nobody` exists")


class Server:
    """One server process. `port` is set on entry, `status` (its exit status) on exit."""

    def __init__(self, name, command_for, environment=None, stop_within=10.0):
        """command_for(port) returns the command line; environment None means our own."""
        self.name, self.command_for, self.environment = name, command_for, environment
        self.stop_within = stop_within
        self.port = self.process = self.status = None
        self.folder = self.log = None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="syncopate-server-")
        self.log = Path(self.folder.name) / "log"
        try:
            for attempt in range(3):  # someone else may take the free port before the server does
                self._start()
                if self._becomes_ready():
                    return self
                if attempt == 2 or self.process.poll() is None:
                    raise ServerError(f"{self.name} did not start: {self.output()[-300:].strip()}")
        except BaseException:
            self.stop()
            self.folder.cleanup()
            raise
        raise AssertionError("unreachable")

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def _start(self):
        self.port = free_port()
        # (An end in the middle of it would leave a process nobody knows.)
        with open(self.log, "wb") as log, ending.later():
            self.process = subprocess.Popen(
                self.command_for(self.port),
                env=self.environment,
                cwd=self.folder.name,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours: we stop the server in order
            )

    def _becomes_ready(self):
        deadline = time.monotonic() + 15.0
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection((LOOPBACK, self.port), timeout=1.0).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    def output(self):
        """Returns what the server printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self):
        """Ends the server: SIGTERM, then SIGKILL to its group. Returns its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(self.stop_within)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.status = self.process.wait()
        return self.status


def memcached(environment=None, threads=4, prefix=(), stop_within=10.0):
    """Returns a Server for Debian's memcached; `prefix` stands before its command line."""
    program = require("memcached", "memcached")
    user = ["-u", unprivileged_user()] if os.geteuid() == 0 else []

    def command(port):
        options = ["-l", LOOPBACK, "-p", str(port), "-U", "0", "-t", str(threads), "-m", "128"]
        return [*prefix, program, *options, *user]

    return Server("memcached", command, environment, stop_within)


def redis(environment=None, io_threads=2, prefix=(), stop_within=10.0):
    """Returns a Server for Debian's redis with I/O threads that also read; nothing on disk.

    `prefix` are the words of a command that runs it, such as `syncopate record -o FILE --`."""
    program = require("redis-server", "redis-server")

    def command(port):
        options = ["--bind", LOOPBACK, "--port", str(port), "--save", "", "--appendonly", "no"]
        threads = ["--io-threads", str(io_threads), "--io-threads-do-reads", "yes"]
        return [*prefix, program, *options, *threads, "--daemonize", "no"]

    return Server("redis-server", command, environment, stop_within)
