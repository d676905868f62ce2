"""A comparison of two records for a terminal."""

from __future__ import annotations

import math
import shlex

from syncopate.base import terminal
from syncopate.base.units import count, duration, percent
from syncopate.records.comparison import FEW, NOISE, SAME
from syncopate.show import runtext

COLUMNS_TO_SPARE = ("contended", "p99", "hold", "taken")  # the last one goes first
MANYFOLD = 10  # from here on a factor reads better than a percentage
SAID = {
    "more": "waits more",
    "less": "waits less",
    "noise": "noise",
    "few": "too few waits",
    "same": "same",
    "moved": "moved",
}
MAYBE = {NOISE: " (noise)", FEW: " (too few waits)"}


def show(data: dict, top: int, pattern: str | None = None) -> None:
    """`pattern`: of the names that the locks were chosen by."""
    console = terminal.console()
    _heading(console, data)
    lost = [row for row in data["locks"] if row["lost"]]
    both = [row for row in lost if row["in"] == "both"]
    _section(console, "Locks in both", both, top)
    for side, title in (("before", "Locks only before"), ("after", "Locks only after")):
        _section(console, title, [row for row in lost if row["in"] == side], top)
    others = [row for row in data["locks"] if not row["lost"] and _any(row["waited"])]
    _section(console, "Other waits (not counted as lost to locks)", others, top)
    if not lost and pattern is not None:
        console.print(f"\n{terminal.none_matches(pattern, bool(data['locks']))}", style="bold")
    elif not lost:
        console.print("\nNeither record tells of a lock.", style="bold")
    console.print(
        "\nnoise: one run's chance explains it. ~ marks such numbers, ? those of few samples. How\n"
        "far two runs of the same program differ is not in two records: record each twice. moved:\n"
        "waits for other locks changed the other way, so that all in all it may be chance.",
        style="dim",
    )


def _heading(console, data: dict) -> None:
    for side in ("before", "after"):
        about = data[side]
        console.print(
            f"{side:6} {about['file']}: {shlex.join(about['command'])}".replace("\n", "\\n"),
            style="bold",
            overflow="ellipsis",
            no_wrap=True,
        )
        console.print(
            f"       {runtext.ran_with(about)}, {runtext.ran(about)},"
            f" {about['threads']}{'+' * about['more_threads']}"
            f" thread{'s' * (about['threads'] != 1)},"
            f" lost to locks {duration(about['lost_ns'])}"
            f" ({percent(about['lost_share'])} of all thread time)",
            style="dim",
        )
    per = " a second" if data["per"] == "second" else ""
    lost = data["lost"]
    console.print(
        f"Time lost to locks{per}: {duration(lost['before'])} -> {duration(lost['after'])},"
        f" {_difference(lost)}{MAYBE.get(lost['verdict'], '')}",
        style="bold",
    )
    for remark in data["remarks"]:
        console.print(f"note: {remark}", style="yellow")
    for side in ("before", "after"):
        for note in data[side]["notes"]:
            console.print(f"note: {side}: {note}", style="yellow")


def _any(values: dict) -> bool:
    return bool(values["before"] or values["after"])


def _difference(values: dict) -> str:
    """How much it changed: signed, and by which factor or share where there was some before."""
    before, after = values["before"], values["after"]
    text = ("-" if after < before else "+") + duration(abs(after - before))
    if not before:
        return text
    if after >= before * MANYFOLD:
        return f"{text} ({count(round(after / before))}x)"
    by = f"{after / before - 1:+.0%}"
    if after and by == "-100%":  # something is left
        by = f"-{math.floor(1000 * (1 - after / before)) / 10:.1f}%"
    return f"{text} ({by})"


def _both(values: dict, show_one) -> str:
    """ "before -> after", marked where the difference may be chance."""
    before, after = values["before"], values["after"]
    if before is None and after is None:
        return "-"
    mark = {NOISE: " ~", FEW: " ?"}.get(values["verdict"], "")
    texts = ["-" if value is None else show_one(value) for value in (before, after)]
    return texts[0] if values["verdict"] == SAME and before == after else " -> ".join(texts) + mark


def _section(console, title: str, rows: list[dict], top: int) -> None:
    if not rows:
        return
    console.print(f"\n{title}", style="bold cyan")
    waited = [row for row in rows if _any(row["waited"])]
    if waited:
        console.print(_table(console, waited[:top]))
    if len(waited) > top:
        console.print(f"  {len(waited) - top} more: use --top", style="dim")
    if len(rows) > len(waited):
        console.print(f"  {len(rows) - len(waited)} more that nobody waited for", style="dim")


def _table(console, shown: list[dict]):
    columns = {
        "lock": [_name(row) for row in shown],
        "waited": [_both({**row["waited"], "verdict": ""}, duration) for row in shown],
        "change": [_difference(row["waited"]) for row in shown],
        "verdict": [SAID[row["waited"]["verdict"]] for row in shown],
        "contended": [_both(row["contended_share"], percent) for row in shown],
        "p99": [_both(row["p99_ns"], duration) for row in shown],
        "hold": [_both(row["hold_ns"], duration) for row in shown],
        "taken": [_both(row["acquisitions"], lambda n: count(round(n))) for row in shown],
    }
    return terminal.table(console, columns, COLUMNS_TO_SPARE)


def _name(row: dict) -> str:
    return row["name"] + (f" x{row['members']}" if row["members"] > 1 else "")
