"""Interleaved comparisons of one program under several lock configurations.

Machines drift (frequency, neighbors), so every round runs each configuration once, each round
starting with the next one, and ratios come from medians over rounds with a bootstrap interval that
draws whole rounds. syncopate/bench/configuration.py says what a configuration is.
"""

import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from syncopate.bench.configuration import (  # noqa: E402, F401
    Configuration,
    ConfigurationError,
)
from syncopate.bench.neighbors import Neighbors  # noqa: E402, F401
from syncopate.bench.provenance import provenance  # noqa: E402, F401
from syncopate.bench.ratios import Ratio, Summary, ratio_of_medians  # noqa: E402, F401
from syncopate.bench.text import number, table  # noqa: E402

LIBRARY = ROOT / "build" / "lib" / "libsyncopate-pthread.so.0"


@contextmanager
def foreign_load(processes):
    """So many processes that compute, and end with the block; gives them."""
    spinner = [shutil.which("sh"), "-c", "while :; do :; done"]
    busy = [subprocess.Popen(spinner) for _ in range(processes)]
    try:
        yield busy
    finally:
        for process in busy:
            process.kill()
            process.wait()


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
