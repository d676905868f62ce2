"""Random programs over the real objects of C++, POSIX and C11: the search against other searches.

    check.py PROGRAM PROFILE:SEED... [--drop STEPS]
    check.py PROGRAM --first SEED --programs N

PROGRAM is explored_fuzz_programs (main.cpp). What every order and random orders come to, the
default search has to come to; where the search of every order comes to its end, nothing else.
Several programs are those of the seeds SEED, SEED + 1, ..., the profiles in turn. A program that
differs is made smaller by dropping steps, and the command that repeats it is printed. Status 1:
there was a difference; or too few programs were compared with every order.
"""

import argparse
import os
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

PROFILES = re.findall(
    r'^    \{"(\w+)"', Path(__file__).with_name("profiles.cpp").read_text(encoding="utf-8"), re.M
)

EVERY_ORDER, ONE_FAILS, A_LIMIT = 0, 1, 3  # exit statuses of a search
UNCOMPARABLE = ("not repeat", "divergence", "something else", "not supported")


@dataclass(frozen=True)
class Program:
    profile: str
    seed: int
    dropped: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        return [self.profile, str(self.seed), ",".join(self.dropped) or "-"]

    def command(self, binary: str) -> str:
        drop = f" --drop {','.join(self.dropped)}" if self.dropped else ""
        return f"{sys.executable} {os.path.abspath(__file__)} {binary} {self}{drop}"

    def __str__(self) -> str:
        return f"{self.profile}:{self.seed}"


@dataclass
class Found:
    status: int
    outcomes: set[str]
    text: str


def run(binary: str, program: Program, options: str = "", *last: str) -> Found:
    outcomes = os.memfd_create("outcomes")
    try:
        done = subprocess.run(
            [binary, *program.arguments(), str(outcomes), *last],
            env=dict(os.environ, SYNCOPATE_EXPLORE=options),
            pass_fds=[outcomes],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        with open(outcomes, encoding="utf-8", closefd=False) as file:
            file.seek(0)
            lines = set(file.read().splitlines())
    finally:
        os.close(outcomes)
    return Found(done.returncode, lines, done.stderr)


def some(outcomes: set[str]) -> str:
    return "\n    ".join(sorted(outcomes)[:3])


class Comparison:
    """A program under the default search, and under others."""

    def __init__(self, binary: str, program: Program):
        self.binary, self.program = binary, program
        spurious = random.Random(program.seed).choice([0, 1, 1])
        self.options = f"timeouts=9,jumps=0,steps=600,spurious={spurious}"

    def search(self, how: str) -> Found:
        return run(self.binary, self.program, f"{self.options},{how}")

    def difference(self) -> tuple[str, str]:
        """In a word how it ended, and why if it is `different`."""
        default = self.search("executions=6000")
        if default.status == A_LIMIT:
            return "limit", ""
        if default.status not in (EVERY_ORDER, ONE_FAILS):
            return "different", f"exit status {default.status}: {default.text}"
        every = self.search("every_order,executions=3000")
        if default.status == ONE_FAILS:
            return self.of_failures(default, every)
        orders = self.search(f"random={self.program.seed % 100_000 + 1},depth=3,executions=700")
        for name, other in (("every order", every), ("random orders", orders)):
            if other.status not in (EVERY_ORDER, A_LIMIT):
                return "different", f"{name} fails: {other.text}"
            if lost := other.outcomes - default.outcomes:
                return "different", f"only {name} finds\n    {some(lost)}"
        if every.status != EVERY_ORDER:
            return "partly", ""
        if added := default.outcomes - every.outcomes:
            return "different", f"only the default search finds\n    {some(added)}"
        return "same", ""

    def of_failures(self, default: Found, every: Found) -> tuple[str, str]:
        if any(each in default.text for each in UNCOMPARABLE):
            return "different", default.text
        if every.status == EVERY_ORDER:
            return "different", f"only the default search fails: {default.text}"
        return "failing", ""


def differs(binary: str, program: Program) -> bool:
    return Comparison(binary, program).difference()[0] == "different"


def smallest(binary: str, program: Program) -> Program:
    """Drops steps, one after the other, as long as it differs."""
    lines = run(binary, program, "", "show").outcomes
    steps = sorted(line.split()[0] for line in lines)
    found = True
    while found:
        found = False
        for each in steps:
            less = Program(program.profile, program.seed, (*program.dropped, each))
            if each not in program.dropped and differs(binary, less):
                program, found = less, True
    return program


def shown(binary: str, program: Program) -> str:
    return "\n".join(sorted(run(binary, program, "", "show").outcomes))


def tell(binary: str, program: Program, why: str) -> None:
    print(f"{program} differs: {why}\n  {program.command(binary)}", flush=True)
    small = smallest(binary, program)
    print(f"smallest:\n{shown(binary, small)}")
    print(f"  {Comparison(binary, small).difference()[1]}\n  {small.command(binary)}", flush=True)


def read_program(text: str, dropped: tuple[str, ...]) -> Program:
    profile, _, seed = text.partition(":")
    if profile not in PROFILES:
        raise argparse.ArgumentTypeError(f"no profile {profile}: {' '.join(PROFILES)}")
    return Program(profile, int(seed), dropped)


def programs_of(given: argparse.Namespace) -> list[Program]:
    dropped = tuple(given.drop.split(",")) if given.drop else ()
    programs = [read_program(each, dropped) for each in given.program]
    for seed in range(given.first, given.first + given.programs):
        programs.append(Program(PROFILES[seed % len(PROFILES)], seed))
    return programs


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("program", nargs="*", help="PROFILE:SEED")
    parser.add_argument("--drop")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--programs", type=int, default=0)
    given = parser.parse_args()
    programs, ends = programs_of(given), Counter()
    for each in programs:
        end, why = Comparison(given.binary, each).difference()
        ends[end] += 1
        if end == "different":
            tell(given.binary, each, why)
    print(f"{len(programs)} programs: {dict(sorted(ends.items()))}")
    # Half of many are compared with every order; one alone may end at a limit.
    few = len(programs) > 1 and 2 * ends["same"] < len(programs)
    if few:
        print("fewer than half were compared with every order")
    return 1 if ends["different"] or few else 0


if __name__ == "__main__":
    sys.exit(main())
