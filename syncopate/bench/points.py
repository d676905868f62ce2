"""The results of a file by point: what compare, plot and report show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from syncopate.bench.jobs import threads_text
from syncopate.bench.ratios import Summary
from syncopate.bench.resultfile import ResultFile
from syncopate.bench.suites import Metric


@dataclass(frozen=True, order=True)
class Case:
    """What variants are compared on."""

    program: str
    size: str
    threads: int


def program_names(cases: Iterable[Case]) -> Callable[[Case], str]:
    """What tells the programs of these cases apart: their names, and sizes where they differ."""
    many = len({case.size for case in cases}) > 1
    return lambda case: f"{case.program} {case.size}" if many else case.program


def case_names(cases: Iterable[Case]) -> Callable[[Case], str]:
    """The same of the cases: with the number of threads."""
    program = program_names(cases)
    return lambda case: program(case) + threads_text(case.threads)


class Points:
    """The values of every metric by case and variant, in the order of the repetitions."""

    def __init__(self, file: ResultFile):
        self.file = file
        self._rounds: dict[tuple[Case, str, str], dict[int, float]] = {}
        self.errors: list[str] = []
        self.cases: list[Case] = []
        self.variants: list[str] = []
        for place, run in file.runs.items():
            case = Case(place.program, place.size, place.threads)
            if case not in self.cases:
                self.cases.append(case)
            if place.variant not in self.variants:
                self.variants.append(place.variant)
            if "values" not in run:
                self.errors.append(f"{place.text()}: {run.get('error', 'no result')}")
            for metric, value in run.get("values", {}).items():
                rounds = self._rounds.setdefault((case, place.variant, metric), {})
                rounds[place.repetition] = value

    def rounds(self, case: Case, variant: str, metric: str) -> dict[int, float]:
        """Repetition -> value; empty where there is none."""
        return self._rounds.get((case, variant, metric), {})

    def values(self, case: Case, variant: str, metric: str) -> list[float]:
        found = self.rounds(case, variant, metric)
        return [found[turn] for turn in sorted(found)]

    def measured(self) -> set[tuple[Case, str]]:
        """The points that have a result: case and variant."""
        return {(case, variant) for case, variant, _ in self._rounds}

    def summary(self, case: Case, variant: str, metric: str) -> Summary | None:
        values = self.values(case, variant, metric)
        return Summary.of(values) if values else None

    def metrics(self) -> list[Metric]:
        """The suite's metrics that were found; those of an unknown suite by their names."""
        from syncopate.bench.suitetable import SUITES

        names = list(dict.fromkeys(metric for _, _, metric in self._rounds))
        suite = SUITES.get(self.file.suite)
        known = {metric.name: metric for metric in suite.metrics} if suite else {}
        # In the suite's order; what it does not know any more comes last.
        names.sort(key=lambda name: list(known).index(name) if name in known else len(known))
        return [known.get(name) or Metric(name, "", True, name) for name in names]

    def base(self, case: Case, variant: str) -> Case:
        """Where `variant` is that `case` is compared with: there, or at its own threads."""
        there = {found for found, name, _ in self._rounds if name == variant}
        if case in there:
            return case
        alike = (each for each in there if (each.program, each.size) == (case.program, case.size))
        return min(alike, default=case)
