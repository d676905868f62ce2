#!/usr/bin/env python3
"""What `syncopate tune` gains on real programs with four threads a processor, against its goals.

    bench/tune_goals.py                            half an hour; keep the machine quiet
    bench/tune_goals.py --folder DIR --seconds 200 in pieces: the same command goes on
    bench/tune_goals.py --folder DIR --tell        what is known by now, without a run

For each program: tunes it, tries every lock by hand (for OpenMP every barrier), then compares by
new interleaved runs the program as it is, tune's choice, and the best by hand. Goals: tune's choice
is nowhere worse than glibc or than the best by hand, beyond noise, and 1.3 times as fast as glibc
in the geometric mean. Exit status: 0; 1 when a program fails, 2 for a wrong call, 3 when something
is left to measure; 4 when a goal is not reached.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from interleaved import ROOT, Ratio, provenance, ratio_of_medians, table
from servers import ServerError
from tune_programs import Case, cases

from syncopate.base import compactjson
from syncopate.base.errors import Failure
from syncopate.launch import policy, preload
from syncopate.tuning.choice import Choice
from syncopate.tuning.policyfile import document
from syncopate.tuning.search import Dropped

MEAN_WANTED = 1.3
SCREENING = 3  # rounds that choose among those by hand
FINALISTS = 3
FINAL = 9  # rounds of the comparison
PATIENCE = 6.0  # times as long as glibc's first run: what takes longer is out
GLIBC = "glibc"
TUNED = "tune's"


class NoTime(Exception):
    """The rest of the time is not enough for the next step."""


class Piece:
    """One call of this program: how long it may go on."""

    def __init__(self, seconds: float | None, budget: int):
        self.end = time.monotonic() + seconds if seconds else math.inf
        self.budget = budget  # of a search, in seconds

    def needs(self, seconds: float) -> None:
        if time.monotonic() + seconds > self.end:
            raise NoTime


class Measured:
    """What is known of one program; every step is in its file as soon as it is done."""

    def __init__(self, case: Case, folder: Path):
        self.case = case
        self.file = folder / f"{case.slug()}.json"
        self.policy = folder / f"{case.slug()}.toml"
        known = compactjson.read(self.file.read_text()) if self.file.exists() else {}
        self.said: str | None = known.get("said")  # by tune, at its end
        self.screening: list[dict[str, float]] = known.get("screening", [])
        self.final: list[dict[str, float]] = known.get("final", [])
        self.slowest: float = known.get("slowest", 0.0)  # round, in seconds
        self.limit: float = known.get("limit", 0.0)

    def keep(self) -> None:
        kept = {name: value for name, value in vars(self).items() if name not in NOT_KEPT}
        self.file.write_text(compactjson.tables(kept), encoding="utf-8")

    def is_complete(self) -> bool:
        return len(self.final) >= FINAL

    def best_by_hand(self) -> str:
        return min(self.finalists(), key=lambda name: median(self.final, name))

    def finalists(self) -> list[str]:
        """Those by hand that did best, among those that finished every round."""
        complete = [name for name in self.case.by_hand() if all(name in r for r in self.screening)]
        return sorted(complete, key=lambda name: median(self.screening, name))[:FINALISTS]

    def measure(self, piece: Piece) -> None:
        if self.said is None:
            self._tune(piece)
        environs = {
            name: environment(self.case, each) for name, each in self.case.by_hand().items()
        }
        environs[GLIBC] = clean()
        while len(self.screening) < SCREENING:
            names = [GLIBC, *(n for n in self.case.by_hand() if not self._failed(n))]
            self._round(piece, self.screening, {name: environs[name] for name in names})
        chosen = {name: environs[name] for name in (GLIBC, *self.finalists())}
        if self.policy.exists():
            found = policy.read(str(self.policy))
            chosen[TUNED] = policy.environment(found, clean(), self.case.tuned()[0])
        while not self.is_complete():
            self._round(piece, self.final, chosen)

    def _failed(self, name: str) -> bool:
        return any(name not in each for each in self.screening)

    def _tune(self, piece: Piece) -> None:
        piece.needs(piece.budget + 15)
        say(f"{self.case.name}: tuning, {piece.budget} s")
        self.policy.unlink(missing_ok=True)
        options = ("--budget", f"{piece.budget}s", "--metric", self.case.metric)
        command = (*options, "-o", str(self.policy), *self.case.for_tune())
        done = subprocess.run(
            [sys.executable, "-m", "syncopate", "tune", *command],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Failure(f"{self.case.name}: tune ended with status {done.returncode}")
        self.said = done.stdout.strip()
        self.keep()

    def _round(self, piece: Piece, rounds: list, environs: dict[str, dict[str, str]]) -> None:
        piece.needs(self.slowest)
        names, begun = list(environs), time.monotonic()
        shift = len(rounds) % len(names)
        found: dict[str, float] = {}
        for name in names[shift:] + names[:shift]:
            say(f"{self.case.name}: round {len(rounds) + 1}, {name}")
            started = time.monotonic()
            try:
                found[name] = self.case.runner().run(environs[name], self.limit or 60.0)
            except Dropped as why:
                if name in (GLIBC, TUNED) or rounds is self.final:
                    raise Failure(f"{self.case.name}, {name}: {why}") from None
            if not self.limit and name == GLIBC:
                self.limit = PATIENCE * (time.monotonic() - started) + 2
        rounds.append(found)
        self.slowest = max(self.slowest, time.monotonic() - begun)
        self.keep()


NOT_KEPT = ("case", "file", "policy")


def clean() -> dict[str, str]:
    return preload.without(preload.library(), dict(os.environ))


def environment(case: Case, choice: Choice) -> dict[str, str]:
    return policy.environment(policy.check("", document(choice, {})), clean(), case.tuned()[0])


def say(text: str) -> None:
    print(f"tune_goals: {text}", file=sys.stderr, flush=True)


def median(rounds: list[dict[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in rounds)


# ---- what came out ----


def times_as_fast(one: Measured, name: str, base: str) -> Ratio:
    """How many times as fast as `base` a choice is: costs' ratio the other way round."""
    return ratio_of_medians([r[base] for r in one.final], [r[name] for r in one.final])


def verdict_of(one: Measured) -> dict:
    """A row: tune's choice against glibc and against the best by hand. Where tune advises no change
    its choice is glibc."""
    tuned = TUNED if one.policy.exists() else GLIBC
    best = one.best_by_hand()
    same = Ratio(1.0, 1.0, 1.0)
    against_glibc = same if tuned == GLIBC else times_as_fast(one, tuned, GLIBC)
    by_hand = max(times_as_fast(one, best, GLIBC), same, key=lambda ratio: ratio.value)
    against_best = times_as_fast(one, tuned, best)
    return {
        "program": one.case.name,
        "choice": one.said.splitlines()[1].strip() if tuned == TUNED else "as it is",
        "best_by_hand": best if by_hand != same else "as it is",
        "tune_to_glibc": vars(against_glibc),
        "best_to_glibc": vars(by_hand),
        "tune_to_best": vars(against_best if by_hand != same else against_glibc),
    }


def geometric_mean(ratios: list[Ratio]) -> Ratio:
    """With an interval for independent errors, whose squares add up."""
    logs = [math.log(each.value) for each in ratios]
    middle = sum(logs) / len(logs)
    below = sum((log - math.log(each.low)) ** 2 for log, each in zip(logs, ratios, strict=True))
    above = sum((math.log(each.high) - log) ** 2 for log, each in zip(logs, ratios, strict=True))
    low, high = (math.sqrt(part) / len(logs) for part in (below, above))
    return Ratio(math.exp(middle), math.exp(middle - low), math.exp(middle + high))


def tell(rows: list[dict]) -> bool:
    """Prints the table and the goals; returns whether all are reached."""
    titles = ["program", "tune's choice", "best by hand", "tune / glibc", "hand / glibc"]
    names = ("tune_to_glibc", "best_to_glibc", "tune_to_best")
    print(
        table(
            [
                [row["program"], row["choice"], row["best_by_hand"]]
                + [str(Ratio(**row[name])) for name in names]
                for row in rows
            ],
            [*titles, "tune / hand"],
        )
    )
    mean = geometric_mean([Ratio(**row["tune_to_glibc"]) for row in rows])
    below = [row["program"] for row in rows if row["tune_to_glibc"]["high"] < 1]
    missed = [row["program"] for row in rows if row["tune_to_best"]["high"] < 1]
    print(f"geometric mean of tune / glibc: {mean}; wanted: {MEAN_WANTED}")
    print(f"below glibc: {', '.join(below) or 'none'}")
    print(f"below the best by hand: {', '.join(missed) or 'none'}")
    return mean.value >= MEAN_WANTED and not below and not missed


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="where what is measured is kept")
    parser.add_argument("--seconds", type=float, help="stop before so many; needs --folder")
    parser.add_argument("--budget", type=int, default=90, help="seconds of a search (default: 90)")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--tell", action="store_true", help="show what is known; measure nothing")
    parser.add_argument("--json", type=Path, help="write the results here")
    o = parser.parse_args()
    if (o.seconds or o.tell) and not o.folder:
        parser.error("--seconds and --tell need --folder")
    return o


def measure_all(o: argparse.Namespace, all_of_them: list[Measured]) -> bool:
    """Whether everything is measured now."""
    piece = Piece(o.seconds, o.budget)
    try:
        for one in all_of_them:
            if not one.is_complete():
                one.measure(piece)
    except NoTime:
        return False
    return True


def main() -> int:
    o = options()
    with tempfile.TemporaryDirectory(prefix="syncopate-goals-") as own:
        folder = o.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            chosen = [each for each in cases(os.cpu_count() or 1) if o.only in each.name]
            all_of_them = [Measured(case, folder) for case in chosen]
            complete = o.tell or measure_all(o, all_of_them)
        except (Failure, ServerError) as failure:
            print(f"tune_goals: {failure}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        rows = [verdict_of(one) for one in all_of_them if one.is_complete()]
    if not chosen:
        print(f"tune_goals: no program's name contains '{o.only}'", file=sys.stderr)
        return 2
    reached = bool(rows) and tell(rows)
    if o.json and rows:
        result = {"measured": provenance(), "threads_a_processor": 4, "rows": rows}
        o.json.write_text(compactjson.tables(result), encoding="utf-8")
    if len(rows) < len(chosen):
        say(f"{len(rows)} of {len(chosen)} programs are measured; the same command goes on")
        return 3 if not complete or o.tell else 1
    return 0 if reached else 4


if __name__ == "__main__":
    sys.exit(main())
