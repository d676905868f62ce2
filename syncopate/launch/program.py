"""Which program a command line starts, and whether a preload library can act on it."""

from __future__ import annotations

import mmap
import os
import re
import stat

from syncopate.base.errors import BAD_USE, NOT_EXECUTABLE, NOT_FOUND, Failure
from syncopate.launch import elf

_MODELED = re.compile(r"libsyncopate-(simulated|explored|emulated)\.so")
_RUNTIME = re.compile(r"lib(clang_rt\.)?(asan|hwasan|lsan|msan|tsan)\b")  # a sanitizer's
SCRIPT_DEPTH = 5  # the kernel follows at most this many interpreters


def find_program(name: str) -> str:
    """Finds `name` as execvp does. A Failure carries 127 (not found) or 126 (not executable)."""
    if not name:
        raise Failure("the program's name is empty", NOT_FOUND)
    if "/" in name:
        if not os.path.exists(name):
            raise Failure(f"{name}: no such file; check the path", NOT_FOUND)
        _check_executable(name)
        return name
    denied = None
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        if os.access(path, os.X_OK):
            return path
        denied = denied or path
    if denied:
        _check_executable(denied)
    raise Failure(f"{name}: not found in PATH; name the program by its path, with a /", NOT_FOUND)


def _check_executable(path: str) -> None:
    if os.path.isdir(path):
        raise Failure(f"{path} is a directory; name the program in it", NOT_EXECUTABLE)
    if not os.path.isfile(path) and os.path.exists(path):  # reading it may wait, or do something
        raise Failure(f"{path} is no plain file; name a program", NOT_EXECUTABLE)
    if not os.access(path, os.X_OK):
        raise Failure(f"{path} is not executable; try `chmod +x` on it", NOT_EXECUTABLE)


def machine_of(path: str) -> str | None:
    """The modeled machine that a program was compiled for; None for the one that it runs on."""
    try:
        names = elf.needed(_binary_of(path) or path)
    except Failure:
        return None  # for whoever starts it to say
    found = (_MODELED.fullmatch(name) for name in names)
    return next((match[1] for match in found if match), None)


def check_preloadable(path: str, library: str, from_outside: str = "") -> None:
    """Raises a Failure when the loader would not, or could not, put `library` into `path`.

    Scripts are judged by their interpreter. `from_outside`: what looks at a program without our
    library in it, where that is what is wanted. Only looks; starts nothing.
    """
    program = _binary_of(path)
    if program is not None:
        _check_privileges(program, from_outside)
        _check_machine(program)
        _check_binary(program, library, from_outside)
        _check_sanitizer(program)


def sanitizer_runtime(path: str) -> str | None:
    """The sanitizer's run-time library that a program needs, which wants to be loaded before every
    other; None where there is none."""
    try:
        names = elf.needed(_binary_of(path) or path)
    except Failure:
        return None  # for whoever starts it to say
    return next((name for name in names if _RUNTIME.match(name)), None)


def _binary_of(path: str) -> str | None:
    """What runs in the end when `path` is started; None when it may be run but not read."""
    program = path
    for _ in range(SCRIPT_DEPTH):
        try:
            with open(program, "rb") as file:
                start = file.read(512)
        except PermissionError:
            return None
        except OSError as error:
            raise Failure(f"{program}: {error.strerror}", NOT_EXECUTABLE) from None
        if not start.startswith(b"#!"):
            break
        program = _interpreter(program, start)
    return program


def _check_machine(path: str) -> None:
    """A modeled machine's library has the program's locks. The emulated one is told which."""
    instead = {"simulated": "syncopate simulate", "explored": "syncopate check"}
    machine = machine_of(path)
    if machine in instead:
        raise Failure(
            f"{path} is compiled for the {machine} machine, which has its locks and threads; run it"
            f" by `{instead[machine]} {path}`, or compile it natively",
            BAD_USE,
        )


def _check_sanitizer(path: str) -> None:
    """The leak sanitizer linked statically calls locks before it can be called by their library."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as contents:
        if contents.find(b"LSAN_OPTIONS") >= 0 > contents.find(b"ASAN_OPTIONS"):
            raise Failure(
                f"{path} has the leak sanitizer linked in, which cannot start under a preload"
                " library; link it dynamically, or pass --force",
                BAD_USE,
            )


def _interpreter(script: str, start: bytes) -> str:
    """The program that a #! line starts; looks through env(1) at the program behind it."""
    words = os.fsdecode(start[2:].split(b"\n", 1)[0]).split()
    if not words or not os.path.isfile(words[0]):
        named = words[0] if words else "nothing"
        raise Failure(f"{script}: its #! line names {named}, which is no file", NOT_FOUND)
    if os.path.basename(words[0]) != "env":
        return words[0]
    for word in words[1:]:
        if not word.startswith("-") and "=" not in word:
            return find_program(word)
    return words[0]


def _check_privileges(path: str, from_outside: str) -> None:
    status = os.stat(path)
    if os.statvfs(path).f_flag & os.ST_NOSUID:
        return  # the kernel grants nothing here, so the loader has nothing to protect
    seen = f"; {from_outside} sees its waits from outside" if from_outside else ""
    advice = f"the loader ignores LD_PRELOAD for it{seen}; run it as that user, or pass --force"
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        raise Failure(f"{path} is setuid: {advice}", BAD_USE)
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getgid():
        raise Failure(f"{path} is setgid: {advice}", BAD_USE)
    if os.getuid() == 0:
        return
    try:
        os.getxattr(path, "security.capability")
    except OSError:
        return
    raise Failure(f"{path} has file capabilities: {advice.replace('that user', 'root')}", BAD_USE)


def _check_binary(path: str, library: str, from_outside: str) -> None:
    instead = f"{from_outside} sees its waits from outside" if from_outside else ""
    header = elf.read_header(path)
    if header is None:
        raise Failure(
            f"{path} is neither an ELF program nor a script with a #! line; start it with its"
            " interpreter, for example `sh FILE`",
            NOT_EXECUTABLE,
        )
    ours = elf.read_header(library)
    if ours and (header.bits, header.machine) != (ours.bits, ours.machine):
        raise Failure(
            f"{path} is a {header.describe()} program and our library is {ours.describe()};"
            " use a Syncopate built for it, or pass --force",
            BAD_USE,
        )
    if header.interpreter is None:
        if os.path.basename(os.path.realpath(path)).startswith(("ld-linux", "ld.so")):
            return  # the loader by name: it loads a dynamic program, and our library with it
        raise Failure(
            f"{path} is statically linked, and a preload library cannot act on a statically linked"
            f" program; {instead or 'link it dynamically'}, or pass --force to run it unchanged",
            BAD_USE,
        )
    if "musl" in header.interpreter:
        raise Failure(
            f"{path} is linked with musl ({header.interpreter}), and our library needs glibc;"
            f" {instead or 'use a glibc build of the program'}, or pass --force",
            BAD_USE,
        )
