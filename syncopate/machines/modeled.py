"""Finds or makes the program that a modeled machine is to run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys

from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.shown import shown
from syncopate.launch import program
from syncopate.machines import cxx, instrumented

SOURCES = {".c": "cc", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++"}


def is_source(name: str) -> bool:
    return os.path.splitext(name)[1] in SOURCES


# A compiler's two names, for C and for C++; with others around them ("arm-linux-gcc-12").
_TWO_NAMES = (("gcc", "g++"), ("clang", "clang++"), ("cc", "c++"))
_A_NAME = re.compile(r"(.*/)?((?:[\w.]+-)*)(gcc|g\+\+|clang|clang\+\+|cc|c\+\+)(-[\d.]+)?")


def for_language(compiler: str, command: str) -> str:
    """The same compiler under its name for that language (c++ or cc), where that one is there: gcc
    links no C++ program, and g++ takes a .c file for C++. `compiler` may hold other words."""
    words = compiler.split()
    for place, word in enumerate(words):
        found = _A_NAME.fullmatch(word)
        if not found:
            continue
        folder, prefix, name, suffix = (part or "" for part in found.groups())
        pair = next(names for names in _TWO_NAMES if name in names)
        wanted = folder + prefix + pair[command == "c++"] + suffix
        if shutil.which(wanted):
            return " ".join([*words[:place], wanted, *words[place + 1 :]])
    return compiler


def compile_source(
    path: str,
    machine: str,
    compiler: str | None,
    folder: str,
    *,
    shared: bool = False,
    level: str = "-O2",
) -> str:
    """Compiles one file for the machine into `folder`. Returns: the program's path.

    shared: as a shared object, which a client is (src/model/front/program/client.h).
    level: of optimization.

    Raises a Failure when the compiler does; its own messages have been shown by then.
    """
    if not os.path.isfile(path):
        raise Failure(f"{path}: no such file", BAD_USE)
    stem, extension = os.path.splitext(os.path.basename(path))
    command = SOURCES[extension]
    target = os.path.join(folder, stem)
    words = [f"--machine={machine}", level, path, "-o", target, "-pthread"]
    if command == "c++":
        words.insert(1, "-std=c++20")
    if shared:
        target += ".so"
        words = [*words, "-shared", "-fPIC"]
        words[words.index("-o") + 1] = target
    if compiler:
        words.insert(0, f"--compiler={for_language(compiler, command)}")
    if cxx.main(command, words) != 0:
        raise Failure(f"{path}: does not compile for the {machine} machine; see above", FAILED)
    return target


def refuse_compiler(command: str, options: dict[str, str]) -> None:
    """A Failure where a compiler is named for a program that is built already."""
    if "--compiler" in options:
        raise Failure(f"{command}: --compiler is for a SOURCE; a PROGRAM is built already", BAD_USE)


def find(name: str, machine: str) -> str:
    """The path of a program that was compiled for the machine; else a Failure that says how to."""
    path = program.find_program(name)
    with open(path, "rb") as file:
        contents = file.read()
    if f"libsyncopate-{machine}.so".encode() in contents:
        return path
    for other in instrumented.MACHINES:
        if f"libsyncopate-{other}.so".encode() in contents:
            raise Failure(
                f"{name} was compiled for the {other} machine, not the {machine}", BAD_USE
            )
    raise Failure(
        f"{name} was not compiled for the {machine} machine; compile it with"
        f" `syncopate c++ --machine={machine}`, or name its source file",
        BAD_USE,
    )


# Why a program that has ended has left no report.
NO_REPORT = (
    "the program became another one by exec, was refused, or was ended before it could write one"
)


def _written(path: str) -> tuple[int, int] | None:
    """Which file stands there: another one once it has been written anew (whole_file.h)."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def run_with_tables(run_it, environ: dict[str, str], folder: str) -> int:
    """Runs a program by run_it(environ), and shows its tables on standard error then; fails, with a
    line, where it has left none. By way of a file in `folder`: what the program does to its own
    standard error does not matter."""
    path = os.path.join(folder, "tables.txt")
    try:
        status = run_it({**environ, "SYNCOPATE_STATS": path})
    finally:  # also after an interrupt, which lets the program end
        is_there = os.path.exists(path)
        if is_there:
            sys.stderr.flush()
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stderr.buffer)
    if not is_there:
        print(f"syncopate: --stats: no tables: {NO_REPORT}", file=sys.stderr)
    return status or (0 if is_there else FAILED)


def run_reporting(
    path: str, arguments: list[str], environ: dict[str, str], reports: list[str]
) -> int:
    """As run(); fails, with a line for each, where the run has left one of the reports as it was:
    what stands there is not of this run. Devices and pipes are not looked at."""
    files = [file for file in reports if os.path.isfile(file) or not os.path.exists(file)]
    before = {file: _written(file) for file in files}
    status = run(path, arguments, environ)
    for file, was in before.items():
        if _written(file) == was:
            print(f"syncopate: {shown(file)} is not of this run: {NO_REPORT}", file=sys.stderr)
            status = status or FAILED
    return status


def run(path: str, arguments: list[str], environ: dict[str, str], **others) -> int:
    """Runs the program in the foreground. Returns: its exit status, 128 + N for signal N."""
    status = subprocess.call([path, *arguments], env={**os.environ, **environ}, **others)
    return exit_status(path, status)


def exit_status(path: str, status: int) -> int:
    """As a shell has it, of subprocess's; says which signal has ended the program."""
    if status >= 0:
        return status
    print(f"syncopate: {shown(path)} was ended by {signal.Signals(-status).name}", file=sys.stderr)
    return 128 - status
