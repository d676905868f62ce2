"""`syncopate bench originals`: the papers' original programs, fetched and built, unmodified."""

import argparse
import datetime
import gzip
import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from syncopate.base import paths, scratch, wholefile
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.bench.jobs import build_folders
from syncopate.bench.originalsources import failure, source
from syncopate.bench.originaltable import NATIVE, ORIGINALS, SIMULATED, Build, Original, quoted
from syncopate.bench.provenance import ROOT

SECONDS = 1800  # for one step of a build
ERRORS = re.compile(r".*error:|syncopate:")  # what compilers, linkers and our command begin with
# What makefiles and configure scripts take from the environment.
OF_MAKEFILES = {
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBS", "MAKEFLAGS", "MFLAGS",
    "GNUMAKEFLAGS", "MAKEFILES",
}  # fmt: skip
NO_OPENMP = (
    "for the simulated machine its OpenMP has to be named with --libgomp FOLDER;"
    " integrations/libgomp/build.sh makes it"
)
COMPILERS = {"cc": "syncopate-cc", "c++": "syncopate-c++"}  # as a build calls them
EPILOG = """\
Sources are looked for in DIR/NAME, else fetched there: a public repository at the commit that
is pinned, or Debian's source package. They are only read; programs are built in a copy, with
their own makefiles, and kept in FOLDER/NAME, for the simulated machine as PROGRAM.simulated. Where
a copy has to be amended for today's compilers, --list says how. What cannot be had is said in one
line, and the others are built. Exit status: 1 when something is missing.
"""


@dataclass
class Places:
    sources: Path
    out: Path
    built: Path  # this project's programs
    products: Path


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.list:
        return show_list()
    folders = [f / "papers/workloads" for f in build_folders(options.build)]
    built = next((f for f in folders if f.is_dir()), folders[0])
    places = Places(options.sources, options.out, built, products())
    missing = []
    for chosen in options.program or ORIGINALS:
        name, _, program = chosen.partition("/")
        original = ORIGINALS[name]
        if program:
            original = replace(original, programs=(program,))
        try:
            lines = build_original(name, original, places, options)
        except Failure as failure:
            lines = [str(failure)]
        missing += lines
        for line in lines:
            print(f"syncopate: bench originals: {line}", file=sys.stderr, flush=True)
    return FAILED if missing else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    what = "Fetches and builds the papers' original programs, unmodified."
    parser = Parser("bench originals", epilog=EPILOG, description=what)
    parser.add_argument("--sources", type=Path, metavar="DIR", help="where the sources are, or go")
    parser.add_argument(
        "--program", action="append", metavar="NAME", help="only this, or NAME/PROGRAM of it"
    )
    parser.add_argument("--machine", choices=(NATIVE, SIMULATED), help="default: both")
    folder = ROOT / "build" / "originals"
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=folder, help="default: build/originals"
    )
    parser.add_argument("--build", metavar="FOLDER", help="where this project was built")
    parser.add_argument(
        "--libgomp",
        type=Path,
        metavar="FOLDER",
        help="GCC's OpenMP for the simulated machine, as integrations/libgomp/build.sh makes it",
    )
    parser.add_argument("--list", action="store_true", help="what there is, and from where")
    options = parser.parse_args(arguments)
    if options.sources is None and not options.list:
        parser.error("--sources DIR says where the sources are, or go")
    for chosen in options.program or []:
        check_name(chosen)
    if options.libgomp is not None:
        options.libgomp = options.libgomp.resolve()
        if not (options.libgomp / "libgomp.a").is_file():
            parser.error(f"--libgomp {options.libgomp} has no libgomp.a")
    if options.sources is not None:
        if options.sources.exists() and not options.sources.is_dir():
            parser.error(f"--sources {options.sources} is not a folder")
        options.sources = options.sources.resolve()
        options.out = options.out.resolve()
    return options


def check_name(chosen: str) -> None:
    """Raises a Failure unless NAME, or NAME/PROGRAM, is in the table."""
    name, slash, program = chosen.partition("/")
    word, known = name, list(ORIGINALS)
    if name in ORIGINALS:
        word, known = program, list(ORIGINALS[name].programs)
        if not slash or program in known:
            return
    raise Failure(
        f"bench: no original is called '{chosen}'{near(word, known)}; there are {', '.join(known)}",
        BAD_USE,
    )


def products() -> Path:
    return Path(paths.require("lib/libsyncopate.so")).parent.parent


def show_list() -> int:
    for name, each in ORIGINALS.items():
        where = each.url or (f"Debian's {each.debian}" if each.debian else each.missing)
        pinned = f" at {each.commit[:12]}" if each.commit else ""
        print(f"{name}: {each.what}")
        print(f"  programs  {', '.join(each.programs)}")
        print(f"  source    {where}{pinned}")
        only = f" only: {each.native_only}" if each.native_only else ""
        with_openmp = " with --libgomp FOLDER" if each.openmp else ""
        if each.amended:
            print(f"  amended   {each.amended}")
        print(f"  machines  {', '.join(each.machines)}{with_openmp}{only}")
    return 0


def build_original(name: str, original: Original, places: Places, options) -> list[str]:
    """Builds all of one. Returns a line for each program that could not be built; raises a Failure
    where none could."""
    possible, why = original.machines, original.native_only
    if original.openmp and options.libgomp is None:
        possible, why = (NATIVE,), NO_OPENMP
    if options.machine and options.machine not in possible:
        if options.program:
            raise Failure(f"{name}: {why}", BAD_USE)
        return []
    lacking = [tool for tool in original.needs if shutil.which(tool) is None]
    if lacking:
        raise Failure(f"{name}: cannot be built without {', '.join(lacking)}")
    folder, what = source(name, original, places.sources)
    out = places.out / name
    out.mkdir(parents=True, exist_ok=True)
    lines = copy_inputs(name, original, folder, out / "inputs")
    machines = [options.machine] if options.machine else possible
    done = []
    for program in original.programs:
        for form in original.forms:
            for machine in machines:
                openmp = options.libgomp if original.openmp else None
                build = Build(
                    program, form, machine, compiler("cc", machine, openmp),
                    compiler("c++", machine, openmp), places.built, places.products,
                )  # fmt: skip
                if failed := build_one(original, build, folder, out):
                    lines.append(f"{name}/{build.file()}: {failed}")
                else:
                    done.append(build.file())
    left = f"; {why}" if why == NO_OPENMP and not options.machine else ""
    left += f"; amended: {original.amended}" if original.amended else ""
    print(f"{name}: {what}; {len(done)} programs in {out}{left}", flush=True)
    note = {"source": what, "url": original.url, "date": datetime.date.today().isoformat()}
    note |= {"amended": original.amended} if original.amended else {}
    there = sorted(
        each.name for each in out.iterdir() if each.is_file() and os.access(each, os.X_OK)
    )
    wholefile.write(out / "built.json", [json.dumps(note | {"programs": there}, indent=1) + "\n"])
    return lines


def compiler(command: str, machine: str, libgomp=None) -> str:
    """The words of a compiler command for a machine. libgomp: a folder with OpenMP for it."""
    plain = {"cc": "gcc", "c++": "g++"}[command]
    if machine == NATIVE:
        return plain
    openmp = "" if libgomp is None else f" --libgomp={quoted(libgomp)}"
    return f"{COMPILERS[command]} --machine={machine} --compiler={plain}{openmp}"


def copy_inputs(name: str, original: Original, folder: Path, to: Path) -> list[str]:
    """Puts the programs' inputs where runs find them. Returns a line for each that is not there."""
    lines = []
    for pattern in original.inputs:
        found = sorted(folder.glob(pattern))
        if not found:
            lines.append(
                f"{name}: {folder} has no {pattern}: runs with that input are not possible"
            )
        for file in found:
            target = to / file.name.removesuffix(".gz")
            if target.exists():
                continue
            to.mkdir(parents=True, exist_ok=True)
            read = gzip.open if file.suffix == ".gz" else open
            try:
                with read(file, "rb") as data:
                    wholefile.write_bytes(target, data.read())
            except (OSError, EOFError) as error:
                lines.append(f"{name}: {file}: {error}")
    return lines


def build_one(original: Original, build: Build, folder: Path, out: Path) -> str:
    """Builds in a copy, with the program's own makefile. Returns why there is no program; empty
    where there is one."""
    names = {
        "program": build.program, "PROGRAM": build.program.upper(), "form": build.form,
    }  # fmt: skip
    with scratch.folder("syncopate-originals-") as place:
        copy, commands = Path(place) / "source", Path(place) / "bin"
        put_compilers(commands)
        for pattern in original.copy:
            copy_files(folder, pattern.format(**names), copy)
        for step in original.steps(build):
            if why := run_step(step, copy, commands):
                return why
        result = copy / original.result.format(**names)
        if not result.is_file():
            return f"its makefile left no {original.result.format(**names)}"
        shutil.copy2(result, out / build.file())
    return ""


def copy_files(folder: Path, pattern: str, to: Path) -> None:
    for file in folder.glob(pattern):
        target = to / file.relative_to(folder)
        if file.name in ("inputs", ".git"):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            shutil.copytree(file, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(file, target, follow_symlinks=False)


def put_compilers(folder: Path) -> None:
    """Commands that start this very one; their names need no quotes, wherever Python lies."""
    folder.mkdir()
    for command, name in COMPILERS.items():
        words = f'exec {shlex.quote(sys.executable)} -m syncopate {command} "$@"'
        (folder / name).write_text(f"#!/bin/sh\n{words}\n")
        (folder / name).chmod(0o755)


def run_step(step: list[str], folder: Path, commands: Path) -> str:
    """Runs one command of a build. Returns the line that says why it failed; empty where not."""
    # Nothing of the user's makes or flags.
    kept = {name: value for name, value in os.environ.items() if name not in OF_MAKEFILES}
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    path = os.pathsep.join([str(commands), os.environ.get("PATH", os.defpath)])
    environ = kept | {"PYTHONPATH": search, "PATH": path, "LC_ALL": "C"}
    return failure(step, environ, folder, ERRORS, SECONDS)
