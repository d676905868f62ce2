"""`syncopate simulate`: run a program on a machine one does not have."""

import os
import sys
from functools import partial

from syncopate.base import clashes, optiontable, scratch, wholefile
from syncopate.base.errors import BAD_USE, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.commands import simulatefrom
from syncopate.machines import machinefiles, modeled, sweeps

HELP = """\
usage: syncopate simulate [--machine NAME] [OPTION...] PROGRAM|SOURCE [ARGUMENT...]
       syncopate simulate --from RECORD [--lock NAME] [--machine NAME] [OPTION...]

Runs PROGRAM, made by `syncopate c++ --machine=simulated`, or a C or C++ SOURCE file that is
compiled first (-O2), on the model of a machine. Same program, same machine: same results.

  -m, --machine NAME      a machine's name, or a machine file (default: $SYNCOPATE_MACHINE, else
                          the runtime's own choice)
      --machines          list the machines and what they are
  -s, --stats             tables at the end, on standard error: threads, waits, cache lines, aborts,
                          energy
      --json FILE         the same as JSON; docs/reference/machine-report-schema.md
      --timeline FILE     what every thread did when, for ui.perfetto.dev
      --sweep NAME=A,B,C  run once for each value: {NAME} in ARGUMENTs stands for it, and it is
                          given as the environment variable NAME; prints a table
      --jobs N            with --sweep: so many runs at a time (default: 1)
      --client 'FILE [ARGUMENT...]'
                          a second program on the same machine, which uses PROGRAM, a server: it
                          begins when that listens, and its end ends the run. FILE: made by
                          `syncopate cc --machine=simulated -shared -fPIC`, or a SOURCE
      --plot              with --sweep: a bar for each value
      --figure FILE       with --sweep: draw throughput or time, fairness and energy into FILE
                          (.svg, .png or .pdf; needs matplotlib)
  -q, --quiet             without the last line of every simulated program
      --compiler NAME     for SOURCE

With --from, what changes of one lock would bring: what `syncopate record` saw of it is replayed on
the machine, without and with each change. Takes --machine (default: this, the calibrated one),
--json and --figure as well.

      --from RECORD       the record; docs/advise.md says what is taken from it, what is assumed
      --lock NAME         the lock's name in `syncopate report`, or a part of it (default: the one
                          that was waited for most)
      --threads A,B,C     so many threads (default: as recorded)
      --what A,B,C        changes: lock=NAME[:WAIT], halve, length=PERCENT, move=PERCENT (of the
                          section, behind the release), shard=N, rwlock[=PERCENT that only read],
                          elide[=PERCENT that conflict]
      --seeds N           replays of each (default: 3)

  -h, --help              this page

Exit status: PROGRAM's own; 2 bad use, 126 PROGRAM not executable, 127 PROGRAM not found,
128 + N when signal N ended it.
"""
OPTIONS = {
    "--machine": VALUE,
    "--machines": FLAG,
    "--stats": FLAG,
    "--json": VALUE,
    "--timeline": VALUE,
    "--sweep": VALUE,
    "--jobs": VALUE,
    "--client": VALUE,
    "--plot": FLAG,
    "--figure": VALUE,
    "--quiet": FLAG,
    "--compiler": VALUE,
    "--from": VALUE,
    "--lock": VALUE,
    "--threads": VALUE,
    "--what": VALUE,
    "--seeds": VALUE,
    "--help": FLAG,
}
PRINTS = "it prints a table of its own"
CLASHES = [
    (tuple(name for name in OPTIONS if name not in ("--machines", "--help")), ("--machines",),
     "it lists the machines, and runs nothing"),
    (("--stats",), ("--json",), "the report has one form; choose one"),
    (("--json", "--timeline", "--stats"), ("--sweep",), PRINTS),
]  # fmt: skip
OF_RECORDS = {"--from", "--lock", "--threads", "--what", "--seeds"}
ALIASES = {"-m": "--machine", "-s": "--stats", "-q": "--quiet", "-h": "--help"}


def main(arguments: list[str]) -> int:
    options, command = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP)
        return 0
    clashes.refuse("simulate", set(options), CLASHES)
    if "--machines" in options:
        if command:
            raise Failure(f"simulate: --machines runs nothing ('{command[0]}')", BAD_USE)
        list_machines()
        return 0
    if "--from" in options:
        return _from_record(options, command)
    if wrong := OF_RECORDS & set(options):
        raise Failure(f"simulate: {wrong.pop()} needs --from RECORD", BAD_USE)
    if not command:
        raise Failure("simulate: no program named; see --help", BAD_USE)
    sweep = sweeps.chosen(options)
    environ = _environment(options)
    optiontable.complain(os.environ, "simulated")
    with scratch.folder() as folder:
        if modeled.is_source(command[0]):
            path = modeled.compile_source(
                command[0], "simulated", options.get("--compiler"), folder
            )
        else:
            path = modeled.find(command[0], "simulated")
        if "--client" in options:
            environ["SYNCOPATE_CLIENT"] = _client(options, folder)
        if not modeled.is_source(command[0]) and not _has_client_source(options):
            modeled.refuse_compiler("simulate", options)
        if sweep:
            return sweeps.run(path, command[1:], environ, sweep, folder)
        reports = [options[name] for name in ("--json", "--timeline") if name in options]
        run = partial(modeled.run_reporting, path, command[1:], reports=reports)
        return (
            modeled.run_with_tables(run, environ, folder) if "--stats" in options else run(environ)
        )


def _has_client_source(options: dict[str, str]) -> bool:
    return modeled.is_source(options.get("--client", "").partition(" ")[0])


def _client(options: dict[str, str], folder: str) -> str:
    """What SYNCOPATE_CLIENT is to be: the shared object's path, and its arguments."""
    file, _, arguments = options["--client"].strip().partition(" ")
    if not file:
        raise Failure("simulate: --client needs a FILE; see --help", BAD_USE)
    if _has_client_source(options):
        path = modeled.compile_source(
            file, "simulated", options.get("--compiler"), folder, shared=True
        )
    elif os.path.isfile(file):
        path = modeled.find(os.path.abspath(file), "simulated")
    else:
        raise Failure(f"simulate: --client {file}: no such file", BAD_USE)
    if " " in path:
        raise Failure(f"simulate: --client: '{path}' has a blank in its name", BAD_USE)
    return f"{path} {arguments}"


def _from_record(options: dict[str, str], command: list[str]) -> int:
    allowed = OF_RECORDS | {"--machine", "--json", "--figure"}
    if wrong := set(options) - allowed:
        raise Failure(f"simulate: {wrong.pop()} does not go with --from", BAD_USE)
    if command:
        raise Failure(f"simulate: --from needs no program ('{command[0]}')", BAD_USE)
    return simulatefrom.main(options)


def _environment(options: dict[str, str]) -> dict[str, str]:
    # The runtime looks where we look, wherever it was installed.
    environ = {"SYNCOPATE_MACHINES": ":".join(machinefiles.folders())}
    for option in sorted({"--json", "--timeline"} & set(options)):
        wholefile.check_place(options[option], f"simulate: {option}")
    if "--machine" in options:
        environ["SYNCOPATE_MACHINE"] = machinefiles.find(options["--machine"])
    if "--json" in options:
        path = os.path.abspath(options["--json"])
        if not path.endswith(".json"):
            raise Failure(f"--json {options['--json']}: give the file a name in .json", BAD_USE)
        environ["SYNCOPATE_STATS"] = path
    if "--timeline" in options:
        environ["SYNCOPATE_TIMELINE"] = os.path.abspath(options["--timeline"])
    if "--quiet" in options:
        environ["SYNCOPATE_QUIET"] = "1"
    return environ


def list_machines() -> None:
    """One line a machine, with its main figures."""
    known = machinefiles.files()
    if not known:
        raise Failure(f"{machinefiles.NO_MACHINES}; {machinefiles.WHO_HAS_THEM}")
    from rich.table import Table

    from syncopate.base import terminal

    rows = [(name, machinefiles.summary(machinefiles.read(path))) for name, path in known.items()]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("machine", no_wrap=True)
    for heading in rows[0][1]:
        left = heading in ("caches", "transactions", "monitor")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for name, figures in rows:
        table.add_row(name, *figures.values())
    terminal.console().print(table)
