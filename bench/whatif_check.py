#!/usr/bin/env python3
"""Holds `syncopate simulate --from` against reality: predicted and measured gains of changes.

Usage: whatif_check.py [--machine NAME] [--rounds N] [--only TEXT] [--output FILE.json]

For several programs and the lock that each waits for: records the program (futex lock), predicts on
the machine (by default `this`, calibrated first when its file is missing), then measures the same
changes: another lock by preloading it, a shorter section by the program's own option. Base and
changes run interleaved; a measured gain is the median over rounds of changed / base. Keep the
machine quiet meanwhile: the model knows of no other programs. Prints every pair and the median
error. Exit status: 0; 1 when a program failed, 2 for a wrong call. Errors of prediction are
results, not failures.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from syncopate import calibrate, lockuse, machinefiles, preload, whatif  # noqa: E402
from syncopate.analysis import Analysis  # noqa: E402
from syncopate.errors import Failure  # noqa: E402
from syncopate.recordfile import Record  # noqa: E402

BASE = "futex"
QUIET = 0.5  # load at most
SECONDS = 120  # no run takes a tenth of it
SWAPS = ("auto", "tatas", "mcs")


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
    words = (f"workloads/{name}", "--lock", "pthread", "--threads", str(threads), *options)
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


def predicted(o: argparse.Namespace, case: Case, machine: str) -> list[whatif.Answer]:
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        record = os.path.join(folder, "program.rec")
        start(o.build, BASE, list(case.command), record)
        analysis = Analysis(Record(record))
        use = lockuse.of(analysis, lockuse.choose(analysis, case.lock))
        replayer = whatif.Replayer(use, machine, folder)
        changes = [whatif.parse(text) for text in case.changes()]
        return whatif.answers(replayer, changes, [len(use.threads)])


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


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="this", help="machine file (default: this)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each change")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    return parser.parse_args()


def main() -> int:
    o = options()
    if o.machine == "this" and "this" not in machinefiles.files():
        calibrate.main([])
    if os.getloadavg()[0] > QUIET:
        print(
            "whatif_check: other programs run: contention will be measured too low", file=sys.stderr
        )
    rows = []
    try:
        machine = machinefiles.find(o.machine)
        for case in (each for each in CASES if o.only in each.name):
            progress(f"{case.name}: recording and predicting")
            answers = predicted(o, case, machine)
            gains = measured(o, case)
            rows += [row(case, answer, gains[answer.what]) for answer in answers]
    except Failure as failure:
        print(f"whatif_check: {failure}", file=sys.stderr)
        return 1
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
        result = {"machine": o.machine, "rounds": o.rounds, "rows": rows}
        o.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
