"""The kernel's view: starts the recorder that looks at programs from outside, by what the kernel
sees of their waits. Nothing is loaded into them."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import re
import signal
import subprocess
import tempfile

from syncopate.base import paths, scratch
from syncopate.base.errors import BAD_USE, FAILED, Failure

ENDED_BEFORE = 3  # exit status of the recorder: the process was gone
PATIENCE = 10.0  # seconds without work that the recorder gets to finish its records
UNITS = {"ms": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def obstacle() -> str | None:
    """Why the kernel's view does not work here, in one line that says what to do; None: it does."""
    tool = paths.find(paths.KERNEL_RECORDER)
    if tool is None:
        machine = os.uname().machine
        if machine != "x86_64":
            return f"the kernel's view works on x86-64 only, and this is {machine}"
        return (
            "this installation has no recorder of the kernel's view; wheels and packages have it,"
            " and `make` builds it with clang, libbpf-dev and libdw-dev"
        )
    try:
        done = subprocess.run([tool, "check"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{tool} does not start: {error}"
    if done.returncode == 0:  # the loader may have said something beside it
        found = done.stdout.strip().splitlines()
        return found[0] if found else None
    found = (done.stdout or done.stderr).strip().splitlines()
    return found[0] if found else f"{tool} ended with status {done.returncode}"


def seconds(text: str) -> float:
    """A duration like 10s, 500ms or 2m; a number alone is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text)
    found = float(match[1]) * UNITS[match[2]] if match else 0.0
    if not 0 < found < 1e9:
        raise Failure(f"--for {text}: a duration is wanted, as 10s, 500ms or 2m", BAD_USE)
    return found


def process_named(text: str) -> int:
    """The process id in `text`. A Failure where there is none that can be recorded."""
    if not (text.isascii() and text.isdigit()) or int(text) in (0, os.getpid()):
        raise Failure(f"-p {text}: the number of a process is wanted", BAD_USE)
    process = int(text)
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        raise Failure(f"there is no process {process}", BAD_USE) from None
    leader = int(status.get("Tgid", text))
    if leader != process:
        raise Failure(f"{process} is a thread of process {leader}: say -p {leader}", BAD_USE)
    if status.get("State", "").strip().startswith(("Z", "X")):
        raise Failure(f"process {process} has ended", BAD_USE)
    try:
        os.readlink(f"/proc/{process}/exe")
    except PermissionError:
        owner = _user(int(status["Uid"].split()[0]))
        raise Failure(f"process {process} belongs to {owner}; {more_rights()}", BAD_USE) from None
    except OSError:
        raise Failure(f"process {process} is a part of the kernel, or ends now", BAD_USE) from None
    return process


def started_by(process: int) -> list[int]:
    """The processes that it has started, and these, and that run: none where the kernel does not
    tell."""
    found: list[int] = []
    for path in glob.glob(f"/proc/{process}/task/*/children"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            found += map(int, file.read().split())
    return sorted(found + [each for child in found for each in started_by(child)])


def more_rights() -> str:
    """What gives us the right to look at another user's process."""
    if os.geteuid():
        return "run this with sudo"
    return "root may not look at it here, as in a container: CAP_SYS_PTRACE is what it lacks"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _processor_time(process: int) -> float:
    """In seconds, of all its threads; 0 where nothing tells."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class KernelRecorder:
    """The recorder of one process and, unless `alone`, of those that it starts."""

    def __init__(
        self,
        process: int,
        record: str,
        lasts: float | None = None,
        launched: bool = False,
        redact: bool = False,
    ):
        """Records when it returns. `launched`: the process is about to run the program that is
        meant. Raises a Failure in which the recorder says why it cannot."""
        tool = paths.find(paths.KERNEL_RECORDER)
        if tool is None:
            raise Failure(obstacle() or "", FAILED)
        # Read when it has ended.
        self._said = tempfile.TemporaryFile(dir=scratch.place())  # noqa: SIM115
        ready, write = os.pipe()
        command = [tool, "record", "--pid", str(process), "--output", record, "--ready", str(write)]
        if lasts is not None:
            command += ["--for", str(round(lasts * 1e9))]
        command += ["--launched"] if launched else []
        command += ["--redact"] if redact else []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.PIPE,
            pass_fds=[write],
            start_new_session=True,  # a terminal's Ctrl-C is for us, who tell it
        )
        os.close(write)
        self.left: list[int] = []  # processes that its program had started, and that go on
        self.trouble: str | None = None  # what kept it from finishing its records, in one line
        with os.fdopen(ready, "rb") as file:
            begun = file.read(1)
        if not begun:
            said = self._process.stderr.read().decode(errors="replace").strip()
            status = self._process.wait()
            if status == ENDED_BEFORE:
                raise Failure(f"process {process} ended before it could be recorded", BAD_USE)
            why = said.splitlines()[0] if said else f"the recorder ended with status {status}"
            raise Failure(why, FAILED)

    def ended(self) -> bool:
        """Whether it has finished, with the process or as its time was over."""
        return self._process.poll() is not None

    def ended_within(self, seconds: float) -> bool:
        """The same, waiting for it up to so long."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """Lets it finish its records. The recorded process goes on."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        self.wait()

    def wait(self) -> None:
        """Until its records are whole, however long it works on them."""
        used = -1.0
        while not self.ended_within(PATIENCE) and _processor_time(self._process.pid) > used:
            used = _processor_time(self._process.pid)
        if self.ended():
            status = self._process.wait()
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else "failed"
        else:
            self._process.kill()
            status = self._process.wait()
            how = f"did nothing for {PATIENCE:g} s"
        if status:
            self.trouble = f"the kernel's recorder {how}: the record has what came before that"
        if not self._said.closed:
            self._said.seek(0)
            self.left += map(int, self._said.read().split())
        self._said.close()
        self._process.stderr.close()
