"""`syncopate advise`: what a program's critical sections do, and what that says of their locks."""

import contextlib
import json
import os
import re
import sys
import threading

from syncopate.base import boundedfile, optiontable, scratch, wholefile
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.base.progress import PATIENCE, Progress
from syncopate.machines import advice, machinefiles, modeled
from syncopate.show import advicetext

SCHEMA, VERSION = "syncopate-sections-report", 1
HELP = """\
usage: syncopate advise [OPTION...] PROGRAM|SOURCE|REPORT.json [ARGUMENT...]

Runs PROGRAM, made by `syncopate c++ --machine=simulated`, or a C or C++ SOURCE file that is
compiled first, on the model of a machine with its locks really taken, and says of each lock what
its critical sections read, write and call: which pairs of them would conflict if they ran at once,
on which fields, and what to do. REPORT.json is what --json wrote before; docs/advise.md.

  -m, --machine NAME   a machine's name, or a machine file (default: $SYNCOPATE_MACHINE, else the
                       runtime's own choice): it says what fits into the first-level cache
      --json FILE      everything, as JSON; - is standard output, and then no text
      --lock REGEX     only locks whose name matches
      --top N          so many locks, most sections first (default: 10)
      --compiler NAME  for SOURCE
  -h, --help           this page

Exit status: PROGRAM's own; 1 no report, 2 bad use, 126 PROGRAM not executable, 127 PROGRAM not
found, 128 + N when signal N ended it.
"""
OPTIONS = {
    "--machine": VALUE,
    "--json": VALUE,
    "--lock": VALUE,
    "--top": VALUE,
    "--compiler": VALUE,
    "--help": FLAG,
}
ALIASES = {"-m": "--machine", "-h": "--help"}


def main(arguments: list[str]) -> int:
    options, command = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP)
        return 0
    if not command:
        raise Failure("advise: no program named; see --help", BAD_USE)
    if options.get("--json", "-") != "-":
        wholefile.check_place(options["--json"], "advise: --json")
    wanted, top = _wanted(options.get("--lock", "")), _top(options.get("--top", "10"))
    if command[0].endswith(".json"):
        status, report = _from_file(options, command)
    else:
        status, report = _from_run(options, command)
    with boundedfile.damaged_where_wrong(command[0], "make it again with --json", BAD_USE):
        _show(options, report, wanted, top)
    return status


def _show(options: dict[str, str], report: dict, wanted: re.Pattern, top: int) -> None:
    locks = [lock for lock in report["locks"] if wanted.search(lock["name"])]
    locks.sort(key=lambda lock: (-lock["sections"], lock["name"]))
    report = {**report, "locks": [advice.as_data(lock) for lock in locks]}
    if "--json" in options:
        _write(options["--json"], report)
    if options.get("--json") != "-":
        advicetext.show(report, top, options.get("--lock"), _elides(options, report["machine"]))


def _elides(options: dict[str, str], machine: str) -> bool:
    """Whether the machine has transactions; True where it is not known any more."""
    chosen = options.get("--machine", "")
    file = chosen if os.path.isfile(chosen) else machinefiles.files().get(machine)
    with contextlib.suppress(Failure):  # a file that cannot be read any more
        return file is None or machinefiles.has_transactions(machinefiles.read(file))
    return True


def _wanted(pattern: str) -> re.Pattern:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise Failure(f"--lock: '{pattern}' is no regular expression: {error}", BAD_USE) from None


def _top(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise Failure(f"--top needs a whole number above 0, not '{text}'", BAD_USE)
    return int(text)


def _from_file(options: dict[str, str], command: list[str]) -> tuple[int, dict]:
    if wrong := {"--machine", "--compiler"} & set(options):
        raise Failure(f"advise: {wrong.pop()} does not go with a report", BAD_USE)
    if len(command) > 1:
        raise Failure(f"advise: a report takes nothing after it ('{command[1]}')", BAD_USE)
    return 0, read(command[0])


def _from_run(options: dict[str, str], command: list[str]) -> tuple[int, dict]:
    optiontable.complain(os.environ, "simulated")
    with scratch.folder() as folder:
        written = os.path.join(folder, "sections.json")
        environ = {
            "SYNCOPATE_MACHINES": ":".join(machinefiles.folders()),
            "SYNCOPATE_SECTIONS": written,
            "SYNCOPATE_ELIDE": "off",
            "SYNCOPATE_QUIET": "1",
        }
        if "--machine" in options:
            environ["SYNCOPATE_MACHINE"] = machinefiles.find(options["--machine"])
        if modeled.is_source(command[0]):
            compiler = options.get("--compiler")
            path = modeled.compile_source(command[0], "simulated", compiler, folder)
        else:
            modeled.refuse_compiler("advise", options)
            path = modeled.find(command[0], "simulated")
        with _telling(f"{os.path.basename(path)} runs on the modeled machine"):
            # The program's output must not get between the braces of ours.
            out = sys.stderr if options.get("--json") == "-" else None
            status = modeled.run(path, command[1:], environ, stdout=out)
        begun = os.path.exists(written)
        if not begun and status == BAD_USE:
            raise SystemExit(status)  # the runtime has said why
        if not begun or os.path.getsize(written) == 0:
            raise Failure(
                f"{command[0]}: it ended without a report, with status {status}; was it"
                " killed, did it become another program, or was it built with another version?",
                status or FAILED,
            )
        return status, read(written)


@contextlib.contextmanager
def _telling(text: str):
    """Says on a terminal that something still goes on, and for how long."""
    progress, over = Progress(), threading.Event()

    def tell():
        seconds = 0.0
        while not over.wait(PATIENCE):
            seconds += PATIENCE
            progress(f"{text}: {seconds:.0f} s")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        progress.done()


def read(path: str) -> dict:
    """A sections report; a Failure when the file is something else."""
    report = boundedfile.read_json(path, BAD_USE)
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise Failure(f"{path}: no report of critical sections; make one with --json", BAD_USE)
    if report.get("version") != VERSION:
        raise Failure(
            f"{path}: version {report.get('version')}, and this command reads {VERSION};"
            " run the program again",
            BAD_USE,
        )
    return report


def _write(path: str, report: dict) -> None:
    text = json.dumps(report, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        wholefile.write(path, [text])
