"""`syncopate bench report`: one self-contained page for each suite."""

import sys
from pathlib import Path

from syncopate.base import wholefile
from syncopate.base.arguments import Parser
from syncopate.base.errors import Failure
from syncopate.bench import resultfile
from syncopate.bench.comparefiles import rows_of_variants, verdict_note
from syncopate.bench.points import Case, Points, program_names
from syncopate.show import htmlpage

TEMPLATE = Path(__file__).with_name("report_page.html")


def main(arguments: list[str]) -> int:
    parser = Parser(
        "bench report",
        description="Writes SUITE.html for the suites in the files: tables, plots, ratios, origin.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="of `bench run`")
    parser.add_argument("--out", default=".", metavar="FOLDER", help="where (default: here)")
    options = parser.parse_args(arguments)
    suites: dict[str, list[Points]] = {}
    for path in options.files:
        points = Points(resultfile.read(path))
        suites.setdefault(points.file.suite, []).append(points)
    for suite, files in suites.items():
        target = Path(options.out) / f"{suite}.html"
        write(target, {"suite": suite, "note": verdict_note(), "files": [*map(described, files)]})
        print(target)
    return 0


def write(target: Path, data: dict) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"bench report: {target.parent}: {error.strerror}") from None
    wholefile.write(target, htmlpage.filled(str(TEMPLATE), data))


def described(points: Points) -> dict:
    """What the page shows of one result file."""
    return {
        "name": points.file.path.name,
        "machine": points.file.machine,
        "measured": points.file.measured,
        "variants": points.variants,
        "metrics": [
            {
                "name": metric.name,
                "unit": metric.unit,
                "higher": metric.higher_is_better,
                "rows": rows_of(points, metric.name),
            }
            for metric in points.metrics()
        ],
        "ratios": ratios(points),
        "errors": points.errors,
    }


def ratios(points: Points) -> list[dict]:
    """What `bench compare FILE` shows; nothing where there is one variant."""
    if len(points.variants) < 2:
        return []
    try:
        rows = rows_of_variants(points, points.variants[0])
    except Failure as failure:  # the variants share no point
        print(f"syncopate: {failure}", file=sys.stderr)
        return []
    name = program_names(points.cases)
    for row in rows:
        row["program"] = name(Case(row["program"], row["size"], row["threads"]))
    return rows


def rows_of(points: Points, metric: str) -> list[dict]:
    """Each case with each variant's median, quartiles and number of runs; null without one."""
    rows = []
    name = program_names(points.cases)
    for case in points.cases:
        cells = []
        for variant in points.variants:
            summary = points.summary(case, variant, metric)
            runs = len(points.values(case, variant, metric))
            cells.append(
                summary and [summary.median, summary.lower_quartile, summary.upper_quartile, runs]
            )
        if any(cells):
            rows.append({"program": name(case), "threads": case.threads, "cells": cells})
    return rows
