"""The shipped explored tests: which there are, and which of their scenarios a name means.

A test is a file tests/check/NAME_check.cpp (installed: share/syncopate/check). Its program lists
its scenarios, one a line, when it is started without arguments; the words of a line are the
arguments that run it. The scenarios of mutants_check.cpp hold defects: each has to fail.
"""

from __future__ import annotations

import os
import subprocess

from syncopate.base import paths
from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.machines import machinefiles, modeled

_SUFFIX = "_check.cpp"
_MUTANTS = "mutants"
_SECONDS = 60  # to list scenarios
BOUNDED = 3  # the explored machine's own exit statuses
VERDICTS = {0: "passed", 1: "failed", BOUNDED: "bounded"}


class Scenario:
    """One run of a test's program."""

    __slots__ = ("arguments", "must_fail", "program", "test")

    def __init__(self, test: str, program: str, arguments: list[str]):
        self.test = test
        self.program = program
        self.arguments = arguments
        self.must_fail = test == _MUTANTS

    @property
    def name(self) -> str:
        return " ".join([self.test, *self.arguments])

    def target(self) -> str:
        """The primitive that it tests: "mcs:park" of the locks' test, else the test's name."""
        return self.arguments[0] if len(self.arguments) > 1 else self.test


def folder() -> str:
    """Where the tests are."""
    installed = paths.find("share/syncopate/check")
    if installed:
        return installed
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.path.join(root, "tests", "check")
    if os.path.isdir(path):
        return path
    raise Failure(
        f"{machinefiles.NO_MACHINES}, and so no tests of locks; {machinefiles.WHO_HAS_THEM}",
        FAILED,
    )


def tests() -> dict[str, str]:
    """Every test's name and source file."""
    place = folder()
    return {
        entry[: -len(_SUFFIX)]: os.path.join(place, entry)
        for entry in sorted(os.listdir(place))
        if entry.endswith(_SUFFIX)
    }


def scenarios(target: str, compiler: str | None, work: str) -> list[Scenario]:
    """The scenarios that `target` means: all, a test's name, or a primitive's, with or without how
    it waits. Compiles the tests they are in into the folder `work`."""
    target = target.replace("-", "_")  # the papers write htm-10
    known = tests()
    found: list[Scenario] = []
    seen: set[str] = set()
    for test in candidates(target, known):
        program = modeled.compile_source(known[test], "explored", compiler, work)
        listed = [Scenario(test, program, words) for words in _listed(program)]
        seen.update(scenario.target() for scenario in listed)
        seen.update(scenario.target().partition(":")[0] for scenario in listed)
        found += [scenario for scenario in listed if _is_meant(scenario, target)]
    if not found:
        raise _unknown(target, {*seen, *known})
    return found


def candidates(target: str, known: dict[str, str]) -> list[str]:
    """The tests that may have scenarios for the target; the fewer, the less there is to compile."""
    if target == "all":
        return list(known)
    primitive = target.partition(":")[0]
    own = [test for test in known if test == target or _names(known[test], primitive)]
    if primitive in _NOT_EXPLORED:
        raise Failure(_NOT_EXPLORED[primitive], BAD_USE)
    if primitive.endswith("_barrier") and "barrier" in known:
        return ["barrier"]
    if paths.find(paths.LOCKS) and "lock" in known:
        from syncopate.base import locktable

        locks = {lock["name"] for lock in locktable.load()}
        if primitive in locks:
            return ["lock", *own]
        if not own:
            raise _unknown(target, {*locks, *known})  # before anything is compiled
    if own:
        return own
    return [test for test in known if test != _MUTANTS]


def _names(source: str, primitive: str) -> bool:
    """Whether a test may have scenarios of that name ("auto one_spinner")."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    return f'"{primitive} ' in text or f'"{primitive}"' in text


_NOT_EXPLORED = {
    "glibc": "glibc's lock is not instrumented, so it cannot be explored; futex has its algorithm",
    "null": "null excludes nobody: there is nothing to check",
}


def _unknown(target: str, names: set[str]) -> Failure:
    return Failure(
        f"nothing to check is named '{target}'{near(target, sorted({*names, 'all'}))}", BAD_USE
    )


def _is_meant(scenario: Scenario, target: str) -> bool:
    primitive = scenario.target()
    return target in ("all", scenario.test, primitive, primitive.partition(":")[0])


def _listed(program: str) -> list[list[str]]:
    done = subprocess.run(
        [program],
        env={**os.environ, "SYNCOPATE_QUIET": "1"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise Failure(
            f"{os.path.basename(program)} does not list its scenarios"
            f" (exit status {done.returncode}): {said[-1] if said else 'it said nothing'}"
        )
    return [line.split() for line in done.stdout.splitlines() if line.strip()]


def run(scenario: Scenario, environ: dict[str, str]) -> dict:
    """Runs a scenario. Returns: its name, verdict, exit status and all it said."""
    done = subprocess.run(
        [scenario.program, *scenario.arguments],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    verdict = VERDICTS.get(done.returncode, "failed")
    if done.returncode == BAD_USE:
        said = done.stdout.strip().splitlines()
        raise Failure(
            (said[-1] if said else "it said nothing").removeprefix("syncopate: "), BAD_USE
        )
    return {
        "name": scenario.name,
        "verdict": verdict,
        "expected": "failed" if scenario.must_fail else "passed",
        "status": done.returncode,
        "output": done.stdout,
    }
