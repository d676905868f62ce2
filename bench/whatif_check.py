#!/usr/bin/env python3
"""Holds `syncopate simulate --from` against reality: predicted and measured gains of changes.

Usage: whatif_check.py [--machine NAME] [--rounds N] [--only TEXT] [--output FILE.json]
       whatif_check.py --folder DIR --measure-only --seconds 200     in pieces: again and again,
       whatif_check.py --folder DIR                                  then this

For several programs and the lock that each waits for: records the program (futex lock), predicts on
the machine (by default `this`, calibrated first when its file is missing), then measures the same
changes: another lock by preloading it, a shorter section by the program's own option. Base and
changes run interleaved; a measured gain is the median over rounds of changed / base. Keep the
machine quiet meanwhile: the model knows of no other programs. Predictions need no quiet. What
--folder has is not measured again: records and gains lie there, one of each for every program.
Prints every pair and the median error. Exit status: 0; 1 when a program failed, 2 for a wrong call,
3 when some programs are still to be measured. Errors of prediction are results, not failures.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from syncopate.base import compactjson  # noqa: E402
from syncopate.base.errors import Failure  # noqa: E402
from syncopate.commands import calibrate  # noqa: E402
from syncopate.launch import preload  # noqa: E402
from syncopate.machines import machinefiles, whatif  # noqa: E402
from syncopate.records import lockuse  # noqa: E402
from syncopate.records.analysis import Analysis  # noqa: E402
from syncopate.records.recordfile import Record  # noqa: E402

BASE = "futex"
QUIET = 0.5  # load at most
SECONDS = 120  # no run takes a tenth of it
SWAPS = ("auto", "tatas", "mcs")
KEPT = ("program", "threads", "change", "recorded", "before", "predicted", "measured")


@dataclass(frozen=True)
class Case:
    """A program, the lock to ask about (None: the one waited for most), what to change."""

    name: str
    command: tuple[str, ...]
    swaps: tuple[str, ...] = SWAPS
    changed: tuple[tuple[str, str, str], ...] = ()  # a change, a word of the command, its new text
    lock: str | None = None

    def changes(self) -> list[str]:
        return [f"lock={name}" for name in self.swaps] + [what for what, _, _ in self.changed]

    def slug(self) -> str:
        return re.sub(r"\W+", "-", f"{self.name} {self.threads()}")

    def threads(self) -> str:
        option = "-th" if "-th" in self.command else "--threads"
        return self.command[self.command.index(option) + 1]

    def run_with(self, what: str | None) -> tuple[str, list[str]]:
        """The lock to preload and the command, with a change or (None) without."""
        if what is None or what.startswith("lock="):
            return (what or BASE).removeprefix("lock="), list(self.command)
        old, new = next((old, new) for text, old, new in self.changed if text == what)
        return BASE, [new if word == old else word for word in self.command]


def load(threads: int, inside: int, outside: int) -> Case:
    words = ("bench/pthread_load", "contended", "--vary", "--seconds", "0.4", "--what", "mutex")
    words += ("--threads", str(threads), "--work-in", str(inside), "--work-out", str(outside))
    halved = ("halve", str(inside), str(inside // 2))
    readers = ("rwlock=100", "mutex", "rwlock-read")
    swaps = SWAPS if threads <= 2 else SWAPS[:2]
    name = f"pthread_load {inside}/{outside}"
    return Case(name, words, swaps, (halved, readers), "Mutex")


def workload(name: str, threads: int, *options: str) -> Case:
    words = (f"papers/workloads/{name}", "--lock", "pthread", "--threads", str(threads), *options)
    swaps = SWAPS if threads <= 2 else SWAPS[:2]
    return Case(name, words, swaps)


CASES = [
    load(2, 400, 1200),
    load(2, 4000, 6000),
    load(8, 2000, 9000),
    workload("map_bench", 2, "--microseconds", "400000"),
    workload("map_bench", 4, "--microseconds", "400000", "--keys", "1000"),
    workload("lock_pingpong", 2, "--pairs", "100000", "--work", "1000"),
    workload("lock_pingpong", 4, "--pairs", "100000", "--work", "1000"),
    workload(
        "array_bench", 2, "--elements", "4096", "--footprint", "200", "--microseconds", "400000"
    ),
    workload("adversarial", 2, "--microseconds", "400000", "--footprint", "300"),
    Case(
        "kccachetest wicked",
        ("kccachetest", "wicked", "-th", "2", "-bnum", "500000", "50000"),
        lock="kyotocabinet::Mutex",  # swaps are of mutexes; its reader-writer locks stay
    ),
]


def progress(text: str) -> None:
    """Shows what is going on, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)


def speed(output: str) -> float:
    """Operations or runs a second, from what the program printed."""
    if times := re.findall(r"^time: ([\d.]+)$", output, re.M):
        return 1 / sum(float(time) for time in times)
    result = json.loads(output)
    return result.get("throughput") or result["operations"] / result["seconds"]


def start(build: Path, lock: str, command: list[str], record: str | None = None) -> str:
    """Runs the program with a lock, recorded if asked; returns what it printed."""
    environ = preload.environment(preload.library(), lock, BASE, False)
    if record:
        environ["SYNCOPATE_RECORD"] = record
    program = str(build / command[0]) if "/" in command[0] else command[0]
    done = subprocess.run(
        [program, *command[1:]],
        stdout=subprocess.PIPE,
        env=environ,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout


def predicted(record: Path, case: Case, machine: str) -> list[whatif.Answer]:
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        analysis = Analysis(Record(str(record)))
        use = lockuse.of(analysis, lockuse.choose(analysis, case.lock))
        replayer = whatif.Replayer(use, machine, folder)
        changes = [whatif.parse(text) for text in case.changes()]
        return whatif.answers(replayer, changes, [len(use.threads)])


def measure(o: argparse.Namespace, case: Case, folder: Path) -> None:
    """Leaves the program's record and its measured gains in the folder."""
    gains = folder / f"{case.slug()}.json"
    if gains.exists():
        return
    progress(f"{case.name}: recording")
    start(o.build, BASE, list(case.command), str(folder / f"{case.slug()}.rec"))
    found = measured(o, case)
    gains.write_text(json.dumps({"load": os.getloadavg()[0], "gains": found}), encoding="utf-8")


def measured(o: argparse.Namespace, case: Case) -> dict[str, list[float]]:
    """By change: its gain in each round."""
    gains: dict[str, list[float]] = {what: [] for what in case.changes()}
    for number in range(o.rounds):
        for what, found in gains.items():
            progress(f"{case.name}: round {number + 1} of {o.rounds}, {what}")
            base = speed(start(o.build, *case.run_with(None)))
            found.append(speed(start(o.build, *case.run_with(what))) / base)
    return gains


def row(case: Case, answer: whatif.Answer, gains: list[float]) -> dict:
    middle, ordered = statistics.median(gains), sorted(gains)
    return {
        "program": case.name,
        "threads": answer.threads,
        "change": answer.what,
        "recorded": round(answer.recorded),
        "before": round(answer.before),
        "predicted": answer.gain,
        "measured": middle,
        "low": ordered[len(ordered) // 4],
        "high": ordered[-1 - len(ordered) // 4],
        "error": answer.gain / middle - 1,
    }


def table(rows: list[dict]) -> str:
    lines = [
        f"{'program':24} {'threads':>7} {'change':12} {'predicted':>9} {'measured':>9}"
        f" {'middle half':>12}  error"
    ]
    for each in rows:
        spread = f"{each['low']:.2f}-{each['high']:.2f}"
        lines.append(
            f"{each['program']:24} {each['threads']:7} {each['change']:12}"
            f" {each['predicted']:8.2f}x {each['measured']:8.2f}x {spread:>12}"
            f"  {each['error']:+.0%}"
        )
    return "\n".join(lines)


def keep(o: argparse.Namespace, rows: list[dict]) -> None:
    """Writes what `whatif` and its test read of the changes."""
    kept = [{name: each[name] for name in KEPT} for each in rows]
    result = {"machine": o.machine, "rounds": o.rounds, "rows": kept}
    o.output.write_text(compactjson.tables(compactjson.rounded(result, 4)), encoding="utf-8")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="this", help="machine file (default: this)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each change")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    parser.add_argument("--folder", type=Path, help="keep what is measured here, and do not repeat")
    parser.add_argument("--seconds", type=float, help="after so many, begin with no other program")
    parser.add_argument("--measure-only", action="store_true", help="leave predicting for later")
    return parser.parse_args()


def measure_all(o: argparse.Namespace, cases: list, folder: Path, one: Callable = measure) -> bool:
    """Whether all are measured now: each by `one`."""
    begun = time.monotonic()
    for number, case in enumerate(cases):
        if o.seconds and time.monotonic() - begun > o.seconds:
            print(f"{number} of {len(cases)} programs measured; the same command goes on")
            return False
        one(o, case, folder)
    return True


def compare_all(o: argparse.Namespace, cases: list[Case], folder: Path) -> list[dict]:
    machine, rows = machinefiles.find(o.machine), []
    for case in cases:
        progress(f"{case.name}: predicting")
        text = (folder / f"{case.slug()}.json").read_text(encoding="utf-8")
        gains = json.loads(text)["gains"]
        answers = predicted(folder / f"{case.slug()}.rec", case, machine)
        rows += [row(case, answer, gains[answer.what]) for answer in answers]
    return rows


def main() -> int:
    o = options()
    if o.machine == "this" and "this" not in machinefiles.files():
        calibrate.main([])
    if os.getloadavg()[0] > QUIET:
        print(
            "whatif_check: other programs run: contention will be measured too low", file=sys.stderr
        )
    cases = [each for each in CASES if o.only in each.name]
    with tempfile.TemporaryDirectory(prefix="syncopate-") as own:
        folder = o.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            if not measure_all(o, cases, folder):
                return 3
            rows = [] if o.measure_only else compare_all(o, cases, folder)
        except Failure as failure:
            print(f"whatif_check: {failure}", file=sys.stderr)
            return 1
    if o.measure_only:
        return 0
    progress("")
    if not rows:
        print(f"whatif_check: no program's name contains '{o.only}'", file=sys.stderr)
        return 2
    print(table(rows))
    errors = [abs(each["error"]) for each in rows]
    pairs = len({(each["program"], each["threads"]) for each in rows})
    print(
        f"{pairs} pairs of program and lock, {len(rows)} changes: median error"
        f" {statistics.median(errors):.0%}, largest {max(errors):.0%};"
        f" load {os.getloadavg()[0]:.1f}"
    )
    if o.output:
        keep(o, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
