"""The results of a figure's sweep, by panel, series and x; and the ratios that its rows compare."""

import math
import statistics
from collections.abc import Iterable

from rules import Interval, Value


def interval(values: list[float]) -> Value:
    """Of the seeds' values; the one value where there is but one, nan where there is none."""
    if len(values) < 2:
        return values[0] if values else math.nan
    return Interval(min(values), statistics.median(values), max(values))


def by_seed(runs: list[dict]) -> dict[int, dict]:
    """The runs of one point by their seed; of a program that names none, by their order."""
    return {run.get("seed", number): run for number, run in enumerate(runs, 1)}


class Results:
    """Of a figure (common.Figure), by panel, series and x."""

    def __init__(self, figure, runs: list[dict]):
        self.figure, self.runs = figure, runs
        self._at: dict[tuple, list[dict]] = {}
        for run in runs:
            if "error" not in run:
                self._at.setdefault((run["panel"], run["series"], run["x"]), []).append(run)

    def panels(self) -> list[str]:
        return list(dict.fromkeys(r["panel"] for r in self.runs))

    def series(self, panel: str) -> list[str]:
        return list(dict.fromkeys(r["series"] for r in self.runs if r["panel"] == panel))

    def xs(self, panel: str) -> list[int]:
        return sorted({x for p, _, x in self._at if p == panel})

    def seeds(self, panel: str, series: str, x: int) -> list[dict]:
        """The runs of one point, one for each seed."""
        return self._at.get((panel, series, x), [])

    def seed_counts(self) -> list[int]:
        """With how many seeds each point was simulated."""
        return [] if self.figure.measure else [len(runs) for runs in self._at.values()]

    def run(self, panel: str, series: str, x: int) -> dict | None:
        """Of several seeds the one with the middle value."""
        runs = sorted(self.seeds(panel, series, x), key=self.figure.value)
        return runs[(len(runs) - 1) // 2] if runs else None

    def value(self, panel: str, series: str, x: int, of=None) -> float | None:
        """What the figure shows (or what `of` says) of one run; None where there is no result."""
        run = self.run(panel, series, x)
        return None if run is None else (of or self.figure.value)(run)

    def line(self, panel: str, series: str, of=None) -> list[tuple[int, float]]:
        pairs = ((x, self.value(panel, series, x, of)) for x in self.xs(panel))
        return [(x, y) for x, y in pairs if y is not None]

    def program(self, panel: str) -> str:
        """What a row calls the panel: a figure of one program may have none."""
        return panel or self.figure.points(False)[0].program

    def case(self, panel: str, x: int | None = None) -> str:
        """A row's case: "genome", "genome: 8 threads"."""
        name, unit = self.program(panel), self.figure.x_label
        return name if x is None else f"{name}: {x} {unit.removesuffix('s') if x == 1 else unit}"

    def ratios(
        self, above: str, below: str, panels: Iterable[str], xs: Iterable[int], of=None
    ) -> dict[str, Value]:
        """The ratio of every panel and x, by case; an interval where there are several seeds."""
        xs = list(xs)
        return {
            self.case(panel, x if len(xs) != 1 else None): self.spread(panel, above, below, x, of)
            for panel in panels
            for x in xs
        }

    def spread(self, panel: str, above: str, below: str, x: int, of=None) -> Value:
        """The ratio as ratio() has it; with several seeds, of each seed's two runs."""
        return self._over((panel, above, x), (panel, below, x), of)

    def scaled(self, panel: str, series: str, x: int, first: int) -> Value:
        """The value at x over that at another one, likewise."""
        return self._over((panel, series, x), (panel, series, first), None)

    def interval(self, panel: str, series: str, x: int, of=None) -> Value:
        """The value as value() has it, over the seeds; nan where it is missing."""
        return interval([(of or self.figure.value)(run) for run in self.seeds(panel, series, x)])

    def _over(self, above: tuple, below: tuple, of) -> Value:
        """Of the seeds that both have: another seed is another input, too."""
        of = of or self.figure.value
        first, second = (by_seed(self.seeds(*place)) for place in (above, below))
        pairs = [(first[seed], second[seed]) for seed in first if seed in second]
        return interval([of(a) / of(b) for a, b in pairs if of(b)])

    def ratio(self, panel: str, above: str, below: str, x: int, of=None) -> float:
        """The value of one series over another's; nan where one is missing."""
        first, second = self.value(panel, above, x, of), self.value(panel, below, x, of)
        return first / second if first is not None and second else float("nan")
