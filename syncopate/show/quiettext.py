"""What a report says where no lock is worth a finding: that none cost much, or none was waited for,
as far as the record can tell. Not all locks are ones that it sees."""

from __future__ import annotations

from syncopate.base.units import about, percent
from syncopate.records import account, javawaits
from syncopate.records.lockfigures import of_which_time
from syncopate.records.recordformat import LOST_KINDS

GOOD, PLAIN = "bold green", "bold"  # styles: nothing is wrong; it is not known


def say_that_none_costs_much(console, results: dict) -> None:
    """Where threads waited for locks, and none of these is told of above."""
    if not results["lost_ns"] or any(w["kind"] in LOST_KINDS for w in results["open_waits"]):
        return
    recorded = results["process"]["only_openmp"]
    recorded |= account.unseen(results) >= account.LARGE or not account.is_explained(results)
    style = PLAIN if recorded else GOOD
    told = f"Nothing to do about {'the locks that are recorded' if recorded else 'locks'}:"
    told += " waiting for them took"
    if results["lost_share"] >= account.LARGE:
        told = f"No one lock{' that is recorded' * recorded} costs much: waiting for all took"
        style = PLAIN
    if account.awaits_locks(results):
        told, style = f"{javawaits.OUTSIDE}, threads waited for locks for", PLAIN
    console.print(
        f"\n{told} {about(results['lost_share'])} of {of_which_time(results)}.", style=style
    )


def say_that_none_waited(console, results: dict) -> None:
    process = results["process"]
    if process["only_openmp"]:
        none = "\nNo thread waited for a lock of OpenMP's; others are not recorded."
        console.print(none, style=PLAIN)
        return
    if account.is_explained(results):
        _say_that_all_is_told(console, results)
        return
    if process["goroutines"]:
        which = "of Go's runtime" if process["recorder"] == "kernel" else "that is recorded"
        console.print(
            f"\nNo thread waited for a lock {which}. Goroutines may have waited for each"
            " other, which is not seen here: see the note above.",
            style=PLAIN,
        )
        return
    if account.awaits_locks(results):
        console.print(f"\n{javawaits.OUTSIDE}, no thread waited for a lock.", style=PLAIN)
        return
    otherwise = (
        ""
        if process["recorder"] == "kernel"
        else "; `syncopate record --kernel` sees those that sleep, and loops that spin"
    )
    console.print(
        "\nNo thread waited for a lock that is recorded. Locks of the program's own, which spin or"
        " sleep in system calls, and the C library's (of streams, of malloc) are not among those:"
        f" see above where the time went{otherwise}.",
        style=PLAIN,
    )


def _say_that_all_is_told(console, results: dict) -> None:
    """But for a small part of the time, in which locks may be that are not recorded."""
    none, style, unseen = "\nNo thread waited for a lock", GOOD, account.unseen(results)
    if unseen >= account.LARGE:
        none += f", but perhaps within {percent(unseen)} of all thread time, which may hide some"
        style = PLAIN
    console.print(f"{none}.", style=style)
