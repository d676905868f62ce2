"""What the figures' scripts share: a figure, its results, and
papers/results/KIND/NAME.{json,svg,md} of them, where KIND is simulated or measured.

A script declares a Figure and calls main(). One point's failure is reported in its place and makes
the exit status 1; nothing is made up for it.
"""

import argparse
import datetime
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import cost
import smallsvg
import statedplot
from claims import Claim, tables
from results import Results
from rules import Value
from sweep import CHECKPOINTS, ROOT, Checkpoint, Many, Point, Refusal, Setting, side_by_side, sweep

from syncopate.base import compactjson, wholefile
from syncopate.base.errors import Failure
from syncopate.bench.provenance import commit, provenance

MARKED = 24  # plots in one picture, up to which each point has its mark
PLACES = ROOT / "papers/results"


@dataclass
class Figure:
    """A figure of a paper.

    points: quick -> the sweep. value: a result -> what the y axis shows. claims: Results -> rows.
    more: further plots of the same sweep, y label -> value. prepare: adds to the results what one
    run alone cannot tell. error: half the length of a value's error bar. tables: Results -> lines
    for the end of the page. beyond: why no row is about the paper's machine, where that is so.
    kept: of another figure with the same points, whose finished ones are this one's, too.
    original: the programs of others that it runs, by their names in `syncopate bench originals`.
    fields: what its document keeps of a run, besides place, seed and error; empty: all.

    A figure with `measure` is not simulated: that runs its points on this machine, keeping finished
    ones in the checkpoint, and returns the results.
    """

    name: str
    title: str
    paper: str
    machine: str
    x_label: str
    y_label: str
    points: Callable[[bool], list[Point]]
    value: Callable[[dict], float]
    claims: Callable[[Results], list[Claim]]
    more: dict = field(default_factory=dict)
    notes: str = ""
    prepare: Callable[[list[dict]], None] = lambda runs: None
    measure: Callable[["Figure", argparse.Namespace, Checkpoint], list[dict]] | None = None
    error: Callable[[dict], float] | None = None
    tables: Callable[[Results], list[str]] = lambda results: []
    beyond: str = ""
    kept: str = ""
    original: str = ""
    fields: tuple[str, ...] = ()

    def __post_init__(self):
        self.declared = self.machine  # the paper's, unless `beyond`

    def not_the_papers(self) -> str:
        """Why what runs on `machine` shows nothing about the paper's; empty where it may."""
        if self.measure is None and self.machine != self.declared:
            return f"on {self.machine}, not the paper's machine"
        return self.beyond

    @property
    def kind(self) -> str:
        return "measured" if self.measure else "simulated"

    @property
    def where(self) -> str:
        return f"on {self.machine}" if self.measure else f"on `machines/{self.machine}.toml`"


def made(document: dict) -> str:
    """When, and of which source: the end of the page's first sentence."""
    if document["kind"] == "measured":  # its machine has the commit
        return f" on {document['date']}"
    of = document.get("commit")
    source = f"commit {of}" if of else "its commit was not noted"
    return f" on {document['date']} ({source})"


def markdown(figure: Figure, results: Results, command: str, when: str = "") -> str:
    """The page: what was run, what the paper says against what we get, and the numbers."""
    lines = [
        f"# {figure.title}",
        "",
        f"{figure.paper}. *{figure.kind.capitalize()}* {figure.where}, by `{command}`{when}.",
        "The paper's figures are pictures: what it says is quoted from its text. Rules:"
        " [papers.md](../../../docs/papers.md#how-statements-are-judged).",
        "",
        *([figure.notes, ""] if figure.notes else []),
        *seeds_line(results),
        f"![{figure.title}]({figure.name}.svg)",
        "",
        *tables(rows := judged(figure, results)),
    ]
    if statedplot.lines_of(rows):
        lines += ["", f"![what the paper states, and ours]({figure.name}.stated.svg)"]
    values = {figure.y_label: figure.value} | figure.more
    if not marked(figure, results):
        lines += ["", f"All values: [{figure.name}.json]({figure.name}.json)."]
        values = {}
    for label, value in values.items():
        for panel in results.panels():
            xs = results.xs(panel)
            lines += ["", f"**{panel}**: {label}" if panel else f"**{label}**", ""]
            lines.append(f"| {figure.x_label} | " + " | ".join(str(x) for x in xs) + " |")
            lines.append("|---" + "|--:" * len(xs) + "|")
            for series in results.series(panel):
                found = [results.value(panel, series, x, value) for x in xs]
                cells = ["-" if v is None else f"{v:.4g}" for v in found]
                lines.append(f"| {series} | " + " | ".join(cells) + " |")
    lines += figure.tables(results)
    errors = [r for r in results.runs if "error" in r]
    if errors:
        lines += ["", "Runs without a result:", ""]
        lines += [f"- {r['panel']} {r['series']}, {r['x']}: {r['error']}" for r in errors]
    return "\n".join(lines) + "\n"


def seeds_line(results: Results) -> list[str]:
    """Which of the values are known to hold for more than one seed."""
    counts = results.seed_counts()
    once, many = counts.count(1), max(counts, default=0)
    if many == 0:
        return []
    if many == 1:
        return ["Each point was simulated once, with the first seed: no value has an interval.", ""]
    left = f" {once} of {len(counts)} points were simulated once, and have none." if once else ""
    return [
        f"A value with an interval is of {many} seeds (random numbers and, in most programs, when"
        " each thread starts): the middle one, and the ends. What another build of the program"
        f" moves is not in it. Plot and tables have the middle ones.{left}",
        "",
    ]


def need_matplotlib():
    """The module. Throws Refusal where there is none."""
    os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build" / ".matplotlib"))
    try:
        import matplotlib
    except ImportError as error:
        raise Refusal(
            "the plots need matplotlib; `make setup` installs it in build/venv"
        ) from error
    return matplotlib


def marked(figure: Figure, results: Results) -> bool:
    """Whether there are few plots: many have no marks, and a page without tables."""
    return (1 + len(figure.more)) * len(results.panels()) <= MARKED


def plot(figure: Figure, results: Results, path: Path) -> None:
    """One row of plots a value, one column a panel."""
    matplotlib = need_matplotlib()
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = figure.name  # the same bytes on every run
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    from matplotlib import pyplot

    values = [(figure.y_label, figure.value), *figure.more.items()]
    panels = results.panels()
    marks = marked(figure, results)  # else the picture is as large as its data
    shape = {"nrows": len(values), "ncols": len(panels), "squeeze": False}
    size = (1 + 4.5 * len(panels), 0.6 + 3.4 * len(values))
    page, axes = pyplot.subplots(**shape, figsize=size)
    for row, (label, value) in enumerate(values):
        for column, panel in enumerate(panels):
            axis = axes[row][column]
            for index, series in enumerate(results.series(panel)):
                line = results.line(panel, series, value)
                style = {"linewidth": 1.2}
                if marks:
                    style |= {"marker": "osv^D*xP+<>"[index % 11], "markersize": 4}
                else:
                    style["linestyle"] = ("-", "--", "-.", ":")[index % 4]
                xs, ys = [x for x, _ in line], [y for _, y in line]
                axis.plot(xs, ys, label=series, **style)
                if figure.error and value is figure.value:
                    bars = [results.value(panel, series, x, figure.error) for x in xs]
                    axis.errorbar(xs, ys, bars, fmt="none", ecolor="gray", elinewidth=0.6)
            axis.set_title(panel, fontsize=10)
            axis.set_xlabel(figure.x_label if marks or row + 1 == len(values) else "")
            axis.set_ylabel(label if column == 0 else "")
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
            axis.locator_params(nbins=5 if marks else 3)
    handles, labels = axes[0][0].get_legend_handles_labels()
    page.legend(handles, labels, loc="lower center", ncol=min(len(labels), 5), fontsize=8)
    page.suptitle(f"{figure.title}\n{figure.kind}: {figure.machine}", fontsize=11)
    page.tight_layout(rect=(0, 0.04 + 0.03 * (len(labels) // 5), 1, 1))
    text = io.StringIO()
    page.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(page)
    wholefile.write(path, [smallsvg.smaller(text.getvalue())])


# ---- for the tables of claims ----


def times(ratio: float) -> str:
    return "no result" if ratio != ratio else f"{ratio:.2f}x"


def add_speedup(runs: list[dict], reference: str, speed: Callable[[dict], float]) -> None:
    """Gives each run its `speedup`: over one thread of the series `reference`, in its panel, with
    the first seed."""
    done = [run for run in runs if "error" not in run]
    one: dict[str, float] = {}
    for run in done:
        if run["x"] == 1 and run["series"] == reference:
            one.setdefault(run["panel"], speed(run))
    for run in done:
        run["speedup"] = speed(run) / one.get(run["panel"], float("nan"))


def per_time(run: dict) -> float:
    """Speed of a run that does all of the same work."""
    return 1 / run["seconds"]


def best(results: Results, panel: str, names: list[str], x: int) -> tuple[str, float]:
    """The series with the largest value there."""
    found = [(name, results.value(panel, name, x)) for name in names]
    found = [(name, value) for name, value in found if value is not None]
    return max(found, key=lambda pair: pair[1], default=("no result", float("nan")))


def best_over(results: Results, panel: str, names: list[str], others: list[str], x: int) -> Value:
    """The largest of the series `names` there over the largest of the others."""
    first, second = best(results, panel, names, x)[0], best(results, panel, others, x)[0]
    return results.spread(panel, first, second, x)


# ---- the program ----


def draw(figure: Figure, document: dict, out: Path) -> Path:
    """Writes the page and the plot of a document's results. Returns the page's path."""
    results = results_of(figure, document)
    command = f"papers/figures/{figure.name}.py" + (" --quick" if document["quick"] else "")
    page = out / f"{figure.name}.md"
    wholefile.write(page, [markdown(figure, results, command, made(document))])
    plot(figure, results, out / f"{figure.name}.svg")
    stated = out / f"{figure.name}.stated.svg"
    statedplot.draw(figure.name, judged(figure, results), stated, need_matplotlib())
    return page


def read_claims(figure: Figure, out: Path) -> list[Claim]:
    """The claims held against the results that make_figure() wrote."""
    document = compactjson.read((out / f"{figure.name}.json").read_text(encoding="utf-8"))
    return claims_of(figure, document)


def claims_of(figure: Figure, document: dict) -> list[Claim]:
    return judged(figure, results_of(figure, document))


def judged(figure: Figure, results: Results) -> list[Claim]:
    """The figure's rows, each with its machine; on another than the paper's, as rows of ours."""
    rows = [replace(each, machine=figure.machine) for each in figure.claims(results)]
    others = figure.not_the_papers()
    if not others:
        return rows
    return [replace(each, beyond=each.beyond or others, headline="") for each in rows]


def results_of(figure: Figure, document: dict) -> Results:
    figure.machine = document["machine"]
    runs = [dict(run) for run in document["runs"]]
    figure.prepare(runs)
    return Results(figure, runs)


def not_built(figure: Figure, options: argparse.Namespace) -> str:
    """Why the figure cannot be made here, where it runs programs of others that were not built."""
    if not figure.original:
        return ""
    setting, points = setting_of(figure, options), figure.points(options.quick)
    native = setting.originals if figure.measure else None
    programs = [native / each.program if native else setting.program(each) for each in points]
    if all(program.is_file() for program in programs):
        return ""
    chosen = figure.original.split()
    return (
        f"{figure.name}: the original {' and '.join(chosen)} {'is' if len(chosen) == 1 else 'are'}"
        f" not built; `syncopate bench originals --sources DIR --program"
        f" {' --program '.join(chosen)}` does that"
    )


Made = tuple[list[dict], dict]  # the results, and the document's fields of what they cost


def kept_points(figure: Figure, options: argparse.Namespace) -> Checkpoint:
    return Checkpoint(options.checkpoints / f"{figure.kept or figure.name}.jsonl")


def setting_of(figure: Figure, options: argparse.Namespace) -> Setting:
    return Setting(options.machine or figure.machine, options.programs, options.limit)


def shipped(figure: Figure) -> Path:
    """The document that comes with the source."""
    return PLACES / figure.kind / f"{figure.name}.json"


def result(figure: Figure, options: argparse.Namespace) -> Path:
    """The document that is written, or about to be replaced."""
    return (options.out or PLACES / figure.kind) / f"{figure.name}.json"


def known_cost(figure: Figure, options: argparse.Namespace) -> float | None:
    """As the document that is about to be replaced says, or the one that comes with the source."""
    return cost.known(result(figure, options))[0] or cost.known(shipped(figure))[0]


def simulate(figure: Figure, options: argparse.Namespace, many: Many | None) -> Made:
    """The results of the sweep on the machine that options or figure name, and what it cost."""
    setting = setting_of(figure, options)
    points = figure.points(options.quick)
    setting.check(points)
    kept = kept_points(figure, options)
    ran, meter = cost.todo(points, setting, kept), cost.Meter(simulated=True)
    if options.jobs > 1:
        many = many or partial(side_by_side, jobs=options.jobs)
    runs = [slim(figure, run) for run in sweep(points, setting, kept, many=many)]
    spent = meter.of_all(ran, len(points), known_cost(figure, options))
    clock = meter.on_clock(ran, len(points), options.jobs, result(figure, options))
    return runs, {"cost_seconds": spent, **clock}


def slim(figure: Figure, run: dict) -> dict:
    """The run without what its document does not keep."""
    named = ("panel", "series", "x", "seed", "error", *figure.fields)
    return {k: v for k, v in run.items() if k in named} if figure.fields else run


def measure(figure: Figure, options: argparse.Namespace) -> Made:
    """The results on this machine, and what they cost. A sweep that was stopped goes on; a finished
    one begins anew."""
    kept = kept_points(figure, options)
    before, meter = len(kept.runs), cost.Meter(simulated=False)
    runs = figure.measure(figure, options, kept)
    kept.path.unlink(missing_ok=True)
    points = len(figure.points(options.quick))
    spent = meter.of_all(points - before, points, known_cost(figure, options))
    return runs, {"cost_seconds": spent}


def expected_seconds(figure: Figure, options: argparse.Namespace) -> float | None:
    """How long figure will take on the clock, from what it took when papers/results were made; None
    where that is not known."""
    own = replace(figure, name=figure.kept) if figure.kept else figure  # alone it runs its points
    spent, points = cost.known(shipped(own))
    if not spent or not points:
        return None
    wanted = figure.points(options.quick)
    if figure.measure:
        return spent * len(wanted) / points
    try:
        ahead = cost.todo(wanted, setting_of(figure, options), kept_points(figure, options))
    except OSError:
        return None  # a program is missing: said when the figure's turn comes
    return spent * ahead / points / options.jobs


def make_figure(figure: Figure, options: argparse.Namespace, many: Many | None = None) -> int:
    """Runs the sweep and writes the three files. Returns 1 when a point has no result."""
    if not options.data:
        need_matplotlib()
    folder = options.out or PLACES / figure.kind
    data = folder / f"{figure.name}.json"
    if options.redraw:
        document = compactjson.read(data.read_text(encoding="utf-8"))
    else:
        if figure.measure:
            if options.machine:
                raise Refusal("this figure is measured here, not simulated; leave --machine out")
            figure.machine = this_machine()
        else:
            figure.machine = options.machine or figure.machine
        runs, spent = (
            measure(figure, options) if figure.measure else simulate(figure, options, many)
        )
        if all("error" in run for run in runs):
            raise Refusal(f"{figure.name}: no run succeeded; nothing is written")
        document = {
            "figure": figure.name,
            "kind": figure.kind,
            "machine": figure.machine,
            "quick": options.quick,
            "date": datetime.date.today().isoformat(),
            **({} if figure.measure else {"commit": commit()}),  # a measured one's machine has it
            **spent,
            "runs": runs,
        }
        document = compactjson.rounded(document)  # the page is of what the file says
        folder.mkdir(parents=True, exist_ok=True)
        wholefile.write(data, [compactjson.tables(document)])
    print(data if options.data else draw(figure, document, folder), file=sys.stderr)
    return 1 if any("error" in run for run in document["runs"]) else 0


def this_machine() -> str:
    """What timings depend on."""
    known = provenance()
    busy = f"{os.getloadavg()[0]:.1f} processes running when it began"
    what = f"{known['processor']}, {known['processors']} processors"
    return f"{what}, {busy}, commit {known['commit']}"


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer points, shorter runs")
    parser.add_argument("--machine", help="a name in machines/ or a file; default: the paper's")
    parser.add_argument(
        "--programs",
        type=Path,
        default=ROOT / "build/release/papers/workloads",
        help="NAME.simulated",
    )
    parser.add_argument("--out", type=Path, help="default: papers/results/simulated, or measured")
    parser.add_argument(
        "--checkpoints", type=Path, default=CHECKPOINTS, help="finished points; build/figures"
    )
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="programs at a time, where simulated"
    )
    parser.add_argument("--redraw", action="store_true", help="from the JSON file, run nothing")
    parser.add_argument("--data", action="store_true", help="the JSON file only, drawn elsewhere")
    return parser


def guarded(action: Callable[[], int], name: str) -> int:
    """action's status; 2 with one line for what a user can mend, 130 when interrupted."""
    try:
        return action()
    except (Refusal, Failure, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: stopped; run again to go on", file=sys.stderr)
        return 130


def main(figure: Figure) -> int:
    where = "on this machine" if figure.measure else "on a simulated machine"
    options = arguments(f"{figure.title}, {where}.").parse_args()
    return guarded(lambda: make_figure(figure, options), figure.name)
