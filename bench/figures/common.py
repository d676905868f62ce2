"""What the figures' scripts share: running a workload on a simulated machine for every point of a
sweep, and writing docs/figures/simulated/NAME.{json,svg,md}.

A script declares a Figure and calls main(). Simulated results are exact: the same point gives the
same numbers on every run, so each is run once. One point's failure is reported in its place and
makes the exit status 1; nothing is made up for it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "docs" / "figures" / "simulated"


@dataclass(frozen=True)
class Point:
    """One run: where it stands in the figure, and the workload's program and options."""

    panel: str
    series: str
    x: int
    program: str
    options: dict


@dataclass(frozen=True)
class Claim:
    """One row of the table. holds: whether what we get agrees with what the paper says."""

    paper: str
    ours: str
    holds: bool
    why: str = ""  # why they differ, or what the agreement rests on


@dataclass
class Figure:
    """A figure of a paper.

    points: quick -> the sweep. value: a result -> what the y axis shows. claims: Results -> rows.
    more: further plots of the same sweep, y label -> value. prepare: adds to the results what one
    run alone cannot tell.
    """

    name: str
    title: str
    paper: str
    machine: str
    x_label: str
    y_label: str
    points: Callable[[bool], list[Point]]
    value: Callable[[dict], float]
    claims: Callable[["Results"], list[Claim]]
    more: dict = field(default_factory=dict)
    notes: str = ""
    prepare: Callable[[list[dict]], None] = lambda runs: None


class Results:
    """The results of a sweep, by panel, series and x."""

    def __init__(self, figure: Figure, runs: list[dict]):
        self.figure, self.runs = figure, runs
        self._at = {(r["panel"], r["series"], r["x"]): r for r in runs if "error" not in r}

    def panels(self) -> list[str]:
        return list(dict.fromkeys(r["panel"] for r in self.runs))

    def series(self, panel: str) -> list[str]:
        return list(dict.fromkeys(r["series"] for r in self.runs if r["panel"] == panel))

    def xs(self, panel: str) -> list[int]:
        return sorted({x for p, _, x in self._at if p == panel})

    def run(self, panel: str, series: str, x: int) -> dict | None:
        return self._at.get((panel, series, x))

    def value(self, panel: str, series: str, x: int, of=None) -> float | None:
        """What the figure shows (or what `of` says) of one run; None where there is no result."""
        run = self.run(panel, series, x)
        return None if run is None else (of or self.figure.value)(run)

    def line(self, panel: str, series: str, of=None) -> list[tuple[int, float]]:
        pairs = ((x, self.value(panel, series, x, of)) for x in self.xs(panel))
        return [(x, y) for x, y in pairs if y is not None]

    def ratio(self, panel: str, above: str, below: str, x: int, of=None) -> float:
        """The value of one series over another's; nan where one is missing."""
        first, second = self.value(panel, above, x, of), self.value(panel, below, x, of)
        return first / second if first is not None and second else float("nan")


def run_point(point: Point, machine: str, programs: Path, limit: float) -> dict:
    """Runs one point; the result holds the workload's line, the machine's report, or `error`."""
    result = {"panel": point.panel, "series": point.series, "x": point.x}
    program = programs / f"{point.program}.simulated"
    command = [str(program)]
    command += [word for name, value in point.options.items() for word in (f"--{name}", str(value))]
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / "stats.json"
        environment = os.environ | {
            "SYNCOPATE_MACHINE": machine,
            "SYNCOPATE_STATS": str(stats),
            "SYNCOPATE_QUIET": "1",
        }
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=limit, check=False
            )
            if done.returncode != 0:
                text = (done.stderr or done.stdout).strip().splitlines()
                return result | {"error": text[-1] if text else f"status {done.returncode}"}
            measured = json.loads(done.stdout.splitlines()[-1])
            report = json.loads(stats.read_text(encoding="utf-8"))
        except subprocess.TimeoutExpired:
            return result | {"error": f"not done after {limit:.0f} s"}
        except (OSError, ValueError, IndexError) as error:
            return result | {"error": f"{program.name}: {error}"}
    measured.pop("per_thread", None)
    return result | measured | of_report(report) | {"took": round(time.monotonic() - began, 1)}


def of_report(report: dict) -> dict:
    """What the figures use of the machine's report (docs/machine-report-schema.md)."""
    begins = sum(t["begins"] for t in report.get("transactions", []))
    commits = sum(t["commits"] for t in report.get("transactions", []))
    aborts: dict[str, int] = {}
    for transaction in report.get("transactions", []):
        for cause, count in transaction["aborts"].items():
            if count:
                aborts[cause] = aborts.get(cause, 0) + count
    return {
        "machine": report["machine"],
        "machine_seconds": report["seconds"],
        "joules": report["energy"]["joules"],
        "watts": report["energy"]["average_watts"],
        "transactions": {"begins": begins, "commits": commits, "aborts": aborts},
    }


def markdown(figure: Figure, results: Results, command: str) -> str:
    """The page: what was run, what the paper says against what we get, and the numbers."""
    lines = [
        f"# {figure.title}",
        "",
        f"{figure.paper}. *Simulated* on `machines/{figure.machine}.toml`, by `{command}`.",
        "The paper's figures are pictures: what it says is quoted from its text.",
        "",
        *([figure.notes, ""] if figure.notes else []),
        f"![{figure.title}]({figure.name}.svg)",
        "",
        "| paper says | we get | agrees | why they differ, or what it rests on |",
        "|---|---|---|---|",
    ]
    for claim in figure.claims(results):
        agrees = "yes" if claim.holds else "**no**"
        lines.append(f"| {claim.paper} | {claim.ours} | {agrees} | {claim.why} |")
    values = {figure.y_label: figure.value} | figure.more
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
    errors = [r for r in results.runs if "error" in r]
    if errors:
        lines += ["", "Runs without a result:", ""]
        lines += [f"- {r['panel']} {r['series']}, {r['x']}: {r['error']}" for r in errors]
    return "\n".join(lines) + "\n"


def plot(figure: Figure, results: Results, path: Path) -> None:
    """One row of plots a value, one column a panel."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = figure.name  # the same bytes on every run
    from matplotlib import pyplot

    values = [(figure.y_label, figure.value), *figure.more.items()]
    panels = results.panels()
    shape = {"nrows": len(values), "ncols": len(panels), "squeeze": False}
    size = (1 + 4.5 * len(panels), 0.6 + 3.4 * len(values))
    page, axes = pyplot.subplots(**shape, figsize=size)
    for row, (label, value) in enumerate(values):
        for column, panel in enumerate(panels):
            axis = axes[row][column]
            for index, series in enumerate(results.series(panel)):
                line = results.line(panel, series, value)
                style = {"marker": "osv^D*xP+<>"[index % 11], "markersize": 4, "linewidth": 1.2}
                axis.plot([x for x, _ in line], [y for _, y in line], label=series, **style)
            axis.set_title(panel, fontsize=10)
            axis.set_xlabel(figure.x_label)
            axis.set_ylabel(label if column == 0 else "")
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
    handles, labels = axes[0][0].get_legend_handles_labels()
    page.legend(handles, labels, loc="lower center", ncol=min(len(labels), 5), fontsize=8)
    page.suptitle(f"{figure.title}\nsimulated: {figure.machine}", fontsize=11)
    page.tight_layout(rect=(0, 0.04 + 0.03 * (len(labels) // 5), 1, 1))
    page.savefig(path, metadata={"Date": None})


# ---- for the tables of claims ----


def times(ratio: float) -> str:
    return "no result" if ratio != ratio else f"{ratio:.2f}x"


def best(results: Results, panel: str, names: list[str], x: int) -> tuple[str, float]:
    """The series with the largest value there."""
    found = [(name, results.value(panel, name, x)) for name in names]
    found = [(name, value) for name, value in found if value is not None]
    return max(found, key=lambda pair: pair[1], default=("no result", float("nan")))


def sweep(figure: Figure, quick: bool, machine: str, programs: Path, limit: float) -> list[dict]:
    points = figure.points(quick)
    runs = []
    for index, point in enumerate(points, 1):
        where = " ".join(part for part in (point.panel, point.series, str(point.x)) if part)
        print(f"[{index}/{len(points)}] {where}", end="", file=sys.stderr, flush=True)
        run = run_point(point, machine, programs, limit)
        runs.append(run)
        said = run.get("error") or f"{run['took']} s"
        print(f": {said}", file=sys.stderr, flush=True)
    return runs


def main(figure: Figure) -> int:
    parser = argparse.ArgumentParser(description=f"{figure.title}, on a simulated machine.")
    parser.add_argument("--quick", action="store_true", help="fewer points, shorter runs")
    parser.add_argument("--machine", default=figure.machine, help="default: %(default)s")
    parser.add_argument(
        "--programs", type=Path, default=ROOT / "build/workloads", help="where NAME.simulated are"
    )
    parser.add_argument("--out", type=Path, default=PLACE, help="default: docs/figures/simulated")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    parser.add_argument("--redraw", action="store_true", help="from the JSON file, run nothing")
    options = parser.parse_args()

    data = options.out / f"{figure.name}.json"
    if options.redraw:
        runs = json.loads(data.read_text(encoding="utf-8"))["runs"]
    else:
        runs = sweep(figure, options.quick, options.machine, options.programs, options.limit)
        if all("error" in run for run in runs):
            print(f"{figure.name}: no run succeeded; nothing written", file=sys.stderr)
            return 1
        options.out.mkdir(parents=True, exist_ok=True)
        document = {
            "figure": figure.name,
            "kind": "simulated",
            "machine": options.machine,
            "quick": options.quick,
            "runs": runs,
        }
        data.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    figure.machine = options.machine
    figure.prepare(runs)
    results = Results(figure, runs)
    command = f"bench/figures/{figure.name}.py" + (" --quick" if options.quick else "")
    page = options.out / f"{figure.name}.md"
    page.write_text(markdown(figure, results, command), encoding="utf-8")
    try:
        plot(figure, results, options.out / f"{figure.name}.svg")
    except ImportError:
        print("no matplotlib: the plot is left out", file=sys.stderr)
    print(f"{page}", file=sys.stderr)
    return 1 if any("error" in run for run in runs) else 0
