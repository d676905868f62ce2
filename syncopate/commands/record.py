"""`syncopate record`: run a program and keep where it waited."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence

from syncopate.base import clashes, optiontable, paths, wholefile
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.base.progress import Progress
from syncopate.base.shown import shown
from syncopate.commands.recordkept import is_kept, keep_limit, keep_measured, limit_of
from syncopate.commands.recordplace import make_room
from syncopate.commands.recordrun import leave_as, run_and_wait, stop_forwarding, wait_for
from syncopate.launch import jvm, kernelview, openmp, preload, program, transactions
from syncopate.machines import energy
from syncopate.records import recordstamps
from syncopate.records.looks import Looks

HELP = """\
usage: syncopate record [-o FILE] [--bundle FILE] [--lock NAME[:WAIT] | --omp | --tm ALGORITHM]
                        [--quiet] [--] PROGRAM [ARG...]
       syncopate record --kernel [-o FILE] [--bundle FILE] [--quiet] [--] PROGRAM [ARG...]
       syncopate record -p PID [--for TIME] [-o FILE] [--bundle FILE] [--quiet]

Runs PROGRAM unmodified and records which locks it waits for, who held them, and from where.
Its exit status, signals and standard streams stay its own. Child processes are recorded too,
each in FILE.PID. An older FILE becomes FILE.old. The record also tells the program's processor
time and, where a meter works, the energy that the machine used meanwhile.

With --kernel or -p nothing is loaded into the program: the kernel tells of its waits, whatever it
is written in, also of static ones. That needs root's rights (docs/record.md). Ctrl-C ends the
recording of a running process, and the process goes on. A Java VM that runs gets an agent that
tells of Java's own locks instead, unless --kernel is said as well.

  -o, --output FILE       the record (default: syncopate.rec)
  -l, --lock NAME[:WAIT]  record with this lock in place
                          (default: $SYNCOPATE_LOCK, else futex, which is what glibc does)
      --omp               record the barriers, locks and critical sections of an OpenMP program
                          instead; --omp-barrier, --omp-lock, --wait as in `syncopate run`
      --redact            leave the program's arguments, which may hold passwords, out of the record
      --bundle FILE       at the end, also write the records with what their names need into one
                          file, which `syncopate report` reads on any machine
      --tm ALGORITHM      record the transactions of a program compiled with -fgnu-tm instead, on
                          our libitm.so.1; ALGORITHM as in `syncopate run`
      --jvm               PROGRAM starts Java VMs: load the agent for Java's own locks into them
                          beside the library (into `java` itself it is loaded anyway, alone)
      --kernel            look at PROGRAM from outside, by the kernel
  -p, --pid PID           look so at a process that runs, and at those that it starts from now on
      --for TIME          with -p: so long (10s, 500ms, 2m; default: until it ends, or Ctrl-C)
  -q, --quiet             say nothing at the end
  -v, --verbose           the library says on standard error what it does
      --force             start PROGRAM although the library cannot act on it
  -h, --help              this page

Then: syncopate report FILE

Exit status: PROGRAM's own; 1 the record cannot be written, or at the end the bundle, 2 bad use,
126 PROGRAM not executable, 127 PROGRAM not found.
"""
OPTIONS = {
    "--output": VALUE,
    "--lock": VALUE,
    **openmp.OPTIONS,
    "--tm": VALUE,
    "--redact": FLAG,
    "--bundle": VALUE,
    "--jvm": FLAG,
    "--kernel": FLAG,
    "--pid": VALUE,
    "--for": VALUE,
    "--quiet": FLAG,
    "--verbose": FLAG,
    "--force": FLAG,
    "--help": FLAG,
}
ALIASES = {
    "-o": "--output",
    "-l": "--lock",
    "-p": "--pid",
    "-q": "--quiet",
    "-v": "--verbose",
    "-h": "--help",
}
NOT_LOADED = "it is for what is loaded into a program that is started"
CLASHES = [
    (
        ("--lock", "--tm", "--force", "--jvm", "--verbose", *openmp.OPTIONS),
        ("--pid", "--kernel"),
        NOT_LOADED,
    ),
    (("--lock",), ("--tm",), "transactions are recorded, and locks are not; record twice"),
    (tuple(openmp.OPTIONS), ("--tm",), "transactions are recorded, OpenMP is not; record twice"),
    (("--lock",), tuple(openmp.OPTIONS), "it is for pthread's locks; say --omp-lock"),
]
BESIDE_AGENT = [
    (("--verbose",), ("java",), "a Java VM gets an agent, which says nothing; --jvm loads both")
]

NAMED = 4  # processes in one line


def main(arguments: list[str]) -> int:
    options, command = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP)
        return 0
    clashes.refuse("record", set(options), CLASHES)
    if "--bundle" in options:
        wholefile.check_place(options["--bundle"], "record: --bundle")
    if "--pid" in options:
        return record_running(options, command)
    if "--for" in options:
        raise Failure("record: --for goes with -p PID", BAD_USE)
    if not command:
        raise Failure(
            "record: no program named; try `syncopate record -- PROGRAM ARGUMENTS`", BAD_USE
        )
    if "--kernel" in options:
        return record_from_outside(options, command)
    library, environ = prepare(options)
    path = program.find_program(command[0])
    if "--force" not in options:
        program.check_preloadable(path, library, "`syncopate record --kernel`")
    named = options.get("--output", "syncopate.rec")
    record = os.path.abspath(named)
    make_room(record, named)
    if "--jvm" in options:
        jvm.in_environment(environ)
    if not {"--jvm", "--lock", "--tm", *openmp.OPTIONS} & options.keys() and jvm.takes_agent(path):
        clashes.refuse("record", {*options, "java"}, BESIDE_AGENT)
        environ, command = dict(os.environ), jvm.with_agent(command, record)
    else:
        environ["SYNCOPATE_RECORD"] = record
    if "LD_PRELOAD" in environ:
        preload.suit(environ, path)
    if "--redact" in options:
        environ["SYNCOPATE_REDACT"] = "1"
    optiontable.complain(environ, program.machine_of(path))
    meters = energy.Session()
    begin = time.monotonic()
    looks = Looks(record, keeps_commands(options))
    status = run_and_wait(path, command, environ, meters, looks)
    keep_measured(record, meters, time.monotonic() - begin)
    return leave_as(status, is_kept(record, named, options))


def redacts(options: dict) -> bool:
    """Whether arguments are left out: for recorders that read no variables."""
    return "--redact" in options or os.environ.get("SYNCOPATE_REDACT", "") not in {"", "0"}


def keeps_commands(options: dict) -> bool:
    """Whether what processes call themselves may be kept: where nobody's arguments are left out, as
    the library does for any value but 0."""
    return "--redact" not in options and os.environ.get("SYNCOPATE_REDACT", "0") == "0"


def record_from_outside(options: dict, command: list[str]) -> int:
    """Runs a program that only the kernel looks at. Returns its exit status."""
    path = program.find_program(command[0])
    named = options.get("--output", "syncopate.rec")
    record = os.path.abspath(named)
    make_room(record, named)
    if why := kernelview.obstacle():
        raise Failure(why, FAILED)
    meters = energy.Session()
    watch = Watch(record, redacts(options))
    environ = dict(os.environ)
    optiontable.complain(environ)
    looks = Looks(record, keeps_commands(options))
    status = run_and_wait(path, command, environ, meters, looks, watch.begin)
    watch.finish()
    keep_measured(record, meters, looks.ran, looks.used)
    kept = is_kept(record, named, options)
    _say_trouble(watch.trouble)
    if "--quiet" not in options:
        _say_left(watch.left)
    return leave_as(status, kept)


class Watch:
    """The kernel's view of a program that is about to be started."""

    def __init__(self, record: str, redact: bool):
        self._record, self._redact = record, redact
        self._recorder: kernelview.KernelRecorder | None = None
        self.left: Sequence[int] = ()  # processes that it had started and that go on
        self.trouble: str | None = None  # why the record is not whole

    def begin(self, process: int) -> None:
        """Of the process that is going to be the program."""
        self._recorder = kernelview.KernelRecorder(
            process, self._record, launched=True, redact=self._redact
        )

    def finish(self) -> None:
        """When the program has ended, and with it the recorder."""
        if self._recorder is not None:
            self._recorder.wait()
            self.left, self.trouble = self._recorder.left, self._recorder.trouble


def record_running(options: dict, words: list[str]) -> int:
    """Records a process that runs, until it ends, or the time is over, or a signal comes."""
    if words:
        raise Failure(f"record: -p records a process; {shown(words[0])} is too much", BAD_USE)
    lasts = kernelview.seconds(options["--for"]) if "--for" in options else None
    process = kernelview.process_named(options["--pid"])
    before = kernelview.started_by(process)
    limit = limit_of(process)
    of_java = "--kernel" not in options and jvm.runs_java(process)
    why = None if of_java else kernelview.obstacle()
    if why:
        raise Failure(why, FAILED)
    named = options.get("--output", "syncopate.rec")
    record = os.path.abspath(named)
    make_room(record, named)
    ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, {*ending, signal.SIGCHLD})
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    redact = redacts(options)
    if of_java:
        recorder = jvm.JvmRecorder(process, record, lasts, redact)
    else:
        recorder = kernelview.KernelRecorder(process, record, lasts, redact=redact)
    looks = Looks(record, keeps_commands(options))
    progress, begun = Progress(), time.monotonic()
    of_all = f" of {lasts:g}" if lasts else ""
    while not recorder.ended():
        event = signal.sigtimedwait({*ending, signal.SIGCHLD}, looks.period)
        if event is None:
            looks.look_if_due()
        elif event.si_signo in ending:
            looks.look()
            recorder.stop()
        if "--quiet" not in options:
            passed = f"{time.monotonic() - begun:.0f}{of_all} s"
            progress(f"recording process {process}: {passed}; Ctrl-C ends it, the process goes on")
    progress.done()
    recorder.wait()
    for each in (record, *recordstamps.children_of(record)):
        keep_limit(each, limit)
    kept = is_kept(record, named, options)
    _say_trouble(recorder.trouble)
    if "--quiet" not in options:
        _say_left_out(before)
        _say_left(recorder.left)
    return 0 if kept else FAILED


def prepare(options: dict, command: str = "record") -> tuple[str, dict[str, str]]:
    """The library that records, and the environment with it. One only: each writes a file."""
    if "--tm" in options:
        library = paths.require(transactions.RECORDING_LIBRARY)
        environ = transactions.environment(
            dict(os.environ), options["--tm"], transactions.RECORDING_LIBRARY
        )
    elif os.environ.get("SYNCOPATE") == "off":
        raise Failure(
            f"{command}: SYNCOPATE=off, in the environment, switches the library off; unset it",
            BAD_USE,
        )
    elif openmp.wanted(options):
        library, environ = paths.require(paths.PRELOAD_OPENMP), dict(os.environ)
        openmp.choose(environ, options)
    else:
        library = preload.library()
        environ = preload.environment(library, options.get("--lock"), "futex", False)
        preload.say_once(environ)
    if "--verbose" in options:
        environ["SYNCOPATE_VERBOSE"] = "1"
    return library, environ


def go_on(arguments: list[str]) -> int:
    """What is left of a recording that src/launcher/record.cpp began. `arguments`: the child, what
    waitpid said of it ("-": it runs), when it began and ended (ns), the mask to go back to as a
    number, and `record`'s own arguments."""
    try:
        child, begun, ended, mask = (int(arguments[place]) for place in (0, 2, 3, 4))
        status = None if arguments[1] == "-" else int(arguments[1])
    except (IndexError, ValueError):
        raise Failure("go-on-recording: that is for `syncopate record` alone", BAD_USE) from None
    options, _ = read_options(arguments[5:], OPTIONS, ALIASES)
    before = {number for number in range(1, signal.NSIG) if mask >> (number - 1) & 1}
    named = options.get("--output", "syncopate.rec")
    record = os.path.abspath(named)
    meters = energy.Session.without_meters()
    looks = Looks(record, keeps_commands(options))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if status is None:
        looks.look()
        status = wait_for(child, before, meters, looks)
        ended = time.monotonic_ns()
    else:
        looks.ended(child, ended)
        stop_forwarding(before)
    keep_measured(record, meters, (ended - begun) / 1e9)
    return leave_as(status, is_kept(record, named, options))


def _some(processes: Sequence[int]) -> str:
    return ", ".join(map(str, processes[:NAMED])) + ", ..." * (len(processes) > NAMED)


def _say_trouble(why: str | None) -> None:
    if why:
        print(f"syncopate: {why}", file=sys.stderr)


def _say_left(processes: Sequence[int]) -> None:
    """Those that a program had started which has ended."""
    if processes:
        one = len(processes) == 1
        print(
            f"syncopate: {len(processes)} {'process' if one else 'processes'} that it had started"
            f" {'goes' if one else 'go'} on ({_some(processes)}): the recording ended with the"
            f" program; -p records {'it' if one else 'one of these'}",
            file=sys.stderr,
        )


def _say_left_out(processes: list[int]) -> None:
    """Those that the recorded one had started before."""
    if processes:
        some, one = _some(processes), len(processes) == 1
        print(
            f"syncopate: {len(processes)} {'process' if one else 'processes'} that it had started"
            f" before {'is' if one else 'are'} not in it ({some}); -p records one of these",
            file=sys.stderr,
        )
