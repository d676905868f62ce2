#!/usr/bin/env python3
"""Writes docs/papers.md: what the five papers are known for, and what we get; for each paper a
page in papers/results: all its claims, where they live here, the last evidence; and
docs/verdicts.json: every row of their figures with its rule, machine, programs and values.

Inputs: docs/papers.toml (claims and where they live), papers/results/{simulated,measured}/*.json
with the claims of the scripts in papers/figures, papers/results/*.json (measured), and
docs/checked.json. No figure of ours is typed: dates, counts and results are read from these files.

Usage: papers.py [--check] [--checked JUNIT] [ROOT]
  --check          writes nothing; exit status 1 when one of them is not what would be written
  --checked JUNIT  first takes what `ctest --output-junit JUNIT` wrote over as checked.json
"""

import argparse
import os
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
DOCS, RESULTS = "docs", "papers/results"  # folders of pages
sys.path[:0] = [str(HERE), str(HERE / "papers/figures")]

from all import figures  # noqa: E402
from claims import Claim, count, said  # noqa: E402
from common import Figure, claims_of, results_of  # noqa: E402
from headlines import headlines  # noqa: E402
from rules import RULES, VERDICTS, WHY_BOUNDS, Interval, Verdict  # noqa: E402

from syncopate.base import compactjson  # noqa: E402

INTRODUCTION = """\
# The five papers

Written by `scripts/papers.py` from [papers.toml](papers.toml) and the result files. A page for
each paper has every claim and system that this project builds on, where it lives here, and the last
evidence:

PAGES

What stands under "in the paper" is *reported* by the paper for its machine.

* *checked*: tests, run by `make check-all`; where a date stands, that many passed on that day
* *measured*: by bench/ or papers/figures, on the machine that the file or page names, all sides
  interleaved
* *simulated*: by a script of papers/figures on a model of the paper's machine; its page says how
  our results compare with the paper's statements, and why they differ where they do. Nothing of
  that was measured on hardware; most numbers of the machine files are estimates
  ([model-limits.md](reference/model-limits.md))

What was measured on two processors without user-mode monitor waits is in
[measured.md](../papers/results/measured.md). `syncopate bench paper NAME` runs a paper's figures
again ([bench.md](bench.md)).
"""


PAPER_INTRODUCTION = """\
# {title}

Written by `scripts/papers.py`; nothing is edited here. [papers.md](../../docs/papers.md) says how
statements are judged, and what "checked", "measured" and "simulated" are.
"""

RULES_INTRODUCTION = """\
## How statements are judged

A script names, for each statement of a paper, the rule of its kind and a value for each program
that the statement covers; the verdict follows ([rules.py](../papers/figures/rules.py)). What is
ours beyond a paper - another machine, our own algorithm, a line that it has not - stands on the
figures' pages in a table of its own and is not counted, and neither is what a number of ours was
fitted to. [verdicts.json](verdicts.json) has all rows with their rules, machines, programs and
values; why these rules: [decision 36](decisions/0036-judging-statements.md).
"""

HEADLINES_INTRODUCTION = """\
## What they are known for

Why a headline is not reproduced stands on its paper's page;
[differences.md](internals/differences.md) shows what was tried, [ranges.md](internals/ranges.md)
whether it may be the machine's uncertain numbers. Programs are our own, written after the papers'
descriptions, with small inputs ([workloads.md](internals/workloads.md)); "original":
[the paper's](internals/originals.md).

| paper | it states | we get | verdict | evidence |
|---|---|---|---|---|"""


KNOWN_FOR_HEAD = [
    "| it states | we get | verdict | why | evidence |",
    "|---|---|---|---|---|",
]


class PapersError(Exception):
    """An input that cannot be used; the text is one line."""


class Evidence:
    """What the result files of a source tree say."""

    # figures: a figure's name -> the figure, its kind and date, its judged rows
    # seeds: with how many seeds each of its points was simulated

    def __init__(self, root: Path):
        self.root, self.folder = root, root / "papers/results"
        self.checked = self._read(root / "docs" / "checked.json") or {}
        self.ranges = self._read(self.folder / "simulated/ranges.json") or {"rows": []}
        self.figures, self.seeds = {}, {}
        for figure in figures():
            document = self._read(self.folder / figure.kind / f"{figure.name}.json")
            if document:
                date = f"{figure.kind} {document.get('date', '(no date)')}"
                date += " (fewer points)" if document["quick"] else ""
                self.figures[figure.name] = (figure, date, claims_of(figure, document))
                self.seeds[figure.name] = results_of(figure, document).seed_counts()

    @staticmethod
    def _read(path: Path):
        if not path.exists():
            return None
        try:
            return compactjson.read(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise PapersError(f"{path}: {error}") from error

    def of_paper(self, paper: dict) -> list[tuple[Figure, str, list[Claim]]]:
        prefix = paper["scripts"] + "_"
        return [each for name, each in self.figures.items() if name.startswith(prefix)]

    def every_program(self) -> list[str]:
        """What bench/every_program.py found."""
        file = "papers/results/measured/every_program.json"
        document = self._read(self.root / file)
        if not document:
            return ["Every program at size small: no result yet."]
        runs = document["runs"]
        slowest = max(runs, key=lambda run: run["seconds"])
        failed = sum(bool(run["error"]) for run in runs)
        last = max(by["date"] for by in (document["measured"], *document.get("others", [])))
        return [
            f"All programs at size small, measured until {last}: {len(runs)} runs"
            f", {failed} failed; the slowest took {slowest['seconds']:.1f} s:"
            f" {link(self.root, file, DOCS)}."
        ]

    def text(self, items: list[str]) -> str:
        return "; ".join(map(self.one, items)) or "-"

    def one(self, item: str) -> str:
        """One kind of evidence as text; raises PapersError for what does not exist."""
        kind, _, name = item.partition(":")
        if name in self.figures:
            figure, date, rows = self.figures[name]
            return f"{date}: {page_of(figure, RESULTS)}, {count(rows)}"
        if kind == "simulated":
            return "simulated: no result yet"
        if kind == "measured":
            document = self._read(self.folder / f"{name}.json")
            if document is None:
                return "measured: no result yet"
            file = link(self.root, f"{RESULTS}/{name}.json", RESULTS)
            return f"measured {document['measured']['date']}: {file}"
        if item.startswith(("tests/", "papers/workloads/")):
            return f"checked{self.passed(item)}: {link(self.root, item, RESULTS)}"
        return link(self.root, item, RESULTS)

    def passed(self, folder: str) -> str:
        found = self.checked.get("folders", {}).get(Path(folder).name)
        if not found:
            return ""
        failed = f", {found['failed']} failed" if found["failed"] else ""
        return f" {self.checked['date']} ({found['passed']} passed{failed})"


def place(name: str) -> tuple[str, str]:
    """Where a figure stands: always_abort_fig7 -> ("fig7", ""); a machine may follow."""
    found = re.search(r"_((?:fig|table)\d+)(?:_(\w+))?$", name)
    if not found:
        raise PapersError(f"papers/figures/{name}.py: no figN or tableN in its name")
    return found[1], found[2] or ""


def short(name: str) -> str:
    """always_abort_fig7 -> fig. 7; ruby_gil_fig5_xeon -> fig. 5, xeon."""
    key, more = place(name)
    text = key.replace("fig", "fig. ").replace("table", "table ")
    return f"{text}, {more}" if more else text


def page_of(figure: Figure, base: str) -> str:
    """A link to the figure's page from a page in the folder `base`."""
    target = os.path.relpath(f"{RESULTS}/{figure.kind}/{figure.name}.md", base)
    return f"[{short(figure.name)}]({target})"


def link(root: Path, path: str, base: str) -> str:
    """A link from a page in the folder `base` to a file, which has to exist."""
    for place in (path, f"include/syncopate/{path}"):
        if (root / place).exists():
            return f"[{path}]({os.path.relpath(place, base)})"
    raise PapersError(f"docs/papers.toml: there is no {path}")


def claim_row(root: Path, evidence: Evidence, claim: dict) -> str:
    here = ", ".join(link(root, path, RESULTS) for path in claim["here"]) or "not yet"
    proof = evidence.text(claim["evidence"])
    note = claim.get("note", "")
    remarks = f"{proof} ({note})" if note and proof != "-" else note or proof
    return f"| {claim['claim']} | {claim['where']} | {here} | {remarks} |"


def figure_rows(evidence: Evidence, paper: dict) -> list[str]:
    """How many statements of each of this paper's figures are reproduced."""
    lines = []
    for figure, date, rows in evidence.of_paper(paper):
        script = f"[{figure.name}.py](../figures/{figure.name}.py)"
        own = [row.verdict for row in rows if not row.beyond]
        counts = " | ".join(str(own.count(verdict)) for verdict in Verdict)
        lines.append(f"| {page_of(figure, RESULTS)} | {script} | {date} | {len(own)} | {counts} |")
    return lines


def link_to_paper(paper: dict) -> str:
    return f"[{paper['title']}](../{RESULTS}/{paper['name']}.md)"


def headline_rows(evidence: Evidence, paper: dict, base: str) -> list[str]:
    """What the paper is known for, for a page in the folder `base`: that of all papers says which
    paper it is, the paper's own says why a headline is not reproduced."""
    found = evidence.of_paper(paper)
    dates = {figure.name: date for figure, date, _ in found}
    all_papers = base == DOCS
    return [
        (f"| {link_to_paper(paper)} " if all_papers else "")
        + f"| {each.states} | {each.ours} | {said(each.verdict)} | "
        + ("" if all_papers else f"{each.why} | ")
        + "; ".join(f"{dates[figure.name]}: {page_of(figure, base)}" for figure in each.figures)
        + " |"
        for each in headlines([(figure, rows) for figure, _, rows in found])
    ]


def totals(evidence: Evidence, papers: list[dict]) -> list[str]:
    """How many statements of each paper are reproduced."""
    heads = ["paper", "statements", *(verdict.value for verdict in Verdict)]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    sums = [0] * (len(heads) - 1)
    for paper in papers:
        own = [row for *_, rows in evidence.of_paper(paper) for row in rows if not row.beyond]
        found = [len(own), *(sum(row.verdict is verdict for row in own) for verdict in Verdict)]
        sums = [a + b for a, b in zip(sums, found, strict=True)]
        lines.append(f"| {paper['title']} | " + " | ".join(map(str, found)) + " |")
    return [*lines, "| all | " + " | ".join(map(str, sums)) + " |"]


def of_seeds(evidence: Evidence) -> str:
    """How much rests on several seeds."""
    counts = [n for each in evidence.seeds.values() for n in each]
    most = max(counts, default=0)
    rows = [
        row
        for figure, _, rows in evidence.figures.values()
        for row in rows
        if not row.beyond and not figure.measure
    ]
    sure = sum(
        all(isinstance(value, Interval) for part in row.parts for value in part.values.values())
        for row in rows
    )
    others = "once" if set(counts) <= {1, most} else "with fewer"
    return (
        f"Of the {len(counts)} simulated points, {counts.count(most)} were run with {most} seeds,"
        f" the others {others}. {sure} of the {len(rows)} statements that are judged by simulated"
        " results rest on intervals alone; others may turn."
    )


def of_experiments(evidence: Evidence) -> str:
    """For how many of the statements that do not agree something was tried."""
    searched = {(row["figure"], row["statement"]) for row in evidence.ranges["rows"]}
    rows = [
        (figure.name, row)
        for figure, _, found in evidence.figures.values()
        for row in found
        if not row.beyond and row.verdict is not Verdict.REPRODUCED
    ]
    tried = sum("differences.md" in row.why for _, row in rows)
    machines = sum((name, row.paper) in searched for name, row in rows)
    return (
        f"Of the other {len(rows)}, {tried} name an experiment; for {machines}"
        " the machine was searched."
    )


def rules() -> list[str]:
    lines = [RULES_INTRODUCTION, *(f"* **{kind}**: {text}" for kind, text in RULES.items())]
    return [*lines, "", WHY_BOUNDS, "", f"What comes of it: {VERDICTS}", ""]


def known_for(evidence: Evidence, papers: list[dict]) -> list[str]:
    rows = [row for paper in papers for row in headline_rows(evidence, paper, DOCS)]
    counted = ["", "All statements of the papers' figures:", "", *totals(evidence, papers), ""]
    counted += [of_seeds(evidence), "", of_experiments(evidence), ""]
    return [HEADLINES_INTRODUCTION, *rows, *counted, *evidence.every_program(), ""]


def verdicts(evidence: Evidence) -> str:
    """docs/verdicts.json: every row of every figure."""
    rows = [
        {"figure": figure.name} | row.document()
        for figure, _, found in evidence.figures.values()
        for row in found
    ]
    return compactjson.lines(rows)


def paper_page(root: Path, evidence: Evidence, paper: dict) -> str:
    """The page of one paper in papers/results."""
    lines = [PAPER_INTRODUCTION.format(title=paper["title"]), f"{paper['citation']}.", ""]
    if paper["machine"]:
        file = link(root, f"machines/{paper['machine']}.toml", RESULTS)
        lines += [f"The simulated machine that stands for the paper's: {file}.", ""]
    lines += ["| claim or system | in the paper | here | last evidence |", "|---|---|---|---|"]
    lines += [claim_row(root, evidence, claim) for claim in paper["claim"]]
    known = headline_rows(evidence, paper, RESULTS)
    if known:
        lines += ["", "What it is known for:", "", *KNOWN_FOR_HEAD, *known]
    rows = figure_rows(evidence, paper)
    if rows:
        heads = ["figure", "here", "evidence", "statements", *(each.value for each in Verdict)]
        lines += [
            "",
            "Its figures; their pages have each statement, our values and the verdict:",
            "",
        ]
        lines += ["| " + " | ".join(heads) + " |", "|---|---|---|" + "--:|" * (len(heads) - 3)]
        lines += rows
    ours = (name for name in evidence.figures if name.startswith(paper["scripts"] + "_"))
    there = {place(name)[0] for name in ours}
    missing = [f"{key} ({what})" for key, what in paper["figures"].items() if key not in there]
    if missing:
        lines += ["", f"Not reproduced yet: {', '.join(missing)}."]
    return "\n".join(lines).rstrip() + "\n"


def pages(root: Path, evidence: Evidence) -> dict[str, str]:
    """All that is written, by the path below the root."""
    papers = tomllib.loads((root / "docs" / "papers.toml").read_text(encoding="utf-8"))["paper"]
    introduction = INTRODUCTION.replace("PAGES", "\n".join(f"* {link_to_paper(p)}" for p in papers))
    summary = "\n".join([introduction, *known_for(evidence, papers), *rules()]).rstrip() + "\n"
    written = {
        f"{RESULTS}/{paper['name']}.md": paper_page(root, evidence, paper) for paper in papers
    }
    return {"docs/papers.md": summary, "docs/verdicts.json": verdicts(evidence)} | written


def take_over(junit: Path, target: Path) -> None:
    """Writes how many tests of each folder passed, and when, from ctest's JUnit file."""
    try:
        suite = ElementTree.parse(junit).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise PapersError(f"{junit}: {error}") from error
    folders: dict[str, Counter] = {}
    for case in suite.iter("testcase"):
        status = {"run": "passed", "fail": "failed"}.get(case.get("status"))
        if status:
            folders.setdefault(case.get("name").partition(".")[0], Counter())[status] += 1
    counts = {
        name: {"passed": each["passed"], "failed": each["failed"]}
        for name, each in sorted(folders.items())
    }
    document = {"date": suite.get("timestamp", "")[:10], "folders": counts}
    target.write_text(compactjson.lines(document), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--checked", type=Path, metavar="JUNIT")
    parser.add_argument("root", nargs="?", type=Path, default=HERE)
    options = parser.parse_args()
    try:
        if options.checked:
            take_over(options.checked, options.root / "docs" / "checked.json")
        evidence = Evidence(options.root)
        for name, text in pages(options.root, evidence).items():
            target = options.root / name
            if not options.check:
                target.write_text(text, encoding="utf-8")
            elif target.read_text(encoding="utf-8") != text:
                print(f"{name} is out of date: run scripts/papers.py", file=sys.stderr)
                return 1
    except (PapersError, OSError, KeyError, tomllib.TOMLDecodeError) as error:
        print(f"papers.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
