"""Medians, and ratios of medians with a bootstrap interval."""

import math
import random
import statistics
from dataclasses import dataclass

from syncopate.base.since import zip_equal

# With fewer rounds an interval of 95 % covers 0.89 and less; with these 0.92 (of rounds that differ
# by chance alone; tests/bench/test_compare.py counts it).
FEWEST_PAIRED, FEWEST_APART = 5, 4


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians over rounds and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self):
        if not math.isfinite(self.value):
            return "-"  # the base is zero
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def told(self, rounds: int, fewest: int) -> "Ratio":
        """The same, its ends open where so few rounds make no interval of 95 %."""
        return self if rounds >= fewest else Ratio(self.value, -math.inf, math.inf)


def ratio_of_medians(values, base, resamples=2000, seed=1):
    """Returns the Ratio of two lists measured in the same rounds."""
    everything = range(min(len(values), len(base)))

    def drawn(draw):
        rounds = draw.choices(everything, k=len(everything))
        return _ratio([values[i] for i in rounds], [base[i] for i in rounds])

    whole = len(everything)
    return _bootstrap(_ratio(values[:whole], base[:whole]), drawn, resamples, seed)


def median_ratio_of_pairs(values, base, resamples=2000, seed=1):
    """Returns the median of values[i] / base[i] as a Ratio: what disturbs a round meets both."""
    pairs = [above / below for above, below in zip_equal(values, base)]

    def drawn(draw):
        return statistics.median(draw.choices(pairs, k=len(pairs)))

    return _bootstrap(statistics.median(pairs), drawn, resamples, seed)


def finite(value):
    """As JSON can have it: null stands for what is no number, or beyond all."""
    return value if math.isfinite(value) else None


def ratio_of_independent(values, base, resamples=2000, seed=1):
    """Returns the Ratio of two lists that were measured apart: each is drawn by itself."""

    def drawn(draw):
        return _ratio(draw.choices(values, k=len(values)), draw.choices(base, k=len(base)))

    return _bootstrap(_ratio(values, base), drawn, resamples, seed)


def _ratio(above, below):
    middle = statistics.median(below)
    return statistics.median(above) / middle if middle else math.nan


def _bootstrap(value, drawn, resamples, seed):
    """Where a resample has a base of zero, its ratio may be anything: it is beyond both ends."""
    draw = random.Random(seed)
    samples = [drawn(draw) for _ in range(resamples)]
    lowest, highest = (
        sorted(end if math.isnan(each) else each for each in samples)
        for end in (-math.inf, math.inf)
    )
    return Ratio(value, lowest[int(0.025 * resamples)], highest[int(0.975 * resamples) - 1])


@dataclass(frozen=True)
class Summary:
    """Median, smallest, largest and quartiles of one metric of one configuration."""

    median: float
    smallest: float
    largest: float
    lower_quartile: float
    upper_quartile: float

    @classmethod
    def of(cls, values):
        values = sorted(values)
        if len(values) == 1:
            return cls(*values * 5)
        lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
        return cls(statistics.median(values), values[0], values[-1], lower, upper)
