"""What a report says of OpenMP's teams: who came last, at barriers and at the end of regions."""

from __future__ import annotations

from syncopate.base import terminal
from syncopate.base.units import count, duration
from syncopate.show.lockcolumns import name_of


def arrivals(console, results: dict) -> None:
    """Load imbalance: at each barrier of OpenMP, who came last and who waited for it."""
    rows = [(lock, each) for lock in results["locks"] for each in lock.get("arrivals", ())]
    if not rows:
        return
    console.print("\nWho came last at a barrier", style="bold cyan")
    columns = {
        "barrier": [name_of(lock) for lock, _ in rows],
        "thread": [each["thread"] for _, each in rows],
        "last": [count(each["last"]) for _, each in rows],
        "waited": [duration(each["waited_ns"]) for _, each in rows],
    }
    console.print(terminal.table(console, columns))


def region_ends(console, results: dict) -> None:
    """The same at the end of OpenMP's regions, where those who wait are the run-time's."""
    rows = [(lock, each) for lock in results["locks"] for each in lock.get("region_ends", ())]
    if not rows:
        return
    console.print("\nWho came last at the end of a region", style="bold cyan")
    columns = {
        "region": [name_of(lock) for lock, _ in rows],
        "thread": [each["thread"] for _, each in rows],
        "last": [count(each["last"]) for _, each in rows],
        "others waited": [duration(each["others_waited_ns"]) for _, each in rows],
    }
    console.print(terminal.table(console, columns))
