"""`syncopate bench compare`: medians, ratios with intervals, and a rank test."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, Failure
from syncopate.base.since import zip_equal
from syncopate.base.terminal import plain
from syncopate.base.units import several
from syncopate.bench import resultfile
from syncopate.bench.points import Case, Points, case_names
from syncopate.bench.ranktest import mann_whitney
from syncopate.bench.ratios import (
    FEWEST_APART,
    FEWEST_PAIRED,
    Ratio,
    Summary,
    finite,
    ratio_of_independent,
    ratio_of_medians,
)
from syncopate.bench.suites import NATIVE, Metric
from syncopate.bench.text import number, table

SIGNIFICANT = 0.05
EPILOG = """\
Per point: both medians, their ratio with a 95 % bootstrap interval, and the p value of a
Mann-Whitney rank test (two-sided). Two files were measured apart: what changed between them
(machine, load, commit) is part of the ratio. With one file, its variants are compared with the
first, or with --base; their rounds were interleaved, and whole rounds are drawn. Fewer than four
runs a file, or five rounds, make no interval of 95 %: its ends are open then.
"""


def main(arguments: list[str]) -> int:
    parser = Parser("bench compare", epilog=EPILOG, description="Compares results.")
    parser.add_argument("first", metavar="A", help="a file of `bench run`")
    parser.add_argument("second", metavar="B", nargs="?", help="another one, of the same suite")
    parser.add_argument("--base", metavar="VARIANT", help="with one file: compared with this one")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    options = parser.parse_args(arguments)
    if options.second and options.base:
        parser.error("--base is for one file")
    points = Points(resultfile.read(options.first))
    second = Points(resultfile.read(options.second)) if options.second else None
    if second:
        rows = rows_of_files(points, second)
    else:
        rows = rows_of_variants(points, chosen_base(points, options.base))
    say_left_out(points, second)
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    if second:
        print(f"A: {origin(points.file)}\nB: {origin(second.file)}\n")
    print(as_table(rows, bool(second), points.cases + (second.cases if second else [])))
    return 0


def say_left_out(first: Points, second: Points | None) -> None:
    """On standard error: runs that gave no result, and points that only one of two files has."""
    for points in filter(None, (first, second)):
        if failed := len(points.errors):
            said = f"{several(failed, 'run')} of {points.file.path} gave no result"
            print(f"syncopate: bench: {said}, and the figures are without", file=sys.stderr)
    for here, there in ((first, second), (second, first)) if second else ():
        if alone := len(here.measured() - there.measured()):
            has = "has" if alone == 1 else "have"
            said = f"{several(alone, 'point')} of {here.file.path} {has} no other to compare with"
            print(f"syncopate: bench: {said}", file=sys.stderr)


def origin(file: resultfile.ResultFile) -> str:
    """One line: the file, its machine, and when and of which commits its runs are."""
    parts = [f"{file.path}, {file.machine}"]
    for field in ("processor", "processors", "date", "commit"):
        found = list(dict.fromkeys(str(each[field]) for each in file.measured if field in each))
        if field in ("processor", "processors") and file.machine != NATIVE:
            continue  # the simulated machine's results do not depend on it
        if found:
            named = {"processors": "{} processors", "commit": "commit {}"}.get(field, "{}")
            parts.append(named.format(" and ".join(found)))
    return ", ".join(parts)


def chosen_base(points: Points, text: str | None) -> str:
    if not points.variants:
        raise Failure(f"bench: {points.file.path} holds no runs")
    if text is not None and text not in points.variants:
        raise Failure(
            f"bench: {points.file.path} has no variant '{text}';"
            f" it has {', '.join(points.variants)}",
            BAD_USE,
        )
    return text or points.variants[0]


def rows_of_files(first: Points, second: Points) -> list[dict]:
    """A row for each point and metric that both files have."""
    if first.file.suite != second.file.suite:
        raise Failure(
            f"bench: {first.file.path} holds suite {first.file.suite},"
            f" and {second.file.path} suite {second.file.suite}",
            BAD_USE,
        )
    rows = []
    for metric in first.metrics():
        for case in first.cases:
            for variant in first.variants:
                base = first.values(case, variant, metric.name)
                values = second.values(case, variant, metric.name)
                if base and values:
                    ratio = ratio_of_independent(values, base)
                    ratio = ratio.told(min(len(values), len(base)), FEWEST_APART)
                    rows.append(row(case, variant, metric, base, values, ratio))
    if not rows:
        raise Failure("bench: the two files have no point in common")
    return rows


def rows_of_variants(points: Points, base_variant: str) -> list[dict]:
    """A row for each variant beside the base, by point and metric."""
    rows = []
    for metric in points.metrics():
        for case in points.cases:
            base = points.rounds(points.base(case, base_variant), base_variant, metric.name)
            for variant in points.variants:
                found = points.rounds(case, variant, metric.name)
                both = sorted(base.keys() & found.keys())
                if variant == base_variant or not both:
                    continue
                below, above = ([rounds[turn] for turn in both] for rounds in (base, found))
                ratio = ratio_of_medians(above, below).told(len(both), FEWEST_PAIRED)
                rows.append(row(case, variant, metric, below, above, ratio))
    if not rows:
        raise Failure(f"bench: {points.file.path} has no two variants to compare")
    return rows


def row(case: Case, variant: str, metric: Metric, base, values, ratio: Ratio) -> dict:
    """One comparison as plain data: ratio of `values` to `base`."""
    p = mann_whitney(values, base)
    return {
        "program": case.program,
        "size": case.size,
        "threads": case.threads,
        "variant": variant,
        "metric": metric.name,
        "unit": metric.unit,
        "base_median": Summary.of(base).median,
        "median": Summary.of(values).median,
        # A base of zero has no ratio, and JSON no NaN.
        **{name: finite(part) for name, part in asdict(ratio).items()},
        "p": p,
        "runs": [len(base), len(values)],
        "verdict": verdict(metric, ratio, p),
    }


def verdict(metric: Metric, ratio: Ratio, p: float) -> str:
    """Better or worse only where interval and rank test agree that there is a difference."""
    if p >= SIGNIFICANT or not (ratio.low > 1 or ratio.high < 1):
        return "unclear"
    return "better" if (ratio.value > 1) == metric.higher_is_better else "worse"


def verdict_note() -> str:
    return (
        "better or worse: the 95 % bootstrap interval excludes 1 and the Mann-Whitney test gives"
        f" p < {SIGNIFICANT}"
    )


def as_table(rows: list[dict], files: bool, all_cases: list[Case]) -> str:
    """One table for each metric. all_cases: those that names have to tell apart."""
    heads = ("A", "B", "B / A [95 %]") if files else ("base", "median", "to base [95 %]")
    texts = []
    cases = [Case(each["program"], each["size"], each["threads"]) for each in rows]
    case_name = case_names(all_cases)
    for name in dict.fromkeys(heading(each["metric"], each["unit"]) for each in rows):
        lines = [
            [
                case_name(case),
                each["variant"],
                number(each["base_median"]),
                number(each["median"]),
                ratio_text(each),
                f"{each['p']:.3f}",
                each["verdict"],
            ]
            for case, each in zip_equal(cases, rows)
            if heading(each["metric"], each["unit"]) == name
        ]
        texts.append(table(lines, [name, "variant", *heads, "p", "so"]))
    return "\n\n".join(texts)


def ratio_text(row: dict) -> str:
    value, low, high = (row[name] for name in ("value", "low", "high"))
    if value is None:
        return "-"
    ends = ("-" if end is None else f"{end:.3f}" for end in (low, high))
    return f"{value:.3f} [{', '.join(ends)}]"


def heading(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def variant_table(points: Points, metric: Metric) -> str:
    """Medians and spread of one metric: a line for each case, a column for each variant."""
    rows = []
    case_name = case_names(points.cases)
    for case in points.cases:
        summaries = [points.summary(case, variant, metric.name) for variant in points.variants]
        if any(summaries):
            rows.append([case_name(case), *(plain(cell(each)) for each in summaries)])
    return table(rows, [heading(metric.name, metric.unit), *points.variants])


def cell(summary: Summary | None) -> str:
    """A median and half its spread: in percent, but where that is more than the median itself."""
    if summary is None:
        return "-"
    if summary.smallest == summary.largest:
        return number(summary.median)
    spread, middle = (summary.largest - summary.smallest) / 2, abs(summary.median)
    shown = number(spread) if spread > middle else f"{100 * spread / middle:.0f}%"
    return f"{number(summary.median)} ±{shown}"
