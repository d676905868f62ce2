"""`syncopate simulate`: run a program on a machine one does not have."""

import json
import os
import sys
import tempfile

from syncopate import machinefiles, modeled
from syncopate.errors import BAD_USE, Failure
from syncopate.options import FLAG, VALUE, read_options

HELP = """\
usage: syncopate simulate [--machine NAME] [OPTION...] PROGRAM|SOURCE [ARGUMENT...]

Runs PROGRAM, made by `syncopate c++ --machine=simulated`, or a C or C++ SOURCE file that is
compiled first (-O2), on the model of a machine. Same program, same machine: same results.

  -m, --machine NAME      a machine's name, or a machine file (default: $SYNCOPATE_MACHINE, else
                          the runtime's own choice)
      --machines          list the machines and what they are
  -s, --stats             tables at the end, on standard error: threads, waits, cache lines, aborts,
                          energy
      --json FILE         the same as JSON; docs/machine-report-schema.md
      --timeline FILE     what every thread did when, for ui.perfetto.dev
      --sweep NAME=A,B,C  run once for each value: {NAME} in ARGUMENTs stands for it, and it is
                          given as the environment variable NAME; prints a table
      --plot              with --sweep: a bar for each value
  -q, --quiet             without the last line of every simulated program
      --compiler NAME     for SOURCE
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
    "--plot": FLAG,
    "--quiet": FLAG,
    "--compiler": VALUE,
    "--help": FLAG,
}
ALIASES = {"-m": "--machine", "-s": "--stats", "-q": "--quiet", "-h": "--help"}
BAR = 40  # columns of the longest bar


def main(arguments: list[str]) -> int:
    options, command = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP)
        return 0
    if "--machines" in options:
        list_machines()
        return 0
    if not command:
        raise Failure("simulate: no program named; see --help", BAD_USE)
    if "--stats" in options and "--json" in options:
        raise Failure("simulate: --stats or --json, not both", BAD_USE)
    if "--plot" in options and "--sweep" not in options:
        raise Failure("simulate: --plot needs --sweep", BAD_USE)
    sweep = _sweep_of(options)
    if sweep and (wrong := {"--json", "--timeline", "--stats"} & set(options)):
        raise Failure(f"simulate: --sweep prints its own table, not {wrong.pop()}", BAD_USE)
    environ = _environment(options)
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        if modeled.is_source(command[0]):
            path = modeled.compile_source(
                command[0], "simulated", options.get("--compiler"), folder
            )
        else:
            path = modeled.find(command[0], "simulated")
        if sweep:
            return run_sweep(path, command[1:], environ, sweep, folder, "--plot" in options)
        return modeled.run(path, command[1:], environ)


def _environment(options: dict[str, str]) -> dict[str, str]:
    # The runtime looks where we look, wherever it was installed.
    environ = {"SYNCOPATE_MACHINES": ":".join(machinefiles.folders())}
    if "--machine" in options:
        environ["SYNCOPATE_MACHINE"] = machinefiles.find(options["--machine"])
    if "--stats" in options:
        environ["SYNCOPATE_STATS"] = "1"
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
        raise Failure("no machine files found; set SYNCOPATE_MACHINES to their folder")
    from rich.table import Table

    from syncopate import terminal

    rows = [(name, machinefiles.summary(machinefiles.read(path))) for name, path in known.items()]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("machine", no_wrap=True)
    for heading in rows[0][1]:
        left = heading in ("caches", "transactions", "monitor")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for name, figures in rows:
        table.add_row(name, *figures.values())
    terminal.console().print(table)


def _sweep_of(options: dict[str, str]) -> tuple[str, list[str]] | None:
    if "--sweep" not in options:
        return None
    name, equals, values = options["--sweep"].partition("=")
    chosen = [value for value in values.split(",") if value]
    if not equals or not name.isidentifier() or not chosen:
        raise Failure("--sweep needs NAME=VALUE,VALUE,...; see --help", BAD_USE)
    return name, chosen


def run_sweep(
    path: str,
    arguments: list[str],
    environ: dict[str, str],
    sweep: tuple[str, list[str]],
    folder: str,
    plot: bool,
) -> int:
    """Runs the program once for each value and prints one table. Stops at the first failure."""
    name, values = sweep
    report = os.path.join(folder, "report.json")
    rows = []
    for value in values:
        words = [word.replace("{" + name + "}", value) for word in arguments]
        given = {**environ, name: value, "SYNCOPATE_STATS": report, "SYNCOPATE_QUIET": "1"}
        status = modeled.run(path, words, given)
        if status != 0:
            print(f"syncopate: {name}={value}: exit status {status}", file=sys.stderr)
            return status
        with open(report, encoding="utf-8") as file:
            rows.append((value, json.load(file)))
    show_sweep(name, rows, plot)
    return 0


def show_sweep(name: str, rows: list[tuple[str, dict]], plot: bool) -> None:
    """The table of a sweep: time, work by simulated second, fairness, energy."""
    from rich.table import Table

    from syncopate import terminal, units

    console = terminal.console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (name, "time", "work/s", "fairness", "joules", "watts"):
        table.add_column(heading, justify="right", no_wrap=True)
    for value, report in rows:
        mark = report["marks"][0] if report["marks"] else None
        energy = report["energy"]
        table.add_row(
            value,
            units.duration(report["seconds"] * 1e9),
            f"{rate(report):,.0f}" if mark else "-",
            f"{mark['fairness']:.3f}" if mark and mark["fairness"] else "-",
            f"{energy['joules']:.3g}",
            f"{energy['average_watts']:.3g}",
        )
    console.print(table)
    if plot:
        show_bars(console, name, rows)


def rate(report: dict) -> float:
    """Work by simulated second, while there was work; 0 when the program marked none."""
    if not report["marks"]:
        return 0.0
    mark = report["marks"][0]
    span = (mark["last"] - mark["first"]) / report["hertz"]
    return mark["total"] / span if span else 0.0


def show_bars(console, name: str, rows: list[tuple[str, dict]]) -> None:
    """Work by second where the program marked some, else simulated time."""
    marked = all(rate(report) for _, report in rows)
    figures = [rate(report) if marked else report["seconds"] for _, report in rows]
    largest = max(figures) or 1
    console.print(f"\n{'work by simulated second' if marked else 'simulated time'}, by {name}")
    width = max(len(value) for value, _ in rows)
    for (value, _), figure in zip(rows, figures, strict=True):
        console.print(f"{value:>{width}} {'█' * round(BAR * figure / largest)}")
