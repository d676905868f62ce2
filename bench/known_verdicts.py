#!/usr/bin/env python3
"""`syncopate check` on programs whose verdicts are known: how often it agrees.

    bench/known_verdicts.py SUITE FOLDER [--compilers gcc,clang] [--levels O1,O2,O3]
                            [--seconds 20] [--only TEXT] [--set NAME=VALUE,...] [--json FILE]

SUITE is how verdicts are told in FOLDER: genmc, nidhugg, goblint, sv-comp, esbmc, named, right
(known_suites.py; "right": all are).
The programs are whoever's they are; what they call of their verifier is in bench/verifier.

  agrees        failed where it is wrong, passed where it is right
  false pass    passed, though it is wrong
  false alarm   failed, though it is right
  another       failed by an error that the suite's verdict is not about
  not finished  bounded, or did not end
  unsupported   "not supported", and with that said no verdict
  broken        the machine itself failed
  not compiled  by this compiler

Exit status: 1 when there is a false pass, a false alarm, or something broken.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from interleaved import ROOT, table
from known_suites import CHECKS, ERRORS, RACE, SAFETY, SUITES, Case

VERIFIER = ROOT / "bench" / "verifier"
LAST = re.compile(r"syncopate: explored: (passed|failed|bounded): (.*)$", re.M)
MAIN = "failed check: main "
NUMBERS = "1\n" * 1000  # what there is to read on standard input
BEHIND = 30  # seconds a run may take longer than it was given
OUTCOMES = ("agrees", "false pass", "false alarm", "another", "not finished", "unsupported",
            "broken", "not compiled")  # fmt: skip
MUST_NOT = ("false pass", "false alarm", "broken")


@dataclass(frozen=True)
class Said:
    """verdict: passed, failed, bounded, not compiled, broken. why: what stands behind it."""

    verdict: str
    why: str


def understand(output: str, status: int | None) -> Said:
    """What a run has said; its status is None where it had to be ended."""
    lines = LAST.findall(output)
    if status is None:
        return Said("broken", "did not end")
    if not lines:
        tail = output.strip().splitlines()[-1:] or ["nothing said"]
        return Said("broken", f"status {status}: {tail[0]}")
    verdict, why = lines[-1]
    expected = {"passed": 0, "failed": 1, "bounded": 3}[verdict]
    if status != expected:
        return Said("broken", f"status {status} of {verdict}: {why}")
    return Said(verdict, (MAIN + why) if f"{MAIN}returned " in output else why)


def judge(case: Case, said: Said) -> str:
    """One of OUTCOMES."""
    if said.verdict in ("not compiled", "broken"):
        return said.verdict
    if said.verdict == "bounded":
        return "not finished"
    if said.verdict == "passed":
        return "agrees" if case.right else "false pass"
    if said.why.startswith("not supported"):
        return "unsupported"
    if said.why.startswith("not repeatable"):
        return "broken"
    if not is_about(case, said.why):
        return "another"
    return "false alarm" if case.right else "agrees"


def is_about(case: Case, why: str) -> bool:
    """Whether the suite's verdict speaks of such errors."""
    if why.startswith(MAIN):  # of suites whose verifiers do not look at it
        return False
    is_race = why.startswith("data race")
    if case.about == CHECKS:
        return why.startswith(("failed check", "crash"))
    if case.about == SAFETY:
        return not why.startswith(("deadlock", "livelock"))
    return is_race if case.about == RACE else not (case.about == ERRORS and is_race)


def compile_case(case: Case, compiler: str, level: str, folder: str) -> tuple[str | None, str]:
    """The program, or None and what the compiler said."""
    is_c = case.source.suffix == ".c"
    target = os.path.join(folder, "program")
    verifier = os.path.join(folder, "verifier.o")
    start = [sys.executable, "-m", "syncopate"]
    common = ["--machine=explored", f"-{level}", "-w", "-pthread"]
    name = compiler if is_c else {"gcc": "g++", "clang": "clang++"}.get(compiler, compiler)
    if not os.path.exists(verifier):
        source = str(VERIFIER / "verifier.c")
        _run([*start, "cc", f"--compiler={compiler}", *common, "-c", source, "-o", verifier], 120)
    language = ["cc"] if is_c else ["c++", "-std=c++20"]
    command = [*start, *language, f"--compiler={name}", *common, f"-I{VERIFIER}",
               f"-I{case.source.parent}", *case.flags, str(case.source), verifier, "-o", target,
               "-latomic", "-lm"]  # fmt: skip
    output, status = _run(command, 120)
    return (target, output) if status == 0 else (None, output)


def _run(command: list[str], seconds: float, given: str = "") -> tuple[str, int | None]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}  # fmt: skip
    with tempfile.TemporaryFile("w+") as source:  # a file, which the machine can put back
        source.write(given)
        source.seek(0)
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env=environ, start_new_session=True)  # fmt: skip
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return process.communicate()[0], None


def check_case(case: Case, program: str, options) -> Said:
    words = [sys.executable, "-m", "syncopate", "check", f"--seconds={options.seconds}"]
    if options.set:
        words.append(f"--set={options.set}")
    return understand(*_run([*words, program], options.seconds + BEHIND, NUMBERS))


def run_all(cases: list[Case], compiler: str, level: str, options) -> list[dict]:
    results = []
    with tempfile.TemporaryDirectory(prefix="syncopate-known-") as folder:
        for case in cases:
            program, output = compile_case(case, compiler, level, folder)
            if program:
                said = check_case(case, program, options)
            else:
                lines = [line for line in output.splitlines() if "error" in line]
                said = Said("not compiled", (lines or ["?"])[0])
            outcome = judge(case, said)
            name = str(case.source.relative_to(options.folder))
            results.append({"case": name, "right": case.right, "about": case.about,
                            "compiler": f"{compiler} -{level}", "outcome": outcome,
                            "verdict": said.verdict, "why": said.why})  # fmt: skip
            if outcome != "agrees":
                print(f"{outcome}: {name} ({compiler} -{level}): {said.verdict}: {said.why}")
                sys.stdout.flush()
    return results


def show(results: list[dict]) -> str:
    """A row for each compiler, a column for each outcome."""
    rows = []
    for which in dict.fromkeys(result["compiler"] for result in results):
        of = Counter(each["outcome"] for each in results if each["compiler"] == which)
        rows.append([which, str(sum(of.values())), *(str(of[outcome]) for outcome in OUTCOMES)])
    return table(rows, ["compiler", "cases", *OUTCOMES])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--compilers", default="gcc")
    parser.add_argument("--levels", default="O2")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--set", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    suite = SUITES[options.suite](options.folder)
    cases = [case for case in suite.cases if options.only in str(case.source)]
    for reason, count in suite.left_out.items():
        print(f"left out: {count}: {reason}")
    results = []
    for compiler in options.compilers.split(","):
        for level in options.levels.split(","):
            results += run_all(cases, compiler, level, options)
    print(show(results), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return int(any(result["outcome"] in MUST_NOT for result in results))


if __name__ == "__main__":
    sys.exit(main())
