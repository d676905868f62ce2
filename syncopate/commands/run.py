"""`syncopate run`: start a program with better locks, and become it."""

from __future__ import annotations

import os
import sys

from syncopate.base import locktable, optiontable, paths
from syncopate.base.errors import BAD_USE, NOT_EXECUTABLE, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.launch import openmp, preload, program, transactions

HELP = """\
usage: syncopate run [--lock NAME[:WAIT]] [--elide MODE] [--policy FILE] [--guard] [--omp]
                     [--tm ALGORITHM] [--verbose] [--force] [--] PROGRAM [ARG...]

Runs PROGRAM unmodified with the chosen lock behind its pthread mutexes. Its condition variables,
reader-writer locks and spin locks are ours, too, one way each, unless the lock is glibc. Robust,
priority and process-shared objects stay the C library's.
The process becomes PROGRAM: its exit status, signals and streams are its own.

  -l, --lock NAME[:WAIT]  which lock, and how it waits; `syncopate list` shows them
                          (default: $SYNCOPATE_LOCK, else auto)
      --elide MODE[:POLICY]
                          run critical sections as hardware transactions: auto (where they commit
                          and pay), always, off; how often to try: auto, standard, htm_1, htm_10,
                          htm_10_fb_aahtm
                          (default: $SYNCOPATE_ELIDE, else auto)
      --policy FILE       what single locks are to be, and all others (docs/tune.md); what other
                          options say goes first
      --guard             give mutexes their default back where their choice does not pay, and
                          report wrong uses of locks: in lines on standard error (docs/tune.md)
      --guard-log FILE    the same, with the lines appended to FILE
      --preempted-holders
                          keep holders of mutexes running where the kernel can; elsewhere waiters
                          do not spin for holders that do not run (docs/internals/preemption.md)
"""
HELP_REST = """\
      --tm ALGORITHM      for programs compiled with -fgnu-tm: our libitm.so.1 in place of GCC's,
                          and which algorithm runs the transactions (docs/tm.md); locks stay as they
                          are unless another option says something of them
  -v, --verbose           the library says on standard error what it does
      --force             start PROGRAM although the library cannot act on it
  -h, --help              this page

Exit status: PROGRAM's own; 2 bad use, 126 PROGRAM not executable, 127 PROGRAM not found.
"""
OPTIONS = {
    "--lock": VALUE,
    "--elide": VALUE,
    "--policy": VALUE,
    "--guard": FLAG,
    "--guard-log": VALUE,
    "--preempted-holders": FLAG,
    **openmp.OPTIONS,
    "--tm": VALUE,
    "--verbose": FLAG,
    "--force": FLAG,
    "--help": FLAG,
}
OF_LOCKS = {"--lock", "--elide", "--policy", *preload.GUARD_OPTIONS}  # of pthread's
ALIASES = {"-l": "--lock", "-v": "--verbose", "-h": "--help"}


def main(arguments: list[str]) -> int:
    options, command = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP + openmp.HELP + HELP_REST)
        return 0
    if not command:
        raise Failure("run: no program named; try `syncopate run -- PROGRAM ARGUMENTS`", BAD_USE)
    library, environ = prepare(options, command)
    path = program.find_program(command[0])
    if "--force" not in options:
        program.check_preloadable(path, library or paths.require(transactions.LIBRARY))
    machine = program.machine_of(path)
    if machine != "emulated":
        say_if_plain(environ["SYNCOPATE_LOCK"] if library is not None else None, environ)
    preload.suit(environ, path)
    optiontable.complain(environ, machine)
    preload.restore_signals()
    start(path, command, environ)


def prepare(options: dict[str, str], command: list[str]) -> tuple[str | None, dict[str, str]]:
    """The preload library, if it is needed, and what the program's environment is to be."""
    library, environ = None, dict(os.environ)
    if "--tm" not in options or OF_LOCKS & options.keys():
        library = preload.library()
        environ = with_locks(options, command, library)
    if "--verbose" in options:
        environ["SYNCOPATE_VERBOSE"] = "1"
    if openmp.wanted(options):
        openmp.choose(environ, options)
    if "--tm" in options:
        environ = transactions.environment(environ, options["--tm"])
    return library, environ


def with_locks(options: dict[str, str], command: list[str], library: str) -> dict[str, str]:
    """The environment with the preload library and what the options say of pthread's locks."""
    chosen, default = None, {}
    if "--policy" in options:
        from syncopate.launch import policy

        chosen = policy.read(options["--policy"])
        default = chosen.default
    lock = options.get("--lock", default.get("lock"))
    environ = preload.environment(library, lock, "auto", "--verbose" in options)
    elide = options.get("--elide") or default.get("elide")
    if elide:
        preload.choose_elision(environ, elide)
    if chosen:
        policy.apply(chosen, environ, program.find_program(command[0]))
    preload.guard(environ, options)
    preload.check_agreement(environ, options)
    preload.say_once(environ)
    return environ


def say_if_plain(lock: str | None, environ: dict[str, str]) -> None:
    """One line for the chosen lock, and one for OpenMP's barrier in the program's environment, if
    that runs in transactions and none commits on this machine. Where they are to say what they do,
    the libraries say it."""
    if optiontable.is_verbose(environ):
        return
    named = {}
    if lock is not None and locktable.transacts(lock):
        named["lock"] = lock
    barrier = openmp.chosen_barrier(environ)
    if barrier is not None and openmp.runs_ahead(barrier):
        named["barrier"] = barrier
    if not named:
        return
    from syncopate.machines import processor

    rtm = next((each for each in processor.features() if each.name == "rtm"), None)
    if rtm is not None and rtm.state == "good":
        return
    for what, name in named.items():
        print(
            f"syncopate: {name}: no transaction begins on this machine; the {what} waits plainly",
            file=sys.stderr,
        )


def start(path: str, command: list[str], environ: dict[str, str]):
    """Becomes the program. Returns never; raises a Failure with status 126 when it cannot be."""
    try:
        os.execve(path, command, environ)
    except OSError as error:
        raise Failure(f"{path}: cannot be started: {error.strerror}", NOT_EXECUTABLE) from None
