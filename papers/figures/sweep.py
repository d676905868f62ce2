"""Runs a figure's sweep: a workload on a simulated machine for every point, with a checkpoint.

Simulated results are exact: the same program, library, machine file and options give the same
numbers on every run. So each point is run once, and a finished one is kept in build/figures and
used again as long as all of these are the same: a sweep that was stopped goes on where it was.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from syncopate.bench.onerun import digest, end_all, library_of, simulated_fields  # noqa: E402
from syncopate.bench.text import duration  # noqa: E402

CHECKPOINTS = ROOT / "build" / "figures"


class Refusal(Exception):
    """What a user has to be told before anything is run: one line."""


@dataclass(frozen=True)
class Point:
    """One run: where it stands in the figure, and the workload's program and options.

    An original program (originals.py) is told `words`, which have {inputs} for the folder with what
    it reads, and prints `says` when its result is right; of the options it has the seed alone.
    """

    panel: str
    series: str
    x: int
    program: str
    options: dict
    words: tuple[str, ...] = ()
    says: str = ""

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
    originals: Path = ROOT / "build" / "originals"  # where those of others are

    def program(self, point: Point) -> Path:
        folder = self.originals if point.words else self.programs
        return folder / f"{point.program}.simulated"

    def machine_file(self) -> Path:
        """A name means this source tree's file, whatever the user's own machines are called."""
        ours = ROOT / "machines" / f"{self.machine}.toml"
        return ours if ours.exists() else Path(self.machine).resolve()

    def check(self, points: list[Point]) -> None:
        """Throws Refusal unless everything that the points need is there."""
        if not self.machine_file().is_file():
            raise Refusal(f"there is no machine file {self.machine_file()}")
        for make, kind in (("make", False), ("syncopate bench originals", True)):
            ours = [self.program(p) for p in points if bool(p.words) is kind]
            if missing := sorted({str(path) for path in ours if not path.is_file()}):
                raise Refusal(f"missing: {', '.join(missing)}; build with `{make}`")


SEEDS = (1, 2, 3, 4, 5)


def seeded(points: Iterable[Point], where: Callable[[Point], bool]) -> list[Point]:
    """The points, those `where` once for each of the seeds: what a headline rests on."""
    return [
        replace(point, options=point.options | {"seed": seed})
        for point in points
        for seed in (SEEDS if where(point) else SEEDS[:1])
    ]


# ---- one point ----


def run_of(point: Point, setting: Setting) -> tuple:
    """What simulated_fields() runs."""
    program = setting.program(point)
    options = [word for name, value in point.options.items() for word in (f"--{name}", str(value))]
    common = (str(setting.machine_file()), setting.limit)
    if not point.words:
        return [str(program), *options], *common
    inputs = str(program.parent / "inputs")
    words = [word.replace("{inputs}", inputs) for word in point.words]
    seed = {"SYNCOPATE_SEED": str(point.options.get("seed", 1))}
    return [str(program), *words], *common, seed, point.says


def run_point(point: Point, setting: Setting) -> dict:
    """The point's place with the workload's line and the machine's report, or with `error`."""
    return point.place() | simulated_fields(run_of(point, setting))


# ---- the checkpoint ----


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
        *point.words,
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
        line = json.dumps({"identity": key, "run": self.runs[key]})
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                # The newline first: the file may end in the middle of a line.
                file.write("\n" + line)
        except OSError as error:
            why = f"{self.path}: {error.strerror}; the points in it are kept"
            raise Refusal(f"{why}, and the same command goes on with the rest") from None

    def keep_only(self, keys: set[str]) -> None:
        """Drops what other libraries, programs or options gave."""
        self.runs = {key: run for key, run in self.runs.items() if key in keys}
        lines = [json.dumps({"identity": k, "run": r}) for k, r in self.runs.items()]
        new = self.path.with_suffix(".new")
        new.write_text("\n".join(lines), encoding="utf-8")
        new.replace(self.path)


# ---- the sweep ----


# Calls the function with each argument elsewhere: (function, {identity: argument}) -> (identity,
# its result or a line that says why there is none), as they finish.
Many = Callable[[Callable, dict[str, tuple]], Iterable[tuple[str, dict | str]]]


def side_by_side(function: Callable, tasks: dict[str, tuple], jobs: int) -> Iterator:
    """Many, by so many programs at a time on this machine: their results do not depend on it."""
    with ThreadPoolExecutor(jobs) as pool:
        keys = {pool.submit(function, argument): key for key, argument in tasks.items()}
        try:
            for future in as_completed(keys):
                yield keys[future], future.result()
        finally:  # interrupted, too
            end_runs(pool, keys)


def end_runs(pool: ThreadPoolExecutor, futures: Iterable[Future]) -> None:
    """Ends the programs that the pool's threads run; what has not begun never does."""
    pool.shutdown(wait=False, cancel_futures=True)
    running = [future for future in futures if not future.cancelled()]  # wait() skips none
    while wait(running, timeout=0.1).not_done:
        end_all()  # again, for a program that was only just beginning


def run_elsewhere(points, keys: list[str], setting: Setting, kept: Checkpoint, many: Many) -> dict:
    """Runs what is not kept yet. Returns the failed ones by identity; the others are kept."""
    pairs = zip(keys, points, strict=True)
    todo = {key: point for key, point in pairs if key not in kept.runs}
    runs = {key: run_of(point, setting) for key, point in todo.items()}
    failed, began = {}, time.monotonic()
    for number, (key, outcome) in enumerate(many(simulated_fields, runs), 1):
        fields = {"error": outcome} if isinstance(outcome, str) else outcome
        kept.put(key, fields)
        if "error" in fields:
            failed[key] = fields
        ahead = len(todo) - number
        spent = time.monotonic() - began
        left = f"; {ahead} left, about {duration(spent / number * ahead)}" if ahead else ""
        progress = f"[{number}/{len(todo)}] {todo[key].text()}: {fields.get('error', 'done')}{left}"
        print(progress, file=sys.stderr, flush=True)
    return failed


def sweep(
    points: list[Point],
    setting: Setting,
    checkpoint: Checkpoint,
    run: Callable[[Point, Setting], dict] = run_point,
    many: Many | None = None,
) -> list[dict]:
    """The results in the points' order. Says on standard error how far it is and what is left.

    With `many` the points are run by it, in any order, and not here.
    """
    keys = [identity(point, setting) for point in points]
    known = sum(key in checkpoint.runs for key in keys)
    if known:
        print(f"{known} of {len(points)} points are kept in {checkpoint.path}", file=sys.stderr)
    failed = run_elsewhere(points, keys, setting, checkpoint, many) if many else {}
    runs, spent, ran = [], 0.0, 0
    for index, (point, key) in enumerate(zip(points, keys, strict=True)):
        result = checkpoint.get(key, point)
        if key in failed:
            result = point.place() | failed[key]
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
