"""Interleaved comparisons of one program under several lock configurations.

A configuration is written NAME[@LIBRARY][+VARIABLE=VALUE]...:
    glibc              no preload library at all
    pass               the library is loaded, and passes every call through (SYNCOPATE_LOCK=glibc)
    off                the library is loaded, and switched off (SYNCOPATE=off)
    NAME or NAME:WAIT  that lock, e.g. auto, tatas:spin, mcs:park
@LIBRARY names another build of the library, +VARIABLE=VALUE sets one more environment variable.

Machines drift (frequency, neighbors), so every round runs each configuration once, each round
starting with the next one, and ratios come from medians over rounds with a bootstrap interval that
draws whole rounds.
"""

import datetime
import math
import os
import platform
import random
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build" / "lib" / "libsyncopate-pthread.so.0"
OUR_VARIABLES = ("LD_PRELOAD", "SYNCOPATE", "SYNCOPATE_LOCK", "SYNCOPATE_WAIT", "SYNCOPATE_RECORD")


class ConfigurationError(Exception):
    """A configuration that cannot be run; the text is one line for the user."""


@dataclass(frozen=True)
class Configuration:
    """What stands before one column of a comparison: a name and the environment it means."""

    text: str
    variables: dict = field(default_factory=dict, hash=False)

    @classmethod
    def parse(cls, text, library=LIBRARY):
        """Returns the Configuration that `text` means; raises ConfigurationError."""
        head, *settings = text.split("+")
        name, _, own_library = head.partition("@")
        variables = {}
        if name not in ("glibc", "none"):
            path = Path(own_library or library).resolve()
            if not path.is_file():
                raise ConfigurationError(f"{text}: no library {path}; run `make` first")
            variables["LD_PRELOAD"] = str(path)
            if name == "off":
                variables["SYNCOPATE"] = "off"
            else:
                variables["SYNCOPATE_LOCK"] = "glibc" if name == "pass" else name
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals:
                raise ConfigurationError(f"{text}: expected VARIABLE=VALUE after '+'")
            variables[key] = value
        return cls(text, variables)

    def environment(self):
        """Returns os.environ without our variables, plus those of this configuration."""
        clean = {key: value for key, value in os.environ.items() if key not in OUR_VARIABLES}
        return {**clean, **self.variables}


def run_rounds(configurations, rounds, measure, progress=None):
    """Calls measure(configuration) -> dict of numbers, once per configuration and round.

    Returns {configuration text: [dict of round 0, dict of round 1, ...]}.
    """
    results = {configuration.text: [] for configuration in configurations}
    for index in range(rounds):
        shift = index % len(configurations)
        for configuration in configurations[shift:] + configurations[:shift]:
            if progress:
                progress(f"round {index + 1}/{rounds}: {configuration.text}")
            results[configuration.text].append(measure(configuration))
    return results


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


def ratio_of_medians(values, base, resamples=2000, seed=1):
    """Returns the Ratio of two lists measured in the same rounds."""

    def ratio(rounds):
        below = statistics.median(base[i] for i in rounds)
        above = statistics.median(values[i] for i in rounds)
        return above / below if below else math.nan

    everything = range(min(len(values), len(base)))
    draw = random.Random(seed)
    samples = sorted(ratio(draw.choices(everything, k=len(everything))) for _ in range(resamples))
    low, high = samples[int(0.025 * resamples)], samples[int(0.975 * resamples) - 1]
    return Ratio(ratio(everything), low, high)


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


def number(value):
    """Returns `value` with about four significant digits, thousands separated."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 3 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 3)}f}"


def table(rows, header):
    """Returns rows of text as aligned lines; the first column left, the others right."""
    rows = [header, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = []
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def comparison_table(results, metric):
    """Returns the table of one metric; ratios are to the first configuration."""
    names = list(results)
    values = {name: [float(each[metric]) for each in results[name]] for name in names}
    rows = []
    for name in names:
        summary = Summary.of(values[name])
        ratio = "1" if name == names[0] else str(ratio_of_medians(values[name], values[names[0]]))
        spread = f"{number(summary.smallest)} .. {number(summary.largest)}"
        rows.append([name, number(summary.median), spread, ratio])
    return table(rows, [metric, "median", "min .. max", f"ratio to {names[0]} [95 %]"])


def provenance():
    """Returns how a measurement was obtained: processor, kernel, date and commit."""
    models = (
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    )
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "processor": next(models, platform.machine()),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip() or "unknown",
    }
