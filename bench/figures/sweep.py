"""Runs a figure's sweep: a workload on a simulated machine for every point, with a checkpoint.

Simulated results are exact: the same program, library, machine file and options give the same
numbers on every run. So each point is run once, and a finished one is kept in build/figures and
used again as long as all of these are the same: a sweep that was stopped goes on where it was.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINTS = ROOT / "build" / "figures"


class Refusal(Exception):
    """What a user has to be told before anything is run: one line."""


@dataclass(frozen=True)
class Point:
    """One run: where it stands in the figure, and the workload's program and options."""

    panel: str
    series: str
    x: int
    program: str
    options: dict

    def place(self) -> dict:
        return {"panel": self.panel, "series": self.series, "x": self.x}

    def text(self) -> str:
        return " ".join(part for part in (self.panel, self.series, str(self.x)) if part)


@dataclass(frozen=True)
class Setting:
    """What all points of a sweep have in common."""

    machine: str  # a name in machines/, or a file
    programs: Path  # where NAME.simulated are
    limit: float = 600  # seconds of this machine for one run

    def program(self, point: Point) -> Path:
        return self.programs / f"{point.program}.simulated"

    def machine_file(self) -> Path:
        """A name means this source tree's file, whatever the user's own machines are called."""
        ours = ROOT / "machines" / f"{self.machine}.toml"
        return ours if ours.exists() else Path(self.machine).resolve()

    def check(self, points: list[Point]) -> None:
        """Throws Refusal unless everything that the points need is there."""
        if not self.machine_file().is_file():
            raise Refusal(f"there is no machine file {self.machine_file()}")
        missing = sorted({str(self.program(p)) for p in points if not self.program(p).is_file()})
        if missing:
            raise Refusal(f"missing: {', '.join(missing)}; build with `make`")


# ---- one point ----


def run_point(point: Point, setting: Setting) -> dict:
    """The point's place with the workload's line and the machine's report, or with `error`."""
    result = point.place()
    program = setting.program(point)
    command = [str(program)]
    command += [word for name, value in point.options.items() for word in (f"--{name}", str(value))]
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / "stats.json"
        # Nothing of the user's own settings: SYNCOPATE_SEED, for one, would change the numbers.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("SYNCOPATE_")}
        environment = inherited | {
            "SYNCOPATE_MACHINE": str(setting.machine_file()),
            "SYNCOPATE_STATS": str(stats),
            "SYNCOPATE_QUIET": "1",
        }
        try:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=setting.limit,
                check=False,
            )
            if done.returncode != 0:
                text = (done.stderr or done.stdout).strip().splitlines()
                return result | {"error": text[-1] if text else f"status {done.returncode}"}
            measured = json.loads(done.stdout.splitlines()[-1])
            report = of_report(json.loads(stats.read_text(encoding="utf-8")))
        except subprocess.TimeoutExpired:
            return result | {"error": f"not done after {setting.limit:.0f} s"}
        except (OSError, ValueError, IndexError, KeyError) as error:
            return result | {"error": f"{program.name}: {error}"}
    measured.pop("per_thread", None)
    return result | measured | report


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


# ---- the checkpoint ----


@cache
def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@cache
def library_of(program: Path) -> Path | None:
    """The simulated machine's library that the program loads; None where that cannot be told."""
    command = ["ldd", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(r"libsyncopate-simulated\S* => (/\S+)", done.stdout)
    return Path(found[1]) if found else None


def identity(point: Point, setting: Setting) -> str:
    """The same for two runs that must give the same numbers."""
    program = setting.program(point)
    library = library_of(program)
    parts = [
        point.program,
        point.options,
        digest(program),
        digest(library) if library else "",
        digest(setting.machine_file()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Checkpoint:
    """Finished points in a file of one JSON line each: a killed sweep loses what it was at."""

    def __init__(self, path: Path):
        self.path = path
        self.runs: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self.runs[entry["identity"]] = entry["run"]
                except (ValueError, KeyError, TypeError):
                    continue  # cut off when the sweep was killed

    def get(self, key: str, point: Point) -> dict | None:
        run = self.runs.get(key)
        # Two places of a figure may be the same run.
        return None if run is None else point.place() | run

    def put(self, key: str, run: dict) -> None:
        """Keeps the run if it succeeded; one that failed is tried again."""
        if "error" in run:
            return
        self.runs[key] = {k: v for k, v in run.items() if k not in ("panel", "series", "x")}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # The newline first: the file may end in the middle of a line.
            file.write("\n" + json.dumps({"identity": key, "run": self.runs[key]}))

    def keep_only(self, keys: set[str]) -> None:
        """Drops what other libraries, programs or options gave."""
        self.runs = {key: run for key, run in self.runs.items() if key in keys}
        lines = [json.dumps({"identity": k, "run": r}) for k, r in self.runs.items()]
        new = self.path.with_suffix(".new")
        new.write_text("\n".join(lines), encoding="utf-8")
        new.replace(self.path)


# ---- the sweep ----


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def sweep(
    points: list[Point],
    setting: Setting,
    checkpoint: Checkpoint,
    run: Callable[[Point, Setting], dict] = run_point,
) -> list[dict]:
    """The results in the points' order. Says on standard error how far it is and what is left."""
    keys = [identity(point, setting) for point in points]
    known = sum(key in checkpoint.runs for key in keys)
    if known:
        print(f"{known} of {len(points)} points are kept in {checkpoint.path}", file=sys.stderr)
    runs, spent, ran = [], 0.0, 0
    for index, (point, key) in enumerate(zip(points, keys, strict=True)):
        result = checkpoint.get(key, point)
        if result is None:
            began = time.monotonic()
            result = run(point, setting)
            checkpoint.put(key, result)
            took = time.monotonic() - began
            spent, ran = spent + took, ran + 1
            ahead = sum(later not in checkpoint.runs for later in keys[index + 1 :])
            said = result.get("error") or f"{took:.1f} s"
            left = f"; {ahead} left, about {duration(spent / ran * ahead)}" if ahead else ""
            progress = f"[{index + 1}/{len(points)}] {point.text()}: {said}{left}"
            print(progress, file=sys.stderr, flush=True)
        runs.append(result)
    if ran:
        checkpoint.keep_only(set(keys))
    return runs
