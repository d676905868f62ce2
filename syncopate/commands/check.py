"""`syncopate check`: run a program, or the shipped tests, under every interleaving."""

import json
import os
import sys

from syncopate.base import clashes, optiontable, scratch
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.machines import checkset, modeled

HELP = """\
usage: syncopate check [OPTION...] PROGRAM|SOURCE [ARGUMENT...]
       syncopate check [OPTION...] LOCK[:WAIT]|TEST|all

Explores the interleavings of a small threaded program, and the stale values that its memory orders
allow: finds races, failed assertions, deadlocks, livelocks, lost wake-ups and uses after free.
PROGRAM was made by `syncopate c++ --machine=explored`; a C or C++ SOURCE is compiled first. The
second form runs the tests that come with Syncopate: of a primitive, of a whole test file, or all.

      --executions N     stop after N executions
      --seconds S        stop after S seconds (shipped tests: of each scenario, {seconds})
      --jobs N           explore in N processes: the same verdict and counts
      --preemptions N    explore executions with at most N preemptions
      --random SEED      choose executions at random instead, by PCT
      --replay SCHEDULE  run the one execution that a failure printed
      --set NAME=VALUE,..  other options of the explored machine, such as spurious=1
      --mutate           weaken each ordered access to relaxed, one at a time: each has to be
                         caught, or to stand with its reason in survivors.toml beside the tests
      --json             the results as JSON on standard output
      --compiler NAME    for SOURCE and the shipped tests
  -h, --help             this page

Verdicts: passed (no execution within the options fails), failed, bounded (a limit ended the
search).
Exit status: 0 all passed, 1 something failed or survived, 3 nothing failed, something is bounded;
2 bad use, 126 PROGRAM not executable, 127 PROGRAM not found.
"""
OPTIONS = {
    "--executions": VALUE,
    "--seconds": VALUE,
    "--jobs": VALUE,
    "--preemptions": VALUE,
    "--random": VALUE,
    "--replay": VALUE,
    "--set": VALUE,
    "--mutate": FLAG,
    "--json": FLAG,
    "--compiler": VALUE,
    "--help": FLAG,
}
ALIASES = {"-h": "--help"}
ONE_PROCESS = "such a search is made in one process"
CLASHES = [
    (("--executions", "--jobs", "--preemptions", "--random"), ("--replay",), "it is one execution"),
    (("--replay",), ("--mutate",), "each mutant is searched"),
    (("--jobs",), ("--executions", "--preemptions", "--random", "--mutate"), ONE_PROCESS),
]
LIMITS = ("executions", "seconds", "preemptions", "random")
NUMBERS = (*LIMITS, "jobs")
# What the program does, not what is left of it: an optimizer drops reads of what is not used, and
# with them their races, and accesses to blocks that it can do without.
AS_WRITTEN = "-O0"
SECONDS = 20  # of a scenario of the shipped tests, unless an option says otherwise
SOUNDLY = "spurious=0"  # the shipped tests' waits are all in loops


def main(arguments: list[str]) -> int:
    options, command = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP.format(seconds=SECONDS))
        return 0
    if not command:
        raise Failure("check: nothing named; a program, a source file, a lock, or all", BAD_USE)
    clashes.refuse("check", set(options), CLASHES)
    if "--mutate" in options and os.environ.get("SYNCOPATE_SCHEDULE"):
        raise Failure("check: --mutate with SYNCOPATE_SCHEDULE: each mutant is searched", BAD_USE)
    environ = environment(options)
    optiontable.complain(os.environ, "explored")
    with scratch.folder() as folder:
        if not _is_program(command[0]):
            return _check_shipped(command, options, environ, folder)
        if modeled.is_source(command[0]):
            compiler = options.get("--compiler")
            path = modeled.compile_source(
                command[0], "explored", compiler, folder, level=AS_WRITTEN
            )
        else:
            modeled.refuse_compiler("check", options)
            path = modeled.find(command[0], "explored")
        name = os.path.basename(command[0])
        scenario = checkset.Scenario(name, path, command[1:])
        if "--mutate" in options:
            return _mutate([scenario], environ, "--json" in options)
        if "--json" in options:
            return show_json([checkset.run(scenario, environ)])
        return modeled.run(path, command[1:], environ)


def _is_program(name: str) -> bool:
    return "/" in name or modeled.is_source(name) or os.path.isfile(name)


def environment(options: dict[str, str]) -> dict[str, str]:
    """The explored machine's variables for our options (src/model/explored/run/options.h)."""
    words = []
    for name in NUMBERS:
        value = options.get(f"--{name}")
        if value is None:
            continue
        if not value.replace(".", "", name == "seconds").isdigit():
            raise Failure(f"--{name}: '{value}' is not a number", BAD_USE)
        words.append(f"{name}={value}")
    if "--mutate" in options:
        words.append("claims=0")  # a mutant is caught by what its own accesses order
    if "--set" in options:
        words.append(options["--set"])
    inherited = os.environ.get("SYNCOPATE_EXPLORE")
    environ = {"SYNCOPATE_EXPLORE": ",".join([*([inherited] if inherited else []), *words])}
    if "--replay" in options:
        environ["SYNCOPATE_SCHEDULE"] = options["--replay"]
    return environ


def _check_shipped(
    command: list[str], options: dict[str, str], environ: dict[str, str], folder: str
) -> int:
    if len(command) > 1:
        raise Failure(f"check: one name, not also '{command[1]}'; see --help", BAD_USE)
    usual = [SOUNDLY]
    if not any(f"--{name}" in options for name in LIMITS):
        usual.append(f"seconds={SECONDS}")
    environ["SYNCOPATE_EXPLORE"] = ",".join([*usual, *filter(None, [environ["SYNCOPATE_EXPLORE"]])])
    chosen = checkset.scenarios(command[0], options.get("--compiler"), folder)
    if "--mutate" in options:
        return _mutate(
            [each for each in chosen if not each.must_fail], environ, "--json" in options
        )
    results = []
    for scenario in chosen:
        result = checkset.run(scenario, environ)
        results.append(result)
        if "--json" not in options:
            _show(result)
    return show_json(results) if "--json" in options else _finish(results)


def is_wrong(result: dict) -> bool:
    """Whether a result is not what its test promises."""
    return (result["verdict"] == "failed") != (result["expected"] == "failed")


def _show(result: dict) -> None:
    expected_failure = result["expected"] == "failed"
    said = result["output"].strip()
    last = said.splitlines()[-1].removeprefix("syncopate: ") if said else ""
    if not is_wrong(result):
        print(f"{'caught' if expected_failure else result['verdict']:8} {result['name']}: {last}")
    elif expected_failure:
        print(f"MISSED   {result['name']}: it holds a defect, and was not caught: {last}")
    else:
        print(f"FAILED   {result['name']}\n{said}\n")
    sys.stdout.flush()


def status_of(results: list[dict]) -> int:
    if any(is_wrong(result) for result in results):
        return FAILED
    return checkset.BOUNDED if any(result["verdict"] == "bounded" for result in results) else 0


def _finish(results: list[dict]) -> int:
    count = {"passed": 0, "bounded": 0, "caught": 0, "wrong": 0}
    for result in results:
        right = "caught" if result["expected"] == "failed" else result["verdict"]
        count["wrong" if is_wrong(result) else right] += 1
    print(", ".join(f"{number} {what}" for what, number in count.items() if number))
    return status_of(results)


def show_json(results: list[dict]) -> int:
    print(json.dumps({"schema": "syncopate-check", "version": 1, "results": results}, indent=1))
    return status_of(results)


def _mutate(scenarios: list[checkset.Scenario], environ: dict[str, str], as_json: bool) -> int:
    from syncopate.machines import mutation

    return mutation.main(scenarios, environ, as_json)
