"""`syncopate bench paper`: a paper's figures, ours beside what the paper says.

The figures are scripts of papers/figures, which run workloads on the simulated machine that stands
for the paper's, or (gcc-tm) on this one. Both are in the source tree only.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import textwrap
from pathlib import Path

from syncopate.base.arguments import Parser, seconds
from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.base.since import toml_module
from syncopate.bench import engines, expected, runsuite
from syncopate.bench.jobs import build_folders
from syncopate.bench.provenance import ROOT
from syncopate.bench.suites import NATIVE
from syncopate.bench.suitetable import SUITES
from syncopate.bench.text import duration

SCRIPTS = ROOT / "papers/figures"
PAPERS = ROOT / "docs/papers.toml"
EPILOG = """\
Every finished point is kept: after Ctrl-C the same command goes on. For each figure a page, a plot
and the data are written; what the paper says is printed beside what we get, with the reason for
each difference. Exit status: 1 when a point has no result, 2 for a figure that is not here.
"""


def main(arguments: list[str]) -> int:
    papers = read_papers() if PAPERS.exists() else {}  # an installed command has help, too
    options = parse(arguments, papers)
    paper = papers[options.paper]
    names = chosen(paper, options.figure)
    missing = [key for key in paper["figures"] if not scripts_of(paper, key)]
    scripts = [(key, path) for key in names for path in scripts_of(paper, key)]
    status = 0
    with contextlib.ExitStack() as stack:
        common = stack.enter_context(imported_scripts())
        figures = [(key, importlib.import_module(path.stem).FIGURE) for key, path in scripts]
        figures = built(common, figures, options)
        if not figures:
            return FAILED
        check_measured(figures, options)
        many = stack.enter_context(engine(options))
        print(f"{options.paper}: {outlook(common, figures, options)}", flush=True)
        if options.native:
            print(f"then {native_outlook(options)}", flush=True)
        for number, (key, figure) in enumerate(figures, 1):
            print(f"== {key} ({number} of {len(figures)}): {figure.title}", flush=True)
            done = common.guarded(
                lambda figure=figure: common.make_figure(figure, settings(options), many),
                f"syncopate: bench: {figure.name}",
            )
            if done > FAILED:
                return done
            status = max(status, done)
            show(common.read_claims(figure, options.out), importlib.import_module("claims"))
            if figures[number:]:
                print(f"  ahead: {outlook(common, figures[number:], options)}\n", flush=True)
    if missing and options.figure is None:
        print("not here yet: " + "; ".join(f"{key}, {paper['figures'][key]}" for key in missing))
    if options.native:
        status = max(status, run_natively(options))
    return status


def built(common, figures: list, options: argparse.Namespace) -> list:
    """Those whose programs are there; of others' that were not built it is said."""
    told, kept = settings(options), []
    for key, figure in figures:
        if line := common.not_built(figure, told):
            print(f"not made: {line}", flush=True)
        else:
            kept.append((key, figure))
    return kept


def check_measured(figures: list, options: argparse.Namespace) -> None:
    """Refuses what only simulated figures have, where all are measured."""
    given = {
        "--machine": options.machine,
        "--engine": options.engine != "local",
        "--jobs": options.jobs,
    }
    words = [word for word, value in given.items() if value]
    if words and all(figure.measure for _, figure in figures):
        raise Failure(
            f"bench: figures of {options.paper} are measured on this machine, one run at a time,"
            f" not simulated; leave {' and '.join(words)} out",
            BAD_USE,
        )
    options.jobs = options.jobs or os.cpu_count()


def outlook(common, figures: list, options: argparse.Namespace) -> str:
    """How many figures, and how long they will take, as far as it is known."""
    told = settings(options)
    seconds = [common.expected_seconds(figure, told) for _, figure in figures]
    sum_known = sum(filter(None, seconds))
    unknown = seconds.count(None)
    many = f"{len(figures)} figure{'s' * (len(figures) > 1)}"
    if unknown == len(figures):
        return f"{many}; how long it takes is not known here"
    rest = f"; of {unknown} it is not known" if unknown else ""
    return f"{many}, about {duration(sum_known)} with nothing else running{rest}"


def native_suites(paper: str) -> list[str]:
    return [name for name, suite in SUITES.items() if paper in suite.papers]


def native_words(name: str, options: argparse.Namespace) -> list[str]:
    """What `bench run` is told for a suite of the paper."""
    words = [name, "--repeat", "3" if options.quick else "5"]
    words += ["--out", str(options.out / runsuite.default_file(name, NATIVE))]
    words += ["--build", options.build] if options.build else []
    return words + ["--fresh"] * options.fresh


def native_outlook(options: argparse.Namespace) -> str:
    """How many runs the suites have, and how long they will take, as far as it is known."""
    names = native_suites(options.paper)
    many, took, unknown = 0, 0.0, []
    for name in names:
        try:
            *_, left = runsuite.plan(runsuite.parse(native_words(name, options)))
        except Failure:  # said when the suite's turn comes
            continue
        seconds = [expected.seconds(job) for block in left for job in block]
        many += len(seconds)
        took += sum(filter(None, seconds))
        unknown += [name] * (None in seconds)
    said = f"natively {', '.join(names)}: {many} runs, about {duration(took)}"
    return said + (f"; of {', '.join(unknown)} it is not known" if unknown else "")


def run_natively(options: argparse.Namespace) -> int:
    """Runs the suites of the paper's programs on this machine. Returns the worst exit status."""
    status = 0
    for name in native_suites(options.paper):
        print(f"== suite {name}, natively: {SUITES[name].summary}", flush=True)
        try:
            done = runsuite.main(native_words(name, options))
        except Failure as failure:  # the other suites can still be run
            print(f"syncopate: {failure}", file=sys.stderr)
            done = FAILED
        if done > FAILED:
            return done
        status = max(status, done)
    return status


def read_papers() -> dict[str, dict]:
    """docs/papers.toml by the papers' names."""
    tomllib = toml_module()
    try:
        papers = tomllib.loads(PAPERS.read_text(encoding="utf-8"))["paper"]
    except OSError:
        raise Failure(
            f"bench paper: the papers' figures are in the source tree, and there is no {PAPERS}"
        ) from None
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise Failure(f"bench paper: {PAPERS}: {error}") from None
    return {paper["name"]: paper for paper in papers}


def parse(arguments: list[str], papers: dict) -> argparse.Namespace:
    parser = Parser("bench paper", epilog=EPILOG, description="Reproduces a paper's figures.")
    parser.add_argument("paper", metavar="PAPER", help=", ".join(papers) or None)
    parser.add_argument("--figure", metavar="N", help="only this one: 7, fig7, table1")
    parser.add_argument("--quick", action="store_true", help="fewer points, shorter runs")
    parser.add_argument("--native", action="store_true", help="then the paper's suites, natively")
    parser.add_argument("--fresh", action="store_true", help="forget the suites' native results")
    parser.add_argument("--machine", help="another machine than the paper's")
    parser.add_argument("--build", metavar="FOLDER", help="where the programs were built")
    parser.add_argument("--limit", type=seconds, default=600, help="seconds for one run (600)")
    folder = ROOT / "build" / "paper"
    parser.add_argument(
        "--out", type=Path, default=folder, metavar="FOLDER", help="default: build/paper"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="simulated runs at a time (all processors)"
    )
    parser.add_argument("--engine", choices=engines.ENGINES, default="local", help=engines.HELP)
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, for --engine dask")
    options = parser.parse_args(arguments)
    papers = papers or read_papers()
    engines.check(options, parser)
    if options.jobs is not None and options.jobs < 1:
        parser.error("--jobs needs at least 1")
    if options.machine:
        runsuite.check_machine(options.machine, native=False)
    if options.paper not in papers:
        raise Failure(
            f"bench: no paper is called '{options.paper}'{near(options.paper, list(papers))};"
            f" there are {', '.join(papers)}",
            BAD_USE,
        )
    return options


def scripts_of(paper: dict, key: str) -> list[Path]:
    """The scripts of one figure: there may be one for each of several machines."""
    name = f"{paper['scripts']}_{key}"
    return sorted([*SCRIPTS.glob(f"{name}.py"), *SCRIPTS.glob(f"{name}_*.py")])


def chosen(paper: dict, figure: str | None) -> list[str]:
    """The figures to make. Raises a Failure when what is asked for is not here."""
    here = [key for key in paper["figures"] if scripts_of(paper, key)]
    there = f"here: {', '.join(here) or 'none'}"
    if figure is None:
        if not here:
            raise Failure(
                f"bench: no figure of {paper['name']} is here yet: {', '.join(paper['figures'])}",
                BAD_USE,
            )
        return here
    key = figure if figure.startswith(("fig", "table")) else f"fig{figure}"
    key = paper.get("same", {}).get(key, key)
    if key not in paper["figures"]:
        raise Failure(f"bench: {paper['name']} has no {key} with data; {there}", BAD_USE)
    if key not in here:
        what = paper["figures"][key]
        raise Failure(f"bench: {key} of {paper['name']} ({what}) is not here yet; {there}", BAD_USE)
    return [key]


@contextlib.contextmanager
def imported_scripts():
    """The module that the scripts share, while their folder is where Python looks."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("common")
    finally:
        sys.path.remove(str(SCRIPTS))


def settings(options: argparse.Namespace) -> argparse.Namespace:
    """What make_figure() is told. Quick points are kept apart: each sweep drops those of others."""
    options.redraw = options.data = False
    built = [
        folder for folder in build_folders(options.build) if (folder / "papers/workloads").is_dir()
    ]
    options.programs = (built or build_folders(options.build))[0] / "papers/workloads"
    options.checkpoints = ROOT / "build" / "figures" / ("quick" if options.quick else ".")
    return options


@contextlib.contextmanager
def engine(options: argparse.Namespace):
    """What runs many points elsewhere; None: they are run here."""
    if options.engine == "local":
        yield None
        return
    with engines.connect(options.scheduler) as client:
        yield lambda function, tasks: engines.gather(client, function, tasks)


def show(rows: list, claims) -> None:
    """What the paper says, the rule, what we get, the verdict, and why they differ. Rows of ours,
    which are no statement about the paper's own, come last. claims: the scripts' module."""
    for row in sorted(rows, key=lambda row: bool(row.beyond)):
        lines = {
            "ours" if row.beyond else "paper says": row.paper,
            "rule": row.rule,
            "we get": row.ours,
            "verdict": claims.said(row.verdict, row.beyond).strip("*"),
            "why": row.remarks(),
        }
        for label, text in lines.items():
            first, rest = f"  {label:11}", " " * 13
            if text:
                print(textwrap.fill(text, 100, initial_indent=first, subsequent_indent=rest))
        print()
    print(f"  {claims.count(rows)}\n", flush=True)
