"""The grid of runs: every program, number of threads and variant, as often as asked.

A job holds all that another machine needs to run it, and a key: two jobs with the same key would
run the same bytes in the same way. What is measured once by a key is never measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from syncopate.base import paths
from syncopate.base.errors import BAD_USE, Failure
from syncopate.bench.onerun import digest, library_of
from syncopate.bench.provenance import ROOT
from syncopate.bench.suites import NATIVE, Program, Suite, Variant, find_variant
from syncopate.machines import machinefiles


def threads_text(threads: int) -> str:
    """ ", 2 threads"; nothing for a program that chooses by itself."""
    if not threads:
        return ""
    return f", {threads} thread{'s' * (threads != 1)}"


@dataclass(frozen=True)
class Place:
    """Where a run stands in the results. threads: 0 where the program chooses by itself."""

    program: str
    variant: str
    size: str
    threads: int
    repetition: int

    def text(self) -> str:
        return f"{self.program} {self.variant}{threads_text(self.threads)}"


@dataclass(frozen=True)
class Job:
    """One run. machine_file: None natively. suite: whose metrics are read from the output."""

    key: str
    place: Place
    suite: str
    command: tuple[str, ...]
    variables: dict = field(hash=False)
    machine_file: str | None
    folder: str | None
    limit: float


@dataclass(frozen=True)
class Request:
    """What `bench run` was asked for, all of it checked."""

    name: str
    suite: Suite
    programs: list[str]
    variants: dict[str, Variant]
    threads: list[int]
    size: str
    machine: str = NATIVE
    repeat: int = 5
    build: str | None = None
    limit: float = 600

    @property
    def simulated(self) -> bool:
        return self.machine != NATIVE


def blocks(request: Request) -> list[list[Job]]:
    """The jobs; a block is one round: each variant once, each round beginning with the next one.

    The rounds of a program come one after the other, so that what is compared ran close together.
    """
    machine_file = machinefiles.find(request.machine) if request.simulated else None
    result = []
    for name in request.programs:
        for index, threads in enumerate(request.threads):
            names = variants_of(request, name)
            if index:  # a variant with its own number of threads runs once
                names = [each for each in names if request.variants[each].threads is None]
            for turn in range(request.repeat if names else 0):
                shift = turn % len(names)
                order = names[shift:] + names[:shift]
                made = (job(request, name, each, threads, turn, machine_file) for each in order)
                result.append(list(made))
    return result


def variants_of(request: Request, program: str) -> list[str]:
    """The variants asked for that a program has."""
    missing = request.suite.programs[program].without
    return [name for name in request.variants if name not in missing]


def job(request, name: str, variant_name: str, threads: int, turn: int, machine_file) -> Job:
    """One run as a Job. Raises a Failure when a file that it needs is not there."""
    suite, variant = request.suite, request.variants[variant_name]
    program, threads = suite.programs[name], variant.threads or threads
    place = Place(name, variant_name, request.size, threads, turn)
    seed = turn + 1 if request.simulated else 1  # the model gives the same for the same seed
    seeds = ("--seed", str(seed)) if suite.seeded else ()
    words = (*program.words, *suite.words, *variant.words, *suite.sizes[request.size], *seeds)
    fill = {
        "{threads}": str(threads),
        "{size}": request.size,
        "{products}": products(),
        "{source}": str(ROOT),
    }
    words = tuple(filled(word, fill) for word in words)
    variables = {**suite.variables, **variant.variables}
    variables = {name: filled(text, fill) for name, text in variables.items()}
    check_libraries(variant_name, variables)
    real = suite.reader == "real"  # its path is the name in bench/programs.py
    path = program.path if real else program_path(request, program, variant)
    folder = str(ROOT / suite.folder) if suite.folder else None
    key = identity(path, words, variables, machine_file, turn)
    command = (path, *words)
    return Job(key, place, request.name, command, variables, machine_file, folder, request.limit)


def again(request: Request, places: Iterable[Place]) -> list[Job]:
    """The jobs that stand at these places of the suite's results today; without those that the
    suite does not know any more, or whose files are not there."""
    machine_file = machinefiles.find(request.machine) if request.simulated else None
    jobs = []
    for place in places:
        if place.program not in request.suite.programs or place.size not in request.suite.sizes:
            continue
        with contextlib.suppress(Failure):
            variant = find_variant(request.name, request.suite, place.variant)
            like = replace(request, variants={place.variant: variant}, size=place.size)
            where = (place.program, place.variant, place.threads, place.repetition)
            jobs.append(job(like, *where, machine_file))
    return jobs


def products() -> str:
    """Where the native parts are; where they would be when they are not built."""
    library = paths.find(paths.PRELOAD)
    return os.path.dirname(os.path.dirname(library)) if library else paths.prefixes()[-1]


def filled(text: str, fill: dict[str, str]) -> str:
    for mark, value in fill.items():
        text = text.replace(mark, value)
    return text


def build_folders(given: str | None) -> list[Path]:
    """Where built programs are looked for, best first."""
    if given:
        return [Path(given).resolve()]
    chosen = os.environ.get("SYNCOPATE_BUILD_DIR")
    places = [Path(chosen).resolve()] if chosen else []
    return [*places, ROOT / "build" / "release", ROOT / "build"]


def program_path(request: Request, program: Program, variant: Variant) -> str:
    """The program that a variant runs. Raises a Failure that says how to get it."""
    build = variant.modeled if request.simulated and variant.modeled else variant.program
    name = build.replace("{program}", program.path)
    if request.simulated:
        name += ".simulated"
    folders = build_folders(request.build)
    for folder in folders:
        if (folder / name).is_file():
            return str(folder / name)
    raise Failure(
        f"bench: {name} is not in {' or '.join(map(str, folders))};"
        " run `make` in the source tree, or name its build folder with --build"
    )


def check_libraries(variant: str, variables: dict[str, str]) -> None:
    """Refuses a variant whose library is not built: the program would quietly run without."""
    for file in library_files(variables):
        if not file.exists():
            raise Failure(f"bench: {variant} needs {file}; build it with `make`", BAD_USE)


def library_files(variables: dict[str, str]) -> list[Path]:
    """The libraries that these variables put under a program."""
    files = [Path(variables["LD_PRELOAD"])] if "LD_PRELOAD" in variables else []
    if "LD_LIBRARY_PATH" in variables:
        files.append(Path(variables["LD_LIBRARY_PATH"]) / "libitm.so.1")
    return files


def identity(path: str, words, variables: dict[str, str], machine_file: str | None, turn: int):
    """The job's key: the contents of its files, its words and variables, and which repetition."""
    program = Path(path)
    library = library_of(program) if machine_file else None
    files = [program, library, machine_file, *library_files(variables)]
    contents = [digest(Path(each)) for each in files if each and Path(each).is_file()]
    own = {k: v for k, v in variables.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    name = os.path.basename(path)
    parts = [name, words, own, machine_file is not None, contents, turn]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
