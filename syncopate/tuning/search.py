"""The search for a better choice: interleaved rounds, successive halving, fresh confirmation.

Pure: what a run costs comes from a function, and so does the time. Costs are positive and smaller
is better. Each round runs every choice that is left once, beginning with the next one, so that a
machine that drifts favors nobody; ratios compare within rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from syncopate.base.since import zip_equal
from syncopate.bench.ratios import Ratio, ratio_of_medians
from syncopate.tuning.choice import Choice

ROUNDS_A_LEVEL = 2  # at least, before the worse half is dropped
MOST_A_LEVEL = 8
CONFIRMING = 6  # rounds: with fewer, the extremes of paired rounds do not make 95 %
MOST_CONFIRMING = 30
MOST_AT_LAST = 90
PRECISE = 0.01  # width of an interval: more rounds would say nothing new
HOPELESS = 1.5  # after one level: so many times the base's cost is not looked at again


class Dropped(Exception):
    """A choice that cannot be measured: the program failed or took far too long with it."""


class Unjudged(Dropped):
    """The program ran, but there is no number to judge the run by."""


@dataclass
class Verdict:
    """A choice against another: the ratio of their costs, below 1 where it is better."""

    choice: Choice
    against: Choice
    ratio: Ratio
    rounds: int

    @property
    def is_better(self) -> bool:
        return self.rounds >= CONFIRMING and self.ratio.high < 1.0

    @property
    def is_worse(self) -> bool:
        return self.ratio.low > 1.0


@dataclass
class Search:
    """`measure(choice)` is one run's cost, or raises Dropped; `now()` is in seconds."""

    measure: Callable[[Choice], float]
    now: Callable[[], float]
    deadline: float
    say: Callable[[str], None] = lambda text: None
    dropped: dict[Choice, str] = field(default_factory=dict)
    durations: list[float] = field(default_factory=list)

    def left(self) -> float:
        return max(0.0, self.deadline - self.now())

    def spare(self) -> float:
        """What is left beside the last confirmation, whose runs may take half as long again."""
        return max(0.0, self.left() - 3 * CONFIRMING * self.seconds_a_run())

    def seconds_a_run(self) -> float:
        ordered = sorted(self.durations)
        return ordered[len(ordered) // 2] if ordered else 0.0

    def halve(self, base: Choice, candidates: Sequence[Choice], share: float) -> Choice | None:
        """The candidate that does best against `base` within a share of the time to spare.

        None when there is no time to try and confirm one, none could be measured, none is worth a
        confirmation, or the base failed.
        """
        if self.spare() < 2 * (ROUNDS_A_LEVEL + CONFIRMING) * self.seconds_a_run():
            return None
        until = self.now() + share * self.spare()
        survivors = [each for each in candidates if each != base and each not in self.dropped]
        survivors = survivors[: self._affordable(until)]
        rounds = self._rounds_a_level(len(survivors), until)
        costs: dict[Choice, list[float]] = {}
        while survivors:
            self._level(base, survivors, costs, until, rounds)
            if base in self.dropped:
                return None
            measured = [each for each in survivors if each in costs and each not in self.dropped]
            ranked = sorted(measured, key=lambda each: _center(costs[each], costs[base]))
            survivors = ranked[: max(1, len(ranked) // 2)]
            if len(ranked) <= 1 or self.now() >= until:
                break
        if not survivors or _center(costs[survivors[0]], costs[base]) > HOPELESS:
            return None
        return survivors[0]

    def confirm(
        self, base: Choice, choice: Choice, seconds: float, most: int = MOST_CONFIRMING
    ) -> Verdict | None:
        """Compares by fresh runs: as many rounds as the seconds allow, at most `most`.

        None when there is not even time for two rounds, or the choice or the base failed.
        """
        until = self.now() + seconds
        costs: dict[Choice, list[float]] = {}
        for number in range(most):
            late = self.now() + 2 * self.seconds_a_run() > (
                self.deadline if number < CONFIRMING else until
            )
            failed = choice in self.dropped or base in self.dropped
            if late or failed or _is_precise(costs, base, choice):
                break
            self._round(base, [choice], costs, number)
        rounds = len(costs.get(choice, ()))
        if rounds < 2 or choice in self.dropped or base in self.dropped:
            return None
        return Verdict(choice, base, ratio_of_medians(costs[choice], costs[base]), rounds)

    def _affordable(self, until: float) -> int:
        """How many candidates halving can start with: it costs about four runs for each."""
        each = self.seconds_a_run()
        if each <= 0:
            return 1_000_000
        return max(1, int((until - self.now()) / each / (2 * ROUNDS_A_LEVEL)))

    def _rounds_a_level(self, candidates: int, until: float) -> int:
        """As many as the time is enough for: halving runs about twice the candidates each."""
        once = self.seconds_a_run() * (2 * candidates + candidates.bit_length())
        if once <= 0:
            return ROUNDS_A_LEVEL
        return min(max(int((until - self.now()) / once), ROUNDS_A_LEVEL), MOST_A_LEVEL)

    def _level(self, base: Choice, others: list[Choice], costs, until: float, rounds: int) -> None:
        for number in range(rounds):
            if base in self.dropped or (costs and self.now() >= until):
                return
            self._round(base, [each for each in others if each not in self.dropped], costs, number)

    def _round(self, base: Choice, others: list[Choice], costs, number: int) -> None:
        everyone = [base, *others]
        shift = number % len(everyone)
        found: dict[Choice, float] = {}
        for choice in everyone[shift:] + everyone[:shift]:
            self.say(f"{len(others)} left, round {number + 1}")
            started = self.now()
            try:
                found[choice] = self.measure(choice)
            except Dropped as why:
                if choice.as_is:
                    raise
                self.dropped[choice] = str(why)
                if choice == base:
                    return  # nothing is left to compare with
                continue
            self.durations.append(self.now() - started)
        for choice, cost in found.items():
            costs.setdefault(choice, []).append(cost)


def _is_precise(costs: dict[Choice, list[float]], base: Choice, choice: Choice) -> bool:
    """Whether enough rounds agree. Looks at their spread, not at which side is better: to stop as
    soon as the choice looks better would favor it."""
    rounds = len(costs.get(choice, ()))
    if rounds < CONFIRMING:
        return False
    logs = [math.log(a / b) for a, b in zip(costs[choice], costs[base])]
    return 4 * statistics.stdev(logs) / math.sqrt(rounds) < PRECISE


def _center(costs: list[float], base: list[float]) -> float:
    """The geometric mean of the ratios to the base in the same, the latest rounds."""
    count = min(len(costs), len(base))
    logs = [math.log(a / b) for a, b in zip_equal(costs[-count:], base[-count:])]
    return math.exp(math.fsum(logs) / count)
