"""What programs and libraries say of their addresses: asked of syncopate-names (libdwfl), of which
one process answers for all files. Its questions and answers are described in src/names/main.cpp.
"""

from __future__ import annotations

import functools
import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from typing import NamedTuple

from syncopate.base import ending, paths
from syncopate.base.shown import shown
from syncopate.base.since import zip_equal
from syncopate.symbols.machinecode import Program

SECONDS, FETCHING = 120, 900  # for one file; where debug information may have to be fetched
PAGE = 4096
PF_X, PF_W = 1, 2
X86_64 = 62  # e_machine
A_PIECE = 1 << 16
NAMELESS = "no names of code and data"
MISSING = f"syncopate-names is missing (it is built where libdw-dev is): {NAMELESS}"
GREETING = "syncopate-names 4\n"  # src/names/main.cpp has the number


class Identity(NamedTuple):
    """Which build an ELF file is, and how it is mapped."""

    build_id: str | None  # in hex
    machine: int
    loads: list[tuple[int, int, int, int]]  # (file offset, address, bytes, flags)

    def address_of(self, offset: int, flag: int) -> int | None:
        """The link-time address of a mapped file offset; None when no segment loads it.

        Segments are mapped in whole pages, so that two may hold one offset, and the last page goes
        on past the file's part into zeroed variables: `flag` (PF_X, PF_W) says which is preferred.
        """
        best = None
        for start, address, size, flags in self.loads:
            if start & -PAGE <= offset < (start + size + PAGE - 1) & -PAGE:
                if flags & flag:
                    return address + (offset - start)
                best = address + (offset - start) if best is None else best
        return best


class Names:
    """Answers about files, each as it is when it is first asked for."""

    # Where debug information is looked for, as elfutils' --debuginfo-path; None: as it has it.
    debuginfo_path: str | None = None

    def __init__(self):
        self.notes: list[str] = []  # what the reader should know about the answers
        self._process: subprocess.Popen | None = None
        self._trouble: str | None = None
        self._identities: dict[str, Identity | None] = {}
        self._programs: dict[str, Program] = {}

    def _functions(self, path: str) -> tuple[dict[int, str], dict[int, int]]:
        """By where the functions of a file begin: their symbols, as the file has them, and their
        sizes."""
        (told,) = self.ask(path, ["F"])
        starts = [int(start, 16) for start in told[::3]]
        sizes = (int(size, 16) for size in told[1::3])
        return dict(zip(starts, told[2::3])), dict(zip(starts, sizes))

    def program(self, path: str) -> Program:
        """The machine code of a file."""
        if path not in self._programs:
            own = weakref.proxy(self)  # the tool ends with the last who asks it
            identity = self.identity(path)
            loads = identity.loads if identity else ()
            functions = functools.cache(lambda: own._functions(path))
            self._programs[path] = Program(
                path, lambda: functions()[0], loads, lambda: functions()[1]
            )
        return self._programs[path]

    def trouble(self) -> str | None:
        """Why nothing can be asked; None where the tool runs."""
        self._started()
        return self._trouble

    def identity(self, path: str) -> Identity | None:
        """None for what is no (whole) ELF file."""
        if path not in self._identities:
            told = self._exchange(path, [_open(path)])[0] if os.path.isfile(path) else [""]
            self._identities[path] = _identity(*told)
        return self._identities[path]

    def ask(self, path: str, questions: Sequence[str]) -> list[list[str]]:
        """The fields of each answer; none where the file does not say it."""
        if not questions or not self.identity(path):
            return [[] for _ in questions]
        asked = [_open(path), *(question.encode() for question in questions)]
        return [told if told != [""] else [] for told in self._exchange(path, asked)[1:]]

    def debug_file_of(self, build_id: str) -> str | None:
        """A file with the debug information of a build."""
        ((found,),) = self._exchange(build_id, [b"b " + build_id.encode()])
        return found or None

    def _exchange(self, of: str, questions: Sequence[bytes]) -> list[list[str]]:
        unsent = b"".join(question + b"\0" for question in questions)
        answers: list[list[str]] = []
        if self._started():
            try:
                told = self._talk(unsent, len(questions))
                answers = [line.split("\t") for line in told.split("\n")[:-1]]
                if len(answers) < len(questions):  # the file is damaged, or larger than memory
                    self._note(f"syncopate-names broke off at {shown(of)}: names of it are missing")
            except TimeoutError as error:
                self._note(f"syncopate-names took over {error} s on {shown(of)}: no names of it")
            if len(answers) < len(questions):
                self._end()
        return answers + [[""]] * (len(questions) - len(answers))

    def _started(self) -> bool:
        if self._process is None and self._trouble is None:
            self._trouble = self._start()
            if self._trouble:
                self._note(self._trouble)
        return self._process is not None

    def _start(self) -> str | None:
        """Why it does not run, if so."""
        tool = paths.find(paths.NAMES_TOOL)
        if tool is None:
            return MISSING
        is_seen = sys.stderr is not None and sys.stderr.isatty()
        told = {"DEBUGINFOD_PROGRESS": "1"} if is_seen else {}
        folders = [self.debuginfo_path] if self.debuginfo_path else []
        try:
            self._process = subprocess.Popen(
                [tool, *folders], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=None if is_seen else subprocess.DEVNULL, env=os.environ | told, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            return f"{shown(tool)} does not run ({error.strerror}): {NAMELESS}"
        for pipe in (self._process.stdin, self._process.stdout):
            os.set_blocking(pipe.fileno(), False)
        weakref.finalize(self, _end, self._process)
        try:
            if self._talk(b"h\0", 1) == GREETING:
                return None
            why = _complaint(tool)
        except TimeoutError as error:
            why = f"no answer in {error} s"
        self._end()
        return f"{shown(tool)} does not run ({why}): {NAMELESS}"

    def _end(self) -> None:
        _end(self._process, at_once=True)
        self._process = None

    def _talk(self, unsent: bytes, lines: int) -> str:
        """What is said in reply, `lines` lines or, where the tool ends, fewer."""
        seconds = FETCHING if os.environ.get("DEBUGINFOD_URLS") else SECONDS
        until = time.monotonic() + seconds
        heard, at_hand = [], 0
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdin, selectors.EVENT_WRITE)
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while at_hand < lines:
                events = ready.select(until - time.monotonic())
                if time.monotonic() > until:
                    raise TimeoutError(seconds)
                for key, _ in events:
                    if key.fileobj is self._process.stdin:
                        try:
                            unsent = unsent[os.write(key.fd, unsent) :]
                        except BrokenPipeError:
                            unsent = b""
                        if not unsent:
                            ready.unregister(key.fileobj)
                    elif piece := os.read(key.fd, A_PIECE):
                        heard.append(piece)
                        at_hand += piece.count(b"\n")
                    else:
                        lines = 0
        return b"".join(heard).decode("utf-8", "replace")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _identity(build_id: str, *others: str) -> Identity | None:
    if not others:
        return None
    machine, *of_loads = (int(field, 16) for field in others)
    loads = zip_equal(*(of_loads[n::4] for n in range(4)))
    return Identity(build_id or None, machine, list(loads))


def _open(path: str) -> bytes:
    return b"o " + os.fsencode(path)


def _complaint(tool: str) -> str:
    """What a program says that does not answer as it should."""
    try:
        asked = subprocess.Popen(
            [tool], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            encoding="utf-8", errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return error.strerror
    with asked:
        try:
            told = asked.communicate(timeout=min(SECONDS, 10))[1].strip().splitlines()
        except subprocess.TimeoutExpired:
            os.killpg(asked.pid, signal.SIGKILL)  # a script's children, too
            return "it does not end"
    return shown(told[-1]) if told else "it is of another version, or no such program"


def _end(process: subprocess.Popen, at_once: bool = False) -> None:
    with ending.later(at_once=False):
        if at_once:
            process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()
