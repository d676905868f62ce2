"""How long runs take, as far as it is known: what is left of a sweep is told from it.

The times are those of bench/every_program.py at size small, whose document is in the source tree.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from syncopate.base import compactjson
from syncopate.bench.jobs import Job
from syncopate.bench.provenance import ROOT

DOCUMENT = ROOT / "papers/results" / "measured" / "every_program.json"


@functools.cache
def known() -> dict[tuple[str, str, str], float]:
    """Seconds by suite, program and variant; none outside of the source tree."""
    try:
        runs = compactjson.read(DOCUMENT.read_text(encoding="utf-8"))["runs"]
        return {(r["suite"], r["program"], r["variant"]): r["seconds"] for r in runs}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def seconds(job: Job) -> float | None:
    """Of one native run at size small; elsewhere, what it takes beside others. None where nothing
    is known of its program."""
    place = job.place
    found = known().get((job.suite, place.program, place.variant))
    if found is not None:
        return found
    program = (job.suite, place.program)
    others = [each for key, each in known().items() if key[:2] == program]
    return sum(others) / len(others) if others else None


def weights(jobs: Iterable[Job]) -> list[float]:
    """What each takes in proportion to the others; an unknown one as much as the mean of these."""
    found = [seconds(job) for job in jobs]
    some = [each for each in found if each is not None]
    mean = sum(some) / len(some) if some else 1.0
    return [max(mean if each is None else each, 0.001) for each in found]
