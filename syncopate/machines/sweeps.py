"""`syncopate simulate --sweep`: the same program for several values; table, bars and picture."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass

from syncopate.base import figurefile, optiontable
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.since import zip_equal
from syncopate.base.workers import Workers
from syncopate.machines import modeled

BAR = 40  # columns of the longest bar
REPORTING = ("SYNCOPATE_STATS", "SYNCOPATE_QUIET")
OPTIONS = {"SYNCOPATE_MACHINE": "--machine", "SYNCOPATE_CLIENT": "--client"}  # what else sets them
Rows = list[tuple[str, dict]]  # a value and its report (docs/reference/machine-report-schema.md)


@dataclass(frozen=True)
class Sweep:
    """What `--sweep NAME=A,B,C` and the options beside it ask for."""

    name: str
    values: list[str]
    bars: bool
    figure: str | None  # the file to draw into
    jobs: int  # runs at a time


def chosen(options: dict[str, str]) -> Sweep | None:
    """The sweep that the options ask for; None without one. Raises Failure on bad options."""
    if "--sweep" not in options:
        for option in ("--plot", "--figure", "--jobs"):
            if option in options:
                raise Failure(f"simulate: {option} needs --sweep", BAD_USE)
        return None
    name, equals, values = options["--sweep"].partition("=")
    given = [value for value in values.split(",") if value]
    if not equals or not name.isidentifier() or not given:
        raise Failure("--sweep needs NAME=VALUE,VALUE,...; see --help", BAD_USE)
    if name in REPORTING:
        raise Failure(f"--sweep {name}: the sweep itself sets it, to read each report", BAD_USE)
    if unknown := optiontable.unknown({name}):
        raise Failure(f"--sweep {name}: {unknown[0]}", BAD_USE)
    option = OPTIONS.get(name)
    if option in options:
        raise Failure(f"--sweep {name}: {option} says it too; leave one out", BAD_USE)
    figure = options.get("--figure")
    if figure is not None:
        figurefile.check(figure)
    jobs = options.get("--jobs", "1")
    if not jobs.isdecimal() or int(jobs) < 1:
        raise Failure(f"--jobs {jobs}: needs a whole number of at least 1", BAD_USE)
    return Sweep(name, given, "--plot" in options, figure, int(jobs))


class Runs:
    """One run for each value, several at a time. What they write comes out in their order."""

    def __init__(self, path: str, arguments: list[str], sweep: Sweep, folder: str):
        self.path, self.arguments, self.sweep, self.folder = path, arguments, sweep, folder
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen] = set()
        self.is_over = False

    def file(self, number: int, name: str) -> str:
        return os.path.join(self.folder, f"{number}.{name}")

    def one(self, number: int, environ: dict[str, str]) -> int:
        """Returns the exit status, as subprocess has it."""
        name, value = self.sweep.name, self.sweep.values[number]
        words = [word.replace("{" + name + "}", value) for word in self.arguments]
        report = dict(zip_equal(REPORTING, (self.file(number, "report.json"), "1")))
        given = {**os.environ, **environ, name: value, **report}
        if "SYNCOPATE_CLIENT" in given:
            given["SYNCOPATE_CLIENT"] = given["SYNCOPATE_CLIENT"].replace("{" + name + "}", value)
        if self.sweep.jobs == 1:
            return subprocess.call([self.path, *words], env=given)
        with (
            open(self.file(number, "out"), "wb") as out,
            open(self.file(number, "err"), "wb") as err,
        ):
            with self.lock:
                if self.is_over:
                    return 0
                child = subprocess.Popen(
                    [self.path, *words],
                    env=given,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                )
                self.running.add(child)
            status = child.wait()
            with self.lock:
                self.running.discard(child)
            return status

    def stop(self) -> None:
        with self.lock:
            self.is_over = True
            for child in self.running:
                child.send_signal(signal.SIGINT)

    def show(self, number: int) -> None:
        if self.sweep.jobs == 1:
            return
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            stream.flush()
            with open(self.file(number, name), "rb") as file:
                shutil.copyfileobj(file, stream.buffer)
            stream.flush()

    def results(self, environ: dict[str, str]):
        """Yields each value's number and status, in their order."""
        if self.sweep.jobs == 1:
            for number in range(len(self.sweep.values)):
                yield number, self.one(number, environ)
            return
        with Workers(self.sweep.jobs) as pool:
            try:
                runs = [pool.submit(self.one, i, environ) for i in range(len(self.sweep.values))]
                for number, each in enumerate(runs):
                    status = pool.result(each)
                    self.show(number)
                    yield number, status
            finally:
                self.stop()


def run(path: str, arguments: list[str], environ: dict[str, str], sweep: Sweep, folder: str) -> int:
    """Runs the program once for each value and prints one table. Stops at the first failure."""
    name = sweep.name
    runs = Runs(path, arguments, sweep, folder)
    rows = []
    for number, status in runs.results(environ):
        value = sweep.values[number]
        if status != 0:
            status = modeled.exit_status(path, status)
            print(f"syncopate: {name}={value}: exit status {status}", file=sys.stderr)
            return status
        report = runs.file(number, "report.json")
        if not os.path.exists(report):
            print(f"syncopate: {name}={value}: no report: {modeled.NO_REPORT}", file=sys.stderr)
            return FAILED
        with open(report, encoding="utf-8") as file:
            rows.append((value, json.load(file)))
    show_table(name, rows)
    if sweep.bars:
        show_bars(name, rows)
    if sweep.figure is not None:
        draw(sweep.figure, os.path.basename(path), name, rows)
        print(f"drawn: {sweep.figure}", file=sys.stderr)
    return 0


def show_table(name: str, rows: Rows) -> None:
    """The table of a sweep: time, work by simulated second, fairness, energy."""
    from rich.table import Table

    from syncopate.base import terminal, units

    console = terminal.console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (name, "time", "work/s", "fairness", "joules", "watts"):
        table.add_column(heading, justify="right", no_wrap=True)
    for value, report in rows:
        mark = report["marks"][0] if report["marks"] else None
        energy = report["energy"]
        table.add_row(
            value,
            units.duration(report["seconds"] * 1e9),
            f"{rate(report):,.0f}" if rate(report) else "-",
            f"{mark['fairness']:.3f}" if mark and mark["fairness"] else "-",
            f"{energy['joules']:.3g}",
            f"{energy['average_watts']:.3g}",
        )
    console.print(table)


def rate(report: dict) -> float:
    """Work by simulated second, as the report has it; 0 when the program marked none."""
    return report["marks"][0]["per_second"] if report["marks"] else 0.0


def main_figures(rows: Rows) -> tuple[str, list[float]]:
    """Work by second where the program marked some in every run, else simulated time."""
    if all(rate(report) for _, report in rows):
        return "work by simulated second", [rate(report) for _, report in rows]
    return "simulated seconds", [report["seconds"] for _, report in rows]


def show_bars(name: str, rows: Rows) -> None:
    from syncopate.base import terminal

    console = terminal.console()
    title, figures = main_figures(rows)
    largest = max(figures) or 1
    console.print(f"\n{title}, by {name}")
    width = max(len(value) for value, _ in rows)
    for (value, _), figure in zip_equal(rows, figures):
        console.print(f"{value:>{width}} {'█' * round(BAR * figure / largest)}")


def draw(path: str, program: str, name: str, rows: Rows) -> None:
    """Three panels over the swept values: work or time, fairness where known, energy."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    title, figures = main_figures(rows)
    panels = [(title, figures), ("joules", [report["energy"]["joules"] for _, report in rows])]
    fairness = [report["marks"][0]["fairness"] if report["marks"] else None for _, report in rows]
    if all(fairness):
        panels.insert(1, ("fairness factor (0.5 is fair)", fairness))
    values = [value for value, _ in rows]
    is_number = all(value.replace(".", "", 1).isdigit() for value in values)
    places = [float(value) for value in values] if is_number else list(range(len(values)))
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4 * len(panels), 3.4))
    for axis, (label, heights) in zip_equal(axes, panels):
        if is_number:
            axis.plot(places, heights, marker="o")
        else:
            axis.bar(places, heights)
        axis.set_xticks(places, values)
        axis.set_xlabel(name)
        axis.set_title(label, fontsize="medium")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    machines = ", ".join(dict.fromkeys(report["machine"] for _, report in rows))
    figure.suptitle(f"{program}, simulated on {machines}")
    figure.tight_layout()
    try:
        figurefile.save(figure, path)
    finally:
        pyplot.close(figure)
