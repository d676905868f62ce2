"""Java programs: loads the agent that tells of their monitors and of java.util.concurrent, into one
that is started, and into one that runs, by the VM's own attach mechanism (as jcmd does)."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Sequence

from syncopate.base import paths
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.launch import kernelview

OPENS_WITHIN = 20.0  # seconds that a VM gets to open its socket
ASKED_EVERY = 2.0  # ... and after which it is asked again, as HotSpot's own tools do
ANSWERS_WITHIN = 60.0  # ... and to answer
PROTOCOL = b"1"
MEETING_FOLDER = "/tmp"  # where HotSpot looks for who attaches, whatever TMPDIR says
ONLY_BEGINS = "5"  # products/jvm/agent.cpp: the VM is not that far yet
UNTIL_RECORD = 10.0


def is_launcher(path: str) -> bool:
    """Whether a program is the `java` of a JDK or of its run-time environment."""
    found = os.path.realpath(path)
    home = os.path.dirname(os.path.dirname(found))
    return os.path.basename(found) == "java" and any(
        os.path.exists(f"{home}/lib/{name}") for name in ("libjli.so", "jli/libjli.so", "server")
    )


def takes_agent(path: str) -> bool:
    """Whether a program is a Java VM whose locks can be told of here."""
    return paths.find(paths.JVM_AGENT) is not None and is_launcher(path)


def with_agent(command: list[str], record: str) -> list[str]:
    """The command line of a Java VM that is to write this record."""
    agent = paths.require(paths.JVM_AGENT)
    return [command[0], f"-agentpath:{agent}=record={record}", *command[1:]]


def in_environment(environ: dict[str, str]) -> None:
    """Puts the agent into the environment, for VMs that a program starts. They say so themselves,
    in one line on standard error each."""
    agent = paths.require(paths.JVM_AGENT)
    before = environ.get("JAVA_TOOL_OPTIONS", "")
    environ["JAVA_TOOL_OPTIONS"] = f"{before} -agentpath:{agent}".strip()


def runs_java(process: int) -> bool:
    """Whether a process is a Java VM whose locks can be told of here."""
    if paths.find(paths.JVM_AGENT) is None:
        return False
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:
            return any(line.rstrip().endswith("/libjvm.so") for line in file)
    except OSError:
        return False


class JvmRecorder:
    """The recorder within a running VM. Its methods are those of kernelview.KernelRecorder."""

    left: Sequence[int] = ()  # none of its program's processes is recorded
    trouble: str | None = None

    def __init__(self, process: int, record: str, lasts: float | None, redact: bool):
        """Records when it returns. Raises a Failure that says why it cannot."""
        if redact:
            raise Failure("record: --redact is not for Java programs that run", BAD_USE)
        self._process = process
        self._until = None
        self._stopped = False
        # A copy for each recording: what is loaded stays loaded, and cannot begin again.
        name = f"syncopate-jvm-{process}-"
        folder = _folder_of(process)
        number, self._copy = tempfile.mkstemp(".so", name, folder)
        os.close(number)
        # Of a process that has been killed, /proc leads nowhere.
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            shutil.copyfile(paths.require(paths.JVM_AGENT), self._copy)
            os.chmod(self._copy, 0o755)
            self._begin(record)
            self._until = None if lasts is None else time.monotonic() + lasts
        except BaseException:
            self._remove()
            raise

    def _begin(self, record: str) -> None:
        try:
            self._load(f"record={record}")
        except Failure:
            # What there is of the record, of a VM that ended before it could answer, is one.
            if not os.path.exists(record) or os.path.exists(f"/proc/{self._process}/exe"):
                raise
        self._wait_for(record)

    def _load(self, options: str) -> None:
        path = os.path.join(MEETING_FOLDER, os.path.basename(self._copy))  # as the VM sees it
        until = time.monotonic() + OPENS_WITHIN
        while True:
            said = attach(self._process, ["load", path, "true", options])
            lines = said.split("\n")
            code = lines[1].removeprefix("return code:").strip() if len(lines) > 1 else ""
            if code != ONLY_BEGINS or time.monotonic() > until:
                break
            time.sleep(0.02)
        if lines[0] != "0" or code not in ("", "0"):
            why = "it cannot write the record" if code == "4" else (code or lines[0])
            if not why:
                raise Failure(f"the Java VM {self._process} ended before it answered", FAILED)
            raise Failure(f"the Java VM {self._process} did not take the agent: {why}", FAILED)

    def _wait_for(self, record: str) -> None:
        until = time.monotonic() + UNTIL_RECORD
        while not os.path.exists(record):
            if time.monotonic() > until:
                raise Failure(
                    f"the Java VM {self._process} did not begin {record}; name a file with -o that"
                    " its user can write",
                    FAILED,
                )
            time.sleep(0.01)

    def _remove(self) -> None:
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            os.unlink(os.path.basename(self._copy), dir_fd=self._folder)
        os.close(self._folder)
        self._folder = None

    def ended(self) -> bool:
        """Whether it has finished, with the process or as its time was over."""
        if self._until is not None and time.monotonic() >= self._until:
            self.stop()
        return self._stopped or not os.path.exists(f"/proc/{self._process}")

    def stop(self) -> None:
        """Lets it finish its record. The process goes on."""
        if not self._stopped:
            self._stopped = True
            with contextlib.suppress(Failure):  # it may have ended
                self._load("stop")

    def wait(self) -> None:
        """When it has finished."""
        self._remove()


def _folder_of(process: int) -> str:
    """The VM's meeting folder, seen from here: it may have another root (a container)."""
    return f"/proc/{process}/root{MEETING_FOLDER}"


def attach(process: int, words: list[str]) -> str:
    """What a running VM answers to an attach command. Raises a Failure."""
    status = _status(process)
    inner = status["NSpid"].split()[-1] if "NSpid" in status else str(process)
    path = os.path.join(_folder_of(process), f".java_pid{inner}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as to:
        to.settimeout(ANSWERS_WITHIN)
        try:
            _connect(to, process, inner, status, path)
            padded = [*words, "", "", ""][:4]
            to.sendall(b"\0".join([PROTOCOL, *(os.fsencode(word) for word in padded)]) + b"\0")
            answer = b""
            while part := to.recv(4096):
                answer += part
        except OSError as error:
            raise Failure(
                f"the Java VM {process} does not answer: {error.strerror or error}; run this as its"
                " user",
                FAILED,
            ) from None
    return answer.decode("utf-8", "replace")


def _connect(to: socket.socket, process: int, inner: str, status: dict, path: str) -> None:
    """To the VM's socket, which it opens when asked. One that is there already may be an earlier
    process's of that number: it refuses, and a VM that only begins is about to remove it."""
    until = time.monotonic() + OPENS_WITHIN
    while True:
        if not _is_socket(path):
            _ask_for_socket(process, inner, status, path)
        try:
            return to.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            if time.monotonic() > until or _status(process)["State"].split()[0] in "ZX":
                raise
        time.sleep(0.05)


def _status(process: int) -> dict[str, str]:
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            return dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)
    except OSError:
        raise Failure(f"there is no process {process}", BAD_USE) from None


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _ask_for_socket(process: int, inner: str, status: dict[str, str], path: str) -> None:
    """A VM opens its socket when it finds a certain file at SIGQUIT, which it catches. One that
    does not would end. One that has only just begun may remove a socket that it has opened, as one
    of an earlier process: asked again, it opens another one."""
    caught = int(status.get("SigCgt", "0").strip(), 16)
    if not caught >> (signal.SIGQUIT - 1) & 1:
        raise Failure(
            f"the Java VM {process} takes no agents (-Xrs, or it only begins): say --kernel",
            BAD_USE,
        )
    asked = os.path.join(_folder_of(process), f".attach_pid{inner}")
    try:
        with open(asked, "x", encoding="ascii"):
            pass
        with contextlib.suppress(PermissionError):
            os.chown(asked, *(int(status[key].split()[1]) for key in ("Uid", "Gid")))
    except FileExistsError:
        pass
    except OSError as error:
        raise Failure(
            f"the Java VM {process} cannot be asked: {error.strerror}; run this as its user", FAILED
        ) from None
    try:
        begun = asked_at = time.monotonic()
        os.kill(process, signal.SIGQUIT)
        while not _is_socket(path):
            if _status(process)["State"].split()[0] in "ZX":
                raise Failure(f"the Java VM {process} has ended", FAILED)
            now = time.monotonic()
            if now - asked_at > ASKED_EVERY:
                asked_at = now
                os.kill(process, signal.SIGQUIT)
            if now - begun > OPENS_WITHIN:
                raise Failure(
                    f"the Java VM {process} takes no agents (-XX:+DisableAttachMechanism?): say"
                    " --kernel",
                    FAILED,
                )
            time.sleep(0.05)
    except ProcessLookupError:
        raise Failure(f"the Java VM {process} has ended", FAILED) from None
    except PermissionError:
        raise Failure(
            f"process {process} belongs to another user; {kernelview.more_rights()}", BAD_USE
        ) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(asked)
