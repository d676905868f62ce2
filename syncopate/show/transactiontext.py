"""What the terminal's report says of transactions."""

from __future__ import annotations

from syncopate.base import terminal
from syncopate.base.units import count, duration, several
from syncopate.records.naming import without_starters

CONFLICT_ROWS = 15
UNSAFE_ROWS = 5
FRAMES = 6  # of a stack
WHAT = {"program": "a call", "algorithm": "what the algorithm cannot roll back"}
OPTIONAL = ("waited", "wasted", "ran", "hardware", "canceled", "threads")
CAUSES = {"retry": "asked to wait"}  # where the name in the data says too little
REASONS = {
    "by_algorithm": "algorithm",
    "start_serial": "start serial",
    "in_flight": "in flight",
    "after_failures": "after failures",
}


def show(console, transactions: dict) -> None:
    sites = transactions["sites"]
    if not sites:
        console.print("\nNo transaction began.", style="bold green")
        return
    _title(console, "Transactions")
    console.print(terminal.table(console, _totals(sites), OPTIONAL))
    _counts(console, sites, "aborts", "Attempts that came to nothing, by cause", CAUSES)
    _counts(console, sites, "alone", "Attempts that ran alone, by reason", REASONS)
    _conflicts(console, sites)
    _unsafe_calls(console, sites)


def _title(console, text: str) -> None:
    console.print(f"\n{text}", style="bold cyan")


def _totals(sites: list[dict]) -> dict[str, list[str]]:
    columns = {
        "transaction": [site["name"] for site in sites],
        "started": [count(site["started"]) for site in sites],
        "committed": [count(site["committed"]) for site in sites],
        "retries": [count(site["retries"]) for site in sites],
        "reads": [_size(site["read_set"]) for site in sites],
        "writes": [_size(site["write_set"]) for site in sites],
        "ran": [duration(site["run_ns"]) for site in sites],
        "alone": [duration(site["alone_ns"]) for site in sites],
        "wasted": [duration(site["wasted_ns"]) for site in sites],
        "waited": [duration(site["waited_ns"]) for site in sites],
        "threads": [count(site["threads"]) for site in sites],
    }
    for optional in ("canceled", "hardware"):
        if any(site[optional] for site in sites):
            columns[optional] = [count(site[optional]) for site in sites]
    return columns


def _size(size: dict | None) -> str:
    return f"{size['mean']:.1f}" if size else "-"


def _counts(console, sites: list[dict], field: str, title: str, names: dict[str, str]) -> None:
    """A table of the counts that are not zero everywhere."""
    sites = [site for site in sites if any(site[field].values())]
    if not sites:
        return
    _title(console, title)
    columns = {"transaction": [site["name"] for site in sites]}
    for key in sites[0][field]:
        if any(site[field][key] for site in sites):
            text = names.get(key, key.replace("_", " "))
            columns[text] = [count(site[field][key]) for site in sites]
    console.print(terminal.table(console, columns))


def _conflicts(console, sites: list[dict]) -> None:
    rows = [(site, conflict) for site in sites for conflict in site["conflicts"]]
    if not rows:
        return
    _title(console, "Conflicts")
    rows.sort(key=lambda row: -row[1]["times"])
    shown = rows[:CONFLICT_ROWS]
    columns = {
        "transaction": [site["name"] for site, _ in shown],
        "address": [_address(conflict) for _, conflict in shown],
        "winner": [conflict["winner"] or "unknown" for _, conflict in shown],
        "cause": [conflict["cause"].removesuffix("_conflict") for _, conflict in shown],
        "times": [count(conflict["times"]) for _, conflict in shown],
    }
    console.print(terminal.table(console, columns))
    if len(rows) > len(shown):
        console.print(f"  {len(rows) - len(shown)} more in --json", style="dim")


def _address(conflict: dict) -> str:
    """The variable; where there is only a number, with the place that wanted it."""
    address = conflict["address"].replace("(anonymous namespace)::", "") or "unknown"
    if address.startswith("0x") and conflict["stack"]:
        return f"{address} in {_place(conflict['stack'][0])}"
    return address


def _place(frame: dict) -> str:
    file = frame["file"].rsplit("/", 1)[-1]
    line = f":{frame['line']}" if frame["line"] else ""
    return f"{frame['function']} {file}{line}" if file else frame["function"]


def _unsafe_calls(console, sites: list[dict]) -> None:
    rows = [(site, call) for site in sites for call in site["unsafe_calls"]]
    if not rows:
        return
    _title(console, "What cannot be rolled back")
    rows.sort(key=lambda row: -row[1]["times"])
    for site, call in rows[:UNSAFE_ROWS]:
        what = call["function"] or WHAT[call["asked_by"]]
        console.print(f"\n{what} in {site['name']}", style="bold", end="")
        console.print(f"  {several(call['times'], 'time')}, {count(call['switches'])} began again")
        for frame in without_starters(call["stack"])[:FRAMES]:
            console.print(f"  {_place(frame)}", overflow="ellipsis", no_wrap=True)
    if len(rows) > UNSAFE_ROWS:
        console.print(f"  {len(rows) - UNSAFE_ROWS} more in --json", style="dim")
