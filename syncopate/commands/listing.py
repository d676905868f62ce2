"""`syncopate list`: the locks and their traits."""

import json

from syncopate.base import locktable, terminal
from syncopate.base.arguments import Parser


def main(arguments: list[str]) -> int:
    parser = Parser("list", description="Shows every lock, how it can wait, and what it is like.")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    options = parser.parse_args(arguments)
    locks = locktable.load()
    if options.json:
        print(json.dumps(locks, indent=2))
        return 0
    show(locks)
    return 0


MONITOR_NOTE = (
    "monitor: the processor sleeps until the word is written, where `syncopate doctor` finds"
    " waitpkg or monitorx; elsewhere it polls, as spin does"
)


def show(locks: list[dict]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("lock", no_wrap=True)
    table.add_column("fair", no_wrap=True)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("waits by", overflow="fold")
    table.add_column("what it is", ratio=1, overflow="fold")
    for lock in locks:
        summary = Text(lock["summary"])
        note = collapse_note(lock)
        if note:
            summary.append(f"\n{note}", style="yellow")
        if not lock["preload"]:
            note = (
                "`syncopate run`: as --omp-lock only"
                if lock.get("openmp")
                else "library only: not for `syncopate run`"
            )
            summary.append(f"\n{note}", style="dim")
        table.add_row(
            Text(lock["name"], style="bold"), lock["fair"], str(lock["size"]), waits(lock), summary
        )
    console = terminal.console()
    console.print(table)
    console.print("\n* unless you name another: --lock NAME:WAIT", style="dim")
    if any("(" in waits(lock) for lock in locks):
        console.print("( ) in C++ only, not for `syncopate run`", style="dim")
    if any("monitor" in lock["waits"] for lock in locks):
        console.print(MONITOR_NOTE, style="dim")


def waits(lock: dict) -> str:
    """The waiting strategies, the default one starred; in brackets those that the preload library
    does not offer."""
    if not lock["waits"]:
        return "its own way"
    offered = lock.get("preload_waits", lock["waits"]) if lock["preload"] else lock["waits"]
    return ", ".join(
        name + "*" * (name == lock["default_wait"]) if name in offered else f"({name})"
        for name in lock["waits"]
    )


def collapse_note(lock: dict) -> str:
    """Which of its waits collapse with more runnable threads than processors, said plainly."""
    bad = lock["collapses_when_oversubscribed"]
    if not bad:
        return ""
    if set(bad) >= set(lock["waits"]):
        return "collapses when more threads run than there are processors"
    return f"collapses with {', '.join(bad)} when more threads run than there are processors"
