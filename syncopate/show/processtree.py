"""Several processes in one view: a table before their reports, as the tree that they are."""

from collections import defaultdict
from collections.abc import Iterator

from syncopate.base import terminal
from syncopate.base.units import duration, percent

OPTIONAL = ("threads", "ran")


def show(console, records: list[dict]) -> None:
    """One line for each process, children below their parent; what all lost to locks together."""
    rows = list(in_order(records))
    lost = sum(results["lost_ns"] for results in records)
    total = sum(results["thread_time_ns"] for results in records)
    share = percent(lost / total) if total else "-"
    console.print(f"{len(records)} processes, lost to locks: {share} of all thread time"
                  f" ({duration(lost)} of {duration(total)})", style="bold")  # fmt: skip
    columns = {
        "program": ["  " * depth + " ".join(each["process"]["command"]) for depth, each in rows],
        "process": [str(each["process"]["id"]) for _, each in rows],
        "threads": [str(len(each["threads"])) for _, each in rows],
        "ran": [duration(each["process"]["duration_ns"]) for _, each in rows],
        "lost": [duration(each["lost_ns"]) for _, each in rows],
        "of its time": [percent(each["lost_share"]) for _, each in rows],
        "worst lock": [_worst(each) for _, each in rows],
    }
    console.print(terminal.table(console, columns, OPTIONAL))
    console.print()


def in_order(records: list[dict]) -> Iterator[tuple[int, dict]]:
    """(depth, record), parents before their children, otherwise as they were named."""
    known = {results["process"]["id"] for results in records}
    children: dict[int, list[dict]] = defaultdict(list)
    first = []
    for results in records:
        parent = results["process"]["parent_id"]
        if parent in known and parent != results["process"]["id"]:
            children[parent].append(results)
        else:
            first.append(results)
    seen: set[int] = set()
    todo = [(0, results) for results in reversed(first)]
    while todo:
        depth, results = todo.pop()
        seen.add(id(results))
        yield depth, results
        # A process that has called exec() has several records: its children stand below the first.
        below = children.pop(results["process"]["id"], [])
        todo += [(depth + 1, child) for child in reversed(below)]
    for results in records:  # those that are each other's parents, as of reused numbers
        if id(results) not in seen:
            yield 0, results


def _worst(results: dict) -> str:
    lock = max(results["locks"], key=lambda lock: lock["lost_ns"], default=None)
    return lock["called"] if lock and lock["lost_ns"] else "-"
