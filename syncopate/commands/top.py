"""`syncopate top`: which locks a program waits for, while it runs."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from syncopate.base import clashes, scratch, wholefile
from syncopate.base.errors import BAD_USE, FAILED, NOT_EXECUTABLE, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.base.shown import shown
from syncopate.commands.record import prepare
from syncopate.launch import kernelview, preload, program
from syncopate.records import live
from syncopate.records.recordstamps import children_of
from syncopate.show import topscreen

HELP = """\
usage: syncopate top [OPTION...] PID
       syncopate top [OPTION...] -p PID
       syncopate top [OPTION...] -- PROGRAM [ARG...]

Shows which locks the threads of a program wait for, anew every two seconds. PID is a process that
`syncopate record` started and that still runs; with -p it is any process, at which the kernel
looks: nothing is loaded into it, and root's rights are needed (docs/record.md). PROGRAM is
started, and stopped when you leave; its output is not shown. Ctrl-C leaves.

  -p, --pid PID           look at this running process, by the kernel
  -i, --interval SECONDS  how often (default: 2)
  -n, --rows N            so many locks (default: as fit)
      --once              one interval, then leave
      --json              one object a line and interval instead (docs/reference/json.md)
  -l, --lock NAME[:WAIT]  run PROGRAM with this lock (default: $SYNCOPATE_LOCK, else futex)
      --log FILE          PROGRAM's output goes there
      --force             start PROGRAM although the library cannot act on it
  -h, --help              this page

Exit status: 0; 1 nothing was recorded, 2 bad use, 126 PROGRAM not executable, 127 not found.
"""
OPTIONS = {
    "--pid": VALUE,
    "--interval": VALUE,
    "--rows": VALUE,
    "--once": FLAG,
    "--json": FLAG,
    "--lock": VALUE,
    "--log": VALUE,
    "--force": FLAG,
    "--help": FLAG,
}
CLASHES = [
    (("--lock", "--log", "--force"), ("--pid", "PID"), "it is for a PROGRAM that is started"),
    (("--rows",), ("--json",), "each object has all locks"),
]
ALIASES = {"-p": "--pid", "-i": "--interval", "-n": "--rows", "-l": "--lock", "-h": "--help"}
PATIENCE = 5.0  # seconds that a program gets to end by itself


class Attached:
    """A process that is recorded already."""

    def __init__(self, process: int):
        self._taps = [live.Tap(live.record_of(process))]
        self.title = f"process {process}"
        try:
            self._handle = os.pidfd_open(process)
        except OSError as error:
            raise Failure(f"process {process}: {error.strerror}") from None

    def taps(self) -> list[live.Tap]:
        return self._taps

    def ended_within(self, seconds: float) -> bool:
        return bool(select.select([self._handle], [], [], seconds)[0])

    def leave(self) -> None:
        os.close(self._handle)


class Watched:
    """A process that runs, and those that it starts: the kernel tells of their waits."""

    def __init__(self, process: int):
        if why := kernelview.obstacle():
            raise Failure(why, FAILED)
        self.title = f"process {process}"
        self._taps: dict[str, live.Tap] = {}
        self._folder = tempfile.mkdtemp(prefix="syncopate-top.", dir=scratch.place())
        self._record = os.path.join(self._folder, "record")
        try:
            self._recorder = kernelview.KernelRecorder(process, self._record)
        except Failure:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def taps(self) -> list[live.Tap]:
        """One for each process that has something to tell by now."""
        return _taps_of(self._record, self._taps)

    def ended_within(self, seconds: float) -> bool:
        return self._recorder.ended_within(seconds)

    def leave(self) -> None:
        self._recorder.stop()
        if why := self._recorder.trouble:
            print(f"syncopate: {why}", file=sys.stderr)
        shutil.rmtree(self._folder, ignore_errors=True)


def _taps_of(record: str, known: dict[str, live.Tap]) -> list[live.Tap]:
    for path in [record, *children_of(record)]:
        if path not in known and live.is_record(path):
            known[path] = live.Tap(path)
    return list(known.values())


class Started:
    """A program that is started for this, and records into a folder that goes with it."""

    def __init__(self, command: list[str], options: dict[str, str]):
        library, environ = prepare(
            {"--lock": options["--lock"]} if "--lock" in options else {}, "top"
        )
        path = program.find_program(command[0])
        if "--force" not in options:
            program.check_preloadable(path, library, "`syncopate top -p PID`")
        preload.suit(environ, path)
        self.title = " ".join(command)
        self._taps: dict[str, live.Tap] = {}
        log = _open_log(options.get("--log"))
        self._folder = tempfile.mkdtemp(prefix="syncopate-top.", dir=scratch.place())
        self._record = os.path.join(self._folder, "record")
        try:
            self._process = subprocess.Popen(
                command,
                executable=path,
                env=environ | {"SYNCOPATE_RECORD": self._record},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise Failure(f"{path}: cannot be started: {error.strerror}", NOT_EXECUTABLE) from None

    def taps(self) -> list[live.Tap]:
        """One for each process that records by now: the program's and its children's."""
        return _taps_of(self._record, self._taps)

    def ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def leave(self) -> None:
        if not self.ended_within(0):
            self._process.terminate()
            if not self.ended_within(PATIENCE):
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _open_log(path: str | None):
    if not path:
        return subprocess.DEVNULL
    wholefile.check_place(path, "top: --log")
    try:
        return open(path, "wb")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}; choose another place") from None


def main(arguments: list[str]) -> int:
    options, words = read_options(arguments, OPTIONS, ALIASES)
    runs = "--" not in arguments and bool(words) and words[0].isdigit()
    if runs:  # no program, whose options would follow it
        more, rest = read_options(words[1:], OPTIONS, ALIASES)
        if rest:
            raise Failure(f"top: PID names a process; {shown(rest[0])} is too much", BAD_USE)
        options |= more
    if "--help" in options:
        sys.stdout.write(HELP)
        return 0
    interval = _number(options, "--interval", 2.0)
    rows = int(_number(options, "--rows", 0, whole=True)) or None
    if not words and "--pid" not in options:
        raise Failure("top: name a process or `-- PROGRAM`; see --help", BAD_USE)
    clashes.refuse("top", {*options, *(["PID"] if runs else [])}, CLASHES)
    leaving = threading.Event()

    def leave(*_) -> None:
        leaving.set()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, leave)
    if "--pid" in options:
        if words:
            raise Failure(f"top: -p names a process; {shown(words[0])} is too much", BAD_USE)
        source = Watched(kernelview.process_named(options["--pid"]))
    elif runs:
        source = Attached(int(words[0]))
    else:
        source = Started(words, options)
    try:
        json_wanted = "--json" in options
        show = topscreen.Lines() if json_wanted else topscreen.Screen(source.title, rows)
        _watch(source, interval, "--once" in options, show, leaving)
    except KeyboardInterrupt:
        pass  # the way to leave
    finally:
        source.leave()
    return 0


def _number(options: dict[str, str], name: str, default: float, whole: bool = False) -> float:
    text = options.get(name)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = 0
    if text is not None and (not 0 < value < 1e6 or (whole and value % 1)):
        kind = "whole number" if whole else "number"
        raise Failure(f"top: {name} {text}: a {kind} above 0 is wanted", BAD_USE)
    return value


def _watch(source, interval: float, once: bool, show: topscreen.Display, leaving) -> None:
    """Shows interval after interval until the program ends. A Failure if it recorded nothing.

    `leaving`: an event that is set when the user wants to leave. An exception says so, too, at
    once; but where Python itself calls a function, as when it frees an object, it drops them.
    """
    before = live.snapshot(source.taps())
    with show:
        while True:
            ended = source.ended_within(interval)
            after = live.snapshot(source.taps())
            show.update(before, after)
            if ended or once or leaving.is_set():
                break
            before = after
    if not source.taps():
        raise Failure(
            f"{source.title}: no record was written: the program ended before the library started,"
            " or replaced its environment",
            FAILED,
        )
