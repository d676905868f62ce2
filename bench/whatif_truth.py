#!/usr/bin/env python3
"""Holds `syncopate simulate --from` against programs of known truth, twenty of them.

Usage: whatif_truth.py [--machine NAME] [--rounds N] [--only TEXT] [--output FILE.json]
       whatif_truth.py --folder DIR --measure-only --seconds 200     in pieces: again and again,
       whatif_truth.py --folder DIR                                  then this
       whatif_truth.py --record-only [--only TEXT]      what records say of sections and work, alone

bench/known_locks.cpp draws the lengths of its sections and of the work between them, and says what
it drew: distributions, convoys, several locks, conditions, sleepers, 1 to 16 threads. Each program
is recorded (futex lock); the work that the record tells is printed beside the work that was drawn.
Then four changes are predicted and measured, base and change interleaved: the section halved, two
locks (`auto`, `tatas`), and eight shards. Prints every pair, the median error, how many measured
gains the printed range holds (its coverage), and within how much nine of ten predictions are: what
syncopate/machines/whatif.py prints as a range (`MODEL_ERROR`).

Exit status: 0; 1 when a program failed, 2 for a wrong call, 3 when some are still to be measured.
Errors of prediction are results, not failures. Other programs make contention rarer than it would
be: keep the machine quiet meanwhile.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import whatif_check
from whatif_check import BASE, Case, progress, start

from syncopate.base.errors import Failure
from syncopate.commands import calibrate
from syncopate.machines import machinefiles, whatif
from syncopate.records import lockuse
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record

PROGRAM = "bench/known_locks"
CHANGES = ("halve", "lock=auto", "lock=tatas", "shard=8")
SHARDS = 8


@dataclass(frozen=True)
class Truth:
    """One program: its options, by name."""

    name: str
    options: dict[str, str]

    def words(self, **changed: str) -> list[str]:
        options = {**self.options, **changed}
        return [
            PROGRAM,
            *(word for name, value in options.items() for word in (f"--{name}", value)),
        ]

    def case(self) -> Case:
        return Case(self.name, tuple(self.words()))

    def run_with(self, what: str | None) -> tuple[str, list[str]]:
        """The lock to preload and the command, with a change or (None) without."""
        if what is not None and what.startswith("lock="):
            return what.removeprefix("lock="), self.words()
        if what == "halve":
            return BASE, self.words(length="50")
        if what == f"shard={SHARDS}":
            return BASE, self.words(locks=str(SHARDS * int(self.options.get("locks", "1"))))
        return BASE, self.words()


def truth(name: str, text: str) -> Truth:
    words = text.split()
    return Truth(name, dict(zip([w.lstrip("-") for w in words[::2]], words[1::2], strict=True)))


PROGRAMS = [
    truth("one thread", "--threads 1 --inside 500 --outside 2000"),
    truth("two, even", "--threads 2 --inside 1100 --outside 1100"),
    truth("two, rare", "--threads 2 --inside 500 --outside 8000"),
    truth("two, nothing but", "--threads 2 --inside 2000 --outside 100"),
    truth("two, long", "--threads 2 --inside 20000 --outside 20000"),
    truth("two, fixed", "--threads 2 --inside 1000 --outside 3000 --spread fixed"),
    truth("two, uniform", "--threads 2 --inside 1000 --outside 2000 --spread uniform"),
    truth("two, of two lengths", "--threads 2 --inside 1000 --outside 2000 --spread two"),
    truth("two locks", "--threads 2 --inside 1500 --outside 1500 --locks 2"),
    truth("second lock", "--threads 2 --inside 1000 --outside 2000 --second 500"),
    truth("four, even", "--threads 4 --inside 1750 --outside 1750"),
    truth("four, short", "--threads 4 --inside 300 --outside 900"),
    truth("four, convoy", "--threads 4 --inside 4000 --outside 4000 --spread two"),
    truth("four, one eager", "--threads 4 --inside 1000 --outside 6000 --first-works 10"),
    truth("four, conditions", "--threads 4 --inside 1500 --outside 4000 --signal 20"),
    truth("four, sleepers", "--threads 4 --inside 2000 --outside 4000 --rest 20"),
    truth("eight", "--threads 8 --inside 4100 --outside 12000"),
    truth("eight, four locks", "--threads 8 --inside 2000 --outside 4000 --locks 4"),
    truth("sixteen", "--threads 16 --inside 2000 --outside 30000"),
    truth("sixteen, sleepers", "--threads 16 --inside 3000 --outside 5000 --rest 100"),
]


def recorded(build: Path, each: Truth, path: Path) -> dict:
    """Records the program; what it says of itself."""
    path.unlink(missing_ok=True)
    return json.loads(start(build, BASE, each.words(), str(path)))


def use_of(path: Path) -> lockuse.LockUse:
    analysis = Analysis(Record(str(path)))
    return lockuse.of(analysis, lockuse.choose(analysis, None))


def mean_outside(use: lockuse.LockUse) -> float:
    return statistics.fmean(thread.outside_ns for thread in use.threads)


def told(each: Truth, use: lockuse.LockUse, said: dict) -> dict:
    """What the record says of sections and the work between them, beside what was drawn."""
    return {
        "program": each.name,
        "threads": int(each.options["threads"]),
        "inside": said["inside_ns"],
        "inside_recorded": use.hold_ns,
        "outside": said["outside_ns"],
        "outside_recorded": mean_outside(use),
    }


def measure(o: argparse.Namespace, each: Truth, folder: Path) -> None:
    """Leaves the program's record, what it said, and measured gains in the folder."""
    at = folder / f"{each.case().slug()}.json"
    if at.exists():
        return
    progress(f"{each.name}: recording")
    said = recorded(o.build, each, folder / f"{each.case().slug()}.rec")
    gains: dict[str, list[float]] = {what: [] for what in CHANGES}
    for number in range(o.rounds):
        for what, found in gains.items():
            progress(f"{each.name}: round {number + 1} of {o.rounds}, {what}")
            base = whatif_check.speed(start(o.build, *each.run_with(None)))
            found.append(whatif_check.speed(start(o.build, *each.run_with(what))) / base)
    at.write_text(
        json.dumps({"load": os.getloadavg()[0], "said": said, "gains": gains}), encoding="utf-8"
    )


def predicted(o: argparse.Namespace, use: lockuse.LockUse, folder: str) -> list[whatif.Answer]:
    replayer = whatif.Replayer(use, machinefiles.find(o.machine), folder)
    changes = [whatif.parse(text) for text in CHANGES]
    return whatif.answers(replayer, changes, [len(use.threads)])


def row(each: Truth, answer: whatif.Answer, gains: list[float]) -> dict:
    made = whatif_check.row(each.case(), answer, gains)
    within = answer.low <= made["measured"] <= answer.high
    return {**made, "range": [answer.low, answer.high], "within": within}


def told_table(rows: list[dict]) -> str:
    lines = [f"{'program':22} {'threads':>7} {'inside ns':>20} {'outside ns':>20}"]
    for each in rows:
        inside = f"{each['inside']:.0f} -> {each['inside_recorded']:.0f}"
        outside = f"{each['outside']:.0f} -> {each['outside_recorded']:.0f}"
        lines.append(f"{each['program']:22} {each['threads']:7} {inside:>20} {outside:>20}")
    return "\n".join([*lines, f"work between sections: {off(rows)}"])


def off(rows: list[dict]) -> str:
    """How far what records say of the work between sections is off."""
    errors = [abs(each["outside_recorded"] / each["outside"] - 1) for each in rows]
    return f"off by {statistics.median(errors):.0%} in the median, {max(errors):.0%} at most"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="this", help="machine file (default: this)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each change")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--build", type=Path, default=whatif_check.ROOT / "build/release")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    parser.add_argument("--folder", type=Path, help="keep what is measured here, and do not repeat")
    parser.add_argument("--seconds", type=float, help="after so many, begin with no other program")
    parser.add_argument("--measure-only", action="store_true", help="leave predicting for later")
    parser.add_argument("--record-only", action="store_true", help="only what records say")
    return parser.parse_args()


def record_all(o: argparse.Namespace, programs: list[Truth], folder: Path) -> list[dict]:
    rows = []
    for each in programs:
        progress(f"{each.name}: recording")
        path = folder / f"{each.case().slug()}.rec"
        said = recorded(o.build, each, path)
        rows.append(told(each, use_of(path), said))
    return rows


def compare_all(
    o: argparse.Namespace, programs: list[Truth], folder: Path
) -> tuple[list[dict], list[dict]]:
    """What records say, and every change."""
    records, rows = [], []
    for each in programs:
        progress(f"{each.name}: predicting")
        found = json.loads((folder / f"{each.case().slug()}.json").read_text(encoding="utf-8"))
        use = use_of(folder / f"{each.case().slug()}.rec")
        records.append(told(each, use, found["said"]))
        with tempfile.TemporaryDirectory(prefix="syncopate-") as own:
            answers = predicted(o, use, own)
        rows += [row(each, answer, found["gains"][answer.what]) for answer in answers]
    return records, rows


def show(records: list[dict], rows: list[dict]) -> None:
    """The tables and their sum."""
    print(told_table(records) + "\n\n" + whatif_check.table(rows))
    errors = [abs(each["error"]) for each in rows]
    clear = [each for each in rows if abs(each["measured"] - 1) > 0.1]
    signs = sum((each["predicted"] > 1) == (each["measured"] > 1) for each in clear)
    print(
        f"{len(records)} programs, {len(rows)} changes: median error"
        f" {statistics.median(errors):.0%}, largest {max(errors):.0%}; the printed range holds"
        f" {statistics.fmean(each['within'] for each in rows):.0%} of them; nine of ten are within"
        f" {whatif.error_of_nine_in_ten(rows):.0%} beyond what record and replay differ by, and"
        f" {whatif.error_of_nine_in_ten(rows, compared=False):.0%} in all; the direction is right"
        f" in {signs} of {len(clear)} that change more than 10 %; load {os.getloadavg()[0]:.1f}"
    )


def main() -> int:
    o = options()
    if not o.record_only and o.machine == "this" and "this" not in machinefiles.files():
        calibrate.main([])
    if os.getloadavg()[0] > whatif_check.QUIET:
        print("whatif_truth: other programs run: contention is rarer than alone", file=sys.stderr)
    programs = [each for each in PROGRAMS if o.only in each.name]
    if not programs:
        print(f"whatif_truth: no program's name contains '{o.only}'", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="syncopate-") as own:
        folder = o.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            if o.record_only:
                print(told_table(record_all(o, programs, folder)))
                return 0
            if not whatif_check.measure_all(o, programs, folder, measure):
                return 3
            if o.measure_only:
                return 0
            records, rows = compare_all(o, programs, folder)
        except Failure as failure:
            print(f"whatif_truth: {failure}", file=sys.stderr)
            return 1
    progress("")
    show(records, rows)
    if o.output:
        whatif_check.keep(o, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
