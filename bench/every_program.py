#!/usr/bin/env python3
"""Every program and variant of papers/workloads/, once each: its own check of its result, and how
long it takes.

    bench/every_program.py [--build FOLDER] [--suite NAME,...] [--size small] [--first]
                           [--jobs N] [--within SECONDS] [--most SECONDS]
                           [--json FILE [--missing]]

The programs are those of `syncopate bench list`, so a new one is here by itself. Built with
sanitizers (cmake --preset asan, or -DSYNCOPATE_SANITIZE=address,undefined) they run under these.
docs/internals/sizes.md is made from such files by scripts/sizes.py.

--jobs: so many programs at a time, of --threads each; those that are known to last begin first.
--within: what has not ended by then is ended, and named; it is not among the results.
Exit status: 1 when one fails, or takes longer than --most.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from interleaved import provenance, table

from syncopate.base import compactjson
from syncopate.base.errors import Failure
from syncopate.bench.jobs import Job, Request, job, variants_of
from syncopate.bench.measure import measure
from syncopate.bench.provenance import ROOT
from syncopate.bench.suites import Suite
from syncopate.bench.suitetable import SUITES

PLACE = "papers/workloads/"
KNOWN = ROOT / "papers/results" / "measured" / "every_program_paper.json"


@dataclass(frozen=True)
class Run:
    """One program in one variant. error: "" when it ended well, and its result was right.

    seconds: on the clock. processor_seconds: of all its threads; what others run changes it little.
    """

    suite: str
    program: str
    variant: str
    seconds: float
    processor_seconds: float
    error: str


def suites_here() -> dict[str, Suite]:
    """The suites whose programs are those of papers/workloads/; Lua's are run there by an
    interpreter."""
    return {
        name: suite
        for name, suite in SUITES.items()
        if (suite.folder or "").startswith(PLACE)
        or all(program.path.startswith(PLACE) for program in suite.programs.values())
    }


def jobs_of(name: str, suite: Suite, options) -> tuple[list[Job], list[str]]:
    """The runs of one suite, and a line for each that this build cannot do."""
    threads = options.threads if suite.threaded else 0
    request = Request(name, suite, list(suite.programs), suite.variants, [threads], options.size,
                      build=options.build, limit=options.limit)  # fmt: skip
    found, missing = [], {}
    for program in request.programs:
        variants = [each for each in variants_of(request, program) if each != "sequential"]
        for variant in variants[:1] if options.first else variants_of(request, program):
            try:
                found.append(job(request, program, variant, threads, 0, None))
            except Failure as failure:
                missing.setdefault(str(failure), f"{name} {variant}: {failure}")
    return found, list(missing.values())


def processor_seconds() -> float:
    """Of all programs that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def run(each: Job, until: float) -> Run | None:
    """None where the clock is at `until` before it has ended: then it is ended."""
    began, used = time.monotonic(), processor_seconds()
    if until <= began:
        return None
    error = measure(replace(each, limit=min(each.limit, until - began))).get("error", "")
    if error and until <= time.monotonic():
        return None
    took = round(time.monotonic() - began, 2)
    used = round(processor_seconds() - used, 2)
    return Run(each.suite, each.place.program, each.place.variant, took, used, error)


def all_runs(todo: list[Job], options) -> Iterator[tuple[Job, Run | None]]:
    """As they end. Each of --jobs processes runs one at a time, so that it can tell its cost."""
    until = time.monotonic() + options.within
    if options.jobs == 1:
        yield from ((each, run(each, until)) for each in todo)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        running = {pool.submit(run, each, until): each for each in longest_first(todo)}
        yield from ((running[done], done.result()) for done in as_completed(running))


def longest_first(todo: list[Job]) -> list[Job]:
    """By what they took at size paper; those that it is not known of first."""
    known = {key: run["seconds"] for key, run in runs_in(KNOWN).items()}
    return sorted(todo, key=lambda job: known.get(name_of(job), float("inf")), reverse=True)


def name_of(each: Job) -> tuple[str, str, str]:
    return each.suite, each.place.program, each.place.variant


def runs_in(file: Path | None) -> dict[tuple[str, str, str], dict]:
    """The results that were kept in the file; none where there is no such file."""
    if file is None or not file.exists():
        return {}
    runs = compactjson.read(file.read_text(encoding="utf-8"))["runs"]
    return {(run["suite"], run["program"], run["variant"]): run for run in runs}


def slowest(runs: list[Run]) -> str:
    """A line for each program: its slowest variant."""
    worst: dict[tuple[str, str], Run] = {}
    for each in runs:
        place = (each.suite, each.program)
        worst[place] = max(worst.get(place, each), each, key=lambda one: one.seconds)
    rows = [[f"{r.suite}/{r.program}", r.variant, f"{r.seconds:.2f}"] for r in worst.values()]
    return table(rows, ["program", "slowest variant", "s"])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", help="where the programs were built; build/release")
    parser.add_argument("--suite", metavar="A,B", help="only these")
    parser.add_argument("--size", default="small", help="as in `syncopate bench list`")
    parser.add_argument("--first", action="store_true", help="one variant of each: the first")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds until a run is ended")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="programs at a time")
    parser.add_argument(
        "--within", type=float, default=float("inf"), help="seconds until all runs are ended"
    )
    parser.add_argument("--most", type=float, help="seconds that a run may take")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results there")
    parser.add_argument("--missing", action="store_true", help="run what is not in that file")
    options = parser.parse_args()
    here = suites_here()
    options.suites = options.suite.split(",") if options.suite else list(here)
    for name in options.suites:
        if name not in here:
            parser.error(
                f"no suite of papers/workloads/ is called '{name}'; there are {', '.join(here)}"
            )
        if options.size not in here[name].sizes:
            parser.error(f"suite {name} has no size '{options.size}'")
    return options


def keep(runs: list[Run], file: Path) -> None:
    """In the file, beside its runs of other programs and variants. `measured` says by what; a run
    of another machine, day or commit has instead the number of one of `others`."""
    here, kept = provenance(), runs_in(file)
    document = compactjson.read(file.read_text(encoding="utf-8")) if kept else {"measured": here}
    made = {(r.suite, r.program, r.variant): asdict(r) for r in runs}
    if here != document["measured"]:
        others = document.setdefault("others", [])
        if here not in others:
            others.append(here)
        made = {key: run | {"measured": others.index(here)} for key, run in made.items()}
    document["runs"] = list((kept | made).values())
    file.write_text(compactjson.tables(document), encoding="utf-8")


def main() -> int:
    options = parse()
    # Where a library is preloaded, the sanitizer's is not the first one, and needs not be.
    os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0")
    todo, runs, unfinished, kept = [], [], [], runs_in(options.json)
    for name in options.suites:
        found, missing = jobs_of(name, SUITES[name], options)
        print(*(f"left out: {line}" for line in missing), sep="\n", end="\n" * bool(missing))
        todo += [each for each in found if not options.missing or name_of(each) not in kept]
    for each, done in all_runs(todo, options):
        where = f"{each.suite} {each.place.text()}"
        if done is None:
            unfinished.append(where)
            continue
        runs.append(done)
        if options.json:
            keep([done], options.json)
        print(f"{where}: {done.error or done.seconds}", flush=True)
    if kept and not todo:
        print("nothing is missing")
        return 0
    if not runs:
        why = f"none ended within {options.within:.0f} s" if todo else "no program is built"
        print(f"nothing was run: {why}", file=sys.stderr)
        return 1
    print(slowest(runs))
    print(*(f"not done within {options.within:.0f} s: {each}" for each in unfinished), sep="\n")
    failed = [each for each in runs if each.error]
    late = [each for each in runs if options.most and each.seconds > options.most]
    for each in failed + late:
        what = each.error or f"{each.seconds} s"
        print(f"{each.suite}/{each.program} {each.variant}: {what}", file=sys.stderr)
    print(
        f"{len(runs)} runs, {len(failed)} failed, the slowest took {max(r.seconds for r in runs)}"
    )
    return 1 if failed or late else 0


if __name__ == "__main__":
    sys.exit(main())
