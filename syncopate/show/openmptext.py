"""What a report says of OpenMP's teams: who came last, at barriers and at the end of regions."""

from __future__ import annotations

from syncopate.base import terminal
from syncopate.base.units import count, duration
from syncopate.show.lockcolumns import name_of


def arrivals(console, results: dict) -> None:
    """Load imbalance: at each barrier of OpenMP, who came last and who waited for it."""
    title, rows = "Who came last at a barrier", _rows(results, "arrivals")
    _table(console, title, "barrier", rows, ("waited", "waited_ns"))


def region_ends(console, results: dict) -> None:
    """The same at the end of OpenMP's regions, where those who wait are the run-time's."""
    title, rows = "Who came last at the end of a region", _rows(results, "region_ends")
    _table(console, title, "region", rows, ("others waited", "others_waited_ns"))


def _rows(results: dict, field: str) -> list[tuple[dict, dict]]:
    """Each lock's entries of one of its fields, with the lock."""
    return [(lock, each) for lock in results["locks"] for each in lock.get(field, ())]


def _table(console, title: str, place: str, rows: list, waited: tuple[str, str]) -> None:
    """`waited`: a column's title, and its field."""
    if not rows:
        return
    console.print(f"\n{title}", style="bold cyan")
    columns = {
        place: [name_of(lock) for lock, _ in rows],
        "thread": [each["thread"] for _, each in rows],
        "last": [count(each["last"]) for _, each in rows],
        waited[0]: [duration(each[waited[1]]) for _, each in rows],
    }
    console.print(terminal.table(console, columns))
