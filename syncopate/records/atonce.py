"""How many of some threads live at one time: those that follow one another never meet at a lock."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from syncopate.records.analysis import Analysis


class Lives:
    """When threads of a record lived."""

    def __init__(self, analysis: Analysis, threads: Iterable[int]):
        self._ns = analysis.ns
        end = analysis.end_ticks
        entries = [analysis.threads[thread] for thread in threads]
        self._of = [(e.start_ticks, max(e.start_ticks, e.end_ticks or end)) for e in entries]
        self._count = _steps(self._of)

    def span_ns(self) -> float:
        """How long at least one of them lived."""
        times = [at for at, _ in self._count]
        alive = [count > 0 for _, count in self._count]
        return self._ns(sum(b - a for a, b, on in zip(times, times[1:], alive) if on))

    def at_once(self) -> int:
        """How many live beside one of them, itself included: the mean over its life and over all
        of them, rounded."""
        before, total = [], 0  # thread time until each step
        for at, (start, count) in enumerate(self._count):
            before.append(total)
            if at + 1 < len(self._count):
                total += count * (self._count[at + 1][0] - start)
        starts = [at for at, _ in self._count]

        def until(time: int) -> int:
            step = bisect.bisect_right(starts, time) - 1
            return before[step] + self._count[step][1] * (time - starts[step])

        beside = [
            (until(end) - until(start)) / (end - start) for start, end in self._of if end > start
        ]
        return max(1, round(sum(beside) / len(beside))) if beside else len(self._of)


def _steps(lives: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """When their number changes, and to what, in order of time."""
    changes: dict[int, int] = {}
    for start, end in lives:
        changes[start] = changes.get(start, 0) + 1
        changes[end] = changes.get(end, 0) - 1
    steps, count = [], 0
    for at in sorted(changes):
        count += changes[at]
        steps.append((at, count))
    return steps
