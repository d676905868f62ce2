"""`syncopate doctor`: what this machine offers, and what each thing means for the user."""

import json
import os
import subprocess
import sys

from syncopate.base import paths, preloading, terminal
from syncopate.base.arguments import Parser
from syncopate.base.errors import Failure
from syncopate.launch import kernelview, preload
from syncopate.machines import machine, processor
from syncopate.machines.machine import Finding
from syncopate.symbols.names import Names


def main(arguments: list[str]) -> int:
    """Returns 0 when programs can be run and recorded here, 1 when something stands in the way."""
    parser = Parser(
        "doctor",
        description="Shows what this machine offers to Syncopate, and what that means.\n"
        "Exit status: 0 all that is needed is there, 1 something is missing.",
    )
    parser.add_argument("--json", action="store_true", help="the findings as JSON")
    options = parser.parse_args(arguments)
    sections = {
        "Machine": machine.hardware(),
        "Processor features": processor.features(),
        "System": machine.system(),
        "Limits": machine.limits(),
        "Syncopate": installation(),
    }
    if options.json:
        data = {name: [f._asdict() for f in found] for name, found in sections.items()}
        print(json.dumps({"schema": "syncopate-doctor", "version": 1, "sections": data}, indent=1))
    else:
        show(sections)
    return 1 if any(f.state == "bad" for found in sections.values() for f in found) else 0


def installation() -> list[Finding]:
    """Whether the preload library is there, loads into a program, and what reports need."""
    findings = [_preload(), _kernel()]
    names = Names()
    if trouble := names.trouble():
        findings.append(Finding("names", "none", "warn", trouble))
    else:
        tool = os.path.basename(paths.find(paths.NAMES_TOOL) or "")
        means = "reports name functions, lines and variables"
        findings.append(Finding("names", tool, "good", means))
    return findings


def _kernel() -> Finding:
    why = kernelview.obstacle()
    if why is None:
        return Finding(
            "kernel's view", "works", "good", "running and static programs can be recorded (-p PID)"
        )
    return Finding(
        "kernel's view", why, "info", "record -p, record --kernel and top -p do not work"
    )


def _preload() -> Finding:
    name = "preload library"
    try:
        library = preload.library()
    except Failure as failure:
        return Finding(name, str(failure), "bad", "nothing can be run or recorded")
    environ = {**os.environ, "SYNCOPATE_VERBOSE": "1"}
    preloading.put_first(environ, library)
    for unwanted in ("SYNCOPATE_RECORD", "SYNCOPATE"):
        environ.pop(unwanted, None)
    look = "import sys; sys.stdout.write(open('/proc/self/maps').read())"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", look],
            env=environ,
            capture_output=True,
            text=True,
            timeout=processor.PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(name, f"{library} does not load: {error}", "bad", "nothing can be run")
    if os.path.realpath(library) not in done.stdout:
        said = done.stderr.strip().splitlines()
        reason = said[0] if said else "the loader did not say why"
        return Finding(name, f"{library} does not load: {reason}", "bad", "nothing can be run")
    loaded = os.path.basename(library)
    return Finding(name, f"{loaded} loads", "good", "programs can be run and recorded")


def show(sections: dict[str, list[Finding]]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = terminal.console()
    marks = {"good": ("ok", "green"), "info": ("-", "dim"), "warn": ("!", "yellow"),
             "bad": ("x", "red")}  # fmt: skip
    for number, (title, findings) in enumerate(sections.items()):
        console.print(("\n" if number else "") + title, style="bold cyan")
        table = Table(box=None, show_header=False, pad_edge=False, expand=True)
        table.add_column(width=2)
        table.add_column(no_wrap=True, width=22)
        table.add_column(ratio=3, overflow="fold")
        table.add_column(ratio=4, overflow="fold", style="dim")
        for finding in findings:
            mark, style = marks[finding.state]
            table.add_row(Text(mark, style=style), finding.name, finding.value, finding.meaning)
        console.print(table)
