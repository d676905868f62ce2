#!/usr/bin/env python3
"""What explains where a figure differs from its paper: the suspected reason is changed, on the
model, and the few points that decide are run again. Writes
papers/results/simulated/differences.json and, of it, docs/internals/differences.md.

A trial names a number of a figure, the paper's value of it, and what is changed: fields of the
machine file, options of the program, or a series' lock. How much of the difference goes with the
change says whether it is the reason; nothing of that is typed.
"""

import argparse
import datetime
import importlib
import math
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from common import PLACES, Figure, Results, arguments, guarded
from sweep import ROOT, Checkpoint, Point, Refusal, Setting, end_runs, identity, run_point
from trials import TRIALS, Number, Trial, explained

from syncopate.base import compactjson, wholefile

DATA = PLACES / "simulated" / "differences.json"
PAGE = ROOT / "docs/internals/differences.md"
KEEPING = threading.Lock()
HEAD = """\
# Why our figures differ from the papers'

Written by `papers/figures/differences.py`; nothing is edited here. Where a figure's number is not
the paper's, what is suspected was changed on the model, alone, and the points that decide were run
again. The last column is how much of the difference (of the ratio between the paper's number and
ours, on a logarithmic scale) went with it: about 100 % where it explains all, about 0 % where it is
not the reason, less than 0 % where it leads away, more than 100 % where it leads past the paper's
number. A machine file's fields are described in
[machine-files.md](../reference/machine-files.md); none of what was changed here is claimed to
be what the paper's machine has.
"""


def changed_machine(name: str, fields: dict, folder: Path) -> Path:
    """A copy of the machine's file with other values of fields "table.key"."""
    lines, table, left = [], "", dict(fields)
    for line in (ROOT / "machines" / f"{name}.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            table = line.strip("[]")
        key = f"{table}.{line.partition('=')[0].strip()}"
        lines.append(f"{key.rpartition('.')[2]} = {left.pop(key)}" if key in left else line)
    if left:
        raise Refusal(f"{name}.toml has no {', '.join(left)}")
    text = "\n".join(lines) + "\n"
    file = folder / f"{name}-{abs(hash(text))}.toml"
    wholefile.write(file, [text])  # two settings may be of the same machine, and one at its runs
    return file


def figure_of(number: Number) -> Figure:
    return importlib.import_module(number.figure).FIGURE


def points_of(number: Number) -> list[Point]:
    """Those of its figure that decide the number, with the first seed."""
    points = figure_of(number).points(False)
    return [p for p in points if number.needs(p) and p.options.get("seed", 1) == 1]


def changed_point(point: Point, change: Trial) -> Point:
    lock = change.locks.get(point.series)
    words = change.options | ({"lock": lock} if lock else {})
    return replace(point, options=point.options | words)


def value(number: Number, runs: list[dict]) -> float:
    """The number, of the results of its points. Throws Refusal where one of them has none."""
    failed = [run for run in runs if "error" in run]
    if failed:
        raise Refusal(f"{number.figure} {failed[0]['series']}: {failed[0]['error']}")
    figure = figure_of(number)
    runs = [dict(run) for run in runs]
    figure.prepare(runs)
    found = number.of(Results(figure, runs))
    if not math.isfinite(found):
        raise Refusal(f"{number.figure}, {number.name}: no value from the points of its trials")
    return found


def finished(point: Point, setting: Setting, kept: Checkpoint) -> dict:
    """The run of a point, or the one that was kept."""
    key = identity(point, setting)
    run = kept.get(key, point)
    if run is None:
        run = run_point(point, setting)
        with KEEPING:
            kept.put(key, run)
    return run


def run_all(trials: list[Trial], options: argparse.Namespace) -> list[dict]:
    """A row for each, with the number as it stands and as the change makes it. Finished runs are
    kept: one that was stopped goes on where it was."""
    kept = Checkpoint(options.checkpoints / "differences.jsonl")
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(options.jobs) as pool:
        started: dict[str, Future] = {}  # several trials need the same run

        def start(number: Number, change: Trial | None = None) -> list[Future]:
            machine, points = figure_of(number).machine, points_of(number)
            if change:
                if change.fields:
                    machine = str(changed_machine(machine, change.fields, Path(place)))
                points = [changed_point(point, change) for point in points]
            setting = Setting(machine, options.programs, options.limit)
            setting.check(points)
            keys = [f"{p.place()} {identity(p, setting)}" for p in points]
            for key, point in zip(keys, points, strict=True):
                if key not in started:
                    started[key] = pool.submit(finished, point, setting, kept)
            return [started[key] for key in keys]

        try:
            before = {each.number.name: start(each.number) for each in trials}
            after = [start(each.number, each) for each in trials]
            rows = []
            for trial, found in zip(trials, after, strict=True):
                number = trial.number
                try:
                    ours = value(number, [one.result() for one in before[number.name]])
                    then = value(number, [one.result() for one in found])
                except Refusal as refusal:
                    print(refusal, file=sys.stderr, flush=True)
                    continue
                rows.append(
                    {"figure": number.figure, "number": number.name, "paper": number.paper,
                     "changed": trial.text(), "ours": ours, "then": then,
                     "date": datetime.date.today().isoformat()}
                )  # fmt: skip
                print(f"{number.name}: {trial.text()}: {ours:.3g}, then {then:.3g}", flush=True)
        finally:  # interrupted, too
            end_runs(pool, started.values())
    return rows


def merged(before: list[dict], rows: list[dict], trials: list[Trial]) -> list[dict]:
    """The rows of all trials in their order: those run now, and of the others those of before."""
    found = {key_of(row): row for row in [*before, *rows]}
    keys = [(each.number.figure, each.number.name, each.text()) for each in trials]
    return [found[key] for key in keys if key in found]


def key_of(row: dict) -> tuple[str, str, str]:
    return row["figure"], row["number"], row["changed"]


def page(document: dict) -> str:
    dates = sorted({row.get("date", document["date"]) for row in document["rows"]})
    lines = [HEAD, f"Simulated {' and '.join(dates)}.", ""]
    lines.append("| figure | number | paper | ours | changed | then | of the difference |")
    lines.append("|---|---|--:|--:|---|--:|--:|")
    for row in document["rows"]:
        name = row["figure"]
        cells = [f"[{name}](../../papers/results/simulated/{name}.md)", row["number"],
                 f"{row['paper']:.3g}", f"{row['ours']:.3g}", row["changed"], f"{row['then']:.3g}",
                 f"{explained(row):.0f} %"]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = arguments("What explains where a figure differs from its paper.")
    parser.add_argument("--figure", help="only the trials of this one; the other rows are kept")
    options = parser.parse_args()
    data = (options.out / DATA.name) if options.out else DATA
    if not options.redraw:
        wanted = [each for each in TRIALS if options.figure in (None, each.number.figure)]
        rows = run_all(wanted, options)
        if options.figure:
            before = compactjson.read(data.read_text(encoding="utf-8"))
            dated = [{"date": before["date"]} | row for row in before["rows"]]
            rows = merged(dated, rows, TRIALS)
        document = {"kind": "simulated", "date": datetime.date.today().isoformat(), "rows": rows}
        wholefile.write(data, [compactjson.tables(document)])
    if not options.data:
        document = compactjson.read(data.read_text(encoding="utf-8"))
        wholefile.write(PAGE, [page(document)])
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main, "differences"))
