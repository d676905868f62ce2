"""`syncopate bench run`: measures, keeps every finished run, and goes on where it was stopped."""

from __future__ import annotations

import sys
from pathlib import Path

from syncopate.base import ending, wholefile
from syncopate.base.arguments import Parser, seconds
from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.base.since import zip_equal
from syncopate.base.units import several
from syncopate.bench import engines, expected, resultfile
from syncopate.bench.comparefiles import variant_table
from syncopate.bench.jobs import Job, Request, again, blocks
from syncopate.bench.points import Points
from syncopate.bench.progress import Progress
from syncopate.bench.resultfile import ResultFile
from syncopate.bench.suites import NATIVE, find_size, find_suite, find_variant
from syncopate.bench.suitetable import SUITES
from syncopate.machines import machinefiles

EPILOG = """\
Every finished run is in FILE at once: after Ctrl-C, a full disk or a crash the same command goes on
with what is left (without --fresh). Repetitions are interleaved: each round runs every variant
once.

  syncopate bench run array --variant tatas,auto --threads 1,2,4
  syncopate bench run stamp/genome --machine haswell-4c8t --threads 1,2,4,8
  syncopate bench run locks --machine opteron-6272 --engine dask --scheduler tcp://HOST:8786
"""


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    request, file, total, left = plan(options)
    if left:
        wholefile.check_place(file.path, "bench run: --out")
    ahead = [job for block in left for job in block]
    if len(ahead) < total:
        are = f"of {several(total, 'run')} {'is' if total == 1 else 'are'}"
        print(f"{total - len(ahead)} {are} in {file.path}", file=sys.stderr)
    finished = engine(options, left, request.simulated)
    try:
        refused = collect(finished, file, ahead)
    except KeyboardInterrupt:
        print(f"syncopate: stopped; {file.kept()}", file=sys.stderr)
        return ending.status()
    if refused:
        raise Failure(f"bench: {refused}", BAD_USE)
    return show(file)


def plan(options) -> tuple[Request, ResultFile, int, list[list[Job]]]:
    """What was asked for, its file, how many runs that is, and the blocks of those that the file
    does not hold. Writes nothing."""
    request = requested(options)
    where = NATIVE if not request.simulated else Path(request.machine).stem
    path = Path(options.out or default_file(options.suite, where))
    todo = blocks(request)
    file = resultfile.open_or_new(path, request.name, where, options.fresh)
    asked = [job for block in todo for job in block]
    file.check(request.name, where, asked)
    # What was not asked for now is compared with what is: it has to be of the same build.
    others = file.runs.keys() - {job.place for job in asked}
    file.check(request.name, where, again(request, others))
    left = [rest for block in todo if (rest := [job for job in block if not file.has(job)])]
    return request, file, sum(map(len, todo)), left


def parse(arguments: list[str]):
    parser = Parser("bench run", epilog=EPILOG, description="Runs a suite, or one program of it.")
    parser.add_argument("suite", metavar="SUITE[/PROGRAM]", help="see `syncopate bench list`")
    parser.add_argument("--variant", metavar="A,B", help="default: the suite's own, not families")
    parser.add_argument("--threads", metavar="1,2,4", help="default: 1,2")
    parser.add_argument("--machine", default=NATIVE, help="native (default), or a simulated one")
    parser.add_argument("--repeat", type=int, metavar="N", help="default: 5; simulated: 1")
    parser.add_argument("--size", help="small (native default), paper, large, ... as listed")
    parser.add_argument(
        "--out", metavar="FILE", help="default: SUITE[-PROGRAM]-MACHINE.bench.json, here"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what FILE holds")
    parser.add_argument("--build", metavar="FOLDER", help="where the programs were built")
    parser.add_argument("--limit", type=seconds, default=600, help="seconds for one run (600)")
    parser.add_argument("--engine", choices=engines.ENGINES, default="local", help=engines.HELP)
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, for --engine dask")
    options = parser.parse_args(arguments)
    engines.check(options, parser)
    if options.repeat is not None and options.repeat < 1:
        parser.error("--repeat needs at least 1")
    return options


def requested(options) -> Request:
    """The options as a Request. Raises a Failure for what does not exist."""
    name, suite, programs = find_suite(options.suite, SUITES)
    simulated = options.machine != NATIVE
    if simulated:
        check_machine(options.machine)
        if suite.simulated_size is None:
            raise Failure(f"bench: suite {name} runs natively only", BAD_USE)
    if not programs:
        raise Failure(f"bench: suite {name} needs the source tree", BAD_USE)
    asked = options.variant.split(",") if options.variant else list(suite.variants)
    variants = {text: find_variant(name, suite, text) for text in asked}
    if simulated:
        native_only = [text for text in variants if not variants[text].simulated]
        if native_only and options.variant:
            raise Failure(f"bench: variant {native_only[0]} of {name} runs natively only", BAD_USE)
        variants = {text: each for text, each in variants.items() if each.simulated}
    for program in programs if options.variant and len(programs) == 1 else []:
        if missing := [text for text in asked if text in suite.programs[program].without]:
            raise Failure(f"bench: {name}/{program} has no variant '{missing[0]}'", BAD_USE)
    if options.threads and not suite.threaded:
        raise Failure(f"bench: suite {name} has no --threads: its programs choose", BAD_USE)
    return Request(
        name,
        suite,
        programs,
        variants,
        numbers(options.threads or "1,2") if suite.threaded else [0],
        find_size(name, suite, options.size, simulated),
        options.machine,
        options.repeat or (1 if simulated else 5),
        options.build,
        options.limit,
    )


def check_machine(name: str, native: bool = True) -> None:
    """Refuses a machine that is neither known nor a file, and says which are known. native: whether
    this one is among them."""
    known = machinefiles.files()
    if name in known or "/" in name or name.endswith(".toml"):
        machinefiles.find(name)
        return
    raise Failure(
        f"bench: no machine is called '{name}'{near(name, list(known))};"
        f" there are {', '.join([NATIVE] * native + [*known])}",
        BAD_USE,
    )


def numbers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise Failure("bench: --threads needs whole numbers above 0, with commas between", BAD_USE)
    return list(dict.fromkeys(map(int, words)))


def default_file(suite: str, machine: str) -> str:
    return f"{suite.replace('/', '-')}-{machine}.bench.json"


def engine(options, left: list[list[Job]], simulated: bool) -> engines.Finished:
    if options.engine == "dask":
        return engines.dask(left, options.scheduler, native=not simulated)
    return engines.local(left)


def collect(finished: engines.Finished, file: ResultFile, ahead: list[Job]) -> str | None:
    """Merges what comes. Returns a line when a program refused its options: the rest is pointless.

    Another kind of failure is a result too: it is shown at the end, and tried again next time.
    """
    weights = expected.weights(ahead)
    of_each = {job.key: weight for job, weight in zip_equal(ahead, weights)}
    with Progress(weights) as progress:
        for job, result, origin in finished:
            file.add(job, result, origin)
            progress.advance(job.place.text(), of_each[job.key])
            if result.get("status") == BAD_USE:
                return f"{job.place.text()}: {result['error']}"
    return None


def show(file: ResultFile) -> int:
    """Prints the tables. Returns the exit status."""
    points = Points(file)
    for metric in points.metrics():
        print(variant_table(points, metric), end="\n\n")
    sys.stdout.flush()
    for line in points.errors:
        print(f"syncopate: {line}", file=sys.stderr)
    print(f"written: {file.path}", file=sys.stderr)
    return FAILED if points.errors else 0
