#!/usr/bin/env python3
"""Holds the replay of `syncopate simulate --from` against changed programs on the same machine.

Usage: whatif_exact.py [--machine NAME] [--only TEXT]

bench/simulated/known_use.cpp says what a perfect record would: lengths of sections and of the work
between them, other waits. Five changes of one lock are predicted from that, and made for real, all
on the simulated machine, where nothing disturbs and every run is the same. So what is left of the
error is the replay's alone, not the record's and not the machine model's: bench/whatif_truth.py has
those, too. Prints every pair, how many true gains the printed range holds, and their sum.

Exit status: 0; 1 when a program failed, 2 for a wrong call. Errors of prediction are results.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from syncopate.base.errors import Failure  # noqa: E402
from syncopate.machines import machinefiles, modeled, whatif  # noqa: E402
from syncopate.records.lockuse import LockUse, ThreadUse  # noqa: E402

BASE = "futex"
SHARDS = 8
CHANGES = ("halve", "lock=auto", "lock=tatas", "lock=mcs", f"shard={SHARDS}")
PROGRAMS = {
    "one thread": "threads 1 inside 500 outside 500",
    "two": "threads 2 inside 800 outside 2400",
    "fixed lengths": "threads 4 inside 1000 outside 3000 fixed 1",
    "uniform lengths": "threads 8 inside 600 outside 3000 uniform 1",
    "convoy": "threads 8 inside 2000 outside 16000 two 1",
    "convoy of sixteen": "threads 16 inside 1000 outside 10000 two 1",
    "three locks": "threads 8 inside 1500 outside 3000 locks 3",
    "one lock of four is hot": "threads 8 inside 1000 outside 4000 locks 4 skew 50",
    "second lock": "threads 4 inside 1000 outside 2000 second 700",
    "under another lock": "threads 4 inside 1000 outside 4000 locks 2 nested 1",
    "queue": "threads 4 inside 500 outside 2000 queue 1",
    "long work, long section": "threads 8 inside 1000 outside 5000 linked 1",
    "sleepers": "threads 16 inside 1500 outside 6000 rest 50",
    "one eager": "threads 8 inside 800 outside 12000 first 5",
    "hardly anything else": "threads 4 inside 300 outside 50",
    "saturated": "threads 16 inside 2000 outside 8000",
}
# On a machine with fewer processors than threads, where it matters whether a holder takes one:
ON_FEW_PROCESSORS = {
    "sections asleep": "threads 8 inside 100000 outside 5000 asleep 100 milliseconds 400",
    "half of each": "threads 8 inside 100000 outside 5000 asleep 100 runs 50 milliseconds 400",
    "some sections asleep": "threads 8 inside 20000 outside 20000 asleep 50 milliseconds 400",
    "sections awake": "threads 8 inside 20000 outside 5000 milliseconds 400",
}


def lengths(mean: float, given: dict[str, str]) -> tuple[tuple[int, int, int], ...]:
    """The drawn distribution as a record has it: from ns, to ns, how often."""
    if "fixed" in given:
        return ((int(mean), int(mean), 1),)
    if "uniform" in given:
        return ((0, int(2 * mean), 1),)
    if "two" in given:
        return ((int(mean / 2), int(mean / 2), 9), (int(mean * 5.5), int(mean * 5.5), 1))
    edges = [0.0, *(mean * 0.125 * 1.2**i for i in range(24))]
    return tuple(
        (int(low), max(int(low), int(high) - 1), max(1, round(1e5 * _share(low, high, mean))))
        for low, high in itertools.pairwise(edges)
    )


def _share(low: float, high: float, mean: float) -> float:
    """Of an exponential distribution, what lies between."""
    return math.exp(-low / mean) - math.exp(-high / mean)


class Program:
    """One program of known use on one machine."""

    def __init__(self, path: str, machine: str, text: str):
        self.path, self.machine = path, machine
        words = text.split()
        self.given = dict(zip(words[::2], words[1::2], strict=True))
        ghz = machinefiles.read(machine)["topology"]["frequency_hz"] / 1e9
        self.given["ghz"] = str(ghz)

    def run(self, lock: str = BASE, **changed: str) -> dict:
        words = [word for pair in {**self.given, **changed}.items() for word in pair]
        environ = {**os.environ, "SYNCOPATE_MACHINE": self.machine, "SYNCOPATE_LOCK": lock}
        done = subprocess.run(
            [self.path, *words],
            env={**environ, "SYNCOPATE_QUIET": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Failure(f"known_use ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def changed(self, what: str) -> dict:
        if what == "halve":
            return self.run(length="50")
        if what == f"shard={SHARDS}":
            return self.run(locks=str(SHARDS * int(self.given.get("locks", "1"))))
        return self.run(what.removeprefix("lock="))

    def use(self, said: dict) -> LockUse:
        """What a perfect record would say."""
        inside, outside = float(self.given["inside"]), float(self.given["outside"])
        threads = []
        for number, (mean, chance, away) in enumerate(said["threads"]):
            drawn = outside * (float(self.given.get("first", "100")) / 100 if number == 0 else 1)
            work = () if "second" in self.given else lengths(drawn, self.given)
            threads.append(ThreadUse(mean, chance, away, work))
        members = max(1, round(said["members"]))
        asleep = int(self.given.get("asleep", "0"))
        awake, sleeping = (
            [
                (low, high, often * share)
                for low, high, often in lengths(inside, self.given)
                if share
            ]
            for share in (100 - asleep, asleep)
        )
        whole = LockUse("", 0, BASE, 0, 1, 1, awake, inside, members, threads, said["rate"])
        return replace(whole, asleep=sleeping, runs=float(self.given.get("runs", "0")) / 100)


def rows_of(name: str, program: Program) -> list[dict]:
    base = program.run()
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        use = program.use(base)
        replayer = whatif.Replayer(use, program.machine, folder)
        use.processors = replayer.processors  # so that replay and record are compared
        changes = [whatif.parse(text) for text in CHANGES]
        answers = whatif.answers(replayer, changes, [int(program.given["threads"])])
    rows = []
    for each in answers:
        gain = program.changed(each.what)["rate"] / base["rate"]
        held = each.low <= gain <= each.high
        compared = {"recorded": each.recorded, "before": each.before}
        gains = {"predicted": each.gain, "measured": gain}
        rows.append({"what": each.what, **compared, **gains, "held": held})
        print(
            f"{name:24} {each.what:11} predicted {each.gain:5.2f} [{each.low:.2f}, {each.high:.2f}]"
            f"  true {gain:5.2f}{'' if held else '  outside'}",
            flush=True,
        )
    return rows


def results(machine: str, only: str = "", programs: Mapping[str, str] = PROGRAMS) -> list[dict]:
    """Every change of the programs whose name contains `only`."""
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        source = str(ROOT / "bench/simulated/known_use.cpp")
        path = modeled.compile_source(source, "simulated", None, folder)
        return [
            row
            for name, text in programs.items()
            if only in name
            for row in rows_of(name, Program(path, machine, text))
        ]


def errors(rows: list[dict]) -> list[float]:
    ratios = [each["predicted"] / each["measured"] for each in rows]
    return [max(ratio, 1 / ratio) - 1 for ratio in ratios]


def wrong_way(rows: list[dict]) -> list[dict]:
    """Where more than 10 % is gained or lost and the opposite was predicted."""
    return [
        each
        for each in rows
        if abs(each["measured"] - 1) > 0.1 and (each["predicted"] > 1) != (each["measured"] > 1)
    ]


def show(rows: list[dict]) -> None:
    off = errors(rows)
    print(
        f"{len(rows)} changes: median error {statistics.median(off):.1%}, nine of ten within"
        f" {whatif.error_of_nine_in_ten(rows, compared=False):.0%}, largest {max(off):.0%}; the"
        f" printed range holds {sum(each['held'] for each in rows)}; the direction of"
        f" more than 10 % is wrong in {len(wrong_way(rows))}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="sapphire-rapids-2s", help="machine file")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    o = parser.parse_args()
    if not any(o.only in name for name in PROGRAMS):
        parser.error(f"no program's name contains '{o.only}'")
    try:
        rows = results(machinefiles.find(o.machine), o.only)
    except Failure as failure:
        print(f"whatif_exact: {failure}", file=sys.stderr)
        return 1
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
