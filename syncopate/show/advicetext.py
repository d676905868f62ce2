"""The text of `syncopate advise`: a table of locks, then what to do about each."""

from __future__ import annotations

import re
import textwrap

from syncopate.base.units import count, percent, several
from syncopate.machines.advice import FALSE_SHARING

MOST_PLACES = 3  # of one verdict
LONGEST_PLACE = 2000  # characters of a place


def show(report: dict, top: int, pattern: str | None = None, elides: bool = True) -> None:
    """Prints at most `top` locks. `pattern`: of the names that they were chosen by; `elides`: the
    machine has transactions."""
    from syncopate.base import terminal

    console = terminal.console()
    locks = report["locks"][:top]
    lines = report["l1_bytes"] // report["line_bytes"]
    console.print(
        f"Critical sections, simulated on {report['machine']} (first-level cache: {lines} lines of"
        f" {report['line_bytes']} bytes)"
    )
    if not elides:
        console.print(
            f"{report['machine']} has no transactions: what would commit is told of a machine like"
            " it that has some"
        )
    if not locks:
        none = "No section of a lock of pthread came to its end."
        console.print(none if pattern is None else terminal.none_matches(pattern, False))
        _show_unwatched(console, report["sections_not_watched"])
        return
    console.print()
    console.print(terminal.table(console, _columns(locks), optional=("threads", "pairs")))
    console.print()
    for lock in locks:
        for each in lock["advice"]:
            _show_verdict(console, lock["name"], each)
    hidden = len(report["locks"]) - len(locks)
    if hidden:
        console.print(f"\n{several(hidden, 'more lock')}; see --top")
    _show_unwatched(console, report["sections_not_watched"])


def _show_unwatched(console, sections: int) -> None:
    """Also where no lock is shown: one that matches may be among these."""
    if sections:
        console.print(
            f"\n{several(sections, 'section')} of further locks"
            f" {'was' if sections == 1 else 'were'} not watched"
        )


def _columns(locks: list[dict]) -> dict[str, list[str]]:
    def column(show) -> list[str]:
        return [show(lock) for lock in locks]

    def footprint(key: str) -> list[str]:
        return column(lambda lock: f"{lock[key]['median']}/{lock[key]['p99']}")

    return {
        "lock": column(_name),
        "threads": column(lambda lock: count(lock["threads"])),
        "sections": column(lambda lock: count(lock["sections"])),
        "pairs": column(lambda lock: count(lock["pairs"])),
        "conflict": column(lambda lock: percent(lock["conflicting_share"])),
        "share lines": column(lambda lock: percent(lock["sharing_share"])),
        "lines read": footprint("read_lines"),
        "written": footprint("written_lines"),
        "would commit": column(lambda lock: percent(lock["would_commit_share"])),
    }


def _name(lock: dict) -> str:
    return lock["name"] if lock["locks"] == 1 else f"{lock['name']} ({count(lock['locks'])} locks)"


def _show_verdict(console, name: str, verdict: dict) -> None:
    between = " " if verdict["verdict"] == FALSE_SHARING else ": "
    text = f"{name}: {verdict['verdict']}{between}{verdict['text']}"
    for line in textwrap.wrap(text, console.width, subsequent_indent="  "):
        console.print(line)
    places = verdict["places"]
    for place in places[:MOST_PLACES]:
        console.print(f"    {_short(place)}")
    if len(places) > MOST_PLACES:
        console.print(f"    and {several(len(places) - MOST_PLACES, 'more place')}")


def _short(place: str) -> str:
    """Without template arguments, which are longer than the line."""
    place = place[:LONGEST_PLACE]
    while (shorter := re.sub(r"<[^<>]*>", "", place)) != place:
        place = shorter
    return re.sub(r"\s+at ", " at ", place)
