#!/usr/bin/env python3
"""Writes docs/internals/sizes.md: how long each program takes at each size, from what
bench/every_program.py measured (papers/results/measured/every_program*.json), and each paper's
figures, from their results.

    scripts/sizes.py [--check]

--check writes nothing, and ends with status 1 when the page is out of date.
"""

import argparse
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from syncopate.base import compactjson  # noqa: E402
from syncopate.bench.suiteparts import OUR_TM  # noqa: E402
from syncopate.bench.suitetable import SUITES  # noqa: E402
from syncopate.bench.text import duration  # noqa: E402

PAGE = ROOT / "docs/internals/sizes.md"
FIGURES = ROOT / "papers/results"
RESULTS = FIGURES / "measured"
COLUMNS = {
    "small": "every_program.json",
    "paper": "every_program_paper.json",
    "large": "every_program_large.json",
    "sanitized": "every_program_sanitized.json",
}
HEAD = """\
# How long the programs take

Each program of `papers/workloads/`, run to its end by `bench/every_program.py` with two threads,
its own check of its result and the making of its input included.

- `small`: the slowest of all variants, in seconds on the clock.
- `paper`, `large`: the first variant of `syncopate bench list` (the plain lock, or the published
  program's synchronization), in processor seconds of both threads together.
- `sanitized`: the slowest of the variants that a build with AddressSanitizer and
  UndefinedBehaviorSanitizer has, at size `small`, in seconds on the clock.

A dash: not run. Programs that run for a given time (array, map, cache, tree, adversarial) last as
long as their size says. This page is written by `scripts/sizes.py`.
"""

PAPERS = """\
`syncopate bench paper NAME` from nothing, all of its figures in full: what its runs took when the
results in papers/results were made. *On two processors* is the time on the clock where the runs
were made two at a time (`--jobs 2` on two processors) or measured on two processors, and half of
the processor seconds where they were made otherwise; *timed so* is how much of it is of the first
kind. The whole of one paper is meant to end within 30 minutes.
"""
MOST = 30 * 60  # seconds for one paper


def documents() -> dict[str, dict]:
    """The results by column; a column without any is left out."""
    files = {name: RESULTS / file for name, file in COLUMNS.items()}
    return {
        name: compactjson.read(file.read_text(encoding="utf-8"))
        for name, file in files.items()
        if file.exists()
    }


def cell(column: str, runs: list[dict]) -> str:
    """The slowest of a program's runs, or that it failed."""
    if not runs:
        return "-"
    failed = [run for run in runs if run["error"]]
    if failed:
        return f"**{failed[0]['variant']}: {failed[0]['error']}**"
    field = "processor_seconds" if column in ("paper", "large") else "seconds"
    seconds = max(run[field] for run in runs)
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def summary(name: str, document: dict) -> str:
    runs = document["runs"]
    failed = sum(bool(run["error"]) for run in runs)
    longest = max(runs, key=lambda run: run["seconds"])
    return (
        f"- `{name}`: {len(runs)} runs, {failed} failed; the longest, {longest['suite']}/"
        f"{longest['program']} {longest['variant']}, {duration(longest['seconds'])}"
        f" ({measured(document)})"
    )


def measured(document: dict) -> str:
    """By what, and on which days; how many runs, where they are of several."""
    origins = [document["measured"], *document.get("others", [])]
    counts = [0] * len(origins)
    for run in document["runs"]:
        counts[run.get("measured", -1) + 1] += 1
    parts = []
    for by, count in zip(origins, counts, strict=True):
        text = f"{by['date']}, {by['processor']}, {by['processors']} processors, {by['commit']}"
        if count:
            parts.append(text if count == len(document["runs"]) else f"{count} of them {text}")
    return "; ".join(parts)


def has_transactions(run: dict) -> bool:
    """Whether -fgnu-tm built its program."""
    variant = SUITES[run["suite"]].variants[run["variant"]]
    return variant.program.endswith(".tm") or variant.variables.items() >= OUR_TM.items()


def left_out(small: list[dict], sanitized: list[dict]) -> str:
    """Which of the runs of `small` are not among the sanitized ones, and why."""
    done = {place_of(run) for run in sanitized}
    missing = [run for run in small if place_of(run) not in done]
    variants: dict[str, dict] = {}
    for run in filter(has_transactions, missing):
        variants.setdefault(run["suite"], {})[run["variant"]] = None
    which = "; ".join(f"{suite} {', '.join(names)}" for suite, names in variants.items())
    built_so = sum(map(has_transactions, missing))
    text = f"  Of the {len(small)} runs of `small`, {len(missing)} are not among them"
    if which:
        text += f"; {built_so} since GCC has no `-fgnu-tm` with AddressSanitizer ({which})"
    rest = len(missing) - built_so
    return text + f"; {rest} were not run" * bool(rest) + "."


def place_of(run: dict) -> tuple[str, str, str]:
    return run["suite"], run["program"], run["variant"]


def on_two_processors(made: dict) -> tuple[float, bool]:
    """How long a figure's runs take there, and whether that was seen on the clock."""
    if made["kind"] == "measured":
        return made["cost_seconds"], True
    if made.get("jobs") == 2:
        return made["clock_seconds"], True
    return made["cost_seconds"] / 2, False


def papers() -> list[str]:
    """A table of what `syncopate bench paper` takes, as the figures' results say."""
    found = tomllib.loads((ROOT / "docs" / "papers.toml").read_text(encoding="utf-8"))["paper"]
    lines = ["| paper | figures | points | on two processors | timed so | within 30 minutes |"]
    lines.append("|---|--:|--:|--:|--:|---|")
    for paper in found:
        made = [
            compactjson.read(f.read_text(encoding="utf-8")) for f in figures_of(paper["scripts"])
        ]
        took = [on_two_processors(each) for each in made if each.get("cost_seconds")]
        whole = sum(seconds for seconds, _ in took)
        timed = sum(seconds for seconds, seen in took if seen)
        rest = len(made) - len(took)
        verdict = "yes" if whole <= MOST else "**no**"
        cells = [
            f"`{paper['name']}`",
            str(len(made)),
            str(sum(len(each["runs"]) for each in made)),
            duration(whole),
            f"{100 * timed / whole:.0f} %" if whole else "-",
            f"{verdict}; {rest} figures not timed" if rest else verdict,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def figures_of(scripts: str) -> list[Path]:
    """The results of a paper's figures and tables."""
    names = (f"*/{scripts}_{kind}[0-9]*.json" for kind in ("fig", "table"))
    return sorted(path for name in names for path in FIGURES.glob(name))


def page() -> str:
    columns = documents()
    places = {
        (run["suite"], run["program"]): None for each in columns.values() for run in each["runs"]
    }
    lines = [HEAD, *(summary(name, each) for name, each in columns.items())]
    if "small" in columns and "sanitized" in columns:
        lines.append(left_out(columns["small"]["runs"], columns["sanitized"]["runs"]))
    lines.append("")
    lines.append("| program | " + " | ".join(columns) + " |")
    lines.append("|---" + "|--:" * len(columns) + "|")
    for suite, program in places:
        cells = [
            cell(name, [r for r in each["runs"] if (r["suite"], r["program"]) == (suite, program)])
            for name, each in columns.items()
        ]
        lines.append(f"| {suite}/{program} | " + " | ".join(cells) + " |")
    lines += ["", "## The papers' figures", "", PAPERS, *papers()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = page()
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print("docs/internals/sizes.md is out of date: run scripts/sizes.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
