"""`syncopate report` of what an interpreter lock counted: a file that SYNCOPATE_GIL_STATS named."""

from __future__ import annotations

from syncopate.base import boundedfile
from syncopate.base.errors import Failure
from syncopate.base.units import count, percent, several

SHOWN_STEPS = 6  # of a yield point's lengths
NARROWEST = 20  # column of places
KEYS = {"transactions", "aborts", "fallbacks", "cycles", "points"}


def is_statistics(path: str) -> bool:
    """Whether the file is not a record, but begins as these statistics do."""
    return boundedfile.starts_with(path, b"{")


def read(path: str) -> dict:
    found = boundedfile.read_json(path)
    if not isinstance(found, dict) or not found.keys() >= KEYS:
        raise Failure(f"{path}: neither a record nor the statistics of an interpreter lock")
    return found


def check(statistics: dict) -> None:
    """Raises ValueError unless all counts are such; KeyError or TypeError in another form."""
    points = statistics["points"]
    for of in (statistics, *points):
        _counts({name: of[name] for name in ("transactions", "fallbacks")})
    _counts({"aborts": statistics["aborts"]})
    _counts(statistics["cycles"])
    for point in points:
        _counts(point["aborts"])
        _counts({"length": point["length"]})
        for ticks, length in point["lengths"]:
            _counts({"lengths": ticks, "length": length})


def _counts(of: dict) -> None:
    for name, number in of.items():
        if type(number) is not int or number < 0:
            raise ValueError(f"{name}: {number!r} is not a count")


def text(statistics: dict, top: int) -> str:
    lines = [_summary(statistics), _time(statistics["cycles"]), _causes(statistics["points"])]
    points = sorted(statistics["points"], key=lambda p: -p["transactions"])
    shown = points[:top]
    if shown:
        width = max(NARROWEST, *(len(_place(point)) for point in shown))
        lines += ["", _header(width)]
        lines += [_point(point, width) for point in shown]
    if len(points) > top:
        lines.append(f"{count(len(points) - top)} more; --top shows them")
    return "\n".join(line for line in lines if line is not None) + "\n"


def _summary(statistics: dict) -> str:
    begun, fell = statistics["transactions"], statistics["fallbacks"]
    if not begun:
        return "interpreter lock: no transactions"
    return (
        f"interpreter lock: {several(begun, 'transaction')}, {percent(_aborted(statistics))} of all"
        f" attempts aborted, {percent(fell / begun)} fell back to the lock"
    )


def _aborted(of: dict) -> float:
    aborts = of["aborts"] if isinstance(of["aborts"], int) else sum(of["aborts"].values())
    attempts = of["transactions"] - of["fallbacks"] + aborts
    return aborts / attempts if attempts else 0.0


def _time(cycles: dict) -> str:
    whole = sum(cycles.values()) or 1
    return "time: " + ", ".join(f"{name} {percent(part / whole)}" for name, part in cycles.items())


def _causes(points: list[dict]) -> str | None:
    sums: dict[str, int] = {}
    for point in points:
        for cause, number in point["aborts"].items():
            sums[cause] = sums.get(cause, 0) + number
    return f"aborts: {_shares(sums)}" if sums else None


def _shares(causes: dict[str, int]) -> str:
    """Of all aborts, the most frequent cause first."""
    whole = sum(causes.values()) or 1
    ordered = sorted(causes.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {percent(n / whole)}" for name, n in ordered)


def _header(width: int) -> str:
    return (
        f"{'yield point':{width}} {'transactions':>12} {'aborted':>8} {'fell back':>9}"
        f"  {'lengths':24}  because of"
    )


def _place(point: dict) -> str:
    """What the runtime calls it; else its address."""
    return point.get("name") or point["pc"]


def _point(point: dict, width: int) -> str:
    steps = [length for _, length in point["lengths"]]
    if len(steps) > SHOWN_STEPS:
        steps = [*steps[: SHOWN_STEPS // 2], None, *steps[-SHOWN_STEPS // 2 :]]
    lengths = " ".join("..." if step is None else str(step) for step in steps)
    return (
        f"{_place(point):{width}} {count(point['transactions']):>12} {percent(_aborted(point)):>8}"
        f" {count(point['fallbacks']):>9}  {lengths or str(point['length']):24}"
        f"  {_shares(point['aborts'])}"
    ).rstrip()
