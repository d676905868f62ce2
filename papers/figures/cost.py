"""What a figure costs: kept with its results, so that the next who makes it is told how long.

`cost_seconds` in a figure's document: processor seconds of all its simulated runs, or, where it is
measured, seconds on the clock. `clock_seconds` and `jobs`: where all of its points ran in one go,
how long that took, and how many at a time.
"""

import resource
import time
from pathlib import Path

from sweep import Checkpoint, Point, Setting, identity

from syncopate.base import compactjson


def todo(points: list[Point], setting: Setting, checkpoint: Checkpoint) -> int:
    """How many of the points are not kept. Throws OSError where a program is missing."""
    return sum(identity(point, setting) not in checkpoint.runs for point in points)


def processor_seconds() -> float:
    """Of all programs that this process has started and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Meter:
    """Reads what a figure costs, from here on."""

    def __init__(self, simulated: bool):
        self.clock = processor_seconds if simulated else time.monotonic
        self.began, self.clock_began = self.clock(), time.monotonic()

    def of_all(self, ran: int, points: int, known: float | None) -> float | None:
        """For all points, from those that ran here; too few of them, or none here: as known."""
        spent = self.clock() - self.began
        return round(spent * points / ran, 1) if 2 * ran >= points and spent else known

    def on_clock(self, ran: int, points: int, jobs: int, before: Path | None = None) -> dict:
        """The document's two fields: as they were in the document before where nothing ran, none
        where some points were kept."""
        if ran == 0 and before is not None:
            return known_on_clock(before)
        if ran < points:
            return {}
        return {"clock_seconds": round(time.monotonic() - self.clock_began, 1), "jobs": jobs}


def known_on_clock(document: Path) -> dict:
    """The two fields of on_clock() in the document; none where it has none."""
    try:
        found = compactjson.read(document.read_text(encoding="utf-8"))
        return {field: found[field] for field in ("clock_seconds", "jobs")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def known(document: Path) -> tuple[float | None, int]:
    """What the figure in the document did cost, and how many points it has; None: not known."""
    try:
        found = compactjson.read(document.read_text(encoding="utf-8"))
        return found.get("cost_seconds"), len(found["runs"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, 0
