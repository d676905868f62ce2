"""Several processes as text: their tree, and the locks that cost most in all of them."""

from syncopate.base import terminal
from syncopate.base.units import count, duration, percent

OPTIONAL = ("threads", "ran")
MOST_LOCKS = 5
MOST_NAMES = 3  # of one lock, beside that which most was lost under


def show(console, view: dict) -> None:
    """One line for each process, children below their parent; what all lost to locks together, and
    to which. `view` is what records/processes.py makes."""
    rows = view["tree"]
    share = percent(view["lost_share"]) if view["thread_time_ns"] else "-"
    lost, total = duration(view["lost_ns"]), duration(view["thread_time_ns"])
    known = view["count"]
    have = f"process{'es' * (known != 1)} with a record"
    if quiet := view["quiet"]:
        have += f" ({count(quiet)} more, forked, came to nothing that is recorded)"
    console.print(f"{known} {have}, lost to locks: {share} of all thread time"
                  f" ({lost} of {total})", style="bold")  # fmt: skip
    columns = {
        "program": ["  " * each["depth"] + " ".join(each["command"]) for each in rows],
        "process": [str(each["id"]) for each in rows],
        "threads": [f"{each['threads']}{'+' * each['more_threads']}" for each in rows],
        # Of a child that was killed before it waited nothing is known.
        "ran": [duration(each["duration_ns"]) if each["duration_ns"] else "-" for each in rows],
        "lost": [duration(each["lost_ns"]) for each in rows],
        "of its time": [percent(each["lost_share"]) for each in rows],
        "worst lock": [each["worst"] or "-" for each in rows],
    }
    console.print(terminal.table(console, columns, OPTIONAL))
    _locks(console, view["locks"])
    console.print()


def _locks(console, locks: list[dict]) -> None:
    """Those that several processes have, each in its own memory or shared, are one line."""
    shown = [lock for lock in locks if lock["processes"] > 1][:MOST_LOCKS]
    if not shown:
        return
    console.print("\nThe same locks in several processes", style="bold cyan")
    columns = {
        "lock": [_called(lock) for lock in shown],
        "in memory": [_in_memory(lock) for lock in shown],
        "processes": [str(lock["processes"]) for lock in shown],
        "lost": [duration(lock["lost_ns"]) for lock in shown],
        "of all": [percent(lock["lost_share"]) for lock in shown],
        "taken": [
            count(lock["acquisitions"]) + "+" * lock["counted_in_part"]
            if lock["acquisitions"]
            else "-"
            for lock in shown
        ],
    }
    console.print(terminal.table(console, columns, ("taken",)))


def _called(lock: dict) -> str:
    """Its name, and what other processes call it, where that is by who first used it there."""
    if not lock["shared"]:
        return lock["called"]
    others = lock["also_called"][:MOST_NAMES]
    more = len(lock["also_called"]) - len(others)
    return " = ".join([lock["called"], *others, *([f"{more} more"] if more else [])])


def _in_memory(lock: dict) -> str:
    if not lock["shared"]:
        return "each its own" if lock["in_memory"] == "own" else "-"
    return "shared" if lock["members"] == 1 else f"shared, {count(lock['members'])} locks"
