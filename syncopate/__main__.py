"""The `syncopate` command: finds the subcommand and turns failures into one line and a status."""

from __future__ import annotations

import errno
import os
import sys

from syncopate import __version__
from syncopate.base import inherited
from syncopate.base.errors import BAD_USE, FAILED, Failure, near

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

LONGEST_MESSAGE = 1500  # characters: it may quote what a file says

COMMANDS = {
    "run": "run a program with better locks",
    "record": "run a program and record where it waits",
    "report": "show what a record says: which locks, who waits, who holds them",
    "diff": "compare two records: which locks are waited for more, which less",
    "top": "watch which locks a running program waits for",
    "tune": "find what makes a program faster, and prove it",
    "elide": "turn lock elision of a running program on or off",
    "c++": "compile a C++ program for a machine you do not have; cc: a C program",
    "simulate": "run such a program on a modeled machine",
    "check": "run a program, or our own locks, under every interleaving",
    "advise": "say what a program's critical sections do, and what suits their locks",
    "list": "show the locks and their traits",
    "options": "show the environment variables that are read",
    "bench": "run suites of programs, compare, reproduce the papers' figures",
    "transactionalize": "rewrite lock-based C code to transactions",
    "calibrate": "measure this machine for the simulator",
    "completion": "print the completion file of a shell",
    "doctor": "show what this machine offers, and what that means",
}
ALSO = ("cc", "go-on-recording")  # "c++" of C; the rest of a recording


def usage() -> str:
    lines = [
        "usage: syncopate COMMAND ...",
        "",
        "Makes multi-threaded programs wait less. Programs run unmodified.",
        "",
    ]
    lines += [f"  {name:16} {summary}" for name, summary in COMMANDS.items()]
    lines += ["", "More: syncopate COMMAND --help. The version: syncopate --version.", ""]
    return "\n".join(lines)


def dispatch(arguments: list[str]) -> int:
    """Runs one command; only that command's modules are imported, since starting must be quick."""
    if not arguments:
        sys.stderr.write(usage())
        return BAD_USE
    name, rest = arguments[0], arguments[1:]
    if name in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if name in ("-V", "--version"):
        print(f"syncopate {__version__}")
        return 0
    if name not in COMMANDS and name not in ALSO:
        what = "option" if name.startswith("-") else "command"
        raise Failure(f"no {what} '{name}'{near(name, list(COMMANDS))}; see --help", BAD_USE)
    if name == "run":
        from syncopate.commands.run import main as command
    elif name == "record":
        from syncopate.commands.record import main as command
    elif name == "go-on-recording":  # src/launcher alone says so
        from syncopate.commands.record import go_on as command
    else:
        from syncopate.base import ending

        ending.as_interrupts()
        command = _undoing(name)
    return command(rest)


def _undoing(name: str):
    """A command that leaves by itself, with nothing left behind."""
    if name == "c++":
        from syncopate.machines.cxx import main_cxx as command
    elif name == "cc":
        from syncopate.machines.cxx import main_cc as command
    else:
        command = _with_packages(name)
    return command


def _with_packages(name: str):
    """A command that prints tables: it needs `site`, which the launcher leaves out for speed."""
    if "site" not in sys.modules:
        import site

        site.main()
    import importlib

    module = {
        "list": "commands.listing",
        "options": "commands.optionlist",
        "bench": "bench.command",
        "transactionalize": "transactionalize.command",
    }.get(name, f"commands.{name}")
    return importlib.import_module(f"syncopate.{module}").main


def main(arguments: list[str] | None = None) -> int:
    """The entry point. Returns the exit status; never leaves a traceback for a user's mistake."""
    if sys.stdout is None:  # closed: what is printed is to fail, and not to seem written
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if sys.stderr is None:  # print() would take the other one
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    _forget_coerced_locale()
    inherited.take()
    try:
        try:
            return dispatch(sys.argv[1:] if arguments is None else arguments)
        finally:  # also after --help, which leaves by SystemExit
            sys.stdout.flush()
            _ignore_later_signals()
    except Failure as failure:
        from syncopate.base.shown import shown  # a message may name a file, and a file has any name

        text = shown(str(failure))
        text = text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + " ..."
        print(f"syncopate: {text}", file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        from syncopate.base import ending

        return ending.status()
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:
        if error.filename is None and error.errno == errno.ENOENT and _folder_is_gone():
            print(
                "syncopate: the current folder is gone; change to one that is there",
                file=sys.stderr,
            )
            return FAILED
        if error.filename is not None or error.errno not in UNWRITABLE:
            raise
        _discard_output()
        print(f"syncopate: cannot write the output: {error.strerror}", file=sys.stderr)
        return FAILED


def _ignore_later_signals() -> None:
    if ending := sys.modules.get("syncopate.base.ending"):
        ending.no_longer()


def _forget_coerced_locale() -> None:
    """Python sets LC_CTYPE where the locale is C (PEP 538): that is not for programs."""
    if os.environ.get("LC_CTYPE") == "C.UTF-8":
        with open("/proc/self/environ", "rb") as file:  # as this process was started
            given = dict(each.split(b"=", 1) for each in file.read().split(b"\0") if b"=" in each)
        if b"LC_CTYPE" in given:
            os.environb[b"LC_CTYPE"] = given[b"LC_CTYPE"]
        else:
            del os.environ["LC_CTYPE"]


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _discard_output() -> None:
    """What is still in the buffer, which the interpreter would flush once more at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno(), inheritable=False)


if __name__ == "__main__":
    sys.exit(main())
